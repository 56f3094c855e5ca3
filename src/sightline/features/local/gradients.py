"""Dense local descriptors: gradients and colours in 4×4 cells, at every few pixels of a picture.

A descriptor covers 4×4 square cells. *Gradients* (128 numbers, root-SIFT): the strength of the
brightness gradient in each of 8 directions, shared linearly between the two nearest, averaged over
each cell; divided by max(length, 3), clipped at .2, divided by max(sum, 1), square-rooted. The two
limits keep flat patches, whose gradients are noise, near zero. *Colours* (96 numbers, local colour
statistics): mean and standard deviation of CIE Lab in each cell. Sums over cells come from integral
images, so that a descriptor costs the same whatever its size.

Lowe: Distinctive image features from scale-invariant keypoints, 2004. Arandjelović, Zisserman:
Three things everyone should know to improve object retrieval, 2012 (the square root). Clinchant,
Csurka, Perronnin, Renders: XRCE's participation to ImagEval, 2007 (local colour statistics).

Departures: pixels are not weighted by their distance to the middle of the patch nor shared between
cells; instead a cell reaches a quarter of its side into its neighbours. Patches are not rotated to
their main direction. Colours are quantised to the upper six bits of red, green and blue.

Pictures are first made smaller, to a long side of 192 pixels, never larger; one that is narrower
than the smallest descriptor is continued by repeating its outermost pixels, evenly on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from sightline._typing import RGB, Floats
from sightline.errors import ParameterError
from sightline.features.local.layout import rgb_to_lab
from sightline.features.local.lbp import checked, frozen

LONG_SIDE: Final = 192
SIDE: Final = 4  # cells, down and across
N_GRADIENTS: Final = SIDE * SIDE * 8
N_COLORS: Final = SIDE * SIDE * 6
_N_SUMS = 8 + 6


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The descriptors of one picture.

    Attributes
    ----------
    gradients : ndarray of shape (descriptors, 128)
        Histograms of gradients.
    colors : ndarray of shape (descriptors, 96)
        Statistics of colours.
    positions : ndarray of float32
        The middle of each, (down, right) in 0..1 of the picture.
    """

    gradients: Floats
    colors: Floats
    positions: Floats

    def __len__(self) -> int:
        return len(self.positions)


def dense_descriptors(rgb: RGB, cells: tuple[int, ...] = (3, 5, 8), step: int = 5) -> Descriptors:
    """Return the gradients and colours of a picture at all places and sizes.

    Parameters
    ----------
    rgb : ndarray of uint8
        A picture.
    cells : tuple of int, default=(3, 5, 8)
        Sides of a cell in pixels, ascending; sizes that do not fit into the picture are left out,
        but for the first.
    step : int, default=5
        From one descriptor to the next, in pixels.

    Examples
    --------
    >>> found = dense_descriptors(np.zeros((128, 192, 3), np.uint8))
    >>> found.gradients.shape, found.colors.shape, found.positions.shape
    ((2318, 128), (2318, 96), (2318, 2))
    """
    from sightline.features.local._gradients_fast import describe, integrate

    if not cells or min(cells) < 1 or list(cells) != sorted(cells):
        must_be = "sides of at least 1, ascending"
        raise ParameterError.of("cells", "dense_descriptors", must_be, cells)
    if step < 1:
        raise ParameterError.of("step", "dense_descriptors", "at least 1", step)
    rgb = frozen(widened(shrunk(checked(rgb)), SIDE * cells[0]))
    height, width = rgb.shape[:2]
    sums = np.zeros((height + 1, width + 1, _N_SUMS))
    integrate(rgb, brightness(rgb), _lab_table(), sums)
    starts = [tuple(np.arange(0, n - SIDE * c + 1, step) for n in (height, width)) for c in cells]
    n = sum(len(tops) * len(lefts) for tops, lefts in starts)
    gradients, colors = np.empty((n, N_GRADIENTS), np.float32), np.empty((n, N_COLORS), np.float32)
    places = []
    n = 0
    for side, (tops, lefts) in zip(cells, starts, strict=True):
        part = slice(n, n + len(tops) * len(lefts))
        describe(sums, side, tops, lefts, gradients[part], colors[part])
        down, right = (tops + SIDE * side / 2) / height, (lefts + SIDE * side / 2) / width
        places.append(np.stack(np.meshgrid(down, right, indexing="ij"), axis=-1).reshape(-1, 2))
        n = part.stop
    return Descriptors(gradients, colors, np.concatenate(places).astype(np.float32))


def brightness(rgb: RGB) -> Floats:
    """Return .299 R + .587 G + .114 B of each pixel, the same for equal pixels to the last bit.

    >>> brightness(np.full((1, 2, 3), 255, np.uint8)).tolist()
    [[255.0, 255.0]]
    """
    from sightline.features.local._gradients_fast import fill_grey

    grey = np.empty(rgb.shape[:2], np.float32)
    fill_grey(frozen(rgb), grey)
    return grey


def shrunk(rgb: RGB, long_side: int = LONG_SIDE) -> RGB:
    """Return a picture whose long side is at most as given, by the means of the pixels covered.

    >>> shrunk(np.zeros((256, 384, 3), np.uint8)).shape
    (128, 192, 3)
    """
    height, width = rgb.shape[:2]
    longest = max(height, width)
    if longest <= long_side:
        return rgb
    from PIL import Image

    size = tuple(max(1, (2 * n * long_side + longest) // (2 * longest)) for n in (width, height))
    image = Image.fromarray(np.ascontiguousarray(rgb))
    return np.asarray(image.resize((size[0], size[1]), Image.Resampling.BOX))


def widened(rgb: RGB, least: int) -> RGB:
    """Return a picture at least so high and wide, continued by its outermost pixels.

    >>> widened(np.arange(6, dtype=np.uint8).reshape(1, 2, 3), 4)[..., 0].tolist()
    [[0, 0, 3, 3], [0, 0, 3, 3], [0, 0, 3, 3], [0, 0, 3, 3]]
    """
    missing = [max(0, least - n) for n in rgb.shape[:2]]
    if not any(missing):
        return rgb
    return np.pad(rgb, [*((m // 2, m - m // 2) for m in missing), (0, 0)], "edge")


@cache
def _lab_table() -> Floats:
    """Return CIE Lab of each kind of pixel, by the upper six bits of red, green and blue."""
    levels = np.arange(64) * 4 + 1.5
    cube = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    table: Floats = rgb_to_lab(cube).astype(np.float32).reshape(64, 64, 64, 3)
    return table
