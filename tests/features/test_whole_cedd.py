"""Colours and directions of edges: the published table, known pictures and the slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.features.whole.cedd import CEDD, CENTERS, colors_of, quantized, shares
from sightline.features.whole.cedd import tanimoto_distance as tanimoto
from sightline.testing import check_feature
from tests.factories.photos import patches
from tests.naive import whole as naive

RGB = NDArray[np.uint8]
Floats = NDArray[np.float32]
_level = st.integers(0, 255)

KNOWN = {
    (255, 255, 255): {0: 1.0},
    (0, 0, 0): {2: 1.0},
    (128, 128, 128): {1: 1.0},
    (60, 60, 60): {1: 0.7692, 2: 0.2308},
    (255, 0, 0): {4: 1.0},
    (0, 255, 0): {13: 1.0},
    (0, 0, 255): {19: 1.0},
    (255, 255, 0): {10: 1.0},
    (200, 120, 40): {7: 1.0},
    (90, 130, 160): {15: 0.0642, 16: 0.0358, 17: 0.0467, 18: 0.5775, 19: 0.3225, 20: 0.42},
}


def constant(color: tuple[int, int, int], height: int = 50, width: int = 60) -> RGB:
    return np.full((height, width, 3), color, np.uint8)


def test_it_keeps_the_contract() -> None:
    check_feature(CEDD())


@pytest.mark.parametrize("color", KNOWN)
def test_constant_colours_belong_where_the_table_says(color: tuple[int, int, int]) -> None:
    wanted = np.zeros(24)
    wanted[list(KNOWN[color])] = list(KNOWN[color].values())
    np.testing.assert_allclose(colors_of(*color), wanted, atol=5e-5)
    found = shares(constant(color))
    np.testing.assert_allclose(found[0], wanted / wanted.sum(), atol=1e-4)
    assert not found[1:].any()


def test_a_constant_red_picture_has_one_code() -> None:
    row = CEDD().describe(constant((255, 0, 0)))
    assert row[4] == 7 and np.count_nonzero(row) == 1


@given(_level, _level, _level)
def test_every_colour_equals_the_slow_twin(red: int, green: int, blue: int) -> None:
    found = colors_of(red, green, blue)
    np.testing.assert_allclose(found, naive.colors_of(red, green, blue), atol=1e-12)
    assert found.sum() > 0


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (8, 8), (39, 60), (40, 60), (79, 85), (80, 97)])
def test_shares_equal_the_slow_twin(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    pictures = [rng.integers(0, 256, (*shape, 3), dtype=np.uint8), patches(1, *shape)]
    for rgb in pictures:
        found = shares(rgb)
        np.testing.assert_allclose(found, naive.color_edge_shares(rgb), atol=1e-12)
        assert found.sum() == pytest.approx(1)
        row = CEDD().describe(rgb)
        assert np.array_equal(row, np.round(row)) and row.min() >= 0 and row.max() <= 7


@pytest.mark.parametrize(
    "quarters, texture",
    [
        (((255, 0), (0, 255)), 1),
        (((255, 255), (0, 0)), 2),
        (((255, 0), (255, 0)), 3),
        (((255, 128), (128, 0)), 4),
        (((128, 255), (0, 128)), 5),
        (((100, 106), (100, 106)), 0),
    ],
)
def test_each_texture_is_found(quarters: tuple[tuple[int, int], ...], texture: int) -> None:
    rgb = np.tile(np.array(quarters, np.uint8), (10, 10))[..., None].repeat(3, axis=2)
    found = shares(rgb).sum(axis=1)
    assert found[texture] == pytest.approx(1)


@given(st.integers(0, 2**32 - 1), st.sampled_from([(80, 80), (160, 240), (40, 80), (30, 20)]))
def test_mirror_images_swap_the_diagonals(seed: int, shape: tuple[int, int]) -> None:
    """Blocks cover these pictures, so that a mirror image has the same blocks."""
    rgb = patches(seed, *shape)
    found = shares(rgb)
    np.testing.assert_allclose(shares(rgb[:, ::-1])[[0, 1, 2, 3, 5, 4]], found, atol=1e-9)
    np.testing.assert_allclose(shares(rgb[::-1, ::-1]), found, atol=1e-9)


def test_what_is_left_over_at_the_border_is_not_looked_at() -> None:
    rgb = patches(1, 90, 130)
    changed = rgb.copy()
    changed[80:], changed[:, 80:] = 0, 0
    assert np.array_equal(CEDD().describe(rgb), CEDD().describe(changed))
    changed[79, 79] ^= 255
    assert not np.array_equal(shares(rgb), shares(changed))


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1)])
def test_pictures_of_one_pixel_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(DataError, match="at least 2 pixels"):
        CEDD().describe(np.zeros((*shape, 3), np.uint8))


def test_codes_are_those_of_the_nearest_centre() -> None:
    assert (quantized(np.repeat(CENTERS[:, 3:4], 24, axis=1)) == 3).all()
    assert (quantized(np.ones((6, 24))) == 7).all() and not quantized(np.zeros((6, 24))).any()


_rows = arrays(np.float32, (2, 12), elements=st.sampled_from([0.0, 0.0, 1.0, 3.0, 7.0]))


@given(_rows)
def test_tanimoto_lies_between_alike_and_unlike(rows: Floats) -> None:
    a, b = rows
    found = float(tanimoto(a, b))
    assert found + 1e-9 >= 0 and found <= 100 and found == pytest.approx(float(tanimoto(b, a)))
    assert tanimoto(a, 3 * a) == pytest.approx(0, abs=1e-9)
    if a.any() and not b.any():
        assert found == 100


def test_tanimoto_by_hand() -> None:
    # Halves of (1, 1) and (1, 0): xy = .5, xx = .5, yy = 1.
    assert tanimoto(np.array([2.0, 2.0]), np.array([5.0, 0.0])) == pytest.approx(50)
    zero = np.zeros(144)
    assert tanimoto(zero, zero) == 0 and tanimoto(zero, np.ones(144)) == 100
    with pytest.raises(DataError, match="none below 0"):
        tanimoto(-np.ones(3), np.ones(3))
