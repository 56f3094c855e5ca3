"""Compiled: rows rounded to whole numbers of a byte, and a scan that bounds every row's score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Floats, Ints

_LARGEST = 127
PRODUCT, COSINE, DISTANCE = 0, 1, 2
_BLOCK = 512


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def quantise(
    rows: Floats, mean: Floats, direction: Floats, codes: NDArray[np.int8], scale: Floats,
    length: Floats, along: Floats, error: Floats,
) -> None:  # fmt: skip
    """Write for each row x = mean + s c + e: codes c, scale s, the length of x, and parts of e.

    `along` is the part of e along a unit vector, `direction`, and `error` the length of the rest.
    """
    for i in range(len(rows)):
        row = rows[i]
        largest = np.float32(0.0)
        square = np.float32(0.0)
        for k in range(len(row)):
            largest = max(largest, abs(row[k] - mean[k]))
            square += row[k] * row[k]
        s = largest / np.float32(_LARGEST)
        inverse = np.float32(1.0) / s if s > 0 else np.float32(0.0)
        wrong = np.float32(0.0)
        part = np.float32(0.0)
        for k in range(len(row)):
            y = row[k] - mean[k]
            c = np.rint(y * inverse)
            codes[i, k] = np.int8(c)
            e = y - s * c
            wrong += e * e
            part += e * direction[k]
        scale[i], length[i], along[i] = s, np.sqrt(square), part
        error[i] = np.sqrt(max(wrong - part * part, np.float32(1e-6) * wrong))


@njit(cache=True, nogil=True)
def scan(
    codes: NDArray[np.int8], scale: Floats, length: Floats, along: Floats, error: Floats,
    v: NDArray[np.int16], of_weights: Floats, by: int, added: Floats, excluded: NDArray[np.bool_],
    first: int, upper: Floats, best: Floats, place: Ints, n_best: int,
) -> int:  # fmt: skip
    """Write the highest score that each row can have, and keep the highest of them in a heap.

    `added`, unless it is empty, is a number for each row that counts with its score. `of_weights`
    are, of weights w = t v + d: t, w.mean, their part along the direction, the length of the rest,
    |d| and |mean| |d|. `best` and `place` are the heap, its least first once `n_best`, its number
    of entries, fills it; places begin at `first`. Returns the new number of entries.
    """
    room, n = len(best), len(codes)
    # Products of a block of rows, then their bounds, whose numbers lie side by side.
    for start in range(0, n, _BLOCK):
        end = min(n, start + _BLOCK)
        part = upper[start:end]
        _products(codes[start:end], v, part)
        _bound(
            part, scale[start:end], length[start:end], along[start:end], error[start:end],
            of_weights, by,
        )  # fmt: skip
        if len(added):
            for i in range(len(part)):
                part[i] += added[start + i]
        if len(excluded):
            for i in range(len(part)):
                if excluded[start + i]:
                    part[i] = -np.inf
        if n_best == room and not _reaches(part, best[0]):
            continue
        for i in range(len(part)):
            if part[i] == -np.inf:
                continue
            if n_best < room:
                best[n_best], place[n_best] = part[i], first + start + i
                n_best += 1
                if n_best == room:
                    for root in range(room // 2, -1, -1):
                        _sink(best, place, root)
            elif part[i] > best[0]:
                best[0], place[0] = part[i], first + start + i
                _sink(best, place, 0)
    return n_best


@njit(cache=True, nogil=True)
def _products(codes: NDArray[np.int8], v: NDArray[np.int16], out: Floats) -> None:
    """Write the product of each row with v."""
    for i in range(len(codes)):
        total = np.int32(0)
        # Unsigned positions: with a sign, numba checks of each whether it counts from the end.
        for k in range(np.uint64(codes.shape[1])):
            # Without the casts products are of 64 bits, which cost twice as much.
            total = np.int32(total + np.int32(np.int32(codes[i, k]) * np.int32(v[k])))
        out[i] = np.float32(total)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _bound(
    out: Floats, scale: Floats, length: Floats, along: Floats, error: Floats, of_weights: Floats,
    by: int,
) -> None:  # fmt: skip
    """Turn products with rounded weights into the highest scores."""
    unit, at_mean, forward, sideward = of_weights[0], of_weights[1], of_weights[2], of_weights[3]
    wrong, at_mean = of_weights[4], at_mean + of_weights[5]
    for i in range(len(out)):
        most = at_mean + out[i] * (scale[i] * unit) + along[i] * forward
        out[i] = most + error[i] * sideward + length[i] * wrong
    if by == COSINE:
        for i in range(len(out)):
            out[i] = out[i] / length[i] if length[i] > 0 else np.float32(0.0)
    elif by == DISTANCE:
        for i in range(len(out)):
            out[i] = np.float32(2.0) * out[i] - length[i] * length[i]
    for i in range(len(out)):
        # What is not a number may be anything.
        out[i] = out[i] if out[i] < np.inf else np.float32(np.inf)


@njit(cache=True, nogil=True)
def _reaches(numbers: Floats, least: np.float32) -> bool:
    """Return whether any number is above another one."""
    above = 0
    for i in range(len(numbers)):
        above += numbers[i] > least
    return above > 0


@njit(cache=True, nogil=True)
def _sink(scores: Floats, places: Ints, root: int) -> None:
    """Move the entry at a position of the heap down until the heap is in order."""
    score, place = scores[root], places[root]
    while True:
        child = 2 * root + 1
        if child >= len(scores):
            break
        if child + 1 < len(scores) and scores[child + 1] < scores[child]:
            child += 1
        if scores[child] >= score:
            break
        scores[root], places[root] = scores[child], places[child]
        root = child
    scores[root], places[root] = score, place
