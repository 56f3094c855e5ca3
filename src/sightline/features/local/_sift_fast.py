"""The loops of SIFT: smoothing, extremes of the differences, directions, and descriptors."""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats

_TURN = 2 * np.pi
_BORDER, _STEPS = 5, 5
_DIRECTIONS, _BINS = 36, 8


@njit(cache=True, nogil=True)
def blur(image: Floats, kernel: Floats, out: Floats) -> None:
    """Smooth across, then down, by the right half of an even kernel; the border goes on as it is.

    Pixels at equal distance are added first, so that a mirror image is smoothed to its mirror.
    """
    height, width = image.shape
    n = kernel.size
    line, room = np.empty(width + 2 * n, np.float32), np.empty((height, width), np.float32)
    for y in range(height):
        line[:n], line[n : n + width], line[n + width :] = image[y, 0], image[y], image[y, -1]
        row = room[y]
        row[:] = kernel[0] * image[y]
        for k in range(1, n):
            weight, left, right = kernel[k], line[n - k :], line[n + k :]
            for x in range(width):
                row[x] += weight * (left[x] + right[x])
    for y in range(height):
        row = out[y]
        row[:] = kernel[0] * room[y]
        for k in range(1, n):
            weight, above, below = kernel[k], room[max(y - k, 0)], room[min(y + k, height - 1)]
            for x in range(width):
                row[x] += weight * (above[x] + below[x])


@njit(cache=True, nogil=True)
def is_extreme(stack: Floats, s: int, y: int, x: int) -> bool:
    """Say whether none of the 26 numbers around one lies farther from zero on its side."""
    value = stack[s, y, x]
    for i in range(s - 1, s + 2):
        for j in range(y - 1, y + 2):
            for k in range(x - 1, x + 2):
                other = stack[i, j, k]
                if (value > 0 and other > value) or (value < 0 and other < value):
                    return False
    return True


@njit(cache=True, nogil=True)
def derivatives(stack: Floats, s: int, y: int, x: int, slope: Doubles, bend: Doubles) -> None:
    """Write first and second differences at a place, in the order scale, down, right."""
    c = 2.0 * stack[s, y, x]
    slope[0] = 0.5 * (stack[s + 1, y, x] - stack[s - 1, y, x])
    slope[1] = 0.5 * (stack[s, y + 1, x] - stack[s, y - 1, x])
    slope[2] = 0.5 * (stack[s, y, x + 1] - stack[s, y, x - 1])
    bend[0, 0] = stack[s + 1, y, x] + stack[s - 1, y, x] - c
    bend[1, 1] = stack[s, y + 1, x] + stack[s, y - 1, x] - c
    bend[2, 2] = stack[s, y, x + 1] + stack[s, y, x - 1] - c
    a, b = stack[s + 1], stack[s - 1]
    bend[0, 1] = bend[1, 0] = 0.25 * (a[y + 1, x] - a[y - 1, x] - b[y + 1, x] + b[y - 1, x])
    bend[0, 2] = bend[2, 0] = 0.25 * (a[y, x + 1] - a[y, x - 1] - b[y, x + 1] + b[y, x - 1])
    p, q = stack[s, y + 1], stack[s, y - 1]
    bend[1, 2] = bend[2, 1] = 0.25 * (p[x + 1] - p[x - 1] - q[x + 1] + q[x - 1])


@njit(cache=True, nogil=True)
def solve(bend: Doubles, slope: Doubles, shift: Doubles) -> bool:
    """Write where a quadric with such derivatives is extreme, by Cramer's rule, if anywhere."""
    a, b, c = bend[0], bend[1], bend[2]
    m0, m1, m2 = b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]
    size = a[0] * m0 + a[1] * m1 + a[2] * m2
    if size == 0:
        return False
    # The matrix is symmetric, and so is its inverse.
    shift[0] = -(m0 * slope[0] + m1 * slope[1] + m2 * slope[2]) / size
    n11, n12 = a[0] * c[2] - a[2] * a[2], a[2] * a[1] - a[0] * b[2]
    n22 = a[0] * b[1] - a[1] * a[1]
    shift[1] = -(m1 * slope[0] + n11 * slope[1] + n12 * slope[2]) / size
    shift[2] = -(m2 * slope[0] + n12 * slope[1] + n22 * slope[2]) / size
    return True


@njit(cache=True, nogil=True)
def settle(
    stack: Floats, s: int, y: int, x: int, contrast: float, edge: float, out: Doubles
) -> bool:
    """Write layer, its fraction, row, column and strength of an extreme, if it is a good one.

    It moves to where the quadric through its neighbours is extreme; there it has to be strong
    enough, and must not lie on an edge, where one curvature is `edge` times the other.
    """
    slope, shift, bend = np.zeros(3), np.zeros(3), np.zeros((3, 3))
    for step in range(_STEPS + 1):
        derivatives(stack, s, y, x, slope, bend)
        if not solve(bend, slope, shift):
            return False
        if np.max(np.abs(shift)) <= 0.5:
            break
        if step == _STEPS or np.max(np.abs(shift)) > 1e6:
            return False
        s, y, x = s + round(shift[0]), y + round(shift[1]), x + round(shift[2])
        inside = _BORDER <= y < stack.shape[1] - _BORDER and _BORDER <= x < stack.shape[2] - _BORDER
        if not (1 <= s <= stack.shape[0] - 2 and inside):
            return False
    strength = abs(stack[s, y, x] + 0.5 * np.sum(slope * shift))
    trace, size = bend[1, 1] + bend[2, 2], bend[1, 1] * bend[2, 2] - bend[1, 2] ** 2
    if strength < contrast or size <= 0 or trace * trace * edge >= (edge + 1) ** 2 * size:
        return False
    out[0], out[1], out[2], out[3] = s, shift[0], y + shift[1], x + shift[2]
    out[4] = strength
    return True


@njit(cache=True, nogil=True)
def find_extremes(stack: Floats, contrast: float, edge: float, out: Doubles) -> int:
    """Write the good extremes of a stack of differences; return how many there are."""
    n = 0
    for s in range(1, stack.shape[0] - 1):
        for y in range(_BORDER, stack.shape[1] - _BORDER):
            for x in range(_BORDER, stack.shape[2] - _BORDER):
                if abs(stack[s, y, x]) <= 0.5 * contrast or not is_extreme(stack, s, y, x):
                    continue
                if n < len(out) and settle(stack, s, y, x, contrast, edge, out[n]):
                    n += 1
    return n


@njit(cache=True, nogil=True)
def nearest(place: float) -> int:
    """Return the nearest whole number, of two the larger; faster than `round`."""
    return int(np.floor(place + 0.5))


@njit(cache=True, nogil=True)
def fill_directions(image: Floats, y: float, x: float, sigma: float, strengths: Doubles) -> None:
    """Add up gradients around a place by direction, near ones counting more, and smooth the sums.

    `strengths` has 36 numbers.
    """
    height, width = image.shape
    row, column, radius = nearest(y), nearest(x), nearest(4.5 * sigma)
    raw = np.zeros(_DIRECTIONS)
    scale = -1 / (2 * (1.5 * sigma) ** 2)
    for i in range(max(row - radius, 1), min(row + radius, height - 2) + 1):
        for j in range(max(column - radius, 1), min(column + radius, width - 2) + 1):
            right, down = image[i, j + 1] - image[i, j - 1], image[i + 1, j] - image[i - 1, j]
            apart = (i - row) * (i - row) + (j - column) * (j - column)
            weight = np.exp(apart * scale) * np.sqrt(right * right + down * down)
            k = nearest(np.arctan2(down, right) * (_DIRECTIONS / _TURN))
            raw[k + _DIRECTIONS if k < 0 else k] += weight
    for k in range(_DIRECTIONS):
        near = raw[k - 1] + raw[(k + 1) % _DIRECTIONS]
        far = raw[k - 2] + raw[(k + 2) % _DIRECTIONS]
        strengths[k] = (6 * raw[k] + 4 * near + far) / 16


@njit(cache=True, nogil=True)
def fill_descriptor(
    image: Floats, y: float, x: float, sigma: float, angle: float,
    positions: Doubles, weights: Doubles, row: Floats,
) -> None:  # fmt: skip
    """Add up gradients in 4×4 cells by 8 directions, in coordinates rotated by `angle`.

    A cell is three sigma wide. `positions` are those of samples (down, right) from the middle, in
    cells; each is shared linearly between the nearest cells and directions.
    """
    height, width = image.shape
    cos, sin = np.cos(angle) * 3 * sigma, np.sin(angle) * 3 * sigma
    row[:] = 0
    for n in range(len(positions)):
        v, u = positions[n, 0], positions[n, 1]
        i, j = nearest(y + sin * u + cos * v), nearest(x + cos * u - sin * v)
        if not (1 <= i < height - 1 and 1 <= j < width - 1):
            continue
        right, down = image[i, j + 1] - image[i, j - 1], image[i + 1, j] - image[i - 1, j]
        strength = weights[n] * np.sqrt(right * right + down * down)
        turn = (np.arctan2(down, right) - angle) * (_BINS / _TURN)
        first, top, left = int(np.floor(turn)), int(np.floor(v + 1.5)), int(np.floor(u + 1.5))
        dt, dv, du = turn - first, v + 1.5 - top, u + 1.5 - left
        for a in range(2):
            for b in range(2):
                if not (0 <= top + a < 4 and 0 <= left + b < 4):
                    continue
                share = strength * (dv if a else 1 - dv) * (du if b else 1 - du)
                cell = ((top + a) * 4 + left + b) * _BINS
                row[cell + first % _BINS] += share * (1 - dt)
                row[cell + (first + 1) % _BINS] += share * dt
