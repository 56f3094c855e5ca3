"""Compiled: scores of lists, and sums over their candidates, without a matrix of pairs."""

from __future__ import annotations

from sightline._njit_fast import njit
from sightline._typing import Doubles, Int32s, Ints


@njit(cache=True, nogil=True)
def list_scores(
    A: Doubles, B: Doubles, start: Ints, candidate: Ints, query: Ints, scores: Doubles
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
def inner_products(counts: Int32s, weighted: Doubles, out: Doubles) -> None:
    """Set, for each batch, the sum over candidates of counts times weighted scores."""
    for i in range(len(counts)):
        row = counts[i]
        total = 0.0
        for d in range(len(row)):
            total += row[d] * weighted[d]
        out[i] = total


@njit(cache=True, nogil=True)
def sum_of_candidates(
    B: Doubles, start: Ints, candidate: Ints, counts: Int32s, scale: Doubles, sums: Doubles
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
    A: Doubles, start: Ints, candidate: Ints, query: Ints, counts: Int32s, scale: Doubles,
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
