"""Slow, plain twins of what `sightline.similarity` does."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray


def kernel(name: str, x: Sequence[float], y: Sequence[float], s: float) -> float:
    """Compare two rows number by number."""
    pairs = list(zip(x, y, strict=True))
    if name == "linear":
        return sum(a * b for a, b in pairs)
    if name in ("chi2", "likelihood"):
        return exp(-distance(name, x, y) / s)
    d = distance(name, x, y)
    return exp(-(d**2) / (2 * s**2)) if name == "rbf" else exp(-d / s)


def distance(name: str, x: Sequence[float], y: Sequence[float]) -> float:
    """Return the distance that the kernel falls with."""
    pairs = list(zip(x, y, strict=True))
    if name == "chi2":
        return sum((a - b) ** 2 / (a + b) for a, b in pairs if a + b > 0)
    if name == "likelihood":
        return apart(x, y)
    return sqrt(sum((a - b) ** 2 for a, b in pairs))


def apart(x: Sequence[float], y: Sequence[float]) -> float:
    """Return minus the logarithm of the normalised overlap of two Gaussians, number by number."""
    n, total = len(x) // 2, 0.0
    for m, other, log_v, log_other in zip(x[:n], y[:n], x[n:], y[n:], strict=True):
        v, w = exp(log_v), exp(log_other)
        total += log((v + w) / (2 * sqrt(v * w))) / 2 + (m - other) ** 2 / (v + w) / 2
    return total


def bandwidth(name: str, rows: Sequence[Sequence[float]], statistic: str) -> float:
    """Return the median or mean distance over all pairs."""
    centre = median if statistic == "median" else fmean
    return centre([distance(name, x, y) for i, x in enumerate(rows) for y in rows[:i]])


def whitened(X: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    """Project onto principal directions by a singular value decomposition, and scale each."""
    centred = X - X.mean(axis=0)
    _, s, Vt = np.linalg.svd(centred)
    values = np.zeros(X.shape[1])
    values[: len(s)] = s**2 / len(X)
    rows = centred @ Vt.T * (values + 1e-3 * values.mean()) ** -power
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def similarity(name: str, x: Sequence[float], y: Sequence[float], scale: float) -> float:
    """Compare two rows number by number, by one of the measures that make up phi."""
    pairs = list(zip(x, y, strict=True))
    if name == "cosine":
        lengths = sqrt(sum(a * a for a in x)) * sqrt(sum(b * b for b in y))
        return sum(a * b for a, b in pairs) / lengths if lengths > 0 else 0.0
    if name == "intersection":
        return sum(min(a, b) for a, b in pairs)
    if name == "minus-l2":
        return -distance("l2", x, y)
    return exp(-fallen(name, x, y) / scale) if scale > 0 else 1.0


def fallen(name: str, x: Sequence[float], y: Sequence[float]) -> float:
    """Return the distance that a measure falls with."""
    if name == "exp-l1":
        return sum(abs(a - b) for a, b in zip(x, y, strict=True))
    return distance("chi2", x, y) if name == "exp-chi2" else distance("l2", x, y) ** 2


def counts(rows: Sequence[Sequence[float]], x: Sequence[float]) -> list[float]:
    """Return a row as counts, by the range that each number has in training rows."""
    if min(min(row) for row in rows) >= 0:
        return [max(value, 0.0) for value in x]
    out = []
    for k, value in enumerate(x):
        low, high = min(row[k] for row in rows), max(row[k] for row in rows)
        share = (value - low) / (high - low) if high > low else 0.0
        out.append(min(max(share, 0.0), 1.0))
    return out
