"""Compact vectors by the products of centred rows, feature by feature."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def reduced(rows: NDArray[np.float32], row: NDArray[np.float32], n: int) -> Doubles:
    """Return a row in the n directions in which rows vary most, of length one."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    values, weights = np.linalg.eigh(centred @ centred.T)
    point = np.zeros(n)
    for k, at in enumerate(np.argsort(-values)[:n].tolist()):
        # A direction is the sum of the centred rows, weighted by an eigenvector of their products.
        direction = weights[:, at] @ centred / math.sqrt(values[at])
        point[k] = (row - rows.mean(axis=0, dtype=np.float64)) @ direction
    return point / math.sqrt(sum(float(x) ** 2 for x in point))


def cosine(
    fitted_to: Sequence[NDArray[np.float32]],
    one: Sequence[NDArray[np.float32]],
    other: Sequence[NDArray[np.float32]],
    n: int,
) -> float:
    """Return the cosine of two pictures, given the rows of each feature."""
    cosines = [
        float(reduced(rows, a, n) @ reduced(rows, b, n))
        for rows, a, b in zip(fitted_to, one, other, strict=True)
    ]
    return sum(cosines) / len(cosines)
