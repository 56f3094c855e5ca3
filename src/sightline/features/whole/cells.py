"""Histograms over the whole picture or over its cells, and what they share.

A cell's histogram sums to one; all cells together are square-rooted and scaled to length one, so
that inner products of two pictures are sums of Bhattacharyya coefficients: a few large bins do not
drown the small ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError

RGB = NDArray[np.uint8]
Float = NDArray[np.float32]


def small(rgb: RGB, side: int) -> RGB:
    """Return the picture, shrunk so that its longer side is at most `side` pixels."""
    from PIL import Image

    if rgb.ndim != 3 or rgb.shape[2] != 3 or not rgb.size:
        raise DataError(f"A picture must be (height, width, 3) and not empty. Got {rgb.shape}.")
    height, width = rgb.shape[:2]
    longer = max(height, width)
    if longer <= side:
        return rgb
    size = (max(1, round(width * side / longer)), max(1, round(height * side / longer)))
    # Whole-number reduction first: most of the pixels go there, and it is many times faster.
    factor = max(1, longer // (2 * side))
    picture = Image.fromarray(rgb)
    if factor > 1:
        picture = picture.reduce(factor)
    return np.asarray(picture.resize(size, Image.Resampling.BOX))


def cell_histograms(
    bins: NDArray[np.int64], weights: NDArray[np.float64] | None, n_bins: int, grid: int
) -> Float:
    """Return the histograms of grid × grid cells, each of sum one, square-rooted, of length one.

    Parameters
    ----------
    bins : (height, width) or (height, width, k): the bin or bins of each pixel.
    weights : how much of the pixel falls into each; all of it by default.

    Examples
    --------
    >>> halves = np.array([[0, 1], [0, 1]])
    >>> (cell_histograms(halves, None, 2, 1) ** 2).round(6).tolist()
    [0.5, 0.5]
    >>> (cell_histograms(halves, None, 2, 2) ** 2).tolist()
    [0.25, 0.0, 0.0, 0.25, 0.25, 0.0, 0.0, 0.25]
    """
    height, width = bins.shape[:2]
    row = np.arange(height) * grid // height
    column = np.arange(width) * grid // width
    cell = row[:, None] * grid + column
    at = cell.reshape(cell.shape + (1,) * (bins.ndim - 2)) * n_bins + bins
    flat = None if weights is None else weights.ravel()
    counts = np.bincount(at.ravel(), flat, grid * grid * n_bins).reshape(grid * grid, n_bins)
    sums = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(sums > 0, sums, 1)
    # A picture smaller than the grid leaves cells empty; the others share the length.
    filled = max(int((sums > 0).sum()), 1)
    return np.sqrt(shares.ravel() / filled).astype(np.float32)
