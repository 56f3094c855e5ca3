"""Compiled: draws of triplets whose two pictures have different grades.

Each random number is used for the same thing as in `_triplets_fast`, so that two grades give the
triplets that are drawn without grades.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Doubles, Int32s, Ints
from sightline.solvers._triplets_fast import below, following, index_of_query, sort_few

_HANDFUL = 32
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@njit(cache=True, nogil=True)
def far_below(x: np.uint64, n: int) -> int:
    """Return a number from 0 to n - 1, as `below` does, where n may have more than 32 bits."""
    x, many = x >> _HALF, np.uint64(n)
    return int(np.int64(x * (many >> _HALF) + ((x * (many & _LOW)) >> _HALF)))


@njit(cache=True, nogil=True)
def upper_of(x: np.uint64, q: int, start: Ints, upper: Ints, pair_ends: Ints) -> int:
    """Draw a row above the lowest grade, uniformly, or by its number of pairs if these are given.

    floor(floor(a n) / n) = floor(a): with two grades both ways return the same row.
    """
    first, end = start[q], start[q + 1]
    if len(pair_ends) == 0:
        return int(upper[first + below(x, end - first)])
    before = pair_ends[first - 1] if first > 0 else 0
    pair = before + far_below(x, pair_ends[end - 1] - before)
    return int(upper[np.searchsorted(pair_ends, pair, side="right")])


@njit(cache=True, nogil=True)
def draw_as_they_come(
    state: NDArray[np.uint64], usable: Ints, chances: Doubles, upper_start: Ints, upper: Ints,
    pair_ends: Ints, lower_start: Ints, lower: Ints, n_lower: Ints,
    query: Int32s, plus: Int32s, minus: Int32s,
) -> None:  # fmt: skip
    """Fill `query`, `plus` and `minus`, each triplet on its own."""
    x = state[0]
    for i in range(len(query)):
        x = following(x)
        q = usable[index_of_query(x, len(usable), chances)]
        x = following(x)
        p = upper_of(x, q, upper_start, upper, pair_ends)
        x = following(x)
        query[i], plus[i] = q, p
        minus[i] = lower[lower_start[q] + below(x, n_lower[p])]
    state[0] = x


@njit(cache=True, nogil=True)
def draw_in_order(
    state: NDArray[np.uint64], usable: Ints, chances: Doubles, upper_start: Ints, upper: Ints,
    pair_ends: Ints, lower_start: Ints, lower: Ints, n_lower: Ints, block: int,
    query: Int32s, plus: Int32s, minus: Int32s,
) -> None:  # fmt: skip
    """Fill `query`, `plus` and `minus`, each block in the order of queries, then of `plus`.

    The candidates of an other picture depend on the relevant one, so it is drawn after these are
    sorted.
    """
    x = state[0]
    n_draws = np.zeros(len(usable), dtype=np.int64)
    drawn = np.empty(min(block, len(query)), dtype=np.uint64)
    begin = 0
    while begin < len(query):
        for _ in range(min(block, len(query) - begin)):
            x = following(x)
            n_draws[index_of_query(x, len(usable), chances)] += 1
        for at in range(len(usable)):
            q, end = usable[at], begin + n_draws[at]
            for i in range(begin, end):
                x = following(x)
                plus[i] = upper_of(x, q, upper_start, upper, pair_ends)
                x = following(x)
                drawn[i - begin] = x
                query[i] = q
            if end - begin <= _HANDFUL:
                sort_few(plus, begin, end)
            else:
                plus[begin:end].sort()
            for i in range(begin, end):
                minus[i] = lower[lower_start[q] + below(drawn[i - begin], n_lower[plus[i]])]
            begin = end
            n_draws[at] = 0
    state[0] = x
