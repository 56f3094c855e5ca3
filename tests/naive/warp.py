"""A slow, readable twin of WARP: dense matrices, double precision, one other picture at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.naive.solvers import tau, xorshift

Matrix = NDArray[np.float64]
Triplet = tuple[int, int, int]


def harmonic(k: int) -> float:
    """1 + 1/2 + … + 1/k."""
    return sum(1 / i for i in range(1, k + 1))


def warp(
    X: Matrix,
    Q: Matrix,
    triplets: Iterable[Triplet],
    others: Callable[[int, int], Sequence[int]],
    state: int,
    C: float,
    max_trials: int,
    L: Callable[[int], float] = harmonic,
    gains: Sequence[float] | None = None,
    variant: str = "PA-I",
    start: Matrix | None = None,
) -> tuple[Matrix, Matrix]:
    """Learn W, looking on among `others(q, p)`; return it and the mean of all W."""
    W = np.zeros((Q.shape[1], X.shape[1])) if start is None else start
    total, n = np.zeros_like(W), 0
    for q, p, drawn in triplets:
        v, m, trials = Q[q] @ W, drawn, 1
        n_other = len(others(q, p))

        def loss(m: int, p: int = p, v: Matrix = v) -> float:
            rho = 1.0 if gains is None else gains[p] - gains[m]
            return rho - float(v @ X[p]) + float(v @ X[m])

        while loss(m) <= 0 and trials < min(max_trials, n_other):
            state = xorshift(state)
            m = others(q, p)[(state >> 32) * n_other >> 32]
            trials += 1
        x = np.outer(Q[q], X[p] - X[m])
        share = L(n_other // trials) / L(n_other)
        W = W + tau(loss(m), float(np.sum(x * x)), C * share, variant) * x
        total += W
        n += 1
    return W, total / n
