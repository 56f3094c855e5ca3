"""Slow, readable twins of list-wise ranking: all orders of a list, double sums over pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def measured(order: Sequence[int], relevant: Sequence[bool], name: str) -> float:
    """A measure of an order of candidates, by its definition."""
    rel = [bool(relevant[d]) for d in order]
    n, m = sum(rel), len(rel) - sum(rel)
    ranks = [r for r, is_one in enumerate(rel, 1) if is_one]
    kind, _, depth = name.partition("@")
    k = int(depth) if depth else len(rel)
    if kind == "map":
        return sum(i / r for i, r in enumerate(ranks, 1)) / n
    if kind == "ndcg":
        ideal = sum(1 / math.log2(1 + r) for r in range(1, min(n, k) + 1))
        return sum(1 / math.log2(1 + r) for r in ranks if r <= k) / ideal
    if kind == "p":
        return sum(r <= k for r in ranks) / min(k, n)
    if kind == "mrr":
        return 1 / ranks[0]
    return sum(sum(not x for x in rel[r:]) for r in ranks) / (n * m)


def delta_f(order: Sequence[int], scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """F(y*) - F(y) by the double sum over relevant and other candidates."""
    place = {d: r for r, d in enumerate(order)}
    plus = [d for d in order if relevant[d]]
    minus = [d for d in order if not relevant[d]]
    total = 0.0
    for i in plus:
        for j in minus:
            y = 1 if place[i] < place[j] else -1
            total += (1 - y) * (scores[i] - scores[j])
    return total / (len(plus) * len(minus))


def most_violated(scores: Sequence[float], relevant: Sequence[bool], name: str) -> float:
    """The largest Delta - delta F over all orders."""
    return max(
        1 - measured(order, relevant, name) - delta_f(order, scores, relevant)
        for order in permutations(range(len(scores)))
    )


def order_of(counts: Sequence[int], scores: Sequence[float], relevant: Sequence[bool]) -> list[int]:
    """An order that has these inversions, relevant and others by score among themselves."""
    every = range(len(scores))

    def by(d: int) -> tuple[int, float]:
        return counts[d], -scores[d]

    plus = sorted((d for d in every if relevant[d]), key=by)
    minus = sorted((d for d in every if not relevant[d]), key=by)
    merged: list[int] = []
    taken = 0
    for p in plus:
        merged += minus[taken : counts[p]]
        taken = max(taken, counts[p])
        merged.append(p)
    return merged + minus[taken:]


def delta_psi(q: Doubles, D: Doubles, order: Sequence[int], relevant: Sequence[bool]) -> Doubles:
    """Psi(y*) - Psi(y) as the paper writes it: a matrix, by the double sum."""
    place = {d: r for r, d in enumerate(order)}
    plus = [d for d in order if relevant[d]]
    minus = [d for d in order if not relevant[d]]
    total = np.zeros((len(q), D.shape[1]))
    for i in plus:
        for j in minus:
            y = 1 if place[i] < place[j] else -1
            total += (1 - y) * np.outer(q, D[i] - D[j])
    return total / (len(plus) * len(minus))
