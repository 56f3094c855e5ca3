"""The chi-squared distance's loop: it is no matrix product, so numpy would need a cube."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def chi2_distances(
    a: NDArray[np.float64], b: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Fill out[i, j] with sum_k (a_ik - b_jk)^2 / (a_ik + b_jk); 0/0 counts 0."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = 0.0
            for k in range(a.shape[1]):
                both = a[i, k] + b[j, k]
                if both > 0.0:
                    difference = a[i, k] - b[j, k]
                    total += difference * difference / both
            out[i, j] = total
