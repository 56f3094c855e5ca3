"""Compiled: the ranks of relevant pictures, for many queries."""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Bools, Doubles, Floats, Ints

_FEW = 24


@njit(cache=True, nogil=True)
def combine(
    by_word: Floats, start: Ints, term: Ints, weight: Floats, first: int, out: Floats
) -> None:
    """Write the scores of queries `first`, `first` + 1, … into the rows of `out`."""
    for i in range(len(out)):
        out[i] = np.float32(0.0)
        for k in range(start[first + i], start[first + i + 1]):
            w, t = weight[k], term[k]
            for j in range(out.shape[1]):
                out[i, j] += w * by_word[t, j]


@njit(cache=True, nogil=True)
def first_nan(scores: Floats) -> int:
    """Return the row of the first NaN, -1 if there is none."""
    for i in range(len(scores)):
        wrong = 0
        for j in range(scores.shape[1]):
            wrong += scores[i, j] != scores[i, j]
        if wrong:
            return i
    return -1


@njit(cache=True, nogil=True)
def count_ahead(scores: Floats | Doubles, picture: int, n: int) -> int:
    """Return how many pictures precede one: of a higher score, or equal and earlier."""
    s = scores[picture]
    ahead = 0
    for j in range(picture):
        ahead += scores[j] >= s
    for j in range(picture + 1, n):
        ahead += scores[j] > s
    return ahead


@njit(cache=True, nogil=True)
def ranks_among_listed(scores: Floats, fit: Ints, negative: Ints, positions: Ints) -> None:
    """Write the 0-based ranks of the relevant pictures among themselves and the listed others."""
    for i in range(len(fit)):
        p, s, ahead = fit[i], scores[fit[i]], 0
        for j in fit:
            ahead += scores[j] > s or (scores[j] == s and j < p)
        for j in negative:
            ahead += scores[j] > s or (scores[j] == s and j < p)
        positions[i] = ahead


@njit(cache=True, nogil=True)
def ranks_of_many(scores: Floats | Doubles, fit: Ints, positions: Ints) -> None:
    """Write the ranks of many relevant pictures, the best first.

    Only these are sorted. Each other picture is counted after the relevant ones that precede it,
    which are found by bisection.
    """
    listed = np.sort(fit)
    n = len(listed)
    ordered = listed[np.argsort(-scores[listed], kind="mergesort")]
    after = np.zeros(n + 1, dtype=np.int64)
    passed = 0
    for j in range(len(scores)):
        if passed < n and listed[passed] == j:
            passed += 1
            continue
        low, high = 0, n
        while low < high:
            middle = (low + high) >> 1
            p = ordered[middle]
            if scores[p] > scores[j] or (scores[p] == scores[j] and p < j):
                low = middle + 1
            else:
                high = middle
        after[low] += 1
    ahead = 0
    for r in range(n):
        ahead += after[r]
        positions[r] = r + ahead


@njit(cache=True, nogil=True)
def ranks_of(scores: Floats | Doubles, fit: Ints, positions: Ints) -> None:
    """Write the 0-based ranks of the relevant pictures among all, ascending."""
    if len(fit) > _FEW:
        ranks_of_many(scores, fit, positions)
        return
    for r in range(len(fit)):
        positions[r] = count_ahead(scores, fit[r], len(scores))
    positions.sort()


@njit(cache=True, nogil=True)
def average_precision(positions: Ints) -> float:
    """Return the AvgP of a list, from the ascending 0-based ranks of its relevant pictures."""
    total = 0.0
    for r in range(len(positions)):
        total += (r + 1) / (positions[r] + 1)
    return total / len(positions)


@njit(cache=True, nogil=True)
def measure_lists(scores: Floats | Doubles, relevant: Bools, start: Ints, average: Doubles) -> None:
    """Write the AvgP of lists of different lengths; NaN where nothing is relevant."""
    for i in range(len(average)):
        fit = np.flatnonzero(relevant[start[i] : start[i + 1]])
        if len(fit) == 0:
            average[i] = np.nan
            continue
        positions = np.empty(len(fit), dtype=np.int64)
        ranks_of(scores[start[i] : start[i + 1]], fit, positions)
        average[i] = average_precision(positions)


@njit(cache=True, nogil=True)
def measure_rows(
    scores: Floats, relevant_start: Ints, relevant: Ints, negative_start: Ints, negative: Ints,
    first: int, k: int, average: Doubles, precision: Doubles, even: Doubles,
) -> None:  # fmt: skip
    """Write the measures of the queries in the rows of `scores`; NaN where nothing is relevant."""
    for i in range(len(scores)):
        q = first + i
        fitting = relevant[relevant_start[q] : relevant_start[q + 1]]
        n = len(fitting)
        if n == 0:
            average[q] = precision[q] = even[q] = np.nan
            continue
        positions = np.empty(n, dtype=np.int64)
        if len(negative_start):
            listed = negative[negative_start[q] : negative_start[q + 1]]
            ranks_among_listed(scores[i], fitting, listed, positions)
            positions.sort()
        else:
            ranks_of(scores[i], fitting, positions)
        in_k, in_n = 0, 0
        for r in range(n):
            in_k += positions[r] < k
            in_n += positions[r] < n
        average[q], precision[q], even[q] = average_precision(positions), in_k / k, in_n / n
