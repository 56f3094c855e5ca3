"""Compiled: one pass of the first-order online learners over difference vectors.

Weights are in double precision, differences in single. Sums may be taken in any order, so that the
processor adds many numbers at once; a difference that changes nothing is read once.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sightline.solvers._pa_step_fast import step_size
from sightline.solvers.pa_step import PASSIVE, REJECTED, UPDATED

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
# Rules: places of the variants in `pa_step.VARIANTS`, and two more.
PA_I, PA_II, OPR, OGDR = 1, 2, 3, 4


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squared_length(X: Floats, i: int) -> float:
    """Return ||x||^2 of row i."""
    total = 0.0
    for k in range(X.shape[1]):
        total += np.float64(X[i, k]) * np.float64(X[i, k])
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def learn(
    w: Doubles, late: Doubles, seen: int, X: Floats, rule: int, C: float,
    counts: NDArray[np.int64], totals: Doubles,
) -> None:  # fmt: skip
    """Learn from the rows of X in turn; `late` has no numbers where no mean is wanted.

    OPR moves where w.x <= 0, by x; OGDR where the hinge is above 0, by C x. `totals` gets the sum
    of hinge losses and the number of mistakes.
    """
    passive, losses = 0, totals[0]
    variant = rule if rule <= PA_II else 0
    enough = 0.0 if rule == OPR else 1.0
    for i in range(len(X)):
        margin = 0.0
        # Written out: a call would take half as long as the sum.
        for k in range(len(w)):
            margin += w[k] * X[i, k]
        loss = 1.0 - margin
        # A tie moves OPR, and a margin that is not finite goes on to be rejected.
        if margin >= enough and 0.0 < margin < np.inf:
            passive += 1
            losses += max(loss, 0.0)
            continue
        tau, outcome = step_size(loss, squared_length(X, i), C, variant)
        counts[outcome] += 1
        if outcome != REJECTED:
            losses += max(loss, 0.0)
        if outcome != UPDATED:
            continue
        totals[1] += margin <= 0.0
        if rule == OPR:
            tau = 1.0
        elif rule == OGDR:
            tau = C
        for k in range(len(w)):
            w[k] += tau * X[i, k]
        for k in range(len(late)):
            late[k] += (seen + i) * tau * X[i, k]
    counts[PASSIVE] += passive
    totals[0] = losses
