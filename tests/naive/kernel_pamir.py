"""A slow, readable twin of kernel PAMIR: all sums anew for each triplet, in double precision."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tests.naive.solvers import tau

Matrix = NDArray[np.float64]


def kernel_pamir(
    K: Matrix, Q: Matrix, triplets: Iterable[tuple[int, int, int]], C: float, variant: str = "PA-I"
) -> tuple[Matrix, Matrix]:
    """Learn alpha from triplets in turn, Q holding a query a row; return it and its mean."""
    n_words, n_pictures = Q.shape[1], len(K)
    alpha = np.zeros((n_words, n_pictures))
    total, n = np.zeros_like(alpha), 0
    for q, plus, minus in triplets:
        loss = 1.0
        for t in range(n_words):
            for j in range(n_pictures):
                loss -= Q[q, t] * alpha[t, j] * (K[j, plus] - K[j, minus])
        gap = K[plus, plus] - 2 * K[plus, minus] + K[minus, minus]
        step = tau(loss, float(Q[q] @ Q[q]) * gap, C, variant)
        for t in range(n_words):
            alpha[t, plus] += step * Q[q, t]
            alpha[t, minus] -= step * Q[q, t]
        total += alpha
        n += 1
    return alpha, total / n
