"""Local binary patterns of the whole picture: the share of pixels with each of 59 patterns.

The patterns are those of `features.local.lbp`: 8 points at radius 2, 58 uniform codes in ascending
order, one bin for all others; every pixel counts, those at the border too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.features.local.lbp import N_BINS, RADIUS, bins, padded_grey, pattern_codes


class Patterns:
    """Shares of local binary patterns; they sum to 1.

    Examples
    --------
    In a constant picture every point is as bright as the pixel: all bits are set.

    >>> row = Patterns().describe(np.full((20, 30, 3), 7, np.uint8))
    >>> np.flatnonzero(row).tolist(), float(row[57])
    ([57], 1.0)
    """

    name = "lbp"
    version = 1
    length = N_BINS

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"points": 8, "radius": RADIUS}

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the share of each pattern."""
        codes = pattern_codes(padded_grey(rgb))
        counts = np.zeros(N_BINS, np.int64)
        np.add.at(counts, bins(), np.bincount(codes.ravel(), minlength=256))
        return (counts / codes.size).astype(np.float32)
