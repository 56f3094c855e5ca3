"""The loops of the codebook that are not matrix products."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Floats, Int32s

_LOW, _UPPER = np.uint64(0xFFFFFFFF), np.uint64(32)
_SEED, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xCC9E2D51), np.uint64(0x85EBCA6B)


@njit(cache=True, nogil=True)
def settle(
    scores: Floats,
    best: NDArray[np.int64],
    slack: Floats,
    points: Floats,
    centers: Floats,
    labels: Int32s,
) -> None:
    """Write for each point the nearest centre, the first of equal ones.

    `scores` grow as distances shrink but are rounded, and differently by another library or with
    another number of threads: where several centres lie within a point's `slack` of the `best`
    one, their distances are computed again, always in the same order.
    """
    for row in range(points.shape[0]):
        line = scores[row]
        limit = line[best[row]] - slack[row]
        hits = np.int32(0)
        # Without branches this is a scan of whole vectors, and nearly always there is one hit.
        for i in range(line.size):
            hits = np.int32(hits + np.int32(line[i] >= limit))
        labels[row] = best[row]
        if hits > 1:
            labels[row] = nearest(line, limit, points[row], centers)


@njit(cache=True, nogil=True)
def nearest(scores: Floats, limit: float, point: Floats, centers: Floats) -> int:
    """Return the nearest of the centres whose score reaches the limit."""
    least, place = np.inf, 0
    for i in range(scores.size):
        if scores[i] >= limit:
            distance = squared_distance(point, centers[i])
            if distance < least:
                least, place = distance, i
    return place


@njit(cache=True, nogil=True)
def squared_distance(a: Floats, b: Floats) -> float:
    """Return the squared distance of two rows, as four sums, which do not wait for each other."""
    n = a.size
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    for i in range(0, n - 3, 4):
        p += (np.float64(a[i]) - np.float64(b[i])) ** 2
        q += (np.float64(a[i + 1]) - np.float64(b[i + 1])) ** 2
        r += (np.float64(a[i + 2]) - np.float64(b[i + 2])) ** 2
        s += (np.float64(a[i + 3]) - np.float64(b[i + 3])) ** 2
    for i in range(n - n % 4, n):
        p += (np.float64(a[i]) - np.float64(b[i])) ** 2
    return (p + q) + (r + s)


@njit(cache=True, nogil=True)
def add_up(
    points: Floats, labels: Int32s, sums: NDArray[np.float64], counts: NDArray[np.int64]
) -> None:
    """Add each point to the sum of its group."""
    for row in range(points.shape[0]):
        counts[labels[row]] += 1
        point, total = points[row], sums[labels[row]]
        for i in range(point.size):
            total[i] += point[i]


@njit(cache=True, nogil=True)
def residuals(points: Floats, centers: Floats, labels: Int32s, out: NDArray[np.float64]) -> None:
    """Write each point's squared distance to the centre of its group."""
    for row in range(points.shape[0]):
        out[row] = squared_distance(points[row], centers[labels[row]])


@njit(cache=True, nogil=True)
def hash_rows(words: NDArray[np.uint32], out: NDArray[np.uint64]) -> None:
    """Write a hash of each row: equal rows have equal ones, others hardly ever."""
    for row in range(words.shape[0]):
        value = _SEED
        for i in range(words.shape[1]):
            # Products of 32 bits by 32 bits, which never overflow.
            value = (value & _LOW) * _FIRST ^ value >> _UPPER ^ np.uint64(words[row, i]) * _SECOND
        out[row] = value
