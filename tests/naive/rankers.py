"""Slow, readable twins of the rankers: dense matrices, double precision, one triplet at a time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tests.naive.solvers import tau

Matrix = NDArray[np.float64]


def pamir(
    X: Matrix, Q: Matrix, triplets: Iterable[tuple[int, int, int]], C: float, variant: str = "PA-I"
) -> tuple[Matrix, Matrix]:
    """Learn W from triplets in turn, Q holding a query a row; return it and the mean of all W."""
    W = np.zeros((Q.shape[1], X.shape[1]))
    total, n = np.zeros_like(W), 0
    for q, plus, minus in triplets:
        x = np.outer(Q[q], X[plus] - X[minus])
        W = W + tau(1 - float(np.sum(W * x)), float(np.sum(x * x)), C, variant) * x
        total += W
        n += 1
    return W, total / n
