"""Colour moments and local binary patterns of the whole picture: pictures counted by hand."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.features.local.layout import rgb_to_lab
from sightline.features.whole.color import ColorMoments, channels
from sightline.features.whole.lbp import Patterns
from sightline.features.whole.moments import moments
from sightline.testing import check_feature
from tests.factories.photos import patches
from tests.naive import local as naive

RGB = NDArray[np.uint8]


class OfRGB(ColorMoments):
    space = "rgb"


class OfLab(ColorMoments):
    space = "lab"


KINDS = (ColorMoments, OfRGB, OfLab)
_seed = st.integers(0, 2**32 - 1)
_pixels = arrays(np.uint8, (4, 5, 3))


def noise(height: int, width: int, seed: int = 0) -> RGB:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", [*KINDS, Patterns])
def test_they_keep_the_contract(kind: type[ColorMoments] | type[Patterns]) -> None:
    check_feature(kind())


@pytest.mark.parametrize("kind", [*KINDS, Patterns])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 2), (3, 3), (1, 384), (200, 2)])
def test_any_shape_is_described(
    kind: type[ColorMoments] | type[Patterns], shape: tuple[int, int]
) -> None:
    for rgb in (noise(*shape), np.full((*shape, 3), 255, np.uint8)):
        row = kind().describe(rgb)
        assert row.shape == (kind.length,) and np.isfinite(row).all()
    with pytest.raises(DataError, match="8-bit RGB"):
        kind().describe(np.zeros((4, 4), np.uint8))


def test_moments_by_hand() -> None:
    # Of 0, 0, 0, 1 the mean is 1/4; squares 3/16, cubes (27 - 3) / 64 / 4.
    found = moments(np.array([0.0, 0, 0, 1]))
    np.testing.assert_allclose(found, [0.25, (3 / 16) ** 0.5, (24 / 256) ** (1 / 3)])
    assert moments(-np.array([0.0, 0, 0, 1]))[2] == -found[2]
    assert moments(np.full(7, 0.1, np.float32))[1:].tolist() == [0, 0]


def test_a_cell_is_told_by_its_own_pixels() -> None:
    rgb = np.zeros((6, 9, 3), np.uint8)
    rgb[2:4, 6:9, 1] = 255  # the whole of cell (1, 2)
    rgb[0, 0] = 255  # one of six pixels of cell (0, 0)
    found = OfRGB().describe(rgb).reshape(3, 3, 3, 3)
    assert found[1, 2].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(found[0, 0], [moments(np.eye(1, 6))[0]] * 3, rtol=1e-6)
    found[1, 2] = found[0, 0] = 0
    assert not found.any()


@given(_pixels)
def test_hue_saturation_and_value_are_the_usual_ones(rgb: RGB) -> None:
    found = channels(rgb, "hsv").reshape(3, -1).T
    wanted = [colorsys.rgb_to_hsv(*(int(v) / 255 for v in p)) for p in rgb.reshape(-1, 3)]
    # A hue of almost a whole turn is almost none.
    apart = np.abs(found - np.array(wanted))
    assert found.min() >= 0 and found.max() <= 1
    assert (np.minimum(apart, 1 - apart)[:, 0] < 1e-5).all() and (apart[:, 1:] < 1e-5).all()


def test_lab_is_a_hundredth_of_lab() -> None:
    rgb = noise(3, 4)
    wanted = rgb_to_lab(rgb.reshape(-1, 3).astype(float)) / 100
    np.testing.assert_allclose(channels(rgb, "lab").reshape(3, -1).T, wanted, atol=1e-6)


@given(_seed, st.permutations(range(3)))
def test_other_channels_give_other_places(seed: int, order: list[int]) -> None:
    rgb = patches(seed, 20, 31)
    found = OfRGB().describe(rgb).reshape(9, 3, 3)
    swapped = OfRGB().describe(np.ascontiguousarray(rgb[..., order])).reshape(9, 3, 3)
    assert np.array_equal(swapped, found[:, order])


@given(_seed)
def test_mirror_images_have_mirrored_cells(seed: int) -> None:
    rgb = patches(seed, 18, 30)
    for kind in KINDS:
        found, mirrored, turned = (
            kind().describe(p).reshape(3, 3, 9) for p in (rgb, rgb[:, ::-1], rgb[::-1, ::-1])
        )
        np.testing.assert_allclose(mirrored[:, ::-1], found, atol=2e-4)
        np.testing.assert_allclose(turned[::-1, ::-1], found, atol=2e-4)


@given(_seed, st.integers(1, 100))
def test_brighter_pictures_differ_in_their_means_alone(seed: int, more: int) -> None:
    rgb = (patches(seed, 18, 30) // 2).astype(np.uint8)
    found, brighter = (OfRGB().describe(p).reshape(27, 3) for p in (rgb, rgb + np.uint8(more)))
    np.testing.assert_allclose(brighter - found, [[more / 255, 0, 0]] * 27, atol=2e-4)


def test_a_grey_picture_has_no_hue_and_no_saturation() -> None:
    grey = np.repeat(noise(12, 12)[..., :1], 3, axis=2)
    found = ColorMoments().describe(grey).reshape(9, 3, 3)
    assert not found[:, :2].any() and found[:, 2].all()


def test_an_unknown_space_is_named() -> None:
    with pytest.raises(ParameterError, match="one of hsv, lab, rgb"):
        channels(noise(2, 2), "xyz")
    assert len({str(kind().parameters) for kind in KINDS}) == 3


@pytest.mark.parametrize("shape", [(1, 1), (4, 7), (15, 12)])
def test_patterns_equal_the_slow_twin(shape: tuple[int, int]) -> None:
    rgb = patches(1, *shape)
    uniform = naive.uniform_codes()
    places = [uniform.index(c) if c in uniform else 58 for c in naive.codes(rgb).ravel().tolist()]
    wanted = np.bincount(places, minlength=59) / len(places)
    np.testing.assert_allclose(Patterns().describe(rgb), wanted, rtol=1e-6)


@given(_seed, st.integers(1, 100))
def test_brightness_does_not_change_patterns(seed: int, more: int) -> None:
    rgb = np.repeat(patches(seed, 18, 30)[..., :1] // 2, 3, axis=2)
    row = Patterns().describe(rgb)
    assert row.sum() == pytest.approx(1, abs=1e-5)
    assert np.array_equal(row, Patterns().describe(rgb + np.uint8(more)))
