"""Regions as one row, and masks as run lengths: what goes in comes out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.regions.cut_picture import LENGTH, MOST_REGIONS, CutPicture, packed, unpacked
from sightline.regions.outlines import Box, Mask
from tests.naive.regions import run_lengths

sizes = st.tuples(st.integers(1, 12), st.integers(1, 12))


def sparse(row: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    at = np.flatnonzero(row)
    return at, row[at]


@given(sizes, st.integers(1, 6), st.integers(0, 1 << 30))
def test_a_row_gives_back_its_regions(size: tuple[int, int], n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n, size).astype(np.int32)
    rows, whole = rng.normal(size=(n, 5)).astype(np.float32), np.ones(3, np.float32)
    again = unpacked(*sparse(packed(CutPicture.of(labels, rows, whole))))
    assert (again.labels == labels).all() and (again.rows == rows).all()
    assert (again.whole == whole).all() and (again.height, again.width) == size
    counts = np.bincount(labels.ravel(), minlength=n)
    assert np.allclose(again.areas, np.maximum(counts, 1) / labels.size)


def test_ragged_regions_are_kept_coarser_and_large_pictures_too() -> None:
    rng = np.random.default_rng(0)
    for labels in (rng.integers(0, 2, (400, 400)), np.zeros((700, 700))):
        row = packed(CutPicture.of(labels.astype(np.int32), np.ones((2, 1), np.float32)))
        again = unpacked(*sparse(row))
        assert row.shape == (LENGTH,) and 100 <= again.height < len(labels)
        assert (again.areas > 0).all()


def test_a_damaged_row_and_too_many_regions_are_refused() -> None:
    labels = np.zeros((4, 4), np.int32)
    row = packed(CutPicture.of(labels, np.ones((1, 2), np.float32)))
    for at, value in ((0, 9.0), (2, 0.0), (2, 51.0), (3, 300.0)):
        bad = row.copy()
        bad[at] = value
        with pytest.raises(DataError, match="is damaged"):
            unpacked(*sparse(bad))
    with pytest.raises(DataError, match=r"50 regions of 256 numbers at most\. Got 51"):
        packed(CutPicture.of(labels, np.ones((MOST_REGIONS + 1, 2), np.float32)))


@given(sizes, st.integers(0, 1 << 30))
def test_masks_are_run_lengths_as_coco_has_them(size: tuple[int, int], seed: int) -> None:
    inside = np.random.default_rng(seed).random(size) < 0.4
    mask = Mask.of(inside)
    assert list(mask.counts) == run_lengths(inside)
    assert sum(mask.counts) == inside.size and (mask.inside() == inside).all()
    if inside.any():
        box, (height, width) = Box.of(inside), size
        rows, columns = np.nonzero(inside)
        assert box.left * width == pytest.approx(columns.min())
        assert (box.top + box.height) * height == pytest.approx(rows.max() + 1)
