"""The classic feature: parts against slow twins and other libraries, and pictures of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.features.local.layout import (
    Classic,
    _cells,
    _color_counts,
    _edges,
    _soft_table,
    _texture_counts,
    rgb_to_lab,
)
from sightline.features.local.lbp import bins, padded_grey, pattern_codes
from sightline.testing import check_feature
from tests.naive import local as naive

RGB = NDArray[np.uint8]


def picture(height: int, width: int, seed: int = 0) -> RGB:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_it_keeps_the_contract() -> None:
    check_feature(Classic())


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (8, 8), (1, 384), (384, 2), (72, 72)])
def test_rows_have_length_one_whatever_the_shape(shape: tuple[int, int]) -> None:
    for rgb in (picture(*shape), np.zeros((*shape, 3), np.uint8)):
        row = Classic().describe(rgb)
        assert row.shape == (Classic.length,) and row.dtype == np.float32
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_parts_lie_one_after_the_other_and_keep_their_weights() -> None:
    classic = Classic()
    ends = [(p.start, p.stop) for p in classic.parts.values()]
    assert [a for a, _ in ends[1:]] == [b for _, b in ends[:-1]]
    assert (ends[0][0], ends[-1][1]) == (0, classic.length)
    row = classic.describe(picture(60, 80)).astype(np.float64)
    parts = classic.parameters["parts"]
    assert isinstance(parts, dict)
    weights = np.array([float(str(w)) for w in parts.values()])
    shares = [float((row[p] ** 2).sum()) for p in classic.parts.values()]
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-4)


@given(st.integers(1, 40), st.integers(1, 6))
def test_cells_divide_a_side_evenly(n_pixels: int, n_cells: int) -> None:
    found = _cells(n_pixels, n_cells).tolist()
    assert found == [naive.cell_of(i, n_pixels, n_cells) for i in range(n_pixels)]
    sizes = np.bincount(found, minlength=n_cells)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("shape", [(3, 2), (21, 18)])
def test_counts_equal_their_twins(shape: tuple[int, int]) -> None:
    rgb = picture(*shape)
    padded = padded_grey(rgb)
    codes = bins()[pattern_codes(padded)].astype(np.int64)
    assert np.array_equal(_texture_counts(padded), naive.counts_by_cell(codes, 59, 4))
    middles = (rgb >> 3) * 8 + 3.5
    twin = np.zeros((4, 180))
    for y in range(shape[0]):
        for x in range(shape[1]):
            cell = naive.cell_of(y, shape[0], 2) * 2 + naive.cell_of(x, shape[1], 2)
            lab = rgb_to_lab(middles[y, x][None])[0].tolist()
            for b, share in naive.soft_bins(tuple(lab)).items():
                twin[cell, b] += share
    np.testing.assert_allclose(_color_counts(rgb), twin, atol=1e-9)


def test_every_kind_of_pixel_is_shared_out_in_full() -> None:
    near, weights = _soft_table()
    assert near.shape == weights.shape == (32**3, 8)
    assert near.min() >= 0 and near.max() < 180 and weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)


def test_lab_equals_scikit_image() -> None:
    color = pytest.importorskip("skimage.color")
    rgb = picture(30, 1)[:, 0]
    np.testing.assert_allclose(rgb_to_lab(rgb.astype(float)), color.rgb2lab(rgb), atol=0.02)


def test_edges_equal_scikit_image() -> None:
    feature = pytest.importorskip("skimage.feature")
    grey = picture(72, 72)[..., 0]
    theirs = feature.hog(grey, 9, (12, 12), (2, 2), "L2-Hys")
    np.testing.assert_allclose(_edges(grey).ravel(), theirs, atol=1e-3)


def test_colors_and_their_place_change_the_row() -> None:
    half = np.zeros((60, 80, 3), np.uint8)
    half[:, :40, 0] = 200
    classic = Classic()
    row, mirrored = classic.describe(half), classic.describe(half[:, ::-1])
    parts = classic.parts
    assert np.allclose(row[parts["color"]], mirrored[parts["color"]])
    assert not np.allclose(row[parts["color2"]], mirrored[parts["color2"]])


def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(DataError, match="8-bit RGB"):
        Classic().describe(np.zeros((4, 4), np.uint8))
