"""The colours of a collection: a codebook of a few, and which of them a pixel has.

The colours are centres of k-means on RGB values of training pictures' pixels (Grangier and Bengio,
2008, use 50). A pixel's nearest colour is read from a table of 64³ places, one for each value of
the upper six bits of red, green and blue; a place holds the colour nearest to its middle, so near
the border between two colours a pixel may get the second nearest.

The order of places is the upper four of the six bits of red, green and blue, then the lower two of
each, so that colours which occur together lie together in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.features.local.codebook import assign, codebook

N_COLORS = 50
N_PLACES = 64**3
_MOST_COLORS = 256
_PASSES = 15


def sample_pixels(
    pictures: Sequence[NDArray[np.uint8]], n_pixels: int = 200_000, seed: int = 0
) -> NDArray[np.float32]:
    """Return about `n_pixels` pixels, the same number of each picture.

    >>> sample_pixels([np.full((2, 2, 3), 7, np.uint8)], 2).tolist()
    [[7.0, 7.0, 7.0], [7.0, 7.0, 7.0]]
    """
    if not pictures:
        raise DataError("Colours need at least one picture to be chosen from. Got none.")
    rng = np.random.default_rng(seed)
    each = max(1, n_pixels // len(pictures))
    drawn = []
    for rgb in pictures:
        pixels = rgb.reshape(-1, 3)
        drawn.append(pixels[rng.integers(0, len(pixels), each)])
    return np.concatenate(drawn).astype(np.float32)


def choose_colors(
    pixels: NDArray[np.float32], n_colors: int = N_COLORS, seed: int = 0
) -> NDArray[np.float32]:
    """Return the colours that stand for some pixels; fewer if these have fewer different colours.

    >>> choose_colors(np.array([[0, 0, 0], [9, 9, 9], [0, 0, 0]], np.float32), 2).tolist()
    [[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]
    """
    if not 1 <= n_colors <= _MOST_COLORS:
        raise ParameterError.of("n_colors", "choose_colors", f"1 to {_MOST_COLORS}", n_colors)
    different = np.unique(pixels, axis=0)
    if len(different) <= n_colors:
        return different
    return codebook(pixels, n_colors, seed, passes=_PASSES)


def table_indices(rgb: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the place of each pixel in the table.

    >>> table_indices(np.array([[255, 255, 255], [0, 0, 4], [16, 0, 0]], np.uint8)).tolist()
    [262143, 1, 16384]
    """
    upper, lower = (rgb >> 4).astype(np.int64), (rgb >> 2 & 3).astype(np.int64)
    coarse = upper[..., 0] << 8 | upper[..., 1] << 4 | upper[..., 2]
    return coarse << 6 | lower[..., 0] << 4 | lower[..., 1] << 2 | lower[..., 2]


def color_table(colors: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return for each place of the table the number of the colour nearest to its middle.

    >>> table = color_table(np.array([[0, 0, 0], [250, 250, 250]], np.float32))
    >>> table[table_indices(np.array([[9, 9, 9], [200, 210, 199]], np.uint8))].tolist()
    [0, 1]
    """
    levels = np.arange(64, dtype=np.uint8) * 4
    cube = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    table = np.empty(N_PLACES, np.uint8)
    # The middle of the four values 0..3 that share the upper bits.
    table[table_indices(cube)] = assign(cube.astype(np.float32) + np.float32(1.5), colors)
    return table
