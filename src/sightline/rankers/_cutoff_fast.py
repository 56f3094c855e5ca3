"""Compiled: passive-aggressive steps on the words' part of a threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats, Ints
from sightline.solvers._pa_step_fast import step_size
from sightline.solvers._triplets_fast import below, following
from sightline.solvers.pa_step import UPDATED, VARIANTS

_PA_I = VARIANTS.index("PA-I")


@njit(cache=True, nogil=True)
def learn_words(
    state: NDArray[np.uint64], relevant: Doubles, relevant_start: Ints, hardest: Doubles,
    q_start: Ints, terms: Ints, weights: Floats, C: float, margin: float, n: int,
    h: Doubles, U: Doubles,
) -> None:  # fmt: skip
    """Take n turns of two steps each, at scores s+ and s- of a query drawn at random.

    `relevant` are the scores of the relevant pictures, query by query, `hardest` those of the best
    other pictures, a row for each query, -inf where there are fewer. `U` is for averaging.
    """
    x = state[0]
    for i in range(n):
        x = following(x)
        q = below(x, len(hardest))
        first, last = q_start[q], q_start[q + 1]
        x = following(x)
        above = relevant[relevant_start[q] + below(x, relevant_start[q + 1] - relevant_start[q])]
        x = following(x)
        other = hardest[q, below(x, hardest.shape[1])]
        theta, norm2 = 0.0, 0.0
        for k in range(first, last):
            theta += weights[k] * h[terms[k]]
            norm2 += weights[k] * weights[k]
        for side in range(2):
            # The threshold should be below s+, and above s-.
            up = -1.0 if side == 0 else 1.0
            loss = margin - above + theta if side == 0 else margin - theta + other
            tau, outcome = step_size(loss, norm2, C, _PA_I)
            if outcome != UPDATED:
                continue
            theta += up * tau * norm2
            for k in range(first, last):
                h[terms[k]] += up * tau * weights[k]
                U[terms[k]] += i * up * tau * weights[k]
    state[0] = x
