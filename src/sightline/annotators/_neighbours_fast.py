"""Compiled: selection of the nearest pictures, and propagation of their words.

Which words a picture has is given as a sparse table: those of picture j are `word[start[j] :
start[j + 1]]`. Only words of a picture and of its neighbours are visited, and words of no neighbour
are summed up in one term, so that a vocabulary may be large.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles, Floats, Int32s, Ints

# Most Newton steps to the best curve of a word; most words need five.
_STEPS, _HALVINGS, _LEAST_GAIN = 30, 30, 1e-10


@njit(cache=True, nogil=True)
def nearest_rows(distances: Floats, excluded: Ints, out: Int32s) -> None:
    """Fill each row of `out` with the places of the smallest distances, smallest first.

    Of equal distances the first comes first; place excluded[i] is never taken. There must be at
    least as many as `out` has columns.
    """
    k = out.shape[1]
    heap = np.empty(k, dtype=np.float32)
    for i in range(distances.shape[0]):
        filled = 0
        for j in range(distances.shape[1]):
            d = distances[i, j]
            if j == excluded[i] or (filled == k and d >= heap[0]):
                continue
            if filled < k:
                filled += 1
                _rise(heap, out[i], filled - 1, d, j)
            else:
                _sink(heap, out[i], k, d, j)
        for last in range(k - 1, 0, -1):
            d, j = heap[last], out[i, last]
            heap[last], out[i, last] = heap[0], out[i, 0]
            _sink(heap, out[i], last, d, j)


@njit(cache=True, nogil=True)
def _rise(heap: Floats, places: Int32s, at: int, d: float, j: int) -> None:
    """Put a pair into a heap with the farthest on top, from the bottom up."""
    while at > 0:
        above = (at - 1) // 2
        if heap[above] > d or (heap[above] == d and places[above] > j):
            break
        heap[at], places[at] = heap[above], places[above]
        at = above
    heap[at], places[at] = d, j


@njit(cache=True, nogil=True)
def _sink(heap: Floats, places: Int32s, n: int, d: float, j: int) -> None:
    """Put a pair into a heap of n in place of its top."""
    at = 0
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        right = below + 1
        if right < n and (
            heap[right] > heap[below]
            or (heap[right] == heap[below] and places[right] > places[below])
        ):
            below = right
        if heap[below] < d or (heap[below] == d and places[below] < j):
            break
        heap[at], places[at] = heap[below], places[below]
        at = below
    heap[at], places[at] = d, j


@njit(cache=True, nogil=True)
def merge_lists(lists: NDArray[np.int32], n_others: int, out: Int32s) -> None:
    """Fill each row of `out` with what the lists (views, pictures, k) hold, first places first.

    A row takes the first of every list, then the second of every list, until it is full.
    """
    taken = np.full(n_others, -1, dtype=np.int64)
    for i in range(out.shape[0]):
        filled = 0
        for depth in range(lists.shape[2]):
            for view in range(lists.shape[0]):
                j = lists[view, i, depth]
                if filled < out.shape[1] and taken[j] != i:
                    taken[j] = i
                    out[i, filled] = j
                    filled += 1


@njit(cache=True, nogil=True)
def propagate(nearest: Int32s, pi: Doubles, start: Ints, word: Int32s, out: Doubles) -> None:
    """Add to out[i, t] the weights of those neighbours of picture i that have word t."""
    for i in range(nearest.shape[0]):
        for k in range(nearest.shape[1]):
            j = nearest[i, k]
            for at in range(start[j], start[j + 1]):
                out[i, word[at]] += pi[i, k]


@njit(cache=True, nogil=True)
def log_likelihood(
    pictures: Ints, nearest: Int32s, pi: Doubles, start: Ints, word: Int32s,
    cost: Doubles, absent: Doubles, slope: Doubles, offset: Doubles, gradient: Doubles,
) -> float:  # fmt: skip
    """Return sum_it c_it log P(y_it | x_it) and fill `gradient` with its derivatives by pi.

    x_it is the weight of the neighbours of picture i that have word t, y_it whether pictures[i]
    does. P(1 | x) is slope_t x + offset_t if cost[2] is 0, else the logistic function of that.
    cost[0] and cost[1] are c for y = 0 and 1; absent[t] is c log P(0 | 0).
    """
    n_words = len(slope)
    x, g = np.zeros(n_words), np.zeros(n_words)
    last_seen = np.full(n_words, -1, dtype=np.int64)
    tagged = np.full(n_words, -1, dtype=np.int64)
    touched = np.empty(n_words, dtype=np.int64)
    nowhere, total = absent.sum(), 0.0
    for i in range(nearest.shape[0]):
        n = 0
        for at in range(start[pictures[i]], start[pictures[i] + 1]):
            t = word[at]
            tagged[t] = last_seen[t] = i
            x[t] = 0.0
            touched[n] = t
            n += 1
        for k in range(nearest.shape[1]):
            j = nearest[i, k]
            for at in range(start[j], start[j + 1]):
                t = word[at]
                if last_seen[t] != i:
                    last_seen[t] = i
                    x[t] = 0.0
                    touched[n] = t
                    n += 1
                x[t] += pi[i, k]
        total += nowhere
        for m in range(n):
            t = touched[m]
            y = 1 if tagged[t] == i else 0
            value, g[t] = _log_p(slope[t] * x[t] + offset[t], y, cost[2] != 0.0)
            total += cost[y] * value - absent[t]
            g[t] *= cost[y] * slope[t]
        for k in range(nearest.shape[1]):
            j = nearest[i, k]
            total_g = 0.0
            for at in range(start[j], start[j + 1]):
                total_g += g[word[at]]
            gradient[i, k] = total_g
    return total


@njit(cache=True, nogil=True)
def _log_p(z: float, y: int, logistic: bool) -> tuple[float, float]:
    """Return log P(y) and its derivative by z, P(1) being z or the logistic function of z."""
    sign = 2.0 * y - 1.0
    if logistic:
        return _log_logistic(sign * z), sign / (1.0 + np.exp(sign * z))
    p = z if y == 1 else 1.0 - z
    return np.log(p), sign / p


@njit(cache=True, nogil=True)
def _log_logistic(z: float) -> float:
    return float(-np.log1p(np.exp(-z)) if z > 0.0 else z - np.log1p(np.exp(z)))


@njit(cache=True, nogil=True)
def climb_curves(
    x: Doubles, y: NDArray[np.bool_], cost: Doubles, prior: Doubles, a: Doubles, b: Doubles
) -> None:
    """Improve the slope and offset of each column by Newton steps that never lower the objective.

    prior is the slope and offset to stay near, how much that counts, and the least slope.
    """
    value, weight = np.empty(x.shape[0] + 2), np.empty(x.shape[0] + 2)
    for t in range(x.shape[1]):
        # Where no neighbour has the word there is one term for absent and one for present
        # words.
        value[:2] = weight[:2] = 0.0
        n = 2
        for i in range(x.shape[0]):
            side = 1 if y[i, t] else 0
            if x[i, t] == 0.0:
                weight[side] += cost[side]
            else:
                value[n] = x[i, t]
                weight[n] = cost[1] if side else -cost[0]
                n += 1
        weight[0] = -weight[0]
        a[t], b[t] = _climbed(value[:n], weight[:n], prior, a[t], b[t])


@njit(cache=True, nogil=True)
def _climbed(
    x: Doubles, weight: Doubles, prior: Doubles, a: float, b: float
) -> tuple[float, float]:
    height = _height(x, weight, prior, a, b)
    for _ in range(_STEPS):
        da, db = _newton(x, weight, prior, a, b)
        # At the least slope the offset alone is free.
        da = max(da, prior[3] - a)
        size, gain = 1.0, -1.0
        for _ in range(_HALVINGS):
            gain = _height(x, weight, prior, a + size * da, b + size * db) - height
            if gain >= 0.0:
                break
            size *= 0.5
        if gain < 0.0:
            break
        a, b, height = a + size * da, b + size * db, height + gain
        if gain <= _LEAST_GAIN * abs(height):
            break
    return a, b


@njit(cache=True, nogil=True)
def _height(x: Doubles, weight: Doubles, prior: Doubles, a: float, b: float) -> float:
    """Return the sum of |w| log P less the penalty; the sign of w says which P."""
    total = 0.0
    for i in range(len(x)):
        sign = 1.0 if weight[i] > 0 else -1.0
        total += abs(weight[i]) * _log_logistic(sign * (a * x[i] + b))
    apart = (a / prior[0] - 1.0) ** 2 + (b - prior[1]) ** 2
    return float(total - 0.5 * prior[2] * apart)


@njit(cache=True, nogil=True)
def _newton(x: Doubles, weight: Doubles, prior: Doubles, a: float, b: float) -> tuple[float, float]:
    ga = -prior[2] * (a / prior[0] - 1.0) / prior[0]
    gb = -prior[2] * (b - prior[1])
    haa, hab, hbb = prior[2] / prior[0] ** 2, 0.0, prior[2]
    for i in range(len(x)):
        p = 1.0 / (1.0 + np.exp(-(a * x[i] + b)))
        w = abs(weight[i])
        pull = w * ((1.0 if weight[i] > 0 else 0.0) - p)
        bend = w * p * (1.0 - p)
        ga += pull * x[i]
        gb += pull
        haa += bend * x[i] * x[i]
        hab += bend * x[i]
        hbb += bend
    det = haa * hbb - hab * hab
    da = (hbb * ga - hab * gb) / det if det > 0.0 else 0.0
    if det <= 0.0 or (a <= prior[3] and da < 0.0):
        return 0.0, gb / hbb if hbb > 0.0 else 0.0
    return da, (haa * gb - hab * ga) / det
