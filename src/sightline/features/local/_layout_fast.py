"""The loops that count kinds of pixels and patterns in the cells of a picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Bytes, Doubles, Ints

_3, _5, _10 = np.uint32(3), np.uint32(5), np.uint32(10)


@njit(cache=True, nogil=True)
def count_kinds(rgb: Bytes, down: Ints, right: Ints, counts: NDArray[np.int32]) -> None:
    """Count pixels by the upper five bits of red, green and blue, in the cell of each."""
    n_cells = right[-1] + 1
    for y in range(rgb.shape[0]):
        for x in range(rgb.shape[1]):
            red = np.uint32(rgb[y, x, 0]) >> _3 << _10
            green = np.uint32(rgb[y, x, 1]) >> _3 << _5
            kind = red | green | np.uint32(rgb[y, x, 2]) >> _3
            counts[down[y] * n_cells + right[x], kind] += 1


@njit(cache=True, nogil=True)
def add_shares(
    counts: NDArray[np.int32], near: Ints, weights: Doubles, histograms: Doubles
) -> None:
    """Add to the histogram of each cell the shares of its kinds of pixels in the bins near them."""
    for cell in range(counts.shape[0]):
        for kind in range(counts.shape[1]):
            n = counts[cell, kind]
            if n > 0:
                for i in range(near.shape[1]):
                    histograms[cell, near[kind, i]] += weights[kind, i] * n


@njit(cache=True, nogil=True)
def count_patterns(
    codes: Bytes, bins: Bytes, down: Ints, right: Ints, counts: NDArray[np.int32]
) -> None:
    """Count the bins of the codes, in the cell of each."""
    n_cells = right[-1] + 1
    for y in range(codes.shape[0]):
        for x in range(codes.shape[1]):
            counts[down[y] * n_cells + right[x], bins[codes[y, x]]] += 1
