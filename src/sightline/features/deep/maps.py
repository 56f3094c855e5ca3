"""Features with positions: the last map of EfficientNet-lite0, whole or in cells.

The network was trained on ImageNet.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.errors import ParameterError
from sightline.features.deep import session
from sightline.features.deep.framing import check_picture, framed
from sightline.features.deep.network import LITE0, Network
from sightline.features.deep.outputs import check_sizes, identity, outputs_of, unit_vector


def deep_map(
    rgb: NDArray[np.uint8], size: int, fine: bool = False, framing: str = "area"
) -> NDArray[np.float32]:
    """Return the network's features at each position of a picture.

    Cell (r, c) of the map covers the part of the picture from r/rows to (r+1)/rows of its height
    and from c/columns to (c+1)/columns of its width; its receptive field is larger.

    Parameters
    ----------
    rgb : ndarray of uint8
        Array of uint8, (height, width, 3)
    size : int
        The picture is scaled to about size x size pixels, with its aspect ratio; 32 pixels are a
        cell.
    fine : bool
        Give the map before the last halving instead: cells of 16 pixels, 672 numbers each.
    framing : str, default="area"
        {"area", "squash", "pad"} With "pad", cells are those of the padded square.

    Returns
    -------
    array of float32, (rows, columns, 1280 or 672)
    """
    session.require(LITE0)
    check_sizes("deep_map", (size,), framing)
    check_picture(rgb)
    (found,) = session.run(LITE0, framed(rgb, size, framing)[None], "fine_map" if fine else "map")
    return np.ascontiguousarray(found[0].transpose(1, 2, 0))


class DeepGrid:
    """Means of the last map over the cells of a grid, one after another, row by row.

    Unlike `DeepVector` it distinguishes above from below, and left from right. The network was
    trained on ImageNet.

    Parameters
    ----------
    cells : int
        The grid has cells x cells cells; their borders may cut through those of the map.
    size : int
        Side of the square the picture is scaled to, in pixels.
    flips : bool
        Average the map with that of the mirror image, turned back, at twice the cost.
    framing : str, default="area"
        {"pad", "squash", "area"} See `sightline.features.deep.framing`.
    """

    name = "deep-grid"
    version = 1
    network: ClassVar[Network] = LITE0

    def __init__(
        self, cells: int = 2, size: int = 224, flips: bool = True, framing: str = "area"
    ) -> None:
        session.require(self.network)
        check_sizes(type(self).__name__, (size,), framing)
        if type(cells) is not int or not 1 <= cells <= 8:
            raise ParameterError.of("cells", type(self).__name__, "from 1 to 8", cells)
        self.cells, self.size, self.flips, self.framing = cells, size, flips, framing
        self.length = cells * cells * self.network.outputs["map"]

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {
            **identity(self.network),
            "cells": self.cells,
            "size": self.size,
            "flips": self.flips,
            "framing": self.framing,
        }

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the means of all cells, joined and L2-normalised."""
        maps = [o.map for o in outputs_of(self.network, rgb, self.size, self.framing, self.flips)]
        grids = [in_cells(m, self.cells) for m in maps]
        if self.flips:
            grids[1] = grids[1][:, ::-1]
        mean: NDArray[np.float32] = np.mean(grids, axis=0)
        return unit_vector(mean.ravel())


def in_cells(values: NDArray[np.float32], cells: int) -> NDArray[np.float32]:
    """Return the means of a (rows, columns, n) map over a grid: (cells, cells, n).

    >>> rows = np.array([0, 3, 6], np.float32)[:, None, None].repeat(2, axis=1)
    >>> in_cells(rows, 2)[..., 0].round().tolist()
    [[1.0, 1.0], [5.0, 5.0]]
    """
    down, across = (_shares(n, cells) for n in values.shape[:2])
    rows = np.tensordot(down, values, axes=(1, 0))
    pooled: NDArray[np.float32] = np.matmul(across, rows)
    return pooled


def _shares(n: int, cells: int) -> NDArray[np.float32]:
    """Return, for each cell, the share of each of n rows; a row may be divided between two."""
    starts, width = np.arange(n), n / cells
    begins = np.arange(cells)[:, None] * width
    overlap = np.minimum(starts + 1, begins + width) - np.maximum(starts, begins)
    shares: NDArray[np.float32] = (np.maximum(overlap, 0) / width).astype(np.float32)
    return shares
