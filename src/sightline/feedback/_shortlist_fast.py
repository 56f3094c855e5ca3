"""Compiled: rows of whole numbers multiplied by weights, the best of them kept while scanning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Floats, Ints


@njit(cache=True, nogil=True)
def scan(
    codes: NDArray[np.int8], scale: Floats, w: NDArray[np.int16], scores: Floats, positions: Ints
) -> None:
    """Keep the best rows: `scores` and `positions` are a heap, its least first, full at the end.

    There must be at least as many rows as there is room.
    """
    n_kept = len(scores)
    for i in range(len(codes)):
        total = np.int32(0)
        # Unsigned positions: with a sign, numba checks of each whether it counts from the end.
        for k in range(np.uint64(codes.shape[1])):
            # Without the casts products are of 64 bits, which cost twice as much.
            total = np.int32(total + np.int32(np.int32(codes[i, k]) * np.int32(w[k])))
        score = np.float32(total) * scale[i]
        if i < n_kept:
            scores[i], positions[i] = score, i
            if i == n_kept - 1:
                for root in range(n_kept // 2, -1, -1):
                    _sink(scores, positions, root)
        elif score > scores[0]:
            scores[0], positions[0] = score, i
            _sink(scores, positions, 0)


@njit(cache=True, nogil=True)
def _sink(scores: Floats, places: Ints, root: int) -> None:
    """Move the entry at a position of the heap down until the heap is in order."""
    score, place = scores[root], places[root]
    while True:
        child = 2 * root + 1
        if child >= len(scores):
            break
        if child + 1 < len(scores) and scores[child + 1] < scores[child]:
            child += 1
        if scores[child] >= score:
            break
        scores[root], places[root] = scores[child], places[child]
        root = child
    scores[root], places[root] = score, place
