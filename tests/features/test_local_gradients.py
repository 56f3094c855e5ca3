"""Dense local descriptors: against slow twins, under changes of light and mirrors, of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.features.local._gradients_fast import fill_grey, integrate, root_sift
from sightline.features.local.gradients import (
    Descriptors,
    _lab_table,
    dense_descriptors,
    shrunk,
    widened,
)
from sightline.features.local.lbp import frozen
from tests.naive import fisher as naive

RGB = NDArray[np.uint8]


def picture(height: int, width: int, seed: int = 0) -> RGB:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def ramp(down: int, right: int, height: int = 22, width: int = 27) -> RGB:
    """Grey levels that grow evenly in one direction."""
    y, x = np.indices((height, width))
    grey = (down * y + right * x - min(0, down * height) - min(0, right * width)).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def test_descriptors_equal_their_twins() -> None:
    cells = (3, 5)
    rgb = picture(23, 31)
    # A flat and a dark corner, where limits matter.
    rgb[:14, :16] = 90
    rgb[12:, 20:] //= 16
    found = dense_descriptors(rgb, cells, 4)
    gradients, colors, places = naive.descriptors(rgb, cells, 4)
    np.testing.assert_allclose(found.gradients, gradients, atol=2e-4)
    np.testing.assert_allclose(found.colors, colors, atol=2e-3)
    np.testing.assert_allclose(found.positions, places, atol=1e-6)
    assert len(found) == len(places) == 3 * 5 + 1 * 3


def test_integral_images_hold_the_sums_of_all_pixels() -> None:
    rgb = frozen(picture(9, 11))
    grey, sums = np.empty((9, 11), np.float32), np.zeros((10, 12, 14))
    fill_grey(rgb, grey)
    integrate(rgb, grey, _lab_table(), sums)
    slow, lab = naive.brightness(rgb), naive.lab_of(rgb)
    np.testing.assert_allclose(grey, slow, rtol=1e-6)
    for y, x in ((0, 5), (4, 0), (3, 7), (9, 11)):
        inside = [(i, j) for i in range(y) for j in range(x)]
        shares = sum((naive.by_direction(*naive.gradient(slow, *p)) for p in inside), np.zeros(8))
        np.testing.assert_allclose(sums[y, x, :8], shares, atol=1e-3)
        there = np.array([lab[p] for p in inside]).reshape(-1, 3)
        np.testing.assert_allclose(sums[y, x, 8:11], there.sum(axis=0), rtol=1e-4, atol=1e-3)
        squares = (there**2).sum(axis=0)
        np.testing.assert_allclose(sums[y, x, 11:], squares, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("down", "right", "directions"),
    [(0, 4, {0: 1}), (4, 4, {1: 1}), (4, 0, {2: 1}), (-4, 4, {7: 1}), (0, -4, {4: 1})],
)
def test_a_ramp_has_one_direction(down: int, right: int, directions: dict[int, int]) -> None:
    found = dense_descriptors(ramp(down, right), (3,))
    # The middle patch does not see the border, where gradients are halved.
    middle = found.gradients[len(found) // 2].reshape(16, 8)
    assert set(np.flatnonzero(middle.max(axis=0) > 1e-3)) == set(directions)


def test_a_direction_between_two_is_shared_by_nearness() -> None:
    shares = naive.by_direction(1.0, 2.0)
    assert shares.sum() == pytest.approx(np.hypot(1, 2))
    assert shares[1] / shares.sum() == pytest.approx(np.degrees(np.arctan2(1, 2)) / 45)
    # The second patch of the second row does not see the border; its cells are all alike.
    found = dense_descriptors(ramp(3, 6), (3,)).gradients[5].reshape(16, 8) ** 2
    expected = np.minimum(shares / np.sqrt(16 * (shares**2).sum()), 0.2)
    expected /= 16 * expected.sum()
    np.testing.assert_allclose(found, np.tile(expected, (16, 1)), atol=1e-4)


@given(st.integers(-100, 100), st.integers(0, 5))
@settings(deadline=None, max_examples=20)
def test_gradients_do_not_see_how_bright_the_light_is(level: int, seed: int) -> None:
    rgb = picture(20, 24, seed) // 3 + 85
    shifted = (rgb.astype(np.int64) + min(level, 85)).clip(0, 255).astype(np.uint8)
    if level < -85:
        shifted = rgb - 85
    one, other = dense_descriptors(rgb), dense_descriptors(shifted)
    np.testing.assert_allclose(one.gradients, other.gradients, atol=2e-4)


def mirrored(found: Descriptors, rows: int, columns: int) -> tuple[NDArray[np.float32], ...]:
    """What the mirror image should have: places and cells swapped, directions reflected."""
    gradients = found.gradients.reshape(rows, columns, 4, 4, 8)[:, ::-1, :, ::-1]
    gradients = gradients[..., [4, 3, 2, 1, 0, 7, 6, 5]]
    colors = found.colors.reshape(rows, columns, 4, 4, 6)[:, ::-1, :, ::-1]
    return gradients.reshape(-1, 128), colors.reshape(-1, 96)


@pytest.mark.parametrize("side", [3, 8])
def test_mirrors_swap_places_cells_and_directions(side: int) -> None:
    rows, columns = 3, 5
    rgb = picture(4 * side + 10, 4 * side + 20)
    found, other = dense_descriptors(rgb, (side,)), dense_descriptors(rgb[:, ::-1], (side,))
    gradients, colors = mirrored(found, rows, columns)
    np.testing.assert_allclose(other.gradients, gradients, atol=2e-4)
    np.testing.assert_allclose(other.colors, colors, atol=2e-3)
    turned = found.positions.reshape(rows, columns, 2)[:, ::-1].reshape(-1, 2)
    np.testing.assert_allclose(other.positions[:, 1], 1 - turned[:, 1], atol=1e-6)


def test_strong_gradients_have_length_one_and_weak_ones_less() -> None:
    strong = dense_descriptors(picture(40, 40)).gradients
    np.testing.assert_allclose((strong**2).sum(axis=1), 1, atol=1e-5)
    weak_grain = np.full((40, 40, 3), 100, np.uint8)
    weak_grain[::4, ::4] += 1
    weak = dense_descriptors(weak_grain).gradients
    assert (np.linalg.norm(weak, axis=1) < 0.99).all() and weak.any()
    flat = dense_descriptors(np.full((40, 40, 3), 80, np.uint8))
    assert not flat.gradients.any()
    assert not flat.colors.reshape(-1, 16, 6)[:, :, 3:].max() > 0.05


def test_one_strong_number_is_clipped() -> None:
    row = np.zeros(128, np.float32)
    row[7] = 50
    root_sift(row)
    assert row[7] == pytest.approx(0.2**0.5) and np.count_nonzero(row) == 1


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 40), (40, 1), (11, 12), (13, 300), (700, 2)])
def test_small_and_narrow_pictures_have_descriptors(shape: tuple[int, int]) -> None:
    for rgb in (picture(*shape), np.zeros((*shape, 3), np.uint8)):
        found = dense_descriptors(rgb)
        assert len(found) > 0
        assert np.isfinite(found.gradients).all() and np.isfinite(found.colors).all()
        assert found.positions.min() >= 0 and found.positions.max() <= 1


def test_a_picture_too_narrow_is_continued_evenly() -> None:
    rgb = picture(1, 2)
    wide = widened(rgb, 12)
    assert wide.shape == (12, 12, 3)
    assert (wide[:, :6] == rgb[0, 0]).all() and (wide[:, 6:] == rgb[0, 1]).all()
    assert widened(wide, 12) is wide


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((256, 384), (128, 192)),
        ((384, 255), (192, 128)),
        ((193, 1), (192, 1)),
        ((9, 192), (9, 192)),
    ],
)
def test_large_pictures_are_made_smaller(shape: tuple[int, int], expected: tuple[int, int]) -> None:
    assert shrunk(picture(*shape)).shape == (*expected, 3)


def test_making_a_picture_half_as_large_takes_means_of_four() -> None:
    rgb = picture(4, 384)
    means = rgb.reshape(2, 2, 192, 2, 3).mean(axis=(1, 3))
    assert np.abs(shrunk(rgb) - means).max() <= 1, "rounded once across and once down"
    doubled = np.repeat(np.repeat(picture(128, 192), 2, axis=0), 2, axis=1)
    one, other = dense_descriptors(doubled), dense_descriptors(picture(128, 192))
    assert np.array_equal(one.gradients, other.gradients)
    assert np.array_equal(one.colors, other.colors)


def test_sizes_that_do_not_fit_are_left_out() -> None:
    assert len(dense_descriptors(picture(19, 19))) == 4
    assert len(dense_descriptors(picture(20, 20))) == 4 + 1
    assert len(dense_descriptors(picture(12, 12))) == 1


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(DataError, match="8-bit RGB"):
        dense_descriptors(np.zeros((20, 20), np.uint8))
    for cells in ((), (0, 3), (5, 3)):
        with pytest.raises(ParameterError, match="cells"):
            dense_descriptors(picture(20, 20), cells)
    with pytest.raises(ParameterError, match="step"):
        dense_descriptors(picture(20, 20), step=0)
