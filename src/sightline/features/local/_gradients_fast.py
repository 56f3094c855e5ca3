"""The loops of dense local descriptors: integral images, and sums of cells taken from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Bytes, Doubles, Floats

_DIRECTIONS, _SIDE = 8, 4
_COLORS = 6  # mean and spread of L, a and b
_GRADIENTS = _SIDE * _SIDE * _DIRECTIONS
_2 = np.uint8(2)


@njit(cache=True, nogil=True)
def fill_grey(rgb: Bytes, grey: Floats) -> None:
    """Write the brightness of every pixel."""
    for y in range(rgb.shape[0]):
        for x in range(rgb.shape[1]):
            p = rgb[y, x]
            grey[y, x] = 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]


@njit(cache=True, nogil=True)
def integrate(rgb: Bytes, grey: Floats, lab: Floats, sums: Doubles) -> None:
    """Write for each corner the sums over all pixels above and to the left of it.

    The first eight are gradient strength by direction, shared linearly between the two nearest;
    then come L, a, b and their squares. `sums` is (height + 1, width + 1, 14), its first row and
    column zero.
    """
    height, width = grey.shape
    row = np.zeros(14)
    for y in range(height):
        row[:] = 0
        above, below = grey[max(y - 1, 0)], grey[min(y + 1, height - 1)]
        for x in range(width):
            right = 0.5 * (grey[y, min(x + 1, width - 1)] - grey[y, max(x - 1, 0)])
            down = 0.5 * (below[x] - above[x])
            strength = np.sqrt(right * right + down * down)
            if strength > 0:
                angle = np.arctan2(down, right) * (4 / np.pi)
                if angle < 0:
                    angle += 8
                # A tiny negative angle can round up to 8 itself.
                first = int(angle)
                share = angle - first
                row[first % 8] += strength * (1 - share)
                row[(first + 1) % 8] += strength * share
            color = lab[rgb[y, x, 0] >> _2, rgb[y, x, 1] >> _2, rgb[y, x, 2] >> _2]
            for c in range(3):
                row[8 + c] += color[c]
                row[11 + c] += color[c] * color[c]
            for k in range(14):
                sums[y + 1, x + 1, k] = sums[y, x + 1, k] + row[k]


@njit(cache=True, nogil=True)
def describe(
    sums: Doubles, side: int, tops: NDArray[np.int64], lefts: NDArray[np.int64],
    gradients: Floats, colors: Floats,
) -> None:  # fmt: skip
    """Write the descriptors whose 4×4 cells of one side begin at each of `tops` and `lefts`."""
    height, width = sums.shape[0] - 1, sums.shape[1] - 1
    reach = side // 4  # so far cells reach into their neighbours
    n = 0
    for y in tops:
        for x in lefts:
            for i in range(_SIDE):
                top = max(y + i * side - reach, 0)
                bottom = min(y + (i + 1) * side + reach, height)
                for j in range(_SIDE):
                    left = max(x + j * side - reach, 0)
                    right = min(x + (j + 1) * side + reach, width)
                    cell = i * _SIDE + j
                    fill_cell(sums, top, bottom, left, right, gradients[n], colors[n], cell)
            root_sift(gradients[n])
            n += 1


@njit(cache=True, nogil=True)
def fill_cell(
    sums: Doubles, top: int, bottom: int, left: int, right: int,
    gradients: Floats, colors: Floats, cell: int,
) -> None:  # fmt: skip
    """Write what one cell holds: mean gradient strengths, and mean and spread of colours."""
    scale = 1.0 / ((bottom - top) * (right - left))
    a, b, c, d = sums[bottom, right], sums[top, right], sums[bottom, left], sums[top, left]
    for k in range(_DIRECTIONS):
        # Differences of large sums can fall a little below zero.
        gradients[cell * _DIRECTIONS + k] = max(0.0, (a[k] - b[k] - c[k] + d[k]) * scale)
    for k in range(8, 11):
        mean = (a[k] - b[k] - c[k] + d[k]) * scale
        square = (a[k + 3] - b[k + 3] - c[k + 3] + d[k + 3]) * scale
        colors[cell * _COLORS + k - 8] = mean
        colors[cell * _COLORS + k - 5] = np.sqrt(max(square - mean * mean, 0.0))


@njit(cache=True, nogil=True)
def root_sift(row: Floats) -> None:
    """Scale gradients: length one, clipped, sum one, square root; weak ones stay below that."""
    square = 0.0
    for k in range(_GRADIENTS):
        square += row[k] * row[k]
    length = max(np.sqrt(square), 3.0)
    total = 0.0
    for k in range(_GRADIENTS):
        row[k] = min(row[k] / length, 0.2)
        total += row[k]
    total = max(total, 1.0)
    for k in range(_GRADIENTS):
        row[k] = np.sqrt(row[k] / total)
