"""Slow, readable twins of SIFT's loops: one pixel at a time, and matrices solved by a library."""

from __future__ import annotations

from math import atan2, cos, exp, floor, hypot, pi, sin

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
BORDER = 5


def blurred(image: Floats, sigma: float) -> Doubles:
    """A Gaussian of four sigma to each side, summed over the square around each pixel."""
    height, width = image.shape
    reach = int(4 * sigma + 0.5)
    steps = range(-reach, reach + 1)
    line = np.array([exp(-0.5 * (k / sigma) ** 2) for k in steps])
    kernel = np.outer(line, line) / line.sum() ** 2
    out = np.zeros((height, width))
    for y in range(height):
        for x in range(width):
            rows = [min(max(y + k, 0), height - 1) for k in steps]
            columns = [min(max(x + k, 0), width - 1) for k in steps]
            out[y, x] = (kernel * image[np.ix_(rows, columns)]).sum()
    return out


def extremes(stack: Floats, contrast: float, edge: float) -> list[list[float]]:
    """Layer, its fraction, row, column and strength of each good extreme, in reading order."""
    wide = stack.astype(np.float64)
    n, height, width = stack.shape
    found = []
    for s in range(1, n - 1):
        for y in range(BORDER, height - BORDER):
            for x in range(BORDER, width - BORDER):
                value = wide[s, y, x]
                around = wide[s - 1 : s + 2, y - 1 : y + 2, x - 1 : x + 2]
                side = around.max() if value > 0 else around.min()
                if abs(value) > contrast / 2 and value == side:
                    good = settled(wide, (s, y, x), contrast, edge)
                    found += [good] if good else []
    return found


def settled(
    stack: Doubles, place: tuple[int, int, int], contrast: float, edge: float
) -> list[float] | None:
    """Newton's steps on the quadric through the neighbours, at most five of them."""
    at = np.array(place)
    unit = np.eye(3, dtype=int)

    def value(offset: NDArray[np.int64]) -> float:
        return float(stack[tuple(at + offset)])

    for step in range(6):
        slope = np.array([(value(e) - value(-e)) / 2 for e in unit])
        bend = np.array(
            [
                [
                    value(e) + value(-e) - 2 * value(0 * e)
                    if i == j
                    else (value(e + f) - value(e - f) - value(f - e) + value(-e - f)) / 4
                    for j, f in enumerate(unit)
                ]
                for i, e in enumerate(unit)
            ]
        )
        if np.linalg.matrix_rank(bend) < 3:
            return None
        shift = np.linalg.solve(bend, -slope)
        if np.abs(shift).max() <= 0.5:
            break
        if step == 5 or np.abs(shift).max() > 1e6:
            return None
        at = at + np.round(shift).astype(int)
        low, high = (
            np.array([1, BORDER, BORDER]),
            np.array(stack.shape) - [2, BORDER + 1, BORDER + 1],
        )
        if (at < low).any() or (at > high).any():
            return None
    strength = abs(value(0 * at) + 0.5 * float(slope @ shift))
    flat = bend[1:, 1:]
    size = float(np.linalg.det(flat))
    if strength < contrast or size <= 0 or np.trace(flat) ** 2 / size >= (edge + 1) ** 2 / edge:
        return None
    return [float(at[0]), float(shift[0]), *(at + shift)[1:].tolist(), strength]


def gradient(image: Floats, i: int, j: int) -> tuple[float, float]:
    """Strength and angle, both of differences over two pixels."""
    right = float(image[i, j + 1]) - float(image[i, j - 1])
    down = float(image[i + 1, j]) - float(image[i - 1, j])
    return hypot(right, down), atan2(down, right)


def directions(image: Floats, y: float, x: float, sigma: float) -> list[float]:
    height, width = image.shape
    row, column, radius = floor(y + 0.5), floor(x + 0.5), floor(4.5 * sigma + 0.5)
    raw = [0.0] * 36
    for i in range(height):
        for j in range(width):
            inside = 0 < i < height - 1 and 0 < j < width - 1
            if inside and max(abs(i - row), abs(j - column)) <= radius:
                strength, angle = gradient(image, i, j)
                apart = hypot(i - row, j - column) / (1.5 * sigma)
                raw[floor(angle / (2 * pi) * 36 + 0.5) % 36] += strength * exp(-0.5 * apart**2)
    weights = {-2: 1, -1: 4, 0: 6, 1: 4, 2: 1}
    return [sum(w * raw[(k + d) % 36] for d, w in weights.items()) / 16 for k in range(36)]


def descriptor(image: Floats, y: float, x: float, sigma: float, angle: float) -> Doubles:
    """Gradients at 20×20 places, each shared by a tent over cells and over directions."""
    height, width = image.shape
    out = np.zeros((4, 4, 8))
    for a in range(20):
        for b in range(20):
            v, u = (a - 9.5) / 4, (b - 9.5) / 4
            i = floor(y + 3 * sigma * (sin(angle) * u + cos(angle) * v) + 0.5)
            j = floor(x + 3 * sigma * (cos(angle) * u - sin(angle) * v) + 0.5)
            if not (0 < i < height - 1 and 0 < j < width - 1):
                continue
            strength, to = gradient(image, i, j)
            turn = (to - angle) / (2 * pi) * 8
            for row in range(4):
                for column in range(4):
                    for k in range(8):
                        apart = abs((turn - k + 4) % 8 - 4)
                        tents = (abs(v + 1.5 - row), abs(u + 1.5 - column), apart)
                        share = np.prod([max(0.0, 1 - t) for t in tents])
                        out[row, column, k] += strength * exp(-(u * u + v * v) / 8) * share
    return out.ravel()
