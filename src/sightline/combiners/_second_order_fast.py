"""Compiled: one pass of the second-order online learners over difference vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats
from sightline.solvers._second_order_fast import step_sizes
from sightline.solvers.pa_step import PASSIVE, REJECTED, UPDATED

_AROW = 0


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def product(w: Doubles, X: Floats, i: int) -> float:
    """Return w.x of row i."""
    total = 0.0
    for k in range(len(w)):
        total += w[k] * X[i, k]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def spread_along(S: Doubles, X: Floats, i: int, g: Doubles) -> float:
    """Write S x of row i into g, and return x'S x; a covariance of one row is a diagonal."""
    variance = 0.0
    if len(S) == 1:
        for a in range(len(g)):
            g[a] = S[0, a] * X[i, a]
            variance += g[a] * X[i, a]
        return variance
    for a in range(len(g)):
        total = 0.0
        for b in range(len(g)):
            total += S[a, b] * X[i, b]
        g[a] = total
        variance += total * X[i, a]
    return variance


@njit(cache=True, nogil=True)
def shrink(S: Doubles, beta: float, g: Doubles) -> None:
    """Subtract beta g g' from S, which stays exactly symmetric since g_a g_b = g_b g_a."""
    if len(S) == 1:
        for a in range(len(g)):
            S[0, a] -= beta * (g[a] * g[a])
        return
    for a in range(len(g)):
        for b in range(len(g)):
            S[a, b] -= beta * (g[a] * g[b])


@njit(cache=True, nogil=True)
def learn(
    w: Doubles, late: Doubles, processed: int, S: Doubles, X: Floats, rule: int, C: float, z: float,
    counts: NDArray[np.int64], totals: Doubles,
) -> None:  # fmt: skip
    """Learn from the rows of X in turn; `totals` gets the sum of hinge losses and the mistakes.

    `processed` is the number of rows of earlier calls.
    """
    g = np.empty(len(w))
    for i in range(len(X)):
        margin = product(w, X, i)
        loss = max(1.0 - margin, 0.0)
        if rule == _AROW and margin >= 1.0 and margin < np.inf:
            counts[PASSIVE] += 1
            continue
        variance = spread_along(S, X, i, g)
        alpha, beta, outcome = step_sizes(margin, variance, C, z, rule)
        counts[outcome] += 1
        if outcome != REJECTED:
            totals[0] += loss
        if outcome != UPDATED:
            continue
        totals[1] += margin <= 0.0
        for k in range(len(w)):
            w[k] += alpha * g[k]
        for k in range(len(late)):
            late[k] += (processed + i) * alpha * g[k]
        shrink(S, beta, g)
