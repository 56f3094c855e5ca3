"""Descriptors of regions: their shape, texture, colour and position in the picture.

After Malisiewicz and Efros, "Recognition by association via learning per-exemplar distances", CVPR
2008, which the paper names:

    shape     the region in its bounding box, 16×16; the box's sides; the area
    texture   how often each of 100 textons occurs in the region
    colour    mean, deviation and a histogram of 11 steps, of each channel
    place     share of each cell of an 8×8 grid over the picture that the region fills; top and
    bottom

A texton is the nearest of 100 cluster centres of a pixel's filter responses: Gaussian derivatives
of first and second order at three scales, from which those of all directions follow (Freeman and
Adelson, 1991). Departures: shapes have 16×16 cells, not 32×32, and textures of the region's border
are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB, Floats, Int32s
from sightline.errors import DataError
from sightline.features.local.codebook import assign, codebook
from sightline.features.local.gradients import brightness

SHAPE_SIDE, PLACE_SIDE = 16, 8
N_TEXTONS = 100
STEPS = 11
KINDS = ("shape", "texture", "colour", "place")
_SCALES = (1.0, 2.0, 4.0)
_ORDERS = ((0, 1), (1, 0), (0, 2), (1, 1), (2, 0))
_EVERY = 2  # step between pixels, in each direction, for textures
_TEXTON_PIXELS = 40_000


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """Descriptors of the regions of one picture, a row each, by kind."""

    shape: Floats
    texture: Floats
    colour: Floats
    place: Floats

    def __len__(self) -> int:
        return len(self.shape)

    def kind(self, name: str) -> Floats:
        """Return the rows of one kind, of `KINDS`."""
        rows: Floats = getattr(self, name)
        return rows


def filtered(rgb: RGB) -> Floats:
    """Return the responses of all filters at every second pixel: (rows, columns, 15)."""
    from scipy.ndimage import gaussian_filter

    grey = brightness(rgb) / np.float32(255)
    responses = [
        # Derivatives get smaller as the scale grows; this normalises them.
        gaussian_filter(grey, s, order=order)[::_EVERY, ::_EVERY] * np.float32(s ** sum(order))
        for s in _SCALES
        for order in _ORDERS
    ]
    return np.stack(responses, axis=-1).astype(np.float32)


def choose_textons(pictures: Sequence[RGB], n: int = N_TEXTONS, seed: int = 0) -> Floats:
    """Return textons of some pictures: centres of their pixels' filter responses."""
    if not pictures:
        raise DataError("Textons need at least one picture to be chosen from. Got none.")
    random = np.random.default_rng(seed)
    each = max(1, _TEXTON_PIXELS // len(pictures))
    drawn = []
    for rgb in pictures:
        responses = filtered(rgb).reshape(-1, len(_SCALES) * len(_ORDERS))
        drawn.append(
            responses[random.choice(len(responses), min(each, len(responses)), replace=False)]
        )
    points = np.concatenate(drawn)
    return codebook(points, min(n, len(np.unique(points, axis=0))), seed=seed, passes=10)


def describe_regions(rgb: RGB, labels: Int32s, textons: Floats) -> Described:
    """Return the descriptors of every region of a picture."""
    if labels.shape != rgb.shape[:2]:
        raise DataError(f"Regions of {labels.shape} do not fit a picture of {rgb.shape[:2]}.")
    n = int(labels.max()) + 1
    return Described(
        shapes(labels, n),
        textures(rgb, labels, n, textons),
        colours(rgb, labels, n),
        region_positions(labels, n),
    )


def shapes(labels: Int32s, n: int) -> Floats:
    """Return the shape of each of n regions: (n, 256 + 2 + 1)."""
    height, width = labels.shape
    descriptors = np.zeros((n, SHAPE_SIDE**2 + 3), np.float32)
    for i in range(n):
        rows, columns = np.nonzero(labels == i)
        top, left = rows.min(), columns.min()
        high, wide = int(rows.max() - top) + 1, int(columns.max() - left) + 1
        box = (labels[top : top + high, left : left + wide] == i).astype(np.float32)
        descriptors[i, : SHAPE_SIDE**2] = resized_mask(box, SHAPE_SIDE).ravel()
        descriptors[i, SHAPE_SIDE**2 :] = high / height, wide / width, len(rows) / labels.size
    return descriptors


def textures(rgb: RGB, labels: Int32s, n: int, textons: Floats) -> Floats:
    """Return how often each texton occurs in each of n regions: rows of sum 1."""
    responses = filtered(rgb)
    words = assign(responses.reshape(-1, responses.shape[-1]), textons)
    at = labels[::_EVERY, ::_EVERY].ravel().astype(np.int64)
    counts = np.bincount(at * len(textons) + words, minlength=n * len(textons))
    counts = counts.reshape(n, len(textons))
    # A region may lie between the sampled pixels.
    shares: Floats = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).astype(np.float32)
    return shares


def colours(rgb: RGB, labels: Int32s, n: int) -> Floats:
    """Return mean, deviation and histogram of each channel in each of n regions: (n, 39)."""
    at = labels.ravel().astype(np.int64)
    size = np.bincount(at, minlength=n).astype(np.float64)
    parts: list[NDArray[np.float64]] = []
    spread: list[NDArray[np.float64]] = []
    steps: list[NDArray[np.float64]] = []
    for c in range(3):
        value = rgb[..., c].ravel() / 255.0
        mean = np.bincount(at, value, n) / size
        square = np.bincount(at, value * value, n) / size
        parts.append(mean[:, None])
        spread.append(np.sqrt(np.maximum(square - mean * mean, 0))[:, None])
        step = np.minimum((value * STEPS).astype(np.int64), STEPS - 1)
        counts = np.bincount(at * STEPS + step, minlength=n * STEPS).reshape(n, STEPS)
        steps.append(counts / size[:, None])
    return np.hstack([*parts, *spread, *steps]).astype(np.float32)


def region_positions(labels: Int32s, n: int) -> Floats:
    """Return where each of n regions lies: (n, 64 + 2); the cells of all regions sum to 1."""
    positions = np.zeros((n, PLACE_SIDE**2 + 2), np.float32)
    for i in range(n):
        mask = labels == i
        positions[i, : PLACE_SIDE**2] = resized_mask(mask.astype(np.float32), PLACE_SIDE).ravel()
        rows = np.flatnonzero(mask.any(axis=1))
        positions[i, PLACE_SIDE**2 :] = rows[0] / len(mask), (rows[-1] + 1) / len(mask)
    return positions


def resized_mask(mask: Floats, side: int) -> Floats:
    """Return a mask as side × side means; pixels on the border of cells are divided between these.

    >>> resized_mask(np.array([[1, 0, 0, 0]], np.float32), 2).tolist()
    [[0.5, 0.0], [0.5, 0.0]]
    """
    down, across = (_shares(n, side) for n in mask.shape)
    means: Floats = (down @ mask @ across.T).astype(np.float32)
    return means


def _shares(n: int, cells: int) -> Floats:
    """Return how much of each cell each of n pixels makes up."""
    width = n / cells
    begin = np.arange(cells)[:, None] * width
    overlap = np.minimum(np.arange(n) + 1, begin + width) - np.maximum(np.arange(n), begin)
    shares: Floats = (np.maximum(overlap, 0) / width).astype(np.float32)
    return shares
