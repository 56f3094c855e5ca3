"""Compiled: scores of lists, and sums over their candidates, without a matrix of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit

Doubles = NDArray[np.float64]
Int = NDArray[np.int64]
Counts = NDArray[np.int32]


@njit(cache=True, nogil=True)
def list_scores(
    A: Doubles, B: Doubles, start: Int, candidate: Int, query: Int, scores: Doubles
) -> None:
    """Set the score of every candidate: the product of its query's row of A and its row of B."""
    for i in range(len(query)):
        a = A[query[i]]
        for d in range(start[i], start[i + 1]):
            b = B[candidate[d]]
            total = 0.0
            for c in range(len(a)):
                total += a[c] * b[c]
            scores[d] = total


@njit(cache=True, nogil=True)
def inner_products(counts: Counts, weighted: Doubles, out: Doubles) -> None:
    """Set, for each batch, the sum over candidates of counts times weighted scores."""
    for i in range(len(counts)):
        row = counts[i]
        total = 0.0
        for d in range(len(row)):
            total += row[d] * weighted[d]
        out[i] = total


@njit(cache=True, nogil=True)
def sum_of_candidates(
    B: Doubles, start: Int, candidate: Int, counts: Counts, scale: Doubles, sums: Doubles
) -> None:
    """Set, for each list, the sum of its candidates' rows of B, times counts and the list's scale.

    Rows of candidates that are in no inverted pair are not read.
    """
    for i in range(len(sums)):
        for c in range(sums.shape[1]):
            sums[i, c] = 0.0
        for d in range(start[i], start[i + 1]):
            if counts[d] != 0:
                x = scale[i] * counts[d]
                b = B[candidate[d]]
                for c in range(sums.shape[1]):
                    sums[i, c] += x * b[c]


@njit(cache=True, nogil=True)
def sum_of_queries(
    A: Doubles, start: Int, candidate: Int, query: Int, counts: Counts, scale: Doubles,
    sums: Doubles,
) -> None:  # fmt: skip
    """Add, to each document, its lists' queries' rows of A, times counts and the list's scale."""
    for i in range(len(query)):
        a = A[query[i]]
        for d in range(start[i], start[i + 1]):
            if counts[d] != 0:
                x = scale[i] * counts[d]
                for c in range(len(a)):
                    sums[candidate[d], c] += x * a[c]
