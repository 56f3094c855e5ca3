"""Compiled: a round of passive-aggressive steps over pairs of judged pictures.

Rows are of single precision and sums may be taken in any order, so that the processor adds many
numbers at once; weights are of double precision, since small steps add up over rounds.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sightline.solvers._pa_step_fast import step_size
from sightline.solvers.pa_step import UPDATED

PA_I = 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _look(
    w: NDArray[np.float64], a: NDArray[np.float32], b: NDArray[np.float32]
) -> tuple[float, float]:
    """Return w.(a - b) and ||a - b||^2."""
    margin = norm2 = 0.0
    for k in range(len(w)):
        x = np.float64(a[k]) - np.float64(b[k])
        margin += w[k] * x
        norm2 += x * x
    return margin, norm2


@njit(cache=True, nogil=True)
def learn_pairs(
    w: NDArray[np.float64], X: NDArray[np.float32], plus: NDArray[np.int64],
    minus: NDArray[np.int64], C: float, counts: NDArray[np.int64],
) -> None:  # fmt: skip
    """Move the weights by each pair of rows in turn."""
    for i in range(len(plus)):
        a, b = X[plus[i]], X[minus[i]]
        margin, norm2 = _look(w, a, b)
        tau, outcome = step_size(1.0 - margin, norm2, C, PA_I)
        counts[outcome] += 1
        if outcome == UPDATED:
            for k in range(len(w)):
                w[k] += tau * (np.float64(a[k]) - np.float64(b[k]))
