"""Deep features: what they promise, and that the network computes what its papers say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.compute.features import DESCRIBE_TASK, describe_job, fingerprint, rows_of
from sightline.compute.local import MEMORY, LocalCompute
from sightline.contracts import Done, Feature
from sightline.errors import DataError, MissingExtra, ParameterError
from sightline.features.deep import framing, outputs, session
from sightline.features.deep.large import (
    DeepLarge,
    DeepLargePeaks,
    DeepLargeStages,
    DeepMedium,
    DeepMediumPeaks,
    DeepMediumStages,
)
from sightline.features.deep.maps import DeepGrid, deep_map, in_cells
from sightline.features.deep.network import LITE0, LITE1, LITE2
from sightline.features.deep.stages import DeepPeaks, DeepStages
from sightline.features.deep.vector import DeepScales, DeepVector
from sightline.testing import check_feature
from tests.factories.picture_files import noise
from tests.naive import deep as naive

SMALL: list[type[Feature]] = [DeepVector, DeepScales, DeepGrid, DeepStages, DeepPeaks]
LARGE: list[type[Feature]] = [DeepLarge, DeepLargeStages, DeepLargePeaks]
MEDIUM: list[type[Feature]] = [DeepMedium, DeepMediumStages, DeepMediumPeaks]
FEATURES = SMALL + MEDIUM + LARGE
NETWORKS = {LITE0: SMALL, LITE1: MEDIUM, LITE2: LARGE}


def scene(height: int, width: int) -> NDArray[np.uint8]:
    """Return a picture with a gradient and an edge, different in every corner."""
    y, x = np.mgrid[0:height, 0:width]
    red = 255 * x // max(width - 1, 1)
    green = np.where(y > height // 3, 220, 30)
    return np.stack([red, green, (x * y) % 256], axis=-1).astype(np.uint8)


@pytest.mark.parametrize("make", FEATURES)
def test_each_keeps_the_contract(make: type[Feature]) -> None:
    feature = make()
    check_feature(feature)
    row = feature.describe(scene(120, 90))
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)
    (network,) = (n for n, made in NETWORKS.items() if make in made)
    assert feature.parameters["weights"] == network.sha256


def test_a_row_depends_on_the_picture_alone() -> None:
    picture, feature = scene(100, 140), DeepVector(sizes=(96, 128))
    first = feature.describe(picture)
    for seed in range(5):
        feature.describe(noise(60, 40, seed=seed))
    outputs._recent.clear()
    assert np.array_equal(DeepVector(sizes=(96, 128)).describe(picture), first)


@pytest.mark.parametrize("how", framing.FRAMINGS)
def test_a_mirror_image_has_the_same_vector(how: str) -> None:
    picture = scene(101, 150)
    mirrored = picture[:, ::-1]
    both, one = (DeepVector(sizes=(96,), flips=f, framing=how) for f in (True, False))
    assert np.array_equal(both.describe(picture), both.describe(mirrored))
    assert not np.array_equal(one.describe(picture), one.describe(mirrored))


def test_the_grid_of_a_mirror_image_is_mirrored() -> None:
    picture, feature = scene(101, 150), DeepGrid(cells=3, size=96)
    here = feature.describe(picture).reshape(3, 3, -1)
    there = feature.describe(picture[:, ::-1]).reshape(3, 3, -1)
    np.testing.assert_allclose(here, there[:, ::-1], atol=1e-6)
    assert np.abs(here - there).max() > 1e-3


def test_several_sizes_are_averaged_or_joined() -> None:
    picture = scene(80, 120)
    small, large = (DeepVector(sizes=(s,)).describe(picture) for s in (96, 128))
    mean = DeepVector(sizes=(96, 128)).describe(picture)
    joined = DeepVector(sizes=(96, 128), join="concat").describe(picture)
    np.testing.assert_allclose(mean, (small + large) / np.linalg.norm(small + large), atol=1e-6)
    np.testing.assert_allclose(joined * np.sqrt(2), np.concatenate([small, large]), atol=1e-6)


def test_what_changes_a_row_changes_the_fingerprint() -> None:
    kinds: list[Feature] = [
        DeepVector(),
        DeepVector(sizes=(192,)),
        DeepVector(sizes=(192, 224)),
        DeepVector(sizes=(192, 224), join="concat"),
        DeepVector(flips=True),
        DeepVector(framing="pad"),
        DeepGrid(),
        DeepGrid(cells=3),
        DeepGrid(size=192),
        DeepGrid(flips=False),
        DeepGrid(framing="squash"),
        DeepStages(),
        DeepStages(blocks=(8, 10, 11)),
        DeepPeaks(),
        DeepPeaks(size=192),
        DeepPeaks(flips=True),
        DeepPeaks(framing="pad"),
        DeepLarge(),
        DeepLarge(sizes=(224,)),
        DeepLargeStages(),
        DeepLargePeaks(),
    ]
    assert len({fingerprint(k, 384) for k in kinds}) == len(kinds)


def test_stages_and_peaks_are_parts_of_what_the_network_gives() -> None:
    picture = scene(96, 96)
    (means, peaks), (start, stop) = session.run(LITE0, picture[None], "stages", "peaks"), (384, 864)
    roots, most = np.sqrt(means[0, start:stop]), peaks[0, start:stop]
    stages = DeepStages(blocks=(8,), size=96, flips=False).describe(picture)
    np.testing.assert_allclose(stages, roots / np.linalg.norm(roots), atol=1e-6)
    largest = DeepPeaks(blocks=(8,), size=96, flips=False).describe(picture)
    np.testing.assert_allclose(largest, most / np.linalg.norm(most), atol=1e-6)
    parts = np.split(DeepStages(blocks=(5, 8)).describe(picture), [240])
    assert [float(p @ p) for p in parts] == pytest.approx([0.5, 0.5], abs=1e-5)


@pytest.mark.parametrize("fine", [False, True])
def test_a_map_has_a_cell_for_each_step(fine: bool) -> None:
    step, depth = (16, 672) if fine else (32, 1280)
    found = deep_map(scene(200, 300), 192, fine=fine)
    assert found.shape == (160 // step, 224 // step, depth)
    assert found.dtype == np.float32 and found.flags.c_contiguous


def test_a_map_says_where_things_are() -> None:
    picture = np.full((192, 192, 3), 127, np.uint8)
    before = deep_map(picture, 192)
    picture[:64, 128:] = noise(64, 64, seed=1)
    change = np.abs(deep_map(picture, 192) - before).sum(axis=-1)
    row, column = np.unravel_index(change.argmax(), change.shape)
    assert row < 3 and column >= 3


@pytest.mark.parametrize("cells", [1, 2, 3, 4])
def test_cell_means_equal_their_slow_twin(cells: int) -> None:
    values = np.random.default_rng(cells).random((7, 5, 3), np.float32)
    np.testing.assert_allclose(in_cells(values, cells), naive.cell_means(values, cells), atol=1e-6)


def test_framings_keep_what_they_promise() -> None:
    picture = np.full((100, 300, 3), 255, np.uint8)
    padded = framing.framed(picture, 96, "pad")
    assert padded.shape == (96, 96, 3)
    assert (padded[32:64] == 255).all() and (padded[:32] == 127).all()
    assert framing.framed(picture, 96, "squash").shape == (96, 96, 3)
    assert framing.framed(picture, 224, "area").shape == (128, 384, 3)
    assert framing.area_sides(1, 10_000, 32) == (32, 64)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"sizes": ()}, "sizes"),
        ({"sizes": (16,)}, "sizes"),
        ({"sizes": (224.5,)}, "sizes"),
        ({"join": "sum"}, "join"),
        ({"framing": "crop"}, "framing"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=f"'{named}' parameter of DeepVector"):
        DeepVector(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'cells' parameter of DeepGrid"):
        DeepGrid(cells=0)
    for blocks in ((), (4,)):
        with pytest.raises(ParameterError, match="'blocks' parameter of DeepPeaks"):
            DeepPeaks(blocks=blocks)
    with pytest.raises(ParameterError, match=r"DeepLargeStages must be some of \[4, 7, 11, 14, 15"):
        DeepLargeStages(blocks=(8,))


@pytest.mark.parametrize("shape", [(10,), (10, 10), (10, 10, 4), (0, 10, 3)])
def test_what_is_no_picture_is_refused(shape: tuple[int, ...]) -> None:
    picture = np.zeros(shape, np.uint8)
    calls: list[Callable[[], object]] = [partial(deep_map, picture, 96)]
    calls += [partial(make().describe, picture) for make in FEATURES]
    for call in calls:
        with pytest.raises(DataError, match="A picture is"):
            call()


@pytest.mark.parametrize("gone", ["onnxruntime", "onnx", *(n.module for n in NETWORKS)])
def test_without_the_extra_the_remedy_is_named(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wanting = {n.module: made for n, made in NETWORKS.items()}.get(gone, FEATURES)
    picture, features = scene(9, 9), [make() for make in wanting]
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda n: None if n == gone else found(n))
    outputs._recent.clear()
    session.session.cache_clear()
    assert session.is_available() == (gone in (LITE1.module, LITE2.module))
    calls: list[Callable[[], object]] = [
        *wanting,
        *(partial(f.describe, picture) for f in features),
    ]
    if wanting in (SMALL, FEATURES):
        calls.append(partial(deep_map, picture, 96))
    for call in calls:
        with pytest.raises(MissingExtra, match=r"lite\d needs .*: pip install 'sightline\[deep\]'"):
            call()
    for make in FEATURES:
        if make not in wanting:
            assert make().name


def test_nothing_large_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys\n"
        "from sightline.features.deep import large, maps, session, stages, vector\n"
        "vector.DeepVector().parameters, maps.DeepGrid().length, stages.DeepPeaks().length\n"
        "large.DeepLarge().parameters, large.DeepLargeStages().length\n"
        "assert session.is_available()\n"
        f"large = {{'onnx', 'onnxruntime', 'PIL', '{LITE0.module}', '{LITE2.module}'}}\n"
        "print(sorted(large & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_it_runs_within_half_of_a_workers_memory() -> None:
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({MEMORY['describe'] // 2},) * 2)\n"
        "import numpy as np\n"
        "from sightline.features.deep.large import DeepLarge\n"
        "from sightline.features.deep.vector import DeepVector\n"
        "features = [make(sizes=(160, 260, 384)) for make in (DeepVector, DeepLarge)]\n"
        "for shape in ((768, 768, 3), (768, 40, 3), (300, 768, 3)):\n"
        "    for feature in features:\n"
        "        assert np.isfinite(feature.describe(np.zeros(shape, np.uint8))).all()\n"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_workers_give_the_rows_we_get_here() -> None:
    places = [f"{make.__module__}:{make.__name__}" for make in FEATURES]
    pictures = [scene(90, 60), noise(70, 70)]
    compute = LocalCompute(1)
    try:
        jobs = [describe_job(b"", p, places) for p in pictures]
        answers = list(compute.run(DESCRIBE_TASK, jobs, "describe"))
    finally:
        compute.close()
    for picture, answer in zip(pictures, answers, strict=True):
        assert isinstance(answer, Done)
        for row, make in zip(rows_of(answer), FEATURES, strict=True):
            assert np.array_equal(row, make().describe(picture))
