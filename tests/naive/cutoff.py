"""Slow, readable twins of cut-offs: sets counted one by one, steps one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tests.naive.solvers import tau, xorshift

Vector = NDArray[np.float64]
# Words, weights and relevant pictures of a query.
Query = tuple[list[int], list[float], list[int]]


def scores(table: NDArray[np.float64], query: Query) -> Vector:
    """Return what each picture scores for a query."""
    words, weights, _ = query
    return np.asarray(sum(w * table[:, t] for t, w in zip(words, weights, strict=True)))


def f1(scored: Iterable[float], relevant: Sequence[int], theta: float) -> float:
    """Return F1 of the pictures with at least a score."""
    shown = {i for i, s in enumerate(scored) if s >= theta}
    return 2 * len(shown & set(relevant)) / (len(shown) + len(relevant))


def threshold(query: Query, h: Vector, offsets: Vector, follow: float, best: float) -> float:
    """Return theta of a query."""
    words, weights, _ = query
    own = sum(w * h[t] for t, w in zip(words, weights, strict=True))
    mean = sum(weights) / len(weights)
    return float(follow * best + own + mean * offsets[min(len(words), 3) - 1])


def best_f1(
    table: NDArray[np.float64], queries: Sequence[Query], h: Vector, follow: float
) -> float:
    """Return the largest mean F1 that one number can give: for a word, or for a query."""
    none = np.zeros(3)
    moved = []
    for query in queries:
        s = scores(table, query)
        unit = sum(query[1]) / (len(query[1]) if follow else 1)
        moved.append((s - threshold(query, h, none, follow, float(s.max()))) / unit)
    tried = sorted({float(z) for row in moved for z in row})
    return max(
        float(np.mean([f1(z, q[2], b - 1e-9) for z, q in zip(moved, queries, strict=True)]))
        for b in tried
    )


def best_for_all(scored: NDArray[np.float64], fits: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the one threshold for all queries with the largest mean F1, and that F1.

    F1 only falls as irrelevant pictures come in, so that the score of a relevant one is best.
    """
    best = (0.0, 0.0)
    for theta in np.unique(scored[fits]):
        shown = scored >= theta
        f1s = 2 * (shown & fits).sum(axis=1) / (shown.sum(axis=1) + fits.sum(axis=1))
        best = max(best, (float(f1s.mean()), float(theta)))
    return best[1], best[0]


def learn_words(
    state: int,
    relevant: Sequence[Sequence[float]],
    others: Sequence[Sequence[float]],
    queries: Sequence[Query],
    C: float,
    margin: float,
    n: int,
    n_words: int,
) -> tuple[Vector, Vector]:
    """Return h, and the mean of h after each turn."""
    h, total = np.zeros(n_words), np.zeros(n_words)
    for _ in range(n):
        numbers = []
        for _ in range(3):
            state = xorshift(state)
            numbers.append(state >> 32)
        i = numbers[0] * len(queries) >> 32
        above = relevant[i][numbers[1] * len(relevant[i]) >> 32]
        below = others[i][numbers[2] * len(others[i]) >> 32]
        q = np.zeros(n_words)
        q[queries[i][0]] = queries[i][1]
        h = h - tau(margin - (above - float(q @ h)), float(q @ q), C, "PA-I") * q
        h = h + tau(margin - (float(q @ h) - below), float(q @ q), C, "PA-I") * q
        total += h
    return h, total / n
