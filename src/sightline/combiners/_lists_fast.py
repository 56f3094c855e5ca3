"""Compiled: the average precision of lists of different lengths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Ints


@njit(cache=True, nogil=True)
def average_precisions(
    scores: NDArray[np.float32] | NDArray[np.float64],
    fits: NDArray[np.bool_],
    start: Ints,
    out: NDArray[np.float64],
) -> None:
    """Write the AvgP of each list; NaN where nothing is relevant. Of equals the earlier is first.

    Only relevant pictures are sorted. An other one is counted after the relevant ones that stand
    before it, which are the first so many.
    """
    for i in range(len(out)):
        s, relevant = scores[start[i] : start[i + 1]], fits[start[i] : start[i + 1]]
        places = np.flatnonzero(relevant)
        n = len(places)
        if n == 0:
            out[i] = np.nan
            continue
        places = places[np.argsort(-s[places], kind="mergesort")]
        after = np.zeros(n + 1, dtype=np.int64)
        for j in range(len(s)):
            if relevant[j]:
                continue
            low, high = 0, n
            while low < high:
                middle = (low + high) >> 1
                p = places[middle]
                if s[p] > s[j] or (s[p] == s[j] and p < j):
                    low = middle + 1
                else:
                    high = middle
            after[low] += 1
        total, ahead = 0.0, 0
        for r in range(n):
            ahead += after[r]
            total += (r + 1) / (r + 1 + ahead)
        out[i] = total / n
