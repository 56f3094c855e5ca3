"""Slow, readable twins of the solvers: passive-aggressive steps, draws of triplets, programmes."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def tau(loss: float, norm2: float, C: float, variant: str) -> float:
    """The three closed forms, with no update where there is no loss or nothing to tell apart."""
    if loss <= 0 or norm2 <= 1e-12:
        return 0.0
    if variant == "PA":
        return loss / norm2
    if variant == "PA-I":
        return min(C, loss / norm2)
    return loss / (norm2 + 1 / (2 * C))


def learn(
    examples: list[tuple[Vector, float, float]], C: float, variant: str
) -> tuple[Vector, Vector]:
    """Learn from (x, rho, weight) in turn; return the last weights and the mean of all weights."""
    w = np.zeros(len(examples[0][0]))
    after_each = []
    for x, rho, weight in examples:
        w = w + tau(rho - float(w @ x), float(x @ x), weight * C, variant) * x
        after_each.append(w)
    return w, np.mean(after_each, axis=0)


def objective(
    new: Vector, old: Vector, x: Vector, C: float, variant: str, rho: float = 1.0
) -> float:
    """What PA-I and PA-II minimise."""
    loss = max(0.0, rho - float(new @ x))
    price = C * loss if variant == "PA-I" else C * loss**2
    return 0.5 * float(np.sum((new - old) ** 2)) + price


def xorshift(state: int) -> int:
    """Marsaglia's 64-bit generator (13, 7, 17)."""
    mask = 2**64 - 1
    state ^= (state << 13) & mask
    state ^= state >> 7
    return state ^ ((state << 17) & mask)


def shares_of_pairs(
    fits: list[list[int]], pictures: list[int], chances: list[float]
) -> dict[tuple[int, int], float]:
    """The share of triplets of each query and relevant picture, where some pictures are drawn from.

    `chances` are those of each of a query's relevant pictures; one of all pictures has no triplet.
    """
    pairs = {
        (q, p): chances[q]
        for q, fit in enumerate(fits)
        for p in fit
        if p in pictures and any(other not in fit for other in pictures)
    }
    total = sum(pairs.values())
    return {pair: chance / total for pair, chance in pairs.items()}


def triplets(
    state: int, fits: list[list[int]], others: list[list[int]], n: int
) -> list[tuple[int, int, int]]:
    """n triplets, queries drawn alike, in the order in which they are drawn."""
    usable = [i for i in range(len(fits)) if fits[i] and others[i]]
    found = []
    for _ in range(n):
        numbers = []
        for _ in range(3):
            state = xorshift(state)
            numbers.append(state >> 32)
        q = usable[numbers[0] * len(usable) >> 32]
        plus = fits[q][numbers[1] * len(fits[q]) >> 32]
        minus = others[q][numbers[2] * len(others[q]) >> 32]
        found.append((q, plus, minus))
    return found


def second_order_objective(
    new: tuple[float, float], old: tuple[float, float], x: float, C: float, z: float, rule: str
) -> float:
    """What AROW and SCW minimise, for one number: weights are a mean and a variance."""
    (w, s), (w_old, s_old) = new, old
    distance = (np.log(s_old / s) + s / s_old + (w - w_old) ** 2 / s_old - 1) / 2
    if rule == "AROW":
        return float(distance + (max(0.0, 1 - w * x) ** 2 + s * x * x) / (2 * C))
    loss = max(0.0, z * np.sqrt(s) * abs(x) - w * x)
    return float(distance + (C * loss if rule == "SCW-I" else C * loss**2))


def simplex_minimum(G: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The least 1/2 m.G m - b.m over the simplex, by trying every set of shares above 0."""
    best = inf
    for chosen in product((False, True), repeat=len(b)):
        at = [i for i, yes in enumerate(chosen) if yes]
        if not at:
            continue
        n = len(at)
        system = np.ones((n + 1, n + 1))
        system[:n, :n], system[n, n] = G[np.ix_(at, at)], 0.0
        m = np.linalg.lstsq(system, np.append(b[at], 1.0), rcond=None)[0][:n]
        if m.min() >= -1e-9:
            best = min(best, float(0.5 * m @ G[np.ix_(at, at)] @ m - b[at] @ m))
    return best
