"""Slow, plain twins of what weighted nearest neighbours do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def distance(a: Sequence[float], b: Sequence[float], name: str) -> float:
    """Return the distance of two rows by its formula."""
    if name == "l2":
        return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    if name == "l1":
        return sum(abs(x - y) for x, y in zip(a, b, strict=True))
    return sum((x - y) ** 2 / (x + y) for x, y in zip(a, b, strict=True) if x + y > 0)


def nearest(distances: Sequence[float], own: int, k: int) -> list[int]:
    """Return the places of the k smallest distances but `own`, of equals the first first."""
    places = [j for j in range(len(distances)) if j != own]
    return sorted(places, key=lambda j: (distances[j], j))[:k]


def merged(lists: Sequence[Sequence[int]], k: int) -> list[int]:
    """Return the first of every list, then the second of every list, each place once."""
    out: list[int] = []
    for together in zip(*lists, strict=True):
        out += [j for j in dict.fromkeys(together) if j not in out]
    return out[:k]


def word_evidence(near: Sequence[int], pi: Sequence[float], Y: NDArray[np.float32]) -> list[float]:
    """Return for each word the weight of the neighbours that have it."""
    return [sum(p for j, p in zip(near, pi, strict=True) if Y[j, t]) for t in range(Y.shape[1])]


def by_distance(near: Sequence[Sequence[float]], theta: Sequence[float]) -> list[float]:
    """Return weights of sum 1 that fall with distance, from (neighbours, views)."""
    raw = [math.exp(-sum(t * d for t, d in zip(theta, row, strict=True))) for row in near]
    return [r / sum(raw) for r in raw]


def probability(x: float, slope: float, offset: float, logistic: bool) -> float:
    """Return P(word) from what the neighbours say."""
    z = slope * x + offset
    return 1.0 / (1.0 + math.exp(-z)) if logistic else z


def log_likelihood(
    own: Sequence[int], near: NDArray[np.int32], pi: Doubles, Y: NDArray[np.float32],
    cost: Sequence[float], slope: Doubles, offset: Doubles, logistic: bool,
) -> float:  # fmt: skip
    """Return sum c log P over all pictures and words, one by one."""
    total = 0.0
    for i, picture in enumerate(own):
        x = word_evidence(near[i].tolist(), pi[i].tolist(), Y)
        for t in range(Y.shape[1]):
            p = probability(x[t], slope[t], offset[t], logistic)
            total += cost[1] * math.log(p) if Y[picture, t] else cost[0] * math.log(1 - p)
    return total


def curve_height(
    x: Doubles, y: NDArray[np.bool_], cost: Sequence[float], prior: Sequence[float], ab: Doubles
) -> float:
    """Return how good one word's slope and offset are."""
    total = -0.5 * prior[2] * ((ab[0] / prior[0] - 1) ** 2 + (ab[1] - prior[1]) ** 2)
    for value, tagged in zip(x.tolist(), y.tolist(), strict=True):
        p = probability(value, float(ab[0]), float(ab[1]), True)
        total += cost[1] * math.log(p) if tagged else cost[0] * math.log(1 - p)
    return float(total)
