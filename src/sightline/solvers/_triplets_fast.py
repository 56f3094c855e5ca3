"""Compiled: random numbers from an explicit state, and draws of triplets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles, Int32s, Ints

_HANDFUL = 32


@njit(cache=True, nogil=True)
def following(x: np.uint64) -> np.uint64:
    """Return the state after `x`, of Marsaglia's xorshift with 64 bits.

    Shifts and exclusive ors alone: nothing that overflows, so it is the same with the compiler off.
    """
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    return x


@njit(cache=True, nogil=True)
def below(x: np.uint64, n: int) -> int:
    """Return a number from 0 to n - 1 out of the upper half of a state."""
    # Signed, since numba converts sums of signed and unsigned numbers to floats.
    return int(np.int64(((x >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)))


@njit(cache=True, nogil=True)
def nth_negative(relevant: Ints, begin: int, end: int, n: int) -> int:
    """Return the n-th of the pictures that are not among `fit[begin:end]`, which ascend.

    Before the answer lie as many relevant pictures as have fit[i] - i <= n, which never falls.
    """
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if relevant[middle] - (middle - begin) <= n:
            low = middle + 1
        else:
            high = middle
    return n + low - begin


@njit(cache=True, nogil=True)
def index_of_query(x: np.uint64, n: int, chances: Doubles) -> int:
    """Draw one of n positions, uniformly or, where there are `chances`, by these running totals."""
    if len(chances) == 0:
        return below(x, n)
    share = np.float64(x >> np.uint64(11)) / 9007199254740992.0 * chances[-1]
    return min(int(np.searchsorted(chances, share, side="right")), n - 1)


@njit(cache=True, nogil=True)
def negative_of(
    x: np.uint64,
    q: int,
    relevant_start: Ints,
    relevant: Ints,
    negative_start: Ints,
    negative: Ints,
    n_pictures: int,
) -> int:
    """Return a picture not relevant to query q; `negative` is empty where all such count."""
    if len(negative):
        first = negative_start[q]
        return int(negative[first + below(x, negative_start[q + 1] - first)])
    begin, end = relevant_start[q], relevant_start[q + 1]
    return nth_negative(relevant, begin, end, below(x, n_pictures - (end - begin)))


@njit(cache=True, nogil=True)
def draw_as_they_come(
    state: NDArray[np.uint64], usable: Ints, chances: Doubles, relevant_start: Ints, relevant: Ints,
    negative_start: Ints, negative: Ints, n_pictures: int, query: Int32s, plus: Int32s,
    minus: Int32s,
) -> None:  # fmt: skip
    """Fill `query`, `plus` and `minus`, each triplet on its own."""
    x = state[0]
    for i in range(len(query)):
        x = following(x)
        q = usable[index_of_query(x, len(usable), chances)]
        x = following(x)
        query[i] = q
        plus[i] = relevant[relevant_start[q] + below(x, relevant_start[q + 1] - relevant_start[q])]
        x = following(x)
        minus[i] = negative_of(x, q, relevant_start, relevant, negative_start, negative, n_pictures)
    state[0] = x


@njit(cache=True, nogil=True)
def sort_few(values: Int32s, begin: int, end: int) -> None:
    """Sort a part of an array; insertion sort is the fastest for so few."""
    for i in range(begin + 1, end):
        value, j = values[i], i
        while j > begin and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@njit(cache=True, nogil=True)
def draw_in_order(
    state: NDArray[np.uint64], usable: Ints, chances: Doubles, relevant_start: Ints, relevant: Ints,
    negative_start: Ints, negative: Ints, n_pictures: int, block: int,
    query: Int32s, plus: Int32s, minus: Int32s,
) -> None:  # fmt: skip
    """Fill `query`, `plus` and `minus`, each block in the order of queries, then of `plus`.

    The number of draws of each query is drawn first, so only a query's own few are sorted.
    """
    x = state[0]
    n_draws = np.zeros(len(usable), dtype=np.int64)
    begin = 0
    while begin < len(query):
        for _ in range(min(block, len(query) - begin)):
            x = following(x)
            n_draws[index_of_query(x, len(usable), chances)] += 1
        for at in range(len(usable)):
            q, end = usable[at], begin + n_draws[at]
            first, n = relevant_start[q], relevant_start[q + 1] - relevant_start[q]
            for i in range(begin, end):
                x = following(x)
                plus[i] = relevant[first + below(x, n)]
                x = following(x)
                minus[i] = negative_of(
                    x, q, relevant_start, relevant, negative_start, negative, n_pictures
                )
                query[i] = q
            if end - begin <= _HANDFUL:
                sort_few(plus, begin, end)
            else:
                plus[begin:end].sort()
            begin = end
            n_draws[at] = 0
    state[0] = x
