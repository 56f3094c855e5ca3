"""Feature vectors of regions: a network's maps, averaged over the region's pixels.

A map has a cell for 32 pixels of the network's input, the finer one for 16. Between cells it is
interpolated linearly, so that small regions are not all the same. The network was trained on
ImageNet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Int32s
from sightline.errors import DataError
from sightline.features.deep import session
from sightline.features.deep.framing import framed
from sightline.features.deep.network import LITE0, Network
from sightline.vectors import l2_normalize

_MAPS = ("map", "fine_map")


def region_vectors(
    rgb: NDArray[np.uint8], labels: Int32s, network: Network = LITE0, size: int = 448
) -> Floats:
    """Return a row for each region: L2-normalised means of both maps, (regions, 1280 + 672).

    The picture and its mirror image are averaged.

    Parameters
    ----------
    rgb : ndarray of uint8
        Array of uint8, (height, width, 3)
    labels : ndarray of int32
        The region of each pixel, from 0.
    size : int, default=448
        The picture is scaled to about size × size pixels, with its aspect ratio.
    """
    return _pooled_maps(_maps(rgb, labels, network, size), labels)


def picture_vectors(
    rgb: NDArray[np.uint8], labels: Int32s, network: Network = LITE0, size: int = 448
) -> tuple[Floats, Floats]:
    """Return the rows of regions, and that of the whole picture, by one pass of the network."""
    maps = _maps(rgb, labels, network, size)
    return _pooled_maps(maps, labels), _pooled_maps(maps, np.zeros_like(labels))[0]


def _maps(rgb: NDArray[np.uint8], labels: Int32s, network: Network, size: int) -> list[Floats]:
    """Return both maps, each the mean of the picture's and its mirror image's."""
    session.require(network)
    if labels.shape != rgb.shape[:2]:
        raise DataError(f"Regions of {labels.shape} do not fit a picture of {rgb.shape[:2]}.")
    plain = session.run(network, framed(rgb, size, "area")[None], *_MAPS)
    mirror = np.ascontiguousarray(rgb[:, ::-1])
    mirrored = session.run(network, framed(mirror, size, "area")[None], *_MAPS)
    both = zip(plain, mirrored, strict=True)
    return [((a[0] + b[0][:, :, ::-1]) / 2).transpose(1, 2, 0) for a, b in both]


def _pooled_maps(maps: list[Floats], labels: Int32s) -> Floats:
    of_maps = [pooled(m, labels) for m in maps]
    return np.hstack([l2_normalize(rows, np.linalg.norm(rows, axis=1)) for rows in of_maps])


def pooled(cells: Floats, labels: Int32s) -> Floats:
    """Return the mean of a (rows, columns, n) map over each region.

    >>> cells = np.array([[[0.0], [8.0]]], np.float32)
    >>> pooled(cells, np.array([[0, 0, 1, 1]], np.int32)).tolist()
    [[1.0], [7.0]]
    """
    rows, columns, length = cells.shape
    weights = pixel_shares(labels, rows, columns)
    means: Floats = (weights @ cells.reshape(-1, length)).astype(np.float32)
    return means


def pixel_shares(labels: Int32s, rows: int, columns: int) -> Floats:
    """Return how much each cell of a map counts for each region: (regions, cells), sums are 1."""
    down, across = _between(labels.shape[0], rows), _between(labels.shape[1], columns)
    n = int(labels.max()) + 1
    counts = np.zeros(n * rows * columns)
    for row, high in down:
        for column, wide in across:
            at = (labels * rows + row[:, None]) * columns + column[None]
            counts += np.bincount(at.ravel(), np.outer(high, wide).ravel(), len(counts))
    table = counts.reshape(n, rows * columns)
    shares: Floats = (table / table.sum(axis=1, keepdims=True)).astype(np.float32)
    return shares


def _between(pixels: int, cells: int) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return the two cells that each pixel lies between, and how much of each it takes."""
    at = np.clip((np.arange(pixels) + 0.5) * cells / pixels - 0.5, 0, cells - 1)
    first = np.minimum(at.astype(np.int64), max(cells - 2, 0))
    second = np.minimum(first + 1, cells - 1)
    return [(first, 1 - (at - first)), (second, at - first)]
