"""A slow, readable twin of SSI: one pair at a time, double precision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.naive.solvers import xorshift

Matrix = NDArray[np.float64]


def ssi(
    U: Matrix,
    V: Matrix,
    Q: Matrix,
    D: Matrix,
    lists: Sequence[tuple[int, Sequence[int], Sequence[int]]],
    state: int,
    n_pairs: int,
    per_query: int,
    eta: float,
) -> tuple[Matrix, Matrix, int]:
    """Learn from pairs of lists (query, relevant, others); return U, V and the updates."""
    U, V, done, moved = U.copy(), V.copy(), 0, 0
    while done < n_pairs:
        state = xorshift(state)
        q, plus, minus = lists[(state >> 32) * len(lists) >> 32]
        for _ in range(min(per_query, n_pairs - done)):
            done += 1
            state = xorshift(state)
            p = plus[(state >> 32) * len(plus) >> 32]
            state = xorshift(state)
            m = minus[(state >> 32) * len(minus) >> 32]
            x = D[p] - D[m]
            u, v = U @ Q[q], V @ x
            if 1 - u @ v > 0:
                U, V = U + eta * np.outer(v, Q[q]), V + eta * np.outer(u, x)
                moved += 1
    return U, V, moved
