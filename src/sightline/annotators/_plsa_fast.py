"""Compiled: PLSA's steps. Each cell's shares among aspects are used at once and never stored.

Sums are reassociated, so that several are made at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles, Int32s, Ints

Table = NDArray[np.float64] | NDArray[np.float32]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def half_step(
    start: Ints, index: Int32s, count: Doubles, fixed: Doubles, free: Doubles, out: Doubles
) -> float:
    """Fill out[i, k] with sum_j n_ij r_ijk, and return sum_ij n_ij log z_ij.

    z_ij = sum_k free_ik fixed_jk and r_ijk = free_ik fixed_jk / z_ij. Divided by sums of its own,
    `out` is the free table of the next iteration.
    """
    K = free.shape[1]
    total = 0.0
    for i in range(len(start) - 1):
        out[i, :] = 0.0
        for e in range(start[i], start[i + 1]):
            j = index[e]
            z = 0.0
            for k in range(K):
                z += free[i, k] * fixed[j, k]
            if z > 0.0:
                total += count[e] * np.log(z)
                w = count[e] / z
                for k in range(K):
                    out[i, k] += w * fixed[j, k]
        for k in range(K):
            out[i, k] *= free[i, k]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def fold_in(
    start: Ints, index: Int32s, count: Doubles, table: Table, n_iter: int, tol: float, floor: float,
    out: Doubles,
) -> None:  # fmt: skip
    """Fill out[p] with P(k|p), given table[v] = P(v|k), by EM from equal shares.

    Each picture stops by its own likelihood, so that its result does not depend on the others. Rows
    of the table that are all 0 are ignored; a picture without others keeps equal shares.
    """
    K = table.shape[1]
    longest = 0
    for p in range(len(start) - 1):
        longest = max(longest, start[p + 1] - start[p])
    # A picture's rows are copied side by side, so that they stay in the cache while they are
    # reread.
    rows = np.empty((longest, K))
    sums = np.empty(K)
    for p in range(len(start) - 1):
        out[p, :] = 1.0 / K
        n = count[start[p] : start[p + 1]]
        for e in range(len(n)):
            for k in range(K):
                rows[e, k] = table[index[start[p] + e], k]
        before = 0.0
        for step in range(n_iter):
            sums[:] = 0.0
            likelihood = 0.0
            for e in range(len(n)):
                z = 0.0
                for k in range(K):
                    z += out[p, k] * rows[e, k]
                if z > 0.0:
                    likelihood += n[e] * np.log(z)
                    w = n[e] / z
                    for k in range(K):
                        sums[k] += w * rows[e, k]
            scale = 0.0
            for k in range(K):
                out[p, k] *= sums[k]
                scale += out[p, k]
            for k in range(K):
                out[p, k] = out[p, k] / scale if scale > 0.0 else 1.0 / K
                # Subnormal numbers take a hundred times as long to multiply.
                if out[p, k] < floor:
                    out[p, k] = 0.0
            if step > 0 and likelihood - before <= tol * abs(before):
                break
            before = likelihood
