"""Slow, readable twins of the region model: every way to give tags to regions, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def owners(regions: int, tags: int) -> Iterator[tuple[int, ...]]:
    """Every way to give each region one tag or none (-1)."""
    yield from product(range(-1, tags), repeat=regions)


def worth(a: Doubles, b: Doubles, owner: tuple[int, ...]) -> float:
    regions = sum(a[i, j] for i, j in enumerate(owner) if j >= 0)
    return float(regions + sum(b[j] for j in {j for j in owner if j >= 0}))


def best_value(a: Doubles, b: Doubles) -> float:
    """The value of the best tags."""
    return max(worth(a, b, owner) for owner in owners(*a.shape))


def best_placing(a: Doubles, tags: NDArray[np.bool_]) -> float:
    """The value of the best way to place exactly these tags."""
    wanted = set(np.flatnonzero(tags).tolist())
    none = np.zeros(a.shape[1])
    fits = (o for o in owners(*a.shape) if {j for j in o if j >= 0} == wanted)
    return max(worth(a, none, owner) for owner in fits)


def best_scene(a: Doubles, B: Doubles, const: Doubles) -> float:
    """The value of the best scene with the best tags for it."""
    return max(best_value(a, b) + float(c) for b, c in zip(B, const, strict=True))


def least_assignment(cost: Doubles) -> float:
    """The least sum of costs when each row takes a column of its own."""

    def from_row(row: int, taken: frozenset[int]) -> float:
        if row == len(cost):
            return 0.0
        free = (c for c in range(cost.shape[1]) if c not in taken)
        return min(float(cost[row, c]) + from_row(row + 1, taken | {c}) for c in free)

    return from_row(0, frozenset())


def dual_bound(a: Doubles, b: Doubles, v: Doubles) -> float:
    """D(v), by every set of regions that a tag may hold."""
    total = float(v.sum())
    for j in range(a.shape[1]):
        sets = [s for s in product((0, 1), repeat=len(a)) if any(s)]
        best = max(b[j] + sum(a[i, j] - v[i] for i in range(len(a)) if s[i]) for s in sets)
        total += max(0.0, best)
    return total


def run_lengths(inside: NDArray[np.bool_]) -> list[int]:
    """Return the runs of a mask down the columns, outside and inside by turns, outside first."""
    found, now = [0], False
    for column in range(inside.shape[1]):
        for row in range(inside.shape[0]):
            if bool(inside[row, column]) != now:
                now = not now
                found.append(0)
            found[-1] += 1
    return found
