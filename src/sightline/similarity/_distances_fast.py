"""Compiled: distances that are no matrix product; numpy would need an array of three axes.

For all pairs, the second side is transposed, a row for each column: a loop over pictures adds to as
many sums at once as the processor can, and each sum is in the order of the columns. Arithmetic is
in the type of the arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline._njit_fast import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats = Any
"""float32 or float64, the same for all arrays of a call."""
# Pictures whose sums are kept in the nearest cache.
_PART = 128


@njit(cache=True, nogil=True, error_model="numpy")
def chi2_distances(a: Floats, by_number: Floats, out: Floats) -> None:
    """Fill out[i, j] with sum_k (a_ik - b_kj)^2 / (a_ik + b_kj); 0/0 counts 0."""
    for first in range(0, out.shape[1], _PART):
        for i in range(out.shape[0]):
            totals = out[i, first : first + _PART]
            totals[:] = 0
            for k in range(a.shape[1]):
                x, others = a[i, k], by_number[k, first : first + _PART]
                nothing = x - x
                for j in range(len(totals)):
                    both, difference = x + others[j], x - others[j]
                    totals[j] += difference * difference / both if both > nothing else nothing


@njit(cache=True, nogil=True)
def l1_distances(a: Floats, by_number: Floats, out: Floats) -> None:
    """Fill out[i, j] with sum_k |a_ik - b_kj|."""
    for first in range(0, out.shape[1], _PART):
        for i in range(out.shape[0]):
            totals = out[i, first : first + _PART]
            totals[:] = 0
            for k in range(a.shape[1]):
                x, others = a[i, k], by_number[k, first : first + _PART]
                for j in range(len(totals)):
                    totals[j] += abs(x - others[j])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def chi2_of_pairs(
    a: Floats, b: Floats, left: NDArray[np.int64], right: NDArray[np.int64], out: Floats
) -> None:
    """Fill out[i] with the chi-squared distance of rows a[left[i]] and b[right[i]]."""
    for i in range(len(left)):
        x, y = a[left[i]], b[right[i]]
        total = nothing = out[i] - out[i]
        for k in range(len(x)):
            both, difference = x[k] + y[k], x[k] - y[k]
            total += difference * difference / both if both > nothing else nothing
        out[i] = total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def l1_of_pairs(
    a: Floats, b: Floats, left: NDArray[np.int64], right: NDArray[np.int64], out: Floats
) -> None:
    """Fill out[i] with the sum of |a - b| of rows a[left[i]] and b[right[i]]."""
    for i in range(len(left)):
        x, y = a[left[i]], b[right[i]]
        total = out[i] - out[i]
        for k in range(len(x)):
            total += abs(x[k] - y[k])
        out[i] = total
