"""Slow, readable twins of graded relevance: pairs, margins, draws and what swaps are worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.measures.ranking import ndcg_at
from tests.naive.solvers import tau, xorshift

Matrix = NDArray[np.float64]
Triplet = tuple[int, int, int]


def gain(grade: float, how: str) -> float:
    """r or 2^r - 1, of grades that are not below 0."""
    return max(grade, 0.0) if how == "linear" else 2 ** max(grade, 0.0) - 1


def pairs(grades: Sequence[float], which: Sequence[int]) -> list[Triplet]:
    """All (query, row, row) whose first row has the higher grade."""
    g = [max(x, 0.0) for x in grades]
    rows = range(len(g))
    return [(which[p], p, m) for p in rows for m in rows if which[p] == which[m] and g[p] > g[m]]


def margins(
    triplets: Iterable[Triplet], grades: Sequence[float], which: Sequence[int], how: str
) -> list[float]:
    """The difference of gains, in units of the largest one within a query."""
    g = [gain(x, how) for x in grades]
    unit = max((g[p] - g[m] for _, p, m in pairs(grades, which)), default=1.0)
    return [(g[p] - g[m]) / unit for _, p, m in triplets]


def draws(state: int, grades: Sequence[float], which: Sequence[int], n: int) -> list[Triplet]:
    """n triplets, queries drawn alike, then a row above the lowest grade, then one below that."""
    all_pairs = pairs(grades, which)
    usable = sorted({q for q, _, _ in all_pairs})
    found = []
    for _ in range(n):
        numbers = []
        for _ in range(3):
            state = xorshift(state)
            numbers.append(state >> 32)
        q = usable[numbers[0] * len(usable) >> 32]
        upper = sorted({p for query, p, _ in all_pairs if query == q})
        p = upper[numbers[1] * len(upper) >> 32]
        lower = [m for query, row, m in all_pairs if (query, row) == (q, p)]
        lower.sort(key=lambda m: (max(grades[m], 0.0), m))
        found.append((q, p, lower[numbers[2] * len(lower) >> 32]))
    return found


def learn(
    X: Matrix,
    Q: Matrix,
    triplets: Iterable[Triplet],
    rho: Iterable[float],
    share: Iterable[float],
    C: float,
    variant: str = "PA-I",
) -> tuple[Matrix, Matrix]:
    """Learn W from triplets with a margin and a share of C each; return it and the mean of all."""
    W = np.zeros((Q.shape[1], X.shape[1]))
    total, n = np.zeros_like(W), 0
    for (q, plus, minus), margin, a in zip(triplets, rho, share, strict=True):
        x = np.outer(Q[q], X[plus] - X[minus])
        W = W + tau(margin - float(np.sum(W * x)), float(np.sum(x * x)), a * C, variant) * x
        total += W
        n += 1
    return W, total / n


def swap_change(scores: Sequence[float], grades: Sequence[float], i: int, j: int) -> float:
    """|delta NDCG| of one query if rows i and j had each other's places."""
    order = sorted(range(len(scores)), key=lambda r: (-scores[r], r))
    listed = [max(grades[r], 0.0) for r in order]
    a, b = order.index(i), order.index(j)
    swapped = list(listed)
    swapped[a], swapped[b] = swapped[b], swapped[a]
    return abs(ndcg_at(listed) - ndcg_at(swapped))
