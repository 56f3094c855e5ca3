"""SIFT: its loops against slow twins, and keypoints that are found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from sightline.errors import DataError
from sightline.features.local import sift
from sightline.features.local._sift_fast import fill_descriptor, fill_directions, find_extremes
from sightline.features.local.sift import Keypoints, keypoints
from tests.factories.fresh_python import imported_by
from tests.factories.photos import blobs
from tests.naive import sift as naive

RGB = NDArray[np.uint8]
Floats = NDArray[np.float32]


def small(seed: int, height: int = 22, width: int = 26) -> Floats:
    """A little noise keeps gradients off the borders between directions."""
    noise = np.random.default_rng(seed).uniform(-1e-3, 1e-3, (height, width))
    return (blobs(seed, height, width)[..., 0] / 255 + noise).astype(np.float32)


def found_again(one: Keypoints, other: Keypoints, moved: NDArray[np.float64]) -> float:
    """The share of keypoints whose nearest descriptor lies where it was moved to."""
    nearest = (one.descriptors @ other.descriptors.T).argmax(axis=1)
    apart = np.linalg.norm(other.positions[nearest] - moved, axis=1)
    return float((apart < 1.5).mean())


@pytest.mark.parametrize("sigma", [0.5, 1.25, 2.4])
def test_smoothing_equals_the_slow_twin(sigma: float) -> None:
    for shape in ((1, 1), (3, 9), (14, 11)):
        image = np.random.default_rng(0).random(shape).astype(np.float32)
        np.testing.assert_allclose(
            sift._blurred(image, sigma), naive.blurred(image, sigma), atol=1e-6
        )


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_extremes_equal_the_slow_twin(seed: int) -> None:
    image = small(seed)
    images = np.stack([sift._blurred(image, s) for s in (0.8, 1.1, 1.5, 2.0, 2.6)])
    stack = images[1:] - images[:-1]
    room = np.zeros((50, 5))
    for contrast, edge in ((0.002, 10.0), (0.01, 3.0)):
        n = find_extremes(stack, contrast, edge, room)
        twin = naive.extremes(stack, contrast, edge)
        np.testing.assert_allclose(room[:n], np.reshape(twin, (-1, 5)), atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.floats(0, 21), st.floats(0, 25), st.floats(1.6, 3.2))
@settings(max_examples=8)
def test_directions_equal_the_slow_twin(seed: int, y: float, x: float, sigma: float) -> None:
    image = small(seed)
    strengths = np.zeros(36)
    fill_directions(image, y, x, sigma, strengths)
    np.testing.assert_allclose(strengths, naive.directions(image, y, x, sigma), atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.floats(4, 17), st.floats(4, 20), st.floats(0, 6.28))
@settings(max_examples=8)
def test_descriptors_equal_the_slow_twin(seed: int, y: float, x: float, angle: float) -> None:
    image = small(seed)
    row = np.zeros(128, np.float32)
    fill_descriptor(image, y, x, 1.7, angle, *sift._samples(), row)
    np.testing.assert_allclose(row, naive.descriptor(image, y, x, 1.7, angle), atol=1e-4)


def test_a_spot_has_its_place_and_scale() -> None:
    """The differences of a Gaussian spot of size t are extreme where sigma is about t."""
    y, x = np.indices((90, 110))
    for size in (2.0, 4.0, 8.0):
        spot = 40 + 180 * np.exp(-((y - 41) ** 2 + (x - 63) ** 2) / (2 * size**2))
        found = keypoints(np.repeat(spot.astype(np.uint8)[..., None], 3, axis=2))
        best = np.abs(found.positions - (41, 63)).sum(axis=1).argmin()
        assert np.abs(found.positions[best] - (41, 63)).max() < 0.5
        assert 0.7 < found.sigmas[best] / size < 1.4


def test_descriptors_are_square_roots_of_shares() -> None:
    found = keypoints(blobs(1))
    assert len(found) > 30 and found.descriptors.dtype == np.float32
    np.testing.assert_allclose((found.descriptors**2).sum(axis=1), 1, atol=1e-5)
    assert found.descriptors.min() >= 0
    assert np.array_equal(found.descriptors, keypoints(blobs(1).copy()).descriptors)


def test_keypoints_are_found_again_in_a_turned_picture() -> None:
    rgb = blobs(2)
    one, other = keypoints(rgb), keypoints(np.ascontiguousarray(np.rot90(rgb)))
    moved = np.stack([rgb.shape[1] - 1 - one.positions[:, 1], one.positions[:, 0]], axis=1)
    assert found_again(one, other, moved) > 0.9
    assert found_again(one, other, one.positions) < 0.1


def test_keypoints_are_found_again_in_a_smaller_picture() -> None:
    rgb = blobs(3, 144, 192)
    smaller = np.asarray(Image.fromarray(rgb).resize((128, 96), Image.Resampling.LANCZOS))
    one, other = keypoints(rgb), keypoints(smaller)
    scales = one.sigmas > 2
    chosen = Keypoints(one.descriptors[scales], one.positions[scales], one.sigmas, one.angles)
    assert found_again(chosen, other, (chosen.positions + 0.5) / 1.5 - 0.5) > 0.75
    assert found_again(chosen, other, chosen.positions) < 0.1


def test_upside_down_keypoints_are_turned_by_half() -> None:
    rgb = blobs(4, 97, 129)
    one, other = keypoints(rgb), keypoints(np.ascontiguousarray(rgb[::-1, ::-1]))
    moved = np.array([96, 128]) - one.positions
    assert found_again(one, other, moved) > 0.95
    nearest = (one.descriptors @ other.descriptors.T).argmax(axis=1)
    turned = np.abs((other.angles[nearest] - one.angles) % (2 * np.pi) - np.pi)
    assert np.median(turned) < 0.05


def test_brightness_does_not_move_keypoints() -> None:
    rgb = (blobs(5) // 2).astype(np.uint8)
    one, other = keypoints(rgb), keypoints(rgb + np.uint8(60))
    assert len(one) == len(other)
    np.testing.assert_allclose(other.positions, one.positions, atol=0.02)


def test_the_strongest_are_kept() -> None:
    rgb = blobs(6)
    every, some = keypoints(rgb), keypoints(rgb, most=10)
    kept, all_places = ({tuple(p) for p in k.positions.tolist()} for k in (some, every))
    assert len(kept) == 10 and kept < all_places


def test_keypoints_lie_where_scikit_image_has_them() -> None:
    feature = pytest.importorskip("skimage.feature")
    rgb = blobs(7)
    theirs, ours = feature.SIFT(), keypoints(rgb)
    theirs.detect_and_extract(rgb[..., 0] / 255)
    apart = np.linalg.norm(ours.positions[:, None] - theirs.positions, axis=2)
    scales = np.abs(np.log2(ours.sigmas[:, None] / theirs.sigmas))
    near = (apart < 1) & (scales < 0.3)
    assert near.any(axis=1).mean() > 0.8 and near.any(axis=0).mean() > 0.8


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (5, 5), (6, 7), (1, 384), (300, 7), (8, 8)])
def test_any_shape_has_keypoints_or_none(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for rgb in (np.zeros((*shape, 3), np.uint8), rng.integers(0, 256, (*shape, 3), dtype=np.uint8)):
        found = keypoints(rgb)
        assert found.descriptors.shape == (len(found), 128) == (len(found.positions), 128)
        assert np.isfinite(found.descriptors).all() and (rgb.any() or not len(found))
    with pytest.raises(DataError, match="8-bit RGB"):
        keypoints(np.zeros((4, 4), np.uint8))


def test_peaks_are_interpolated_and_flat_histograms_have_none() -> None:
    strengths = np.zeros(36)
    strengths[[35, 0, 1]] = 1, 2, 1.5
    (angle,) = sift.main_directions(strengths)
    assert np.rad2deg(angle) == pytest.approx(10 * 0.5 * 0.5 / 1.5)
    assert sift.main_directions(np.zeros(36)) == [] == sift.main_directions(np.ones(36))


def test_importing_it_does_not_load_the_compiler() -> None:
    modules = ("sightline.features.local.sift", "sightline.features.local.keypoints")
    assert not {"numba", "scipy"} & imported_by(*modules)
