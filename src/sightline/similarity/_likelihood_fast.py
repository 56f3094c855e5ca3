"""The loop over pairs of Gaussians: a sum of quotients is no matrix product."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from sightline._njit_fast import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Quotients that are multiplied before a logarithm is taken: each is at most about the number of
# descriptors over the floor of variances, so that eight stay far from overflowing.
_GROUP = 8


@njit(cache=True, nogil=True)
def log_overlaps(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    mean_2: NDArray[np.float64],
    variance_2: NDArray[np.float64],
    rho: float,
    out: NDArray[np.float64],
) -> None:
    """Fill out[i, j] with the logarithm of the normalised overlap of Gaussians i and j.

    sum_d 1/2 log(2 sqrt(v v') / (v + v')) - rho/2 (m - m')^2 / (v + v'), of which the first part is
    never above 0, and 0 for equal variances.
    """
    dim = mean.shape[1]
    root, other_root = np.sqrt(variance), np.sqrt(variance_2)
    for i in range(mean.shape[0]):
        for j in range(mean_2.shape[0]):
            spread, apart = 0.0, 0.0
            for begin in range(0, dim, _GROUP):
                product = 1.0
                for d in range(begin, min(begin + _GROUP, dim)):
                    total = variance[i, d] + variance_2[j, d]
                    difference = mean[i, d] - mean_2[j, d]
                    apart += difference * difference / total
                    product *= total / (2.0 * root[i, d] * other_root[j, d])
                spread += log(product)
            out[i, j] = -0.5 * (max(spread, 0.0) + rho * apart)
