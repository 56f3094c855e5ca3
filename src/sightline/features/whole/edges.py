"""Edges of the whole picture: histograms of oriented gradients.

Dalal and Triggs, "Histograms of oriented gradients for human detection", 2005: nine directions in
cells of 8 pixels, normalised in blocks of 2 × 2 cells with values cut at .2 (L2-Hys). The picture
is squashed to 72 × 72 pixels first, so that every picture has as many cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.features.whole.cells import RGB, Float, small

_SIDE, _CELL, _DIRECTIONS, _CUT = 72, 8, 9, 0.2
_CELLS = _SIDE // _CELL


class Edges:
    """Histograms of oriented gradients, 8 × 8 blocks of 36 numbers.

    >>> Edges().describe(np.zeros((9, 9, 3), np.uint8)).shape
    (2304,)
    """

    name = "edges"
    version = 1
    length = (_CELLS - 1) ** 2 * 4 * _DIRECTIONS

    @property
    def parameters(self) -> dict[str, Json]:
        return {"side": _SIDE, "cell": _CELL, "directions": _DIRECTIONS, "cut": _CUT}

    def describe(self, rgb: RGB) -> Float:
        """Return all blocks, together of length one; a picture without edges gives zeros."""
        values = _blocks(_cell_histograms(_squashed(rgb))).ravel()
        length = float(np.linalg.norm(values))
        return (values / length if length > 0 else values).astype(np.float32)


def _squashed(rgb: RGB) -> NDArray[np.float64]:
    from PIL import Image

    picture = Image.fromarray(small(rgb, 2 * _SIDE)).convert("L")
    return np.asarray(picture.resize((_SIDE, _SIDE), Image.Resampling.BILINEAR), np.float64)


def _cell_histograms(grey: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the strength of each direction in each cell, (cells, cells, directions)."""
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[1:-1] = grey[2:] - grey[:-2]
    right[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    strength = np.hypot(down, right)
    direction = np.rad2deg(np.arctan2(down, right)) % 180
    which = np.minimum((direction / (180 / _DIRECTIONS)).astype(np.int64), _DIRECTIONS - 1)
    cell = np.arange(_SIDE) // _CELL
    at = (cell[:, None] * _CELLS + cell) * _DIRECTIONS + which
    found = np.bincount(at.ravel(), strength.ravel(), _CELLS * _CELLS * _DIRECTIONS)
    return found.reshape(_CELLS, _CELLS, _DIRECTIONS) / _CELL**2


def _blocks(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    parts = [cells[:-1, :-1], cells[:-1, 1:], cells[1:, :-1], cells[1:, 1:]]
    blocks = np.concatenate(parts, axis=2)
    blocks = np.minimum(_unit(blocks), _CUT)
    return _unit(blocks)


def _unit(blocks: NDArray[np.float64]) -> NDArray[np.float64]:
    # The small number keeps noise in flat places from being blown up to full length.
    length: NDArray[np.float64] = np.sqrt(np.square(blocks).sum(axis=2, keepdims=True) + 1e-10)
    return blocks / length
