"""Gabor texture and GIST: waves of known length and direction, borders, mirror images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.features.whole.gabor import GaborMoments, _wavelets, small_grey
from sightline.features.whole.gist import Gist, _filters, evened
from sightline.testing import check_feature
from tests.factories.photos import patches

RGB = NDArray[np.uint8]
Kind = type[GaborMoments] | type[Gist]
_seed = st.integers(0, 2**32 - 1)


def noise(height: int, width: int, seed: int = 0) -> RGB:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def wave(side: int, radians: float, degrees: float) -> RGB:
    y, x = np.indices((side, side))
    turn = np.deg2rad(degrees)
    place = radians * (x * np.cos(turn) + y * np.sin(turn))
    return np.repeat((128 + 100 * np.sin(place)).astype(np.uint8)[..., None], 3, axis=2)


@pytest.mark.parametrize("kind", [GaborMoments, Gist])
def test_they_keep_the_contract(kind: Kind) -> None:
    check_feature(kind())


@pytest.mark.parametrize("kind", [GaborMoments, Gist])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (3, 3), (1, 384), (200, 2)])
def test_any_shape_is_described(kind: Kind, shape: tuple[int, int]) -> None:
    row = kind().describe(noise(*shape))
    assert row.shape == (kind.length,) and np.isfinite(row).all()
    with pytest.raises(DataError, match="8-bit RGB"):
        kind().describe(np.zeros((4, 4), np.uint8))


@pytest.mark.parametrize("kind", [GaborMoments, Gist])
@pytest.mark.parametrize("level", [0, 1, 99, 255])
def test_a_constant_picture_has_no_texture(kind: Kind, level: int) -> None:
    assert not kind().describe(np.full((50, 90, 3), level, np.uint8)).any()


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize("m", range(8))
def test_each_wavelet_answers_to_its_own_wave(n: int, m: int) -> None:
    rgb = wave(64, np.pi / 2 * 2 ** (-n / 2), 180 * m / 8)
    means = GaborMoments().describe(rgb).reshape(5, 8, 3)[..., 0]
    assert means.argmax() == 8 * n + m
    if n == 0:
        # Half of a sine's 100 levels answers; the mirrored border does not know the direction.
        assert means.max() == pytest.approx(50 / 255, rel=0.15)


def test_wavelets_are_as_the_formula_says() -> None:
    found = _wavelets()
    assert found.shape == (40, 128, 128) and not found[:, 0, 0].any()
    n, m, row, column = 2, 3, 9, -5
    k = np.pi / 2 * 2 ** (-n / 2) * np.array([np.sin(np.pi * m / 8), np.cos(np.pi * m / 8)])
    w = 2 * np.pi / 128 * np.array([row, column])
    s2 = (2 * np.pi) ** 2 / (2 * k @ k)
    wanted = np.exp(-s2 * ((w - k) @ (w - k))) - np.exp(-s2 * (w @ w + k @ k))
    assert found[8 * n + m, row, column] == pytest.approx(wanted, rel=1e-4)


def test_a_gabor_answer_equals_a_plain_sum() -> None:
    """One pixel's answer, as a sum over the mirrored picture in space instead of frequency."""
    image = np.pad(small_grey(patches(4, 64, 64), 64), 32, "symmetric").astype(np.float64)
    kernel = np.fft.ifft2(_wavelets()[11].astype(np.float64))
    y, x = 60, 47
    total = sum(
        image[(y - i) % 128, (x - j) % 128] * kernel[i, j] for i in range(128) for j in range(128)
    )
    answers = np.abs(np.fft.ifft2(np.fft.fft2(image) * _wavelets()[11]))
    assert abs(total) == pytest.approx(answers[y, x], rel=1e-6)
    mean = answers[32:96, 32:96].mean()
    row = GaborMoments().describe(patches(4, 64, 64)).reshape(40, 3)
    assert row[11, 0] == pytest.approx(mean, rel=1e-4)


@given(_seed)
@settings(max_examples=10)
def test_gabor_of_mirrored_turned_and_brighter_pictures(seed: int) -> None:
    rgb = (patches(seed, 64, 64) // 2).astype(np.uint8)
    m = np.arange(8)

    def described(picture: RGB) -> NDArray[np.float32]:
        return GaborMoments().describe(picture).reshape(5, 8, 3)

    def alike(one: NDArray[np.float32], other: NDArray[np.float32]) -> None:
        np.testing.assert_allclose(one, other, atol=2e-4, rtol=1e-3)

    found = described(rgb)
    alike(described(rgb[:, ::-1])[:, (8 - m) % 8], found)
    alike(described(rgb[::-1, ::-1]), found)
    alike(described(np.rot90(rgb))[:, (m + 4) % 8], found)
    alike(described(rgb + np.uint8(90)), found)
    alike(described(rgb * np.uint8(2)), 2 * found)


def test_small_grey_keeps_means_and_stays_even() -> None:
    rgb = noise(128, 192)
    grey = rgb.astype(np.float64) @ [0.299, 0.587, 0.114] / 255
    wanted = grey.reshape(64, 2, 64, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(small_grey(rgb, 64), wanted, atol=1e-6)
    assert small_grey(noise(3, 200), 64).shape == (64, 64)
    assert np.ptp(small_grey(np.full((7, 9, 3), 33, np.uint8), 64)) == 0


@pytest.mark.parametrize("i", range(4))
@pytest.mark.parametrize("j", range(8))
def test_each_filter_of_gist_answers_to_its_own_wave(i: int, j: int) -> None:
    # Rows grow downwards, and the angle of filter j is -π j / 8.
    rgb = wave(128, 2 * np.pi * 0.3 / 1.85**i, -180 * j / 8)
    means = Gist().describe(rgb).reshape(4, 8, 16).mean(axis=2)
    assert means.argmax() == 8 * i + j


def test_filters_of_gist_are_as_the_formula_says() -> None:
    n, i, j, row, column = 160, 1, 2, -12, 20
    f, t = np.hypot(row, column) / n, np.arctan2(row, column)
    wanted = np.exp(-3.5 * (f / (0.3 / 1.85**i) - 1) ** 2 - 2 * np.pi * (t + np.pi * j / 8) ** 2)
    assert _filters(n)[8 * i + j, row, column] == pytest.approx(wanted, rel=1e-4)


def test_cells_of_gist_lie_row_by_row() -> None:
    rgb = np.full((128, 128, 3), 100, np.uint8)
    rgb[40:56, 104:120] = noise(16, 16)  # within cell (1, 3)
    cells = Gist().describe(rgb).reshape(32, 4, 4).sum(axis=0)
    assert cells.argmax() == 4 * 1 + 3


def test_contrast_is_made_even() -> None:
    """Grain a fifth as strong as other grain is more than a third as strong after it."""
    grey = 0.5 + 0.4 * np.random.default_rng(0).random((128, 128))
    grey[:, 64:] = 0.5 + 0.2 * (grey[:, 64:] - 0.5)
    found = evened(grey.astype(np.float32))
    before = grey[:, :48].std() / grey[:, 80:].std()
    assert before > 4 and found[:, :48].std() / found[:, 80:].std() < 3


def test_evening_equals_gaussians_in_space() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    grey = np.random.default_rng(0).random((128, 128)).astype(np.float32)
    image = np.pad(np.log(1 + 255 * grey.astype(np.float64)), 5, "symmetric")
    # A transfer function of one half at four cycles is a Gaussian of this width in space.
    sigma = len(image) * np.sqrt(np.log(2) / 2) / (4 * np.pi)

    def smooth(a: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(ndimage.gaussian_filter(a, sigma, mode="wrap", truncate=8))

    centred = image - smooth(image)
    wanted = (centred / (0.2 + np.sqrt(smooth(centred**2))))[5:-5, 5:-5]
    np.testing.assert_allclose(evened(grey), wanted, atol=2e-3)


@given(_seed)
@settings(max_examples=10)
def test_gist_of_mirrored_and_turned_pictures(seed: int) -> None:
    rgb = patches(seed, 128, 128)
    j = np.arange(8)
    found, mirrored, turned = (
        Gist().describe(p).reshape(4, 8, 4, 4) for p in (rgb, rgb[:, ::-1], rgb[::-1, ::-1])
    )
    np.testing.assert_allclose(turned[:, :, ::-1, ::-1], found, rtol=0.02, atol=0.005)
    np.testing.assert_allclose(mirrored[:, (8 - j) % 8, :, ::-1], found, rtol=0.02, atol=0.005)


def test_another_side_is_another_feature() -> None:
    class Large(Gist):
        side = 256

    check_feature(Large())
    assert Large().parameters != Gist().parameters
