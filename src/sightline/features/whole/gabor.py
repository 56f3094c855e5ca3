"""Gabor texture (120): the responses of a picture to waves of 5 lengths in 8 directions.

The grey picture is squeezed to 64×64 pixels and filtered by 40 Gabor wavelets; of the size of each
response over the picture, mean, deviation and skewness are kept (`moments`): 5 × 8 × 3 = 120
numbers, wave lengths from short to long, in each the directions, of each the moments.

Wavelet (m, n) has the wave vector k = (π/2) 2^(-n/2) (cos, sin)(π m / 8) and the transfer function

    G(w) = exp(-s² |w - k|² / 2|k|²) - exp(-s² (|w|² + |k|²) / 2|k|²),    s = 2π,

which is 0 at w = 0, so that brightness does not matter. Responses are in grey levels from 0 to 1.
The picture goes on beyond its border as its mirror image, so that borders are no edges. Filtering
is done by Fourier transforms, over one period of that continuation, 128×128.

Lades and others: Distortion invariant object recognition in the dynamic link architecture, 1993
(the wavelets and their five lengths). Zhu, Hoi, Lyu, Yan: Near-duplicate keyframe retrieval by
nonrigid image matching, 2008 (64×64, three moments). Departures: skewness in the unit of the
responses; the mirrored border, which they leave open.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats
from sightline.contracts import Json
from sightline.features.local.gradients import brightness
from sightline.features.local.lbp import checked
from sightline.features.whole.moments import moments

SIDE: Final = 64
N_LENGTHS, N_DIRECTIONS = 5, 8
_SHORTEST = np.pi / 2  # radians a pixel
_SPREAD = 2 * np.pi


class GaborMoments:
    """Moments of the responses to Gabor wavelets.

    Examples
    --------
    >>> stripes = np.zeros((64, 64, 3), np.uint8)
    >>> stripes[:, ::4] = stripes[:, 1::4] = 200  # a wave of four pixels, across
    >>> means = GaborMoments().describe(stripes).reshape(5, 8, 3)[..., 0]
    >>> [int(i) for i in np.unravel_index(means.argmax(), means.shape)]
    [0, 0]
    """

    name = "gabor"
    version = 1
    length = N_LENGTHS * N_DIRECTIONS * 3

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"side": SIDE, "lengths": N_LENGTHS, "directions": N_DIRECTIONS}

    def describe(self, rgb: NDArray[np.uint8]) -> Floats:
        """Return the moments of each response."""
        from scipy.fft import fft2, ifft2

        image = np.pad(small_grey(checked(rgb), SIDE), SIDE // 2, "symmetric")
        if not np.ptp(image):
            return np.zeros(self.length, np.float32)
        inner = slice(SIDE // 2, SIDE // 2 + SIDE)
        answers = np.abs(ifft2(fft2(image) * _wavelets())[:, inner, inner])
        return moments(answers.reshape(len(answers), -1)).ravel().astype(np.float32)


def small_grey(rgb: NDArray[np.uint8], side: int) -> Floats:
    """Return the brightness of a picture from 0 to 1, squeezed or stretched to a square.

    >>> small_grey(np.full((3, 5, 3), 255, np.uint8), 2).round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    from PIL import Image

    grey = brightness(rgb)
    # A picture of equal pixels must stay so to the last bit.
    if not np.ptp(grey):
        return np.full((side, side), grey[0, 0] / np.float32(255), np.float32)
    image = Image.fromarray(grey)
    # Means of the pixels covered where it becomes smaller, else linear between pixels.
    wide, high = image.size
    if wide != side:
        how = Image.Resampling.BOX if wide > side else Image.Resampling.BILINEAR
        image = image.resize((side, high), how)
    if high != side:
        how = Image.Resampling.BOX if high > side else Image.Resampling.BILINEAR
        image = image.resize((side, side), how)
    return np.asarray(image, np.float32) / np.float32(255)


@cache
def _wavelets() -> Floats:
    """Return the transfer functions, (40, 128, 128)."""
    w = 2 * np.pi * np.fft.fftfreq(2 * SIDE)
    down, right = w[:, None], w[None, :]
    functions = []
    for n in range(N_LENGTHS):
        k = _SHORTEST * 2 ** (-n / 2)
        scale = _SPREAD**2 / (2 * k * k)
        for m in range(N_DIRECTIONS):
            x, y = k * np.cos(np.pi * m / N_DIRECTIONS), k * np.sin(np.pi * m / N_DIRECTIONS)
            wave = np.exp(-scale * ((right - x) ** 2 + (down - y) ** 2))
            functions.append(wave - np.exp(-scale * (right**2 + down**2 + k * k)))
    table = np.stack(functions)
    table[:, 0, 0] = 0  # as in the formula, but for rounding
    return table.astype(np.float32)
