"""Fisher vectors of pictures: the contract, main directions, and rows made from arrays alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from sightline import plugins
from sightline.contracts import FittedFeature
from sightline.errors import DataError
from sightline.features.local import fisher as module
from sightline.features.local.fisher import Fisher, main_directions
from sightline.features.local.gradients import dense_descriptors
from sightline.features.local.mixture import Mixture, improved
from sightline.testing import check_feature
from tests.factories.fresh_python import imported_by
from tests.factories.photos import patches

Floats = NDArray[np.float32]
RGB = NDArray[np.uint8]


class Small(Fisher):
    """Few directions and components."""

    n_directions = 6
    n_components = 4


PICTURES = [patches(seed) for seed in range(8)]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Floats]:
    return Small.fit(PICTURES, seed=1)


def test_it_keeps_the_contract(fitted: dict[str, Floats]) -> None:
    feature = Small(fitted)
    assert isinstance(feature, FittedFeature)
    check_feature(feature)
    assert plugins.load("features", "fisher") is Fisher


def test_it_has_12800_numbers_of_length_one() -> None:
    feature = Fisher(Fisher.fit(PICTURES))
    row = feature.describe(PICTURES[0])
    assert feature.length == len(row) == 12_800 and row.dtype == np.float32
    assert feature.parts == {"gradients": slice(0, 6_400), "colors": slice(6_400, 12_800)}
    for part in feature.parts.values():
        assert np.linalg.norm(row[part]) == pytest.approx(0.5**0.5, abs=1e-5)


def test_a_row_is_made_of_its_parts(fitted: dict[str, Floats]) -> None:
    feature = Small(fitted)
    found = dense_descriptors(PICTURES[2])
    row = feature.describe(PICTURES[2])
    for kind, part in feature.parts.items():
        points = getattr(found, kind).astype(np.float64) - fitted[f"{kind}_middle"]
        points = np.hstack([points @ fitted[f"{kind}_directions"], found.positions - 0.5])
        names = ("weights", "means", "variances")
        mixture = Mixture(*(fitted[f"{kind}_{name}"] for name in names))
        expected = improved(mixture.fisher_vector(points.astype(np.float32)))
        np.testing.assert_allclose(row[part] * 2**0.5, expected, atol=1e-3)


def test_main_directions_make_points_uncorrelated() -> None:
    rng = np.random.default_rng(0)
    points = (rng.standard_normal((5000, 6)) @ rng.normal(0, 2, (6, 6)) + 7).astype(np.float32)
    middle, directions = main_directions(points, 4)
    turned = (points - middle) @ directions
    covariance = np.cov(turned.T, bias=True)
    np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-3)
    assert np.diag(covariance).mean() == pytest.approx(1, abs=1e-3)
    assert (np.diff(np.diag(covariance)) < 0).all()
    # No four directions hold more variance: those of the singular values do not either.
    values = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2 / len(points)
    kept = np.diag(covariance) / (directions**2).sum(axis=0)
    np.testing.assert_allclose(kept, values[:4], rtol=1e-3)
    assert (directions[np.abs(directions).argmax(axis=0), np.arange(4)] > 0).all()


def test_points_that_agree_have_directions_too() -> None:
    middle, directions = main_directions(np.full((9, 5), 3, np.float32), 2)
    assert (middle == 3).all() and np.isfinite(directions).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 40), (1, 384), (384, 3), (300, 7)])
def test_small_and_narrow_pictures_are_described(
    fitted: dict[str, Floats], shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    for rgb in (
        rng.integers(0, 256, (*shape, 3), dtype=np.uint8),
        np.full((*shape, 3), 9, np.uint8),
    ):
        row = Small(fitted).describe(rgb)
        assert np.isfinite(row).all() and np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_a_picture_twice_as_large_has_the_same_row(fitted: dict[str, Floats]) -> None:
    rgb = patches(5, 128, 192)
    double = np.repeat(np.repeat(rgb, 2, axis=0), 2, axis=1)
    assert np.array_equal(Small(fitted).describe(rgb), Small(fitted).describe(double))


def test_the_same_seed_gives_the_same_arrays(fitted: dict[str, Floats]) -> None:
    again = Small.fit([p.copy() for p in PICTURES], seed=1)
    assert {k: a.tobytes() for k, a in again.items()} == {k: a.tobytes() for k, a in fitted.items()}
    assert all(a.dtype == np.float32 for a in fitted.values())
    other = Small.fit(PICTURES, seed=2)
    assert other["gradients_means"].tobytes() != fitted["gradients_means"].tobytes()


def test_it_is_made_again_from_its_arrays_alone(fitted: dict[str, Floats], tmp_path: Path) -> None:
    file = tmp_path / "arrays.safetensors"
    save_file(fitted, file)
    again = Small(load_file(file))
    one = Small(fitted)
    assert np.array_equal(one.describe(PICTURES[3]), again.describe(PICTURES[3].copy()))
    assert one.parameters == again.parameters
    changed = {**fitted, "colors_middle": fitted["colors_middle"] + 1}
    assert Small(changed).parameters != one.parameters


def test_settings_are_part_of_the_parameters(fitted: dict[str, Floats]) -> None:
    class Cells(Small):
        cells = (4,)

    class Step(Small):
        step = 6

    assert len({str(kind(fitted).parameters) for kind in (Small, Cells, Step)}) == 3
    assert len(Cells(fitted).describe(PICTURES[0])) == Small(fitted).length


def test_missing_arrays_are_named(fitted: dict[str, Floats]) -> None:
    some = {k: a for k, a in fitted.items() if k not in ("gradients_means", "colors_middle")}
    with pytest.raises(DataError, match="lack gradients_means, colors_middle"):
        Small(some)


def test_few_descriptors_have_few_components() -> None:
    feature = Small(Small.fit([patches(0, 20, 25)]))
    assert len(dense_descriptors(patches(0, 20, 25))) == 8
    assert len(feature.arrays["colors_weights"]) == 1
    check_feature(feature)


def test_pictures_that_are_all_alike_can_be_fitted() -> None:
    feature = Small(Small.fit([np.full((60, 80, 3), 7, np.uint8)] * 3))
    for rgb in (PICTURES[0], np.full((60, 80, 3), 7, np.uint8)):
        assert np.isfinite(feature.describe(rgb)).all()


def test_no_pictures_are_refused() -> None:
    with pytest.raises(DataError, match="at least one"):
        Fisher.fit([])


def test_of_many_pictures_some_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Counted(list[RGB]):
        def __getitem__(self, i: object) -> RGB:  # type: ignore[override]
            assert isinstance(i, int)
            seen.append(i)
            return PICTURES[i % 8]

    monkeypatch.setattr(module, "_SAMPLE_PICTURES", 5)
    monkeypatch.setattr(module, "_SAMPLE", 500)
    sample = Small._sample(Counted(PICTURES * 4), seed=0)
    assert len(sample) == 500 and len(set(seen)) == len(seen) == 5 and max(seen) > 7


def test_a_mirrored_or_recoloured_picture_has_another_row(fitted: dict[str, Floats]) -> None:
    feature = Small(fitted)
    row, other = feature.describe(PICTURES[1]), feature.describe(PICTURES[1][..., [2, 1, 0]])
    assert row @ other < 0.9 and row @ feature.describe(PICTURES[1][:, ::-1]) < 0.999


def test_importing_it_does_not_load_the_compiler() -> None:
    assert not {"numba", "scipy"} & imported_by("sightline.features.local.fisher")
