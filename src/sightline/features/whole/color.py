"""Colour histogram + moments (81): the distribution of colours in each of 3×3 parts of a picture.

The picture is cut into 3×3 cells, cell i of a side of n pixels reaching from floor(i n / 3) to
floor((i + 1) n / 3). In each cell the histogram of each of three channels is summarised by its
first three moments (`moments`): mean, deviation, skewness. Order: cells row by row, in each the
channels, of each the three moments: 3 × 3 × 3 × 3 = 81 numbers.

Channels are hue, saturation and value, from 0 to 1, hue being 0 where a pixel is grey. Hue goes
round in a circle, which moments ignore: reds just below and just above it are far apart. `space =
"lab"` (L/100, a/100, b/100) and `"rgb"` (each from 0 to 1) have no such seam.

Paper D names no features; the papers of the same group that do say "color histogram and color
moments", 81 numbers. That this means grid moments is a reading of it, after Zhu, Hoi, Lyu, Yan:
Near-duplicate keyframe retrieval by nonrigid image matching, 2008. A picture narrower than three
pixels is continued by its outermost ones.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from sightline._typing import RGB, Floats
from sightline.contracts import Json
from sightline.errors import ParameterError
from sightline.features.local.gradients import widened
from sightline.features.local.layout import rgb_to_lab
from sightline.features.local.lbp import checked
from sightline.features.whole.moments import moments

CELLS: Final = 3
SPACES: Final = ("hsv", "lab", "rgb")


class ColorMoments:
    """Moments of colours in 3×3 cells.

    A subclass with another `space` has other channels; it is part of the fingerprint.

    Examples
    --------
    A constant red: hue 0, saturation 1, value 1 in every cell, without any spread.

    >>> red = np.zeros((30, 40, 3), np.uint8)
    >>> red[..., 0] = 255
    >>> ColorMoments().describe(red)[:9].tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """

    name = "color"
    version = 1
    length = CELLS * CELLS * 3 * 3

    space: ClassVar[str] = "hsv"

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"space": self.space, "cells": CELLS}

    def describe(self, rgb: RGB) -> Floats:
        """Return the picture's moments."""
        image = channels(widened(checked(rgb), CELLS), self.space)
        down, right = (np.arange(CELLS + 1) * n // CELLS for n in image.shape[1:])
        cells = [
            moments(image[:, a:b, c:d].reshape(3, -1))
            for a, b in pairwise(down)
            for c, d in pairwise(right)
        ]
        return np.stack(cells).ravel().astype(np.float32)


def channels(rgb: RGB, space: str) -> Floats:
    """Return the three channels of a picture, one after the other, each (height, width).

    >>> channels(np.array([[[0, 255, 255], [51, 51, 51]]], np.uint8), "hsv")[:2, 0].tolist()
    [[0.5, 0.0], [1.0, 0.0]]
    """
    if space not in SPACES:
        raise ParameterError.of("space", "ColorMoments", f"one of {', '.join(SPACES)}", space)
    if space == "lab":
        lab = rgb_to_lab(rgb.reshape(-1, 3).astype(np.float64)) / 100
        return lab.T.reshape(3, *rgb.shape[:2]).astype(np.float32)
    apart = np.ascontiguousarray(rgb.transpose(2, 0, 1), np.float32) / np.float32(255)
    return apart if space == "rgb" else _hsv(apart)


def _hsv(apart: Floats) -> Floats:
    red, green, blue = apart
    value = apart.max(axis=0)
    reach = value - apart.min(axis=0)
    safe = np.where(reach > 0, reach, np.float32(1))
    # Where two channels share the largest value, the first of red, green and blue counts.
    turn = np.where(
        value == red,
        (green - blue) / safe,
        np.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = np.where(reach > 0, turn / 6 % 1, 0)
    saturation = reach / np.where(value > 0, value, np.float32(1))
    return np.stack([hue, saturation, value]).astype(np.float32)
