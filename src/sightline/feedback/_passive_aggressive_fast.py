"""Compiled: a round of passive-aggressive steps over pairs of judged pictures.

Rows are of single precision and sums may be taken in any order, so that the processor adds many
numbers at once; weights are of double precision, since small steps add up over rounds.
"""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats, Ints
from sightline.solvers._pa_step_fast import step_size
from sightline.solvers.pa_step import UPDATED

PA_I = 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _margin_and_norm(w: Doubles, a: Floats, b: Floats) -> tuple[float, float]:
    """Return w.(a - b) and ||a - b||^2."""
    margin = norm2 = 0.0
    for k in range(len(w)):
        x = np.float64(a[k]) - np.float64(b[k])
        margin += w[k] * x
        norm2 += x * x
    return margin, norm2


@njit(cache=True, nogil=True)
def learn_pairs(
    w: Doubles, late: Doubles, processed: int, X: Floats, more: Floats, plus: Ints, minus: Ints,
    C: float, counts: Ints,
) -> None:  # fmt: skip
    """Move the weights by each pair of rows in turn.

    `plus` and `minus` are rows of X; those of `minus` beyond its end are rows of `more`. `late` is
    U of `pa_step.PassiveAggressive.averaged`, and `processed` the number of earlier pairs.
    """
    for i in range(len(plus)):
        a = X[plus[i]]
        b = X[minus[i]] if minus[i] < len(X) else more[minus[i] - len(X)]
        margin, norm2 = _margin_and_norm(w, a, b)
        tau, outcome = step_size(1.0 - margin, norm2, C, PA_I)
        counts[outcome] += 1
        if outcome == UPDATED:
            for k in range(len(w)):
                x = tau * (np.float64(a[k]) - np.float64(b[k]))
                w[k] += x
                late[k] += (processed + i) * x


@njit(cache=True, nogil=True)
def learn_singles(
    coef: Doubles, K: Doubles, signs: Doubles,
    drawn: Ints, C: float, counts: Ints,
) -> None:  # fmt: skip
    """Move coefficients of judged pictures by each drawn one in turn; K is their kernel."""
    f = np.zeros(len(coef))
    for i in range(len(coef)):
        for j in range(len(coef)):
            f[i] += K[i, j] * coef[j]
    for t in drawn:
        tau, outcome = step_size(1.0 - signs[t] * f[t], K[t, t], C, PA_I)
        counts[outcome] += 1
        if outcome == UPDATED:
            coef[t] += tau * signs[t]
            for i in range(len(coef)):
                f[i] += tau * signs[t] * K[i, t]
