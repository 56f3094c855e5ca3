"""Slow, readable twins of the features of whole pictures: one tile or block at a time."""

from __future__ import annotations

from fractions import Fraction
from math import floor, sqrt

import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]


def edge_luma(pixel: NDArray[np.uint8]) -> int:
    red, green, blue = (int(v) for v in pixel)
    grey = Fraction(299 * red + 587 * green + 114 * blue, 1000)
    return floor(219 * grey / 256 + Fraction(33, 2))


def edge_strengths(means: list[float]) -> list[float]:
    """Answers to the five filters, of the four quarters of a tile, top then bottom."""
    root = sqrt(2)
    filters = ((1, -1, 1, -1), (1, 1, -1, -1), (root, 0, 0, -root), (0, root, -root, 0),
               (2, -2, -2, 2))  # fmt: skip
    return [abs(sum(w * m for w, m in zip(f, means, strict=True))) for f in filters]


def edge_shares(rgb: RGB) -> NDArray[np.float64]:
    """The share of tiles of each part with each kind of edge."""
    height, width, _ = rgb.shape
    side = 2 * (int(sqrt(width * height / 1100)) // 2) or 2
    luma = np.array([[edge_luma(p) for p in line] for line in rgb])
    counts, tiles = np.zeros((16, 5)), np.zeros(16)
    for y in range(0, height, side):
        for x in range(0, width, side):
            if y + side > height or x + side > width:
                continue
            part = int(4 * x / width) + 4 * int(4 * y / height)
            tiles[part] += 1
            half = side // 2
            means = [
                luma[y + dy : y + dy + half, x + dx : x + dx + half].mean()
                for dy in (0, half)
                for dx in (0, half)
            ]
            strengths = edge_strengths(means)
            if max(strengths) >= 11:
                counts[part, strengths.index(max(strengths))] += 1
    return np.array([c / n if n else c for c, n in zip(counts, tiles, strict=True)])


def edge_code(value: float, centers: NDArray[np.float64]) -> int:
    for j in range(7):
        if value <= (centers[j] + centers[j + 1]) / 2:
            return j
    return 7


def member(value: float, corners: tuple[int, int, int, int]) -> float:
    low, full, end, high = corners
    if value < low or value > high:
        return 0.0
    if value < full:
        return (value - low) / (full - low)
    return 1.0 if value <= end else (high - value) / (high - end)


HUES = ((0, 0, 5, 10), (5, 10, 35, 50), (35, 50, 70, 85), (70, 85, 150, 165),
        (150, 165, 195, 205), (195, 205, 265, 280), (265, 280, 315, 330),
        (315, 330, 360, 360))  # fmt: skip


def hsv(red: int, green: int, blue: int) -> tuple[int, int, int]:
    value, least = max(red, green, blue), min(red, green, blue)
    if value == least:
        return 0, 0, value
    saturation = floor(255 - Fraction(255 * least, value))
    delta = value - least
    if value == red and green >= blue:
        hue = Fraction(60 * (green - blue), delta)
    elif value == red:
        hue = 359 + Fraction(60 * (green - blue), delta)
    elif value == green:
        hue = 119 + Fraction(60 * (blue - red), delta)
    else:
        hue = 239 + Fraction(60 * (red - green), delta)
    return floor(hue), saturation, value


def colors_of(red: int, green: int, blue: int) -> list[float]:
    """How far a colour belongs to each of the 24, rule by rule."""
    hue, saturation, value = hsv(red, green, blue)
    pale_rich = [member(saturation, c) for c in ((0, 0, 10, 75), (10, 75, 255, 255))]
    shades = ((0, 0, 10, 75), (10, 75, 180, 220), (180, 220, 255, 255))
    values = [member(value, c) for c in shades]
    ten = [0.0] * 10
    for i, corners in enumerate(HUES):
        for s in range(2):
            for v in range(3):
                own = 3 if i == 7 else 3 + i
                # Dark is black; pale is grey, or white if bright; the rest is the hue's colour.
                colour = 2 if v == 0 else own if s == 1 else (1, 0)[v - 1]
                ten[colour] += min(member(hue, corners), pale_rich[s], values[v])
    low_high = ((0, 0, 68, 188), (68, 188, 255, 255))
    rich = [member(saturation, c) for c in low_high]
    high = [member(value, c) for c in low_high]
    three = [0.0] * 3
    for s in range(2):
        for v in range(2):
            three[2 if v == 0 else s] += min(rich[s], high[v])
    out = ten[:3]
    for c in range(3, 10):
        out += [ten[c] * t for t in three]
    return out


def textures(a: int, b: int, c: int, d: int) -> list[int]:
    root = sqrt(2)
    strengths = [abs(2 * a - 2 * b - 2 * c + 2 * d), abs(a + b - c - d), abs(a - b + c - d),
                 root * abs(a - d), root * abs(b - c)]  # fmt: skip
    best = max(strengths)
    if best < 14:
        return [0]
    limits = (0.68, 0.98, 0.98, 0.98, 0.98)
    return [i + 1 for i, (s, t) in enumerate(zip(strengths, limits, strict=True)) if s / best > t]


def color_edge_shares(rgb: RGB) -> NDArray[np.float64]:
    """The share of each texture and colour, block by block."""
    height, width, _ = rgb.shape
    short = min(height, width)
    n = 40 if short >= 80 else 20
    if short < 40:
        down, right, rows, columns = 2, 2, height // 2, width // 2
    else:
        down, right = (side // n - side // n % 2 for side in (height, width))
        rows = columns = n
    found = np.zeros((6, 24))
    for y in range(0, rows * down, down):
        for x in range(0, columns * right, right):
            block = rgb[y : y + down, x : x + right].astype(np.int64)
            luma = 299 * block[..., 0] + 587 * block[..., 1] + 114 * block[..., 2]
            h, w = down // 2, right // 2
            quarters = (luma[:h, :w], luma[:h, w:], luma[h:, :w], luma[h:, w:])
            a, b, c, d = (int(q.sum()) // (1000 * h * w) for q in quarters)
            red, green, blue = (int(v) // (down * right) for v in block.sum(axis=(0, 1)))
            for texture in textures(a, b, c, d):
                found[texture] += colors_of(red, green, blue)
    shares: NDArray[np.float64] = found / found.sum()
    return shares
