"""The loops of the edge histogram: tiles, their four quarters, and the kind of edge of each.

Brightness is exact: 219 (299 R + 587 G + 114 B) / 256,000 + 16.5, rounded down, in whole numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit

_ROOT_2 = np.sqrt(2.0)
_LEAST = 11.0


@njit(cache=True, nogil=True)
def luma(red: int, green: int, blue: int) -> int:
    """Return the brightness of a pixel, from 16 to 234."""
    return (438 * (299 * red + 587 * green + 114 * blue) + 8_448_000) // 512_000


@njit(cache=True, nogil=True)
def kind_of(a: float, b: float, c: float, d: float) -> int:
    """Return the kind of edge, 0 to 4, of four means (top then bottom), or -1 for none."""
    best, kind = abs(a - b + c - d), 0
    strength = abs(a + b - c - d)
    if strength > best:
        best, kind = strength, 1
    strength = _ROOT_2 * abs(a - d)
    if strength > best:
        best, kind = strength, 2
    strength = _ROOT_2 * abs(b - c)
    if strength > best:
        best, kind = strength, 3
    strength = 2 * abs(a - b - c + d)
    if strength > best:
        best, kind = strength, 4
    return kind if best >= _LEAST else -1


@njit(cache=True, nogil=True)
def mean_of(rgb: NDArray[np.uint8], top: int, left: int, half: int) -> float:
    """Return the mean brightness of a square."""
    total = 0
    for y in range(top, top + half):
        for x in range(left, left + half):
            total += luma(int(rgb[y, x, 0]), int(rgb[y, x, 1]), int(rgb[y, x, 2]))
    return total / (half * half)


@njit(cache=True, nogil=True)
def count_edges(
    rgb: NDArray[np.uint8], side: int, counts: NDArray[np.int64], tiles: NDArray[np.int64]
) -> None:
    """Count the kinds of edge in (16, 5) `counts`, and all tiles of each part in `tiles`."""
    height, width, _ = rgb.shape
    half = side // 2
    for y in range(0, height - side + 1, side):
        for x in range(0, width - side + 1, side):
            part = 4 * x // width + 4 * (4 * y // height)
            tiles[part] += 1
            kind = kind_of(
                mean_of(rgb, y, x, half),
                mean_of(rgb, y, x + half, half),
                mean_of(rgb, y + half, x, half),
                mean_of(rgb, y + half, x + half, half),
            )
            if kind >= 0:
                counts[part, kind] += 1
