"""Texture of the whole picture: local binary patterns, whole or by cells."""

from __future__ import annotations

import numpy as np

from sightline.contracts import Json
from sightline.features.local.lbp import N_BINS, RADIUS, bins, padded_grey, pattern_codes
from sightline.features.whole.cells import RGB, Float, cell_histograms, small

_SIDE = 192


class Texture:
    """The histogram of uniform LBP(8,2), 59 bins.

    >>> flat = Texture().describe(np.full((8, 8, 3), 90, np.uint8))
    >>> flat.shape, float(flat.max())
    ((59,), 1.0)
    """

    name = "texture"
    version = 1
    grid = 1

    def __init__(self) -> None:
        self.length = self.grid**2 * N_BINS

    @property
    def parameters(self) -> dict[str, Json]:
        return {"radius": RADIUS, "grid": self.grid, "side": _SIDE}

    def describe(self, rgb: RGB) -> Float:
        """Return the histograms of all cells."""
        codes = pattern_codes(padded_grey(small(rgb, _SIDE)))
        return cell_histograms(bins()[codes].astype(np.int64), None, N_BINS, self.grid)


class TextureCells(Texture):
    """The histograms of 4 × 4 cells: which texture is where."""

    name = "texture-cells"
    version = 1
    grid = 4
