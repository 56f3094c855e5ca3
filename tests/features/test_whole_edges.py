"""The edge direction histogram: edges of known directions, mirror images, other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.features.whole.edges import EdgeDirections, edge_pixels, slopes
from sightline.testing import check_feature
from tests.factories.photos import patches

RGB = NDArray[np.uint8]
_seed = st.integers(0, 2**32 - 1)


def noise(height: int, width: int, seed: int = 0) -> RGB:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def half_plane(degrees: float, bright: int = 200) -> RGB:
    """A picture that is bright on one side of its middle, the slope going to `degrees`."""
    y, x = np.indices((60, 60)) - 29.5
    turn = np.deg2rad(degrees)
    share = np.clip(x * np.cos(turn) + y * np.sin(turn) + 0.5, 0, 1)
    return np.repeat((share * bright).round().astype(np.uint8)[..., None], 3, axis=2)


def row(rgb: RGB) -> NDArray[np.float32]:
    return EdgeDirections().describe(rgb)


def test_it_keeps_the_contract() -> None:
    check_feature(EdgeDirections())


@pytest.mark.parametrize("k", range(36))
def test_each_direction_has_its_bin(k: int) -> None:
    found = row(half_plane(10 * k))
    near = [(k - 1) % 36, k, (k + 1) % 36]
    assert found[:36].argmax() == k and found[near].sum() > 0.95
    assert 0.9 < found[36] < 1


def test_a_step_by_hand() -> None:
    """Two columns of equal slope lie at a step; they are the edge, whatever the row."""
    found = row(half_plane(0))
    assert found[0] == 1 and not found[1:36].any()
    assert found[36] == pytest.approx(58 / 60)


@pytest.mark.parametrize("level", [0, 128, 255])
def test_a_constant_picture_has_no_edge(level: int) -> None:
    found = row(np.full((30, 40, 3), level, np.uint8))
    assert found[36] == 1 and not found[:36].any()


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 2), (3, 1), (1, 384), (300, 3)])
def test_any_shape_is_described(shape: tuple[int, int]) -> None:
    found = row(noise(*shape))
    assert np.isfinite(found).all() and 0 <= found[36] <= 1
    assert found[:36].sum() == pytest.approx(float(found[36] < 1), abs=1e-5)


def test_weak_edges_count_where_a_strong_one_goes_on() -> None:
    """A step of 40 levels is an edge if it is connected to one of 200, else it is none."""
    weak = half_plane(0, 40)
    assert row(weak)[36] == 1
    fading = (np.linspace(200, 40, 60)[:, None] * (weak[..., 0] > 0)).astype(np.uint8)
    right, down = slopes(fading)
    assert edge_pixels(right, down)[:, 29:31].any(axis=1).all()


def test_slopes_are_those_of_smoothed_pictures() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    grey = noise(20, 31)[..., 0]
    smooth = grey.astype(np.int64)
    for axis in (0, 1):
        smooth = ndimage.correlate1d(smooth, [1, 4, 6, 4, 1], axis, mode="nearest")
    right, down = slopes(grey)
    inner = (slice(1, -1), slice(1, -1))
    assert np.array_equal(right[inner], ndimage.sobel(smooth, 1, mode="nearest")[inner])
    assert np.array_equal(down[inner], ndimage.sobel(smooth, 0, mode="nearest")[inner])


@given(_seed)
def test_mirror_images_have_mirrored_directions(seed: int) -> None:
    rgb = patches(seed, 40, 57)
    found, across, turned = row(rgb), row(rgb[:, ::-1]), row(rgb[::-1, ::-1])
    k = np.arange(36)
    assert np.array_equal(across[(18 - k) % 36], found[:36]) and across[36] == found[36]
    assert np.array_equal(turned[(k + 18) % 36], found[:36]) and turned[36] == found[36]


@given(_seed, st.integers(1, 100))
def test_brightness_does_not_matter_and_negatives_point_backwards(seed: int, more: int) -> None:
    grey = np.repeat(patches(seed, 40, 57)[..., :1] // 2, 3, axis=2)
    found = row(grey)
    assert np.array_equal(row(grey + np.uint8(more)), found)
    negative = row((255 - grey).astype(np.uint8))
    assert np.array_equal(np.roll(negative[:36], 18), found[:36])


def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(DataError, match="8-bit RGB"):
        row(np.zeros((4, 4), np.uint8))
