"""The loops of the colour and edge descriptor: blocks, their textures and their fuzzy colours.

Means and the hue are whole numbers, rounded down, computed without any rounding before that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles

_ROOT_2 = np.sqrt(2.0)
_LEAST = 14.0
_NO_DIRECTION, _DIRECTION = 0.68, 0.98


@njit(cache=True, nogil=True)
def member(value: int, low: int, full: int, end: int, high: int) -> float:
    """Return how far a value belongs to a set: rising, full, falling."""
    if full <= value <= end:
        return 1.0
    if low < value < full:
        return (value - low) / (full - low)
    if end < value < high:
        return (high - value) / (high - end)
    return 0.0


@njit(cache=True, nogil=True)
def hsv(red: int, green: int, blue: int) -> tuple[int, int, int]:
    """Return hue from 0 to 359, saturation and value from 0 to 255."""
    value, least = max(red, green, blue), min(red, green, blue)
    reach = value - least
    if reach == 0:
        return 0, 0, value
    saturation = 255 * reach // value
    if value == red:
        turn = 60 * (green - blue)
        return (turn if green >= blue else 359 * reach + turn) // reach, saturation, value
    if value == green:
        return (119 * reach + 60 * (blue - red)) // reach, saturation, value
    return (239 * reach + 60 * (red - green)) // reach, saturation, value


@njit(cache=True, nogil=True)
def fill_colors(
    red: int, green: int, blue: int, hues: NDArray[np.int64], ten: Doubles, colors: Doubles
) -> None:
    """Write how far a colour belongs to each of 24; `ten` is room for the first system's."""
    hue, saturation, value = hsv(red, green, blue)
    pale, rich = member(saturation, 0, 0, 10, 75), member(saturation, 10, 75, 255, 255)
    dark, bright = member(value, 0, 0, 10, 75), member(value, 180, 220, 255, 255)
    middle = member(value, 10, 75, 180, 220)
    ten[:] = 0
    for i in range(8):
        h = member(hue, hues[i, 0], hues[i, 1], hues[i, 2], hues[i, 3])
        if h == 0:
            continue
        ten[0] += min(h, pale, bright)
        ten[1] += min(h, pale, middle)
        ten[2] += min(h, pale, dark) + min(h, rich, dark)
        ten[3 + i % 7] += min(h, rich, middle) + min(h, rich, bright)
    colors[:3] = ten[:3]
    pale, rich = member(saturation, 0, 0, 68, 188), member(saturation, 68, 188, 255, 255)
    dark, bright = member(value, 0, 0, 68, 188), member(value, 68, 188, 255, 255)
    for c in range(3, 10):
        colors[3 * (c - 2)] = ten[c] * min(pale, bright)
        colors[3 * (c - 2) + 1] = ten[c] * min(rich, bright)
        colors[3 * (c - 2) + 2] = ten[c] * (min(pale, dark) + min(rich, dark))


@njit(cache=True, nogil=True)
def add_textures(a: int, b: int, c: int, d: int, colors: Doubles, histogram: Doubles) -> None:
    """Add colours to each texture that four means of brightness (top then bottom) have."""
    none, across, along = abs(2 * a - 2 * b - 2 * c + 2 * d), abs(a + b - c - d), abs(a - b + c - d)
    rising, falling = _ROOT_2 * abs(a - d), _ROOT_2 * abs(b - c)
    best = max(float(none), float(across), float(along), rising, falling)
    if best < _LEAST:
        histogram[0] += colors
        return
    if none / best > _NO_DIRECTION:
        histogram[1] += colors
    if across / best > _DIRECTION:
        histogram[2] += colors
    if along / best > _DIRECTION:
        histogram[3] += colors
    if rising / best > _DIRECTION:
        histogram[4] += colors
    if falling / best > _DIRECTION:
        histogram[5] += colors


@njit(cache=True, nogil=True)
def add_blocks(
    rgb: NDArray[np.uint8], down: int, right: int, rows: int, columns: int,
    hues: NDArray[np.int64], histogram: Doubles,
) -> None:  # fmt: skip
    """Add the colours and textures of `rows` times `columns` blocks of down × right pixels."""
    ten, colors = np.zeros(10), np.zeros(24)
    luma, quarter = np.zeros(4, np.int64), (down // 2) * (right // 2)
    for i in range(rows):
        for j in range(columns):
            luma[:] = 0
            red = green = blue = 0
            for y in range(down):
                line = rgb[i * down + y]
                for x in range(right):
                    p = line[j * right + x]
                    r, g, b = int(p[0]), int(p[1]), int(p[2])
                    red, green, blue = red + r, green + g, blue + b
                    part = 2 * (y >= down // 2) + (x >= right // 2)
                    luma[part] += 299 * r + 587 * g + 114 * b
            n = 4 * quarter
            fill_colors(red // n, green // n, blue // n, hues, ten, colors)
            means = luma // (1000 * quarter)
            add_textures(means[0], means[1], means[2], means[3], colors, histogram)
