"""Slow, readable twins of the feedback learners: one draw after the other, in plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import dist, e, exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.naive.solvers import tau

Vector = NDArray[Any]
Kernel = Callable[[Vector, Vector], float]


def pairs(w: Vector, drawn: Sequence[tuple[Vector, Vector]], C: float) -> list[Vector]:
    """Return the weights after each pair of a relevant and another picture."""
    after = []
    for r, n in drawn:
        x = np.asarray(r, dtype=np.float64) - np.asarray(n, dtype=np.float64)
        w = w + tau(1 - float(w @ x), float(x @ x), C, "PA-I") * x
        after.append(w)
    return after


def singles(
    rows: Sequence[Vector], signs: Sequence[int], drawn: Sequence[int], C: float, K: Kernel
) -> list[float]:
    """Return tau_j y_j of each judged picture, summed over draws."""
    coef = [0.0] * len(rows)
    for t in drawn:
        f = sum(c * K(row, rows[t]) for c, row in zip(coef, rows, strict=True))
        coef[t] += tau(1 - signs[t] * f, K(rows[t], rows[t]), C, "PA-I") * signs[t]
    return coef


def linear(a: Vector, b: Vector) -> float:
    return float(np.dot(a.astype(np.float64), b.astype(np.float64)))


def rbf(s2: float) -> Kernel:
    return lambda a, b: exp(-(dist(a, b) ** 2) / (2 * s2))


def relevance_score(x: Vector, relevant: Sequence[Vector], other: Sequence[Vector]) -> float:
    """RS with its edge cases."""
    if not other:
        return -min(dist(x, r) for r in relevant)
    if not relevant:
        return min(dist(x, n) for n in other)
    to_relevant, to_other = min(dist(x, r) for r in relevant), min(dist(x, n) for n in other)
    both = to_relevant + to_other
    return 0.5 if both == 0 else to_other / both


def stabilised(
    asked: Sequence[Vector], relevant: Sequence[Vector], other: Sequence[Vector]
) -> list[float]:
    """The stabilised relevance score of pictures that are scored together."""
    n_r, n_n = len(relevant), len(other)
    m_r, m_n = np.mean(relevant, axis=0), np.mean(other, axis=0)
    sigma = sqrt(sum(dist(r, m_r) ** 2 for r in relevant) / n_r)
    moved = sigma / dist(m_r, m_n) * (1 - (n_r - n_n) / max(n_r, n_n))
    Q = m_r + moved * (m_r - m_n)
    longest = max(dist(x, Q) for x in asked)
    u = n_n / (n_n + n_r)
    found = []
    for x in asked:
        near = (1 - exp(1 - dist(x, Q) / longest)) / (1 - e)
        found.append(u / (1 + u) * near + relevance_score(x, relevant, other) / (1 + u))
    return found


def in_order(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """Share of pairs in order, ties half."""
    good = [s for s, r in zip(scores, relevant, strict=True) if r]
    bad = [s for s, r in zip(scores, relevant, strict=True) if not r]
    points = sum(1.0 if g > b else 0.5 if g == b else 0.0 for g in good for b in bad)
    return points / (len(good) * len(bad))
