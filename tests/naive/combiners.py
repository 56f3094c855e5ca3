"""Slow, readable twins of the combiners: one difference after the other, in plain numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite, nan

import numpy as np
from numpy.typing import NDArray

from tests.naive import measures
from tests.naive.solvers import tau

Vector = NDArray[np.float64]


@dataclass
class Passed:
    """What a pass over differences leaves."""

    w: Vector
    after_each: list[Vector] = field(default_factory=list)
    loss: float = 0.0
    mistakes: int = 0
    updates: int = 0
    zero: int = 0
    rejected: int = 0
    # How near a margin came to where moving begins without being there.
    closest: float = inf

    @property
    def mean(self) -> Vector:
        return np.asarray(np.mean(self.after_each, axis=0))


def first_order(rows: NDArray[np.float32], rule: str, C: float) -> Passed:
    """OPR, OPAR-I, OPAR-II and OGDR, where C is the length of OGDR's steps."""
    found = Passed(np.zeros(rows.shape[1]))
    for x in rows.astype(np.float64):
        if not all(isfinite(value) for value in x):
            found.rejected += 1
        else:
            margin, norm2 = sum(a * b for a, b in zip(found.w, x, strict=True)), float(x @ x)
            found.loss += max(0.0, 1 - margin)
            wanted = margin <= 0 if rule == "OPR" else margin < 1
            off = abs(margin - (0 if rule == "OPR" else 1))
            found.closest = min(found.closest, off or inf)
            if wanted and norm2 <= 1e-12:
                found.zero += 1
            elif wanted:
                steps = {
                    "OPR": 1.0,
                    "OPAR-I": tau(1 - margin, norm2, C, "PA-I"),
                    "OPAR-II": tau(1 - margin, norm2, C, "PA-II"),
                    "OGDR": C,
                }
                found.w = found.w + steps[rule] * x
                found.updates += 1
                found.mistakes += margin <= 0
        found.after_each.append(found.w)
    return found


def second_order(
    rows: NDArray[np.float32], rule: str, C: float, z: float, full: bool
) -> tuple[Passed, NDArray[np.float64]]:
    """AROW, SCW-I and SCW-II by the formulas as they are printed."""
    d = rows.shape[1]
    found, S = Passed(np.zeros(d)), np.eye(d)
    for x in rows.astype(np.float64):
        m, g = float(found.w @ x), S @ x
        v = float(x @ g)
        a = b = 0.0
        if rule == "AROW" and m < 1 and v > 1e-12:
            b = 1 / (v + C)
            a = (1 - m) * b
        if rule != "AROW" and v > 1e-12 and z * np.sqrt(v) > m:
            a, b = _scw(m, v, C, z, rule)
        found.updates += a > 0
        found.w = found.w + a * g
        S = S - b * np.outer(g, g)
        if not full:
            S = np.diag(np.diag(S))
        found.after_each.append(found.w)
    return found, S


def _scw(m: float, v: float, C: float, z: float, rule: str) -> tuple[float, float]:
    psi, zeta = 1 + z**2 / 2, 1 + z**2
    if rule == "SCW-I":
        root = np.sqrt(m**2 * z**4 / 4 + v * z**2 * zeta)
        a = min(C, max(0.0, (-m * psi + root) / (v * zeta)))
    else:
        n = v + 1 / (2 * C)
        root = z * np.sqrt(z**2 * m**2 * v**2 + 4 * n * v * (n + v * z**2))
        a = max(0.0, (-(2 * m * n + z**2 * m * v) + root) / (2 * (n**2 + n * v * z**2)))
    u = (-a * v * z + np.sqrt(a**2 * v**2 * z**2 + 4 * v)) ** 2 / 4
    return a, a * z / (np.sqrt(u) + v * a * z)


def average_precision(scores: list[float], relevance: list[float]) -> float:
    """Return the AvgP of one list, NaN where nothing is relevant."""
    fits = [float(grade > 0) for grade in relevance]
    return measures.average_precision(measures.ranked(scores, fits)) if any(fits) else nan


def best_of_two(columns: NDArray[np.float64], relevance: list[float]) -> float:
    """Return the best AvgP of one list that any weights over two components reach.

    Between two angles at which some pair of pictures ties, the order stays the same.
    """
    x, y = columns.T
    ties = sorted(
        {
            float(np.arctan2(x[i] - x[j], y[j] - y[i]) % (2 * np.pi))
            for i in range(len(x))
            for j in range(len(x))
            if i != j
        }
    )
    best = -inf
    for low, high in pairwise([*ties, ties[0] + 2 * np.pi]):
        angle = (low + high) / 2
        scores = (np.cos(angle) * x + np.sin(angle) * y).tolist()
        best = max(best, average_precision(scores, relevance))
    return best
