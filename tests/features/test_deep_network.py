"""Networks: that they are built as their paper says, and compute what others compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.compute.features import fingerprint
from sightline.contracts import Feature
from sightline.errors import ParameterError
from sightline.features.deep import earlier, framing, graph, session, weights
from sightline.features.deep.large import (
    DeepLarge,
    DeepLargePeaks,
    DeepLargeStages,
    DeepMedium,
    DeepMediumPeaks,
    DeepMediumStages,
)
from sightline.features.deep.maps import DeepGrid
from sightline.features.deep.network import LITE0, LITE1, LITE2, Network
from sightline.features.deep.stages import DeepPeaks, DeepStages
from sightline.features.deep.vector import DeepScales, DeepVector
from sightline.registry import FEATURES
from tests.factories.picture_files import noise, pattern
from tests.naive import deep as naive

DEPTHS = {LITE0: 1.0, LITE1: 1.1, LITE2: 1.2}
WIDTHS = {LITE0: 1.0, LITE1: 1.0, LITE2: 1.1}
every = pytest.mark.parametrize("network", [LITE0, LITE1, LITE2], ids=lambda n: n.name)


@every
def test_groups_are_scaled_as_in_the_paper(network: Network) -> None:
    assert network.repeats == naive.repeats(DEPTHS[network])
    assert network.widths == naive.widths(WIDTHS[network])


@every
def test_what_is_said_of_a_network_fits_its_weights(network: Network) -> None:
    arrays = weights.read_weights(network)
    last = network.blocks - 1
    assert f"_blocks.{last}._bn2.weight" in arrays
    assert f"_blocks.{network.blocks}._bn2.weight" not in arrays
    given = [len(arrays[f"_blocks.{b}._project_conv.weight"]) for b in range(network.blocks)]
    assert given == list(np.repeat(network.widths, network.repeats))
    for block, part in network.parts.items():
        assert len(arrays[f"_blocks.{block}._expand_conv.weight"]) == part.stop - part.start


def test_where_blocks_lie_is_what_stores_rely_on() -> None:
    ends = {n: [(b, p.start, p.stop) for b, p in n.parts.items()] for n in (LITE0, LITE1, LITE2)}
    assert ends[LITE0] == [
        (3, 0, 144), (5, 144, 384), (8, 384, 864), (10, 864, 1536), (11, 1536, 2208),
        (15, 2208, 3360),
    ]  # fmt: skip
    assert ends[LITE1] == [
        (4, 0, 144), (7, 144, 384), (11, 384, 864), (14, 864, 1536), (15, 1536, 2208),
        (20, 2208, 3360),
    ]  # fmt: skip
    assert ends[LITE2] == [
        (4, 0, 144), (7, 144, 432), (11, 432, 960), (14, 960, 1680), (15, 1680, 2400),
        (20, 2400, 3648),
    ]  # fmt: skip
    assert LITE0.halving == {1, 3, 5, 11} and LITE1.halving == LITE2.halving == {1, 4, 7, 15}


def test_fingerprints_are_what_stores_rely_on() -> None:
    kinds: list[Feature] = [
        DeepVector(), DeepStages(), DeepPeaks(),
        earlier.deep(), DeepScales(), DeepGrid(), earlier.deep_stages(), earlier.deep_peaks(),
        DeepLarge(), DeepLargeStages(), DeepLargePeaks(),
        DeepMedium(), DeepMediumStages(), DeepMediumPeaks(),
    ]  # fmt: skip
    assert [fingerprint(k, 384) for k in kinds] == [
        "deep-db7beaa3a200",
        "deep-stages-875c50b8dfb4",
        "deep-peaks-c7cf96ca3a2d",
        "deep-75f642487f43",
        "deep-scales-62537e35237e",
        "deep-grid-4a180f824de6",
        "deep-stages-7ddf7e3763e6",
        "deep-peaks-9e9eb313c36a",
        "deep-large-9700d2b641dd",
        "deep-large-stages-2fa8182f7a83",
        "deep-large-peaks-bf63ad395c27",
        "deep-medium-9f992f7a4eb3",
        "deep-medium-stages-32319e9b3e62",
        "deep-medium-peaks-545f0b983ed4",
    ]


@every
@pytest.mark.parametrize("shape", [(64, 64), (64, 96), (50, 35)])
def test_the_network_equals_its_slow_twin(network: Network, shape: tuple[int, int]) -> None:
    picture = noise(*shape[::-1], seed=3)
    want = naive.forward(picture, weights.read_weights(network), DEPTHS[network])
    assert set(want) == set(network.outputs)
    for name, got in zip(want, session.run(network, picture[None], *want), strict=True):
        assert got.shape == (1, *want[name].shape) and got.dtype == np.float32
        assert got.shape[1] == network.outputs[name]
        np.testing.assert_allclose(got[0], want[name], atol=1e-4, rtol=1e-4)


@every
def test_logits_are_those_of_torch(network: Network) -> None:
    # The first five of torch 2.13 with efficientnet_lite_pytorch 0.1.0 (image_size=None).
    known = {
        LITE0: [-0.054699, 0.912768, 0.503605, -0.435036, 1.120788],
        LITE1: [-0.091069, 0.892259, 0.910578, 1.169647, 2.010978],
        LITE2: [0.397297, 1.315059, 0.367933, 0.479564, 1.643014],
    }
    (logits,) = session.run(network, pattern(network.size, 200)[None], "logits")
    np.testing.assert_allclose(logits[0, :5], known[network], atol=1e-4)


@pytest.mark.parametrize(
    ("network", "photo", "known", "among"),
    [(LITE0, "china.jpg", 698, 2), (LITE0, "flower.jpg", 985, 1), (LITE2, "china.jpg", 698, 1)],
)
def test_it_knows_a_palace_and_a_daisy(
    network: Network, photo: str, known: int, among: int
) -> None:
    from sklearn.datasets import load_sample_image

    framed = framing.framed(load_sample_image(photo), network.size, "area")
    (logits,) = session.run(network, framed[None], "logits")
    assert known in np.argsort(-logits[0])[:among]


@every
def test_the_graph_is_sound_and_named(network: Network) -> None:
    import onnx

    loaded = onnx.load_from_string(graph.build_model(network, weights.read_weights(network)))
    onnx.checker.check_model(loaded, full_check=True)
    assert [o.name for o in loaded.graph.output] == list(network.outputs)
    assert loaded.graph.name == network.name


@every
def test_outputs_are_chosen_by_name(network: Network) -> None:
    picture = pattern(64, 64)[None]
    vector, last = session.run(network, picture, "vector", "map")
    np.testing.assert_allclose(last.mean(axis=(2, 3)), vector, atol=1e-5)
    with pytest.raises(ParameterError, match="'mop'"):
        session.run(network, picture, "mop")


@every
def test_pictures_together_give_what_they_give_alone(network: Network) -> None:
    pictures = np.stack([noise(96, 96, seed=i) for i in range(3)])
    together = session.run(network, pictures, *network.outputs)
    for i, picture in enumerate(pictures):
        alone = session.run(network, picture[None], *network.outputs)
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[i], b[0], atol=1e-4)


def test_two_networks_see_two_things() -> None:
    picture = pattern(90, 70)
    small, large = DeepVector(sizes=(224,)), DeepLarge(sizes=(224,))
    rows = [f.describe(picture) for f in (small, large, small)]
    assert np.array_equal(rows[0], rows[2]) and float(rows[0] @ rows[1]) < 0.9


def test_every_deep_feature_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    deep = [name for name in FEATURES if name.startswith("deep")]
    assert len(deep) == 11 and all(f"`{name}`" in guide for name in deep)
