"""The whole picture without any fitting: its colours, textures and edges, and where they are.

Five parts, joined: colours of the picture and of its quarters, as soft histograms in CIE Lab; local
binary patterns of the picture and of its 4×4 cells; directions of edges in 6×6 cells (HOG).
Histograms are square-rooted, which makes the squared distance of two of them the Hellinger
distance; every part is L2-normalised and then weighted, so that distances in each part count about
equally. All numbers are of one picture alone.

On the emoji demo, kernel ridge with one RBF kernel of this vector reaches a mean AvgP of .52, as
much as with a kernel for each part and finer cells; thumbnails as a sixth part lowered it.

Histograms of oriented gradients: Dalal, Triggs, 2005.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bytes, Doubles
from sightline.contracts import Json
from sightline.features.local.lbp import (
    N_BINS,
    bins,
    checked,
    frozen,
    padded_grey,
    pattern_codes,
)
from sightline.vectors import l2_normalize

# Bins of L, a and b, and their ranges; more colourful pixels count in the outermost bin.
_LAB_BINS: Final = (5, 6, 6)
_LAB_LOW, _LAB_HIGH = (0.0, -60.0, -60.0), (100.0, 70.0, 70.0)
_N_LAB = 5 * 6 * 6
_COLOR_CELLS, _TEXTURE_CELLS = 2, 4
_EDGE_SIDE, _EDGE_CELLS, _DIRECTIONS = 72, 6, 9
_CLIP = 0.2

# About one over the mean squared distance of two pictures in a part, of drawings and of photos.
_WEIGHTS: Final = {"color": 1.3, "color2": 1.2, "texture": 11.0, "texture4": 3.5, "edges": 1.2}
_LENGTHS: Final = {
    "color": _N_LAB,
    "color2": _COLOR_CELLS**2 * _N_LAB,
    "texture": N_BINS,
    "texture4": _TEXTURE_CELLS**2 * N_BINS,
    "edges": (_EDGE_CELLS - 1) ** 2 * 4 * _DIRECTIONS,
}


class Classic:
    """Colours, textures and edges of a picture in one unit vector.

    Examples
    --------
    >>> classic = Classic()
    >>> row = classic.describe(np.zeros((48, 64, 3), np.uint8))
    >>> len(row) == classic.length, float(np.linalg.norm(row).round(5))
    (True, 1.0)
    """

    name = "classic"
    version = 1
    length = sum(_LENGTHS.values())

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"parts": dict[str, Json](_WEIGHTS)}

    @property
    def parts(self) -> dict[str, slice]:
        """The slice of each part, for comparisons part by part."""
        ends = np.cumsum([*_LENGTHS.values()]).tolist()
        starts = [0, *ends[:-1]]
        return {n: slice(a, b) for n, a, b in zip(_LENGTHS, starts, ends, strict=True)}

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the picture's vector."""
        padded = padded_grey(checked(rgb))
        colors, textures = _color_counts(rgb), _texture_counts(padded)
        histograms = {
            "color": np.sqrt(_shares(colors.sum(axis=0))),
            "color2": np.sqrt(_shares(colors)),
            "texture": np.sqrt(_shares(textures.sum(axis=0))),
            "texture4": np.sqrt(_shares(textures)),
            "edges": _edges(padded[2:-2, 2:-2]),
        }
        row = np.concatenate(
            [_normalized(histograms[n].ravel()) * w**0.5 for n, w in _WEIGHTS.items()]
        )
        return _normalized(row).astype(np.float32)


def _normalized(vectors: Doubles) -> Doubles:
    return np.asarray(l2_normalize(vectors, np.linalg.norm(vectors, axis=-1), dtype=np.float64))


def _shares(counts: Doubles | NDArray[np.int32]) -> Doubles:
    total = counts.sum(axis=-1, keepdims=True)
    return counts / np.where(total > 0, total, 1)


def _cells(n_pixels: int, n_cells: int) -> NDArray[np.int64]:
    """Return the cell of each pixel along one side; a short side leaves cells empty."""
    edges = np.arange(n_cells + 1) * n_pixels // n_cells
    return np.repeat(np.arange(n_cells), np.diff(edges))


def _texture_counts(padded: Bytes) -> NDArray[np.int32]:
    from sightline.features.local._layout_fast import count_patterns

    codes = pattern_codes(padded)
    down, right = (_cells(n, _TEXTURE_CELLS) for n in codes.shape)
    counts = np.zeros((_TEXTURE_CELLS**2, N_BINS), np.int32)
    count_patterns(codes, bins(), down, right, counts)
    return counts


def _color_counts(rgb: Bytes) -> Doubles:
    """Return the soft Lab histogram of each cell, by way of one of 32³ kinds of RGB pixels."""
    from sightline.features.local._layout_fast import add_shares, count_kinds

    down, right = (_cells(n, _COLOR_CELLS) for n in rgb.shape[:2])
    counts = np.zeros((_COLOR_CELLS**2, 32**3), np.int32)
    count_kinds(frozen(rgb), down, right, counts)
    near, weights = _soft_table()
    histograms = np.zeros((len(counts), _N_LAB))
    add_shares(counts, near, weights, histograms)
    return histograms


@cache
def _soft_table() -> tuple[NDArray[np.int64], Doubles]:
    """Return for each kind of pixel the eight Lab bins around its middle, and its share in each."""
    levels = np.arange(32) * 8 + 3.5
    cube = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    lab = rgb_to_lab(cube)
    near, weights = np.zeros((len(lab), 1), np.int64), np.ones((len(lab), 1))
    for d, n in enumerate(_LAB_BINS):
        place = (lab[:, d] - _LAB_LOW[d]) / (_LAB_HIGH[d] - _LAB_LOW[d]) * (n - 1)
        place = np.clip(place, 0, n - 1)
        below = np.minimum(place.astype(np.int64), n - 2)
        above = place - below
        near = np.concatenate([near * n + below[:, None], near * n + below[:, None] + 1], axis=1)
        weights = np.concatenate([weights * (1 - above)[:, None], weights * above[:, None]], axis=1)
    return near, weights


def rgb_to_lab(rgb: Doubles) -> Doubles:
    """Return CIE Lab (D65) of sRGB values from 0 to 255.

    >>> rgb_to_lab(np.array([[255.0, 255, 255], [255, 0, 0]])).round(1).tolist()
    [[100.0, 0.0, 0.0], [53.2, 80.1, 67.2]]
    """
    share = rgb / 255
    linear = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    to_xyz = np.array(
        [[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169],
         [0.019334, 0.119193, 0.950227]]
    )  # fmt: skip
    # Each row over its sum is relative to the white that R = G = B = 1 makes.
    xyz = linear @ (to_xyz / to_xyz.sum(axis=1, keepdims=True)).T
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = f[:, 0], f[:, 1], f[:, 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def _edges(grey: Bytes) -> Doubles:
    """Return histograms of edge directions in cells of a small copy, 2×2 cells normed together."""
    from PIL import Image

    side = (_EDGE_SIDE, _EDGE_SIDE)
    small = Image.fromarray(np.ascontiguousarray(grey)).resize(side, Image.Resampling.BOX)
    image = np.asarray(small, np.float64)
    down, right = np.zeros_like(image), np.zeros_like(image)
    down[1:-1] = image[2:] - image[:-2]
    right[:, 1:-1] = image[:, 2:] - image[:, :-2]
    angle = np.arctan2(down, right) % np.pi * (_DIRECTIONS / np.pi)
    # The remainder can round up to the divisor itself.
    direction = angle.astype(np.int64) % _DIRECTIONS
    cell = _cells(_EDGE_SIDE, _EDGE_CELLS)
    place = (cell[:, None] * _EDGE_CELLS + cell) * _DIRECTIONS + direction
    strength = np.bincount(
        place.ravel(), np.hypot(down, right).ravel(), _EDGE_CELLS**2 * _DIRECTIONS
    ).reshape(_EDGE_CELLS, _EDGE_CELLS, _DIRECTIONS)
    a, b, c, d = strength[:-1, :-1], strength[:-1, 1:], strength[1:, :-1], strength[1:, 1:]
    blocks = np.concatenate([a, b, c, d], axis=-1)
    return _normalized(np.minimum(_normalized(blocks), _CLIP))
