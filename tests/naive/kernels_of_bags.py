"""Slow, plain twins of the kernels of bags: one pair of descriptors at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Descriptor = Sequence[float]
Bag = Sequence[Descriptor]
Table = NDArray[np.float64]


def minor(name: str, d: Descriptor, e: Descriptor, s: float, degree: int, offset: float) -> float:
    """Compare two descriptors."""
    pairs = list(zip(d, e, strict=True))
    if name == "rbf":
        return exp(-sum((x - y) ** 2 for x, y in pairs) / (2 * s**2))
    product = sum(x * y for x, y in pairs)
    return product if name == "linear" else float((offset + product) ** degree)


def match(p: Bag, q: Bag, name: str, s: float = 1.0, degree: int = 2, offset: float = 1.0) -> float:
    """Match each descriptor with its best, both ways."""
    if not p or not q:
        return 0.0
    there = [max(minor(name, d, e, s, degree, offset) for e in q) for d in p]
    back = [max(minor(name, d, e, s, degree, offset) for d in p) for e in q]
    return (sum(there) / len(there) + sum(back) / len(back)) / 2


def segment_best(
    table: Table, rows: Sequence[int], columns: Sequence[int]
) -> tuple[list[list[float]], list[list[float]]]:
    """The largest of each row in each group of columns, and of each column in each of rows."""
    spans = list(pairwise(columns))
    by_row = [[max(row[b:e]) for b, e in spans] for row in table.tolist()]
    groups = list(pairwise(rows))
    by_column = [[max(column[b:e]) for column in table.T.tolist()] for b, e in groups]
    return by_row, by_column


def component(m: Descriptor, v: Descriptor, n: Descriptor, w: Descriptor, rho: float) -> float:
    """The logarithm of the integral of two Gaussians to the power rho, by the general formula.

    Jebara, Kondor and Howard, "Probability product kernels", 2004, section 3.1, with diagonal
    matrices: the mean and the variance of the product come first, then what is left over.
    """
    total = 0.0
    for mu, var, nu, other in zip(m, v, n, w, strict=True):
        dagger = 1 / (1 / var + 1 / other)
        middle = mu / var + nu / other
        total += 0.5 * (1 - 2 * rho) * log(2 * pi) - 0.5 * log(rho) + 0.5 * log(dagger)
        total -= 0.5 * rho * (log(var) + log(other))
        total -= 0.5 * rho * (mu**2 / var + nu**2 / other - dagger * middle**2)
    return total


def likelihood(
    p: Sequence[tuple[float, Descriptor, Descriptor]],
    q: Sequence[tuple[float, Descriptor, Descriptor]],
    rho: float = 1.0,
) -> float:
    """The sum over pairs of components, each given as its weight, mean and variances."""
    total = 0.0
    for a, m, v in p:
        for b, n, w in q:
            total += exp(rho * log(a * b) + component(m, v, n, w, rho))
    return total


def normalised(value: float, own: float, other: float) -> float:
    """Divide by the geometric mean of what both are with themselves."""
    return value / sqrt(own * other)
