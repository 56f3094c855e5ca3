"""Compiled: kernel PAMIR's loop over triplets.

The scores G = alpha K of all words and training pictures are kept up to date, so that a triplet
reads a few numbers, and only an update walks along rows: that of each of the query's words in G,
and those of the two pictures in K, which is symmetric.
"""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats, Int32s, Ints
from sightline.rankers._pamir_fast import add_difference
from sightline.solvers._pa_step_fast import step_size
from sightline.solvers.pa_step import PASSIVE, UPDATED

# What float32 leaves of a difference of kernels: four roundings of numbers as large as k(p, p).
_BLUR = 4.0 * 1.1920929e-07


@njit(cache=True, nogil=True)
def squared_gap(K: Floats, p: int, m: int) -> float:
    """Return ||phi(p) - phi(m)||^2 = k(p, p) - 2 k(p, m) + k(m, m), 0 where rounding hides it."""
    k_pp, k_mm = np.float64(K[p, p]), np.float64(K[m, m])
    gap = k_pp - 2.0 * np.float64(K[p, m]) + k_mm
    if abs(gap) <= _BLUR * (abs(k_pp) + abs(k_mm)):
        return 0.0
    return gap


@njit(cache=True, nogil=True)
def learn(
    alpha: Floats, U: Doubles, processed: int, K: Floats, G: Floats, negative: Ints,
    q_start: Ints, terms: Ints, weights: Floats, q_norms: Doubles,
    query: Int32s, plus: Int32s, minus: Int32s, C: float, variant: int, scratch: Floats,
    counts: Ints,
) -> None:  # fmt: skip
    """Learn from triplets in turn; `U` is for averaging, without rows where it is not wanted.

    `processed` is the number of triplets of earlier calls. `negative` counts squared distances
    below 0, `counts` the outcomes of all triplets; `scratch` is not used.
    """
    for i in range(len(query)):
        q, p, m = query[i], plus[i], minus[i]
        first, last = q_start[q], q_start[q + 1]
        loss = 1.0
        for k in range(first, last):
            t = terms[k]
            loss -= weights[k] * (np.float64(G[t, p]) - np.float64(G[t, m]))
        if loss <= 0.0:
            counts[PASSIVE] += 1
            continue
        gap = squared_gap(K, p, m)
        if gap < 0.0:
            negative[0] += 1
        tau, outcome = step_size(loss, q_norms[q] * gap, C, variant)
        counts[outcome] += 1
        if outcome != UPDATED:
            continue
        for k in range(first, last):
            t, step = terms[k], np.float32(tau * weights[k])
            alpha[t, p] += step
            alpha[t, m] -= step
            add_difference(G[t], step, K[p], K[m])
            if len(U):
                late = (processed + i) * tau * weights[k]
                U[t, p] += late
                U[t, m] -= late
