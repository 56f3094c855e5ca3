"""Bags of words of local descriptors: fitted, made again from arrays, weighted by rarity."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline import plugins
from sightline.contracts import FittedFeature
from sightline.errors import DataError
from sightline.features.local import keypoints as module
from sightline.features.local.keypoints import DenseSift200, DenseSift1000, Sift200, Sift1000
from sightline.registry import FEATURES
from sightline.testing import check_feature
from tests.factories.photos import blobs
from tests.naive import local as naive

RGB = NDArray[np.uint8]
Floats = NDArray[np.float32]
Kind = type[Sift200]

PICTURES = [blobs(seed, 64, 96) for seed in range(10)]
KINDS = (Sift200, DenseSift200)
_fitted: dict[str, dict[str, Floats]] = {}


def fitted(kind: Kind) -> dict[str, Floats]:
    """Return the arrays of a kind, fitted once for all tests."""
    if kind.name not in _fitted:
        _fitted[kind.name] = kind.fit(PICTURES, seed=1)
    return _fitted[kind.name]


@pytest.mark.parametrize("kind", [*KINDS, Sift1000, DenseSift1000])
def test_they_keep_the_contract(kind: Kind) -> None:
    bag = kind(fitted(kind))
    assert isinstance(bag, FittedFeature)
    check_feature(bag)
    assert plugins.load("features", kind.name) is kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_tf_times_idf_of_length_one(kind: Kind) -> None:
    bag, rgb = kind(fitted(kind)), PICTURES[3]
    points, (centers, idf) = kind.descriptors(rgb), (bag.arrays[n] for n in ("centers", "idf"))
    counts = np.bincount(naive.nearest(points, centers), minlength=len(centers))
    assert np.array_equal(bag.counts(rgb), counts) and counts.sum() == len(points) > 20
    wanted = counts * idf / np.linalg.norm(counts * idf)
    np.testing.assert_allclose(bag.describe(rgb), wanted, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rare_words_count_more(kind: Kind) -> None:
    bag = kind(fitted(kind))
    held = sum((bag.counts(p) > 0).astype(int) for p in PICTURES)
    np.testing.assert_allclose(bag.arrays["idf"], 1 + np.log(11 / (1 + held)), rtol=1e-5)


def test_the_number_of_words_follows_the_sample() -> None:
    n = sum(len(DenseSift200.descriptors(p)) for p in PICTURES)
    assert DenseSift200(fitted(DenseSift200)).length == min(200, n // 20)
    assert DenseSift1000(fitted(DenseSift1000)).length == min(1000, n // 20)


def test_the_sample_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SAMPLE_PICTURES", 3)
    monkeypatch.setattr(module, "_SAMPLE", 100)
    arrays = DenseSift200.fit(PICTURES, seed=1)
    assert arrays["centers"].shape == (5, 128)
    # Each idf is that of a word held by 0 to 3 of 3 pictures.
    possible = 1 + np.log(4 / (1 + np.arange(4)))
    assert np.abs(arrays["idf"][:, None] - possible).min(axis=1).max() < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_arrays(kind: Kind) -> None:
    again = kind.fit([p.copy() for p in PICTURES], seed=1)
    assert {k: a.tobytes() for k, a in again.items()} == {
        k: a.tobytes() for k, a in fitted(kind).items()
    }
    one, other = kind(fitted(kind)), kind(again)
    assert one.parameters == other.parameters
    assert np.array_equal(one.describe(PICTURES[0]), other.describe(PICTURES[0].copy()))
    changed = {**again, "idf": again["idf"] * 2}
    assert kind(changed).parameters != one.parameters


def test_a_turned_picture_has_nearly_the_same_keypoint_words() -> None:
    bag = Sift200(fitted(Sift200))
    row = bag.describe(PICTURES[2])
    turned = bag.describe(np.ascontiguousarray(np.rot90(PICTURES[2])))
    others = [float(row @ bag.describe(p)) for p in PICTURES if p is not PICTURES[2]]
    assert row @ turned > 0.92 > max(others)


def test_dense_words_do_not_change_in_darker_pictures() -> None:
    bag = DenseSift200(fitted(DenseSift200))
    row, darker = bag.describe(PICTURES[2]), bag.describe(PICTURES[2] // 2 + np.uint8(40))
    assert row @ darker > 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 384), (200, 5)])
def test_any_shape_is_described(kind: Kind, shape: tuple[int, int]) -> None:
    bag = kind(fitted(kind))
    noise = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    for rgb in (noise, np.full((*shape, 3), 200, np.uint8)):
        length = np.linalg.norm(bag.describe(rgb))
        assert length == pytest.approx(1, abs=1e-5) or (kind is Sift200 and length == 0)
    with pytest.raises(DataError, match="8-bit RGB"):
        bag.describe(np.zeros((4, 4), np.uint8))


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_that_are_all_alike_can_be_fitted(kind: Kind) -> None:
    arrays = kind.fit([np.full((40, 50, 3), 9, np.uint8)] * 2)
    bag = kind(arrays)
    assert bag.length == 1 and bag.describe(PICTURES[0]).tolist() == [1.0]


def test_missing_arrays_and_pictures_are_named() -> None:
    with pytest.raises(DataError, match="sift-200 lack idf"):
        Sift200({"centers": fitted(Sift200)["centers"]})
    with pytest.raises(DataError, match="at least one"):
        Sift200.fit([])


def test_the_set_of_paper_d_has_nine_features() -> None:
    names = plugins.expanded(["whole-all"])
    assert len(names) == 9 and set(names) <= FEATURES.keys()
    assert all(plugins.load("features", name).name == name for name in names)
