"""Visterms: counts of blocks, made from arrays alone, and their weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from sightline.contracts import FittedFeature
from sightline.errors import DataError
from sightline.features.local.blocks import grid
from sightline.features.local.fitted import checksum
from sightline.features.local.visterms import Visterms, idf_of, weighted
from sightline.testing import check_feature
from tests.factories.fresh_python import imported_by
from tests.factories.photos import patches

Floats = NDArray[np.float32]
RGB = NDArray[np.uint8]


class Pyramid(Visterms):
    """Two block sizes, the whole picture and its quarters."""

    blocks = (64, 96)
    n_centers = 30
    n_colors = 8
    spatial = (1, 2)


PICTURES = [patches(seed) for seed in range(12)]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Floats]:
    return Visterms.fit(PICTURES, seed=1)


def test_it_keeps_the_contract(fitted: dict[str, Floats]) -> None:
    visterms = Visterms(fitted)
    assert isinstance(visterms, FittedFeature) and visterms.sparse
    check_feature(visterms)
    check_feature(Pyramid(Pyramid.fit(PICTURES)))


def test_the_number_of_terms_follows_the_sample(fitted: dict[str, Floats]) -> None:
    n_blocks = 12 * len(grid(64, 96))
    assert fitted["centers64"].shape == (n_blocks // 20, 59 + 50)
    assert fitted["colors"].shape == (50, 3)
    assert len(Pyramid.fit(PICTURES)["centers64"]) == 30


def test_counts_sum_to_the_number_of_blocks(fitted: dict[str, Floats]) -> None:
    visterms = Visterms(fitted)
    assert visterms.describe(patches(99, 256, 384)).sum() == 77
    assert visterms.describe(patches(99, 60, 47)).sum() == len(grid(60, 47))


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (8, 8), (1, 384), (384, 3), (5, 200)])
def test_small_and_narrow_pictures_are_described(
    fitted: dict[str, Floats], shape: tuple[int, int]
) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    counts = Visterms(fitted).describe(rgb)
    height, width = (max(2, n) for n in shape)
    assert counts.sum() == len(grid(height, width)) and np.all(counts == np.round(counts))


def test_the_same_seed_gives_the_same_arrays(fitted: dict[str, Floats]) -> None:
    again = Visterms.fit([p.copy() for p in PICTURES], seed=1)
    assert {k: a.tobytes() for k, a in again.items()} == {k: a.tobytes() for k, a in fitted.items()}
    other = {**fitted, "colors": fitted["colors"][::-1].copy()}
    assert checksum(again) == checksum(fitted) != checksum(other)


def test_it_is_made_again_from_its_arrays_alone(fitted: dict[str, Floats]) -> None:
    one, other = Visterms(fitted), Visterms({k: a.copy() for k, a in fitted.items()})
    # A picture equal to a training picture has the same row, whoever describes it.
    assert np.array_equal(one.describe(PICTURES[3]), other.describe(PICTURES[3].copy()))
    assert one.parameters == other.parameters
    changed = {**fitted, "colors": fitted["colors"] + 1}
    assert Visterms(changed).parameters != one.parameters


def test_settings_are_part_of_the_parameters(fitted: dict[str, Floats]) -> None:
    class Absolute(Visterms):
        relative = False

    class Every(Visterms):
        every = 1

    class Parts(Visterms):
        spatial = (2,)

    kinds = (Visterms, Absolute, Every, Parts)
    assert len({str(kind(fitted).parameters) for kind in kinds}) == 4


def test_missing_arrays_are_named(fitted: dict[str, Floats]) -> None:
    with pytest.raises(DataError, match="lack centers64"):
        Visterms({"colors": fitted["colors"]})


def test_parts_of_the_picture_are_counted_apart() -> None:
    pyramid = Pyramid(Pyramid.fit(PICTURES))
    row = pyramid.describe(PICTURES[0])
    small, large = (len(pyramid.arrays[f"centers{b}"]) for b in (64, 96))
    assert pyramid.length == 5 * (small + large) == len(row)
    whole, quarters = row[:small], row[small : 5 * small].reshape(4, small)
    assert np.array_equal(quarters.sum(axis=0), whole)
    assert whole.sum() == 77 and (quarters.sum(axis=1) > 0).all()


def test_pictures_that_are_all_alike_can_be_fitted() -> None:
    arrays = Visterms.fit([np.full((30, 40, 3), 7, np.uint8)] * 3)
    assert len(arrays["colors"]) == len(arrays["centers64"]) == 1
    assert Visterms(arrays).describe(PICTURES[0]).tolist() == [77.0]


_counts = arrays(np.float32, (6, 5), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, 7.0]))


@given(_counts)
def test_weights_have_length_one_or_zero_dense_and_sparse(counts: Floats) -> None:
    idf = idf_of(counts)
    dense = weighted(counts, idf)
    lengths = np.linalg.norm(dense, axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))
    assert np.array_equal(lengths == 0, ~((counts * idf).any(axis=1)))
    sparse = csr_matrix(counts)
    assert np.array_equal(idf_of(sparse), idf)
    rows = weighted(sparse, idf)
    np.testing.assert_allclose(rows.toarray(), dense, atol=1e-6)
    assert rows.dtype == dense.dtype == np.float32 and (rows.data != 0).all()
    assert np.array_equal(sparse.toarray(), counts), "the counts stay as they were"


def test_idf_is_minus_the_logarithm_of_the_share() -> None:
    counts = np.array([[1, 5, 0, 0], [1, 0, 0, 2], [3, 0, 0, 0], [1, 0, 0, 9]], np.float32)
    np.testing.assert_allclose(idf_of(counts), [0, np.log(4), 0, np.log(2)], rtol=1e-6)


def test_importing_it_does_not_load_the_compiler() -> None:
    modules = ("sightline.features.local.visterms", "sightline.features.local.layout")
    assert not {"numba", "scipy"} & imported_by(*modules)
