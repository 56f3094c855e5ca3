"""Compiled: where relevant pictures stand among the others, for many queries."""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats, Ints

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
def count_ahead(scores: Floats, picture: int, n: int) -> int:
    """Return how many pictures stand before one: of a higher score, or equal and earlier."""
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
def ranks_of_many(scores: Floats, fit: Ints, positions: Ints) -> None:
    """Write the ranks of many relevant pictures: one stable sort, instead of a count for each."""
    order = np.argsort(-scores, kind="mergesort")
    rank = np.empty(len(scores), dtype=np.int64)
    for i in range(len(order)):
        rank[order[i]] = i
    for i in range(len(fit)):
        positions[i] = rank[fit[i]]


@njit(cache=True, nogil=True)
def measure_rows(
    scores: Floats, fit_start: Ints, fit: Ints, negative_start: Ints, negative: Ints, first: int,
    k: int, average: Doubles, precision: Doubles, even: Doubles,
) -> None:  # fmt: skip
    """Write the measures of the queries in the rows of `scores`; NaN where nothing is relevant."""
    for i in range(len(scores)):
        q = first + i
        relevant = fit[fit_start[q] : fit_start[q + 1]]
        n = len(relevant)
        if n == 0:
            average[q] = precision[q] = even[q] = np.nan
            continue
        places = np.empty(n, dtype=np.int64)
        if len(negative_start):
            listed = negative[negative_start[q] : negative_start[q + 1]]
            ranks_among_listed(scores[i], relevant, listed, places)
        elif n <= _FEW:
            for r in range(n):
                places[r] = count_ahead(scores[i], relevant[r], scores.shape[1])
        else:
            ranks_of_many(scores[i], relevant, places)
        places.sort()
        total, in_k, in_n = 0.0, 0, 0
        for r in range(n):
            total += (r + 1) / (places[r] + 1)
            in_k += places[r] < k
            in_n += places[r] < n
        average[q], precision[q], even[q] = total / n, in_k / k, in_n / n
