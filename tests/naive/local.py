"""Slow, readable twins of the local features: one pixel, block or point at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]
Floats = NDArray[np.float32]


def grey(rgb: RGB) -> NDArray[np.int64]:
    height, width, _ = rgb.shape
    out = np.zeros((height, width), np.int64)
    for y in range(height):
        for x in range(width):
            red, green, blue = (int(v) for v in rgb[y, x])
            out[y, x] = (77 * red + 150 * green + 29 * blue + 128) // 256
    return out


def code(image: NDArray[np.int64], y: int, x: int) -> int:
    """The code of one pixel, in exact arithmetic; the border repeats the outermost pixels."""
    height, width = image.shape

    def at(dy: int, dx: int) -> int:
        return int(image[min(max(y + dy, 0), height - 1), min(max(x + dx, 0), width - 1)])

    own = at(0, 0)
    # Points at 0, 45, ... degrees; y grows downwards.
    ways = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
    total = 0
    for k, (dy, dx) in enumerate(ways):
        if dy == 0 or dx == 0:
            bit = at(2 * dy, 2 * dx) >= own
        else:
            # With f = √2 - 1 the weights (1-f)², f(1-f) twice and f² are f² times 2, √2, √2, 1.
            straight = 2 * at(dy, dx) + at(2 * dy, 2 * dx) - 3 * own
            beside = at(dy, 2 * dx) + at(2 * dy, dx) - 2 * own
            bit = at_least_zero(straight, beside)
        total |= int(bit) << k
    return total


def at_least_zero(a: int, b: int) -> bool:
    """Say whether a + √2 b >= 0, exactly."""
    if a >= 0 and b >= 0:
        return True
    if a < 0 and b < 0:
        return False
    return a * a >= 2 * b * b if a >= 0 else 2 * b * b >= a * a


def codes(rgb: RGB) -> NDArray[np.uint8]:
    image = grey(rgb)
    found = [[code(image, y, x) for x in range(image.shape[1])] for y in range(image.shape[0])]
    return np.array(found, np.uint8)


def uniform_codes() -> list[int]:
    """Codes whose bits change at most twice around the circle."""
    found = []
    for c in range(256):
        bits = [c >> k & 1 for k in range(8)]
        if sum(bits[k] != bits[(k + 1) % 8] for k in range(8)) <= 2:
            found.append(c)
    return found


def block_rows(
    found: NDArray[np.uint8], colors: NDArray[np.uint8], n_colors: int, side: int, step: int
) -> Floats:
    """Descriptors of all complete blocks, from the map of codes and the map of colours."""
    height, width = found.shape
    uniform = uniform_codes()
    rows = []
    for top in range(0, height - side + 1, side // 2):
        for left in range(0, width - side + 1, side // 2):
            patterns: Counter[int] = Counter()
            tints: Counter[int] = Counter()
            for y in range(top, top + side):
                for x in range(left, left + side):
                    if y % step == 0 and x % step == 0:
                        c = int(found[y, x])
                        patterns[uniform.index(c) if c in uniform else 58] += 1
                    if y % step**2 == 0 and x % step**2 == 0:
                        tints[int(colors[y, x])] += 1
            row = [patterns[i] / patterns.total() for i in range(59)]
            rows.append(row + [tints[i] / tints.total() for i in range(n_colors)])
    return np.array(rows, np.float32)


def nearest(points: Floats, centers: Floats) -> list[int]:
    """The nearest centre of each point, the first of equally near ones."""
    labels = []
    for p in points.astype(np.float64):
        distances = [float(np.sum((p - c) ** 2)) for c in centers.astype(np.float64)]
        labels.append(distances.index(min(distances)))
    return labels


def nearest_color(pixel: tuple[int, int, int], colors: Floats) -> int:
    """The colour nearest to the middle of the pixel's cell, four values wide."""
    middle = np.array([[v // 4 * 4 + 1.5 for v in pixel]], np.float32)
    return nearest(middle, colors)[0]


def cell_of(place: int, n_pixels: int, n_cells: int) -> int:
    """The cell i with i n / cells <= place < (i + 1) n / cells, in whole pixels."""
    found = [i for i in range(n_cells) if i * n_pixels // n_cells <= place]
    return max(i for i in found if place < (i + 1) * n_pixels // n_cells)


def counts_by_cell(values: NDArray[np.int64], n_values: int, n_cells: int) -> NDArray[np.int64]:
    """How often each value occurs in each of n × n cells of a map."""
    out = np.zeros((n_cells * n_cells, n_values), np.int64)
    height, width = values.shape
    for y in range(height):
        for x in range(width):
            cell = cell_of(y, height, n_cells) * n_cells + cell_of(x, width, n_cells)
            out[cell, values[y, x]] += 1
    return out


def soft_bins(lab: tuple[float, float, float]) -> dict[int, float]:
    """The shares of one pixel in the eight Lab bins around it."""
    shares = {0: 1.0}
    for value, low, high, n in zip(lab, (0, -60, -60), (100, 70, 70), (5, 6, 6), strict=True):
        place = min(max((value - low) / (high - low) * (n - 1), 0), n - 1)
        below = min(int(place), n - 2)
        further: dict[int, float] = {}
        for b, s in shares.items():
            further[b * n + below] = s * (1 - (place - below))
            further[b * n + below + 1] = s * (place - below)
        shares = further
    return shares
