"""Colours of the whole picture: soft histograms in Lab, whole or by cells.

Lab spaces colours by how different they look. A pixel falls into the eight bins around it in
proportion to how near it is to each, so that a slightly different shade gives a slightly different
histogram.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.features.whole.cells import RGB, Float, cell_histograms, small

_BINS = (5, 6, 6)
_LOW, _HIGH = np.array([0.0, -60.0, -60.0]), np.array([100.0, 70.0, 70.0])
_SIDE = 96
_WHITE = np.array([0.95047, 1.0, 1.08883])  # D65
_TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


class Color:
    """The Lab histogram of the whole picture, 5 × 6 × 6 bins.

    >>> red = Color().describe(np.full((4, 4, 3), (255, 0, 0), np.uint8))
    >>> red.shape, round(float(np.linalg.norm(red)), 4)
    ((180,), 1.0)
    """

    name = "color"
    version = 1
    grid = 1

    def __init__(self) -> None:
        self.length = self.grid**2 * int(np.prod(_BINS))

    @property
    def parameters(self) -> dict[str, Json]:
        return {"bins": list[Json](_BINS), "grid": self.grid, "side": _SIDE}

    def describe(self, rgb: RGB) -> Float:
        """Return the histograms of all cells."""
        bins, weights = soft_bins(to_lab(small(rgb, _SIDE)))
        return cell_histograms(bins, weights, int(np.prod(_BINS)), self.grid)


class ColorCells(Color):
    """The Lab histograms of 4 × 4 cells: which colours are where."""

    name = "color-cells"
    version = 1
    grid = 4


def to_lab(rgb: RGB) -> NDArray[np.float64]:
    """Return pixels in CIE Lab (D65), from sRGB.

    >>> to_lab(np.array([[[255, 0, 0]]], np.uint8)).round(1).tolist()
    [[[53.2, 80.1, 67.2]]]
    """
    xyz = _linear()[rgb] @ _TO_XYZ.T / _WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


@cache
def _linear() -> NDArray[np.float64]:
    """Return how much light each of the 256 sRGB values stands for."""
    s = np.arange(256) / 255
    return np.where(s > 0.04045, ((s + 0.055) / 1.055) ** 2.4, s / 12.92)


def soft_bins(lab: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each pixel the eight bins around it, and how much of it falls into each."""
    most = np.array(_BINS) - 1
    place = np.clip((lab - _LOW) / (_HIGH - _LOW) * most, 0, most - 1e-6)
    base = place.astype(np.int64)
    part = place - base
    bins = np.zeros((*lab.shape[:2], 8), np.int64)
    weights = np.ones((*lab.shape[:2], 8))
    for corner in range(8):
        for axis in range(3):
            step = corner >> axis & 1
            bins[..., corner] = bins[..., corner] * _BINS[axis] + base[..., axis] + step
            weights[..., corner] *= part[..., axis] if step else 1 - part[..., axis]
    return bins, weights
