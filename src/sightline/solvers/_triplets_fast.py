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
    negative_start: Ints, negative: Ints, n_pictures: int, block: int, few: int,
    query: Int32s, plus: Int32s, minus: Int32s,
) -> None:  # fmt: skip
    """Fill `query`, `plus` and `minus`, each block in the order of queries.

    The number of draws of each query is drawn first, so only a query's own are sorted: by `plus`,
    or, where `few` is not 0, `few` at a time.
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
            sort_runs(plus, begin, end, few)
            begin = end
            n_draws[at] = 0
    state[0] = x


@njit(cache=True, nogil=True)
def sort_runs(plus: Int32s, begin: int, end: int, few: int) -> None:
    """Sort a part of an array, or every `few` of it by themselves."""
    size = few if few else end - begin
    for first in range(begin, end, max(size, 1)):
        last = min(first + size, end)
        if last - first <= _HANDFUL:
            sort_few(plus, first, last)
        else:
            plus[first:last].sort()


@njit(cache=True, nogil=True)
def by_picture(relevant_start: Ints, relevant: Ints, n_pictures: int) -> tuple[Ints, Ints]:
    """Return the queries that each picture is relevant to: where they begin, and which."""
    start = np.zeros(n_pictures + 1, dtype=np.int64)
    for p in relevant:
        start[p + 1] += 1
    for p in range(n_pictures):
        start[p + 1] += start[p]
    queries, filled = np.empty(len(relevant), dtype=np.int64), start[:-1].copy()
    for q in range(len(relevant_start) - 1):
        for i in range(relevant_start[q], relevant_start[q + 1]):
            queries[filled[relevant[i]]] = q
            filled[relevant[i]] += 1
    return start, queries


@njit(cache=True, nogil=True)
def choose_pictures(state: NDArray[np.uint64], n_chunks: int, chunk: int, n_pictures: int) -> Ints:
    """Return the pictures of some chunks of neighbours, all equally likely, ascending."""
    x, chunks = state[0], np.arange((n_pictures + chunk - 1) // chunk)
    for i in range(n_chunks):
        x = following(x)
        j = i + below(x, len(chunks) - i)
        chunks[i], chunks[j] = chunks[j], chunks[i]
    state[0] = x
    chosen = np.sort(chunks[:n_chunks])
    out = np.empty(n_chunks * chunk, dtype=np.int64)
    n = 0
    for c in chosen:
        for p in range(c * chunk, min((c + 1) * chunk, n_pictures)):
            out[n] = p
            n += 1
    return out[:n]


@njit(cache=True, nogil=True)
def relevant_among(
    pictures: Ints, query_start: Ints, queries: Ints, n_queries: int
) -> tuple[Ints, Ints]:
    """Return the relevant ones of some pictures by query, as positions among them, ascending.

    `queries` are those that picture p is relevant to, from `query_start[p]` on.
    """
    start = np.zeros(n_queries + 1, dtype=np.int64)
    for p in pictures:
        for i in range(query_start[p], query_start[p + 1]):
            start[queries[i] + 1] += 1
    for q in range(n_queries):
        start[q + 1] += start[q]
    relevant, filled = np.empty(start[-1], dtype=np.int64), start[:-1].copy()
    for at in range(len(pictures)):
        p = pictures[at]
        for i in range(query_start[p], query_start[p + 1]):
            q = queries[i]
            relevant[filled[q]] = at
            filled[q] += 1
    return start, relevant


@njit(cache=True, nogil=True)
def draw_among(
    state: NDArray[np.uint64], n_pictures: int, start: Ints, relevant: Ints, chances: Doubles,
    block: int, few: int, query: Int32s, plus: Int32s, minus: Int32s,
) -> None:  # fmt: skip
    """Fill `query`, `plus` and `minus` with positions among some pictures, in order as above.

    `chances` are those of each pair of a query and a relevant picture. Queries get their shares of
    a block but for one triplet, by one random number for all.
    """
    x = state[0]
    total, ultimate = 0.0, 0
    for q in range(len(chances)):
        n = start[q + 1] - start[q]
        if 0 < n < n_pictures and chances[q] > 0.0:
            total += chances[q] * n
            ultimate = q
    begin = 0
    while begin < len(query):
        size = min(block, len(query) - begin)
        x = following(x)
        offset = np.float64(x >> np.uint64(11)) / 9007199254740992.0
        passed, given = 0.0, 0
        for q in range(ultimate + 1):
            first, n = start[q], start[q + 1] - start[q]
            if n == 0 or n == n_pictures:
                continue
            passed += chances[q] * n
            # The last query takes what rounding has left.
            wanted = size if q == ultimate else int(np.floor(passed / total * size + offset))
            end = begin + min(wanted, size) - given
            for i in range(begin, end):
                x = following(x)
                plus[i] = relevant[first + below(x, n)]
                x = following(x)
                minus[i] = nth_negative(relevant, first, first + n, below(x, n_pictures - n))
                query[i] = q
            sort_runs(plus, begin, end, few)
            given += end - begin
            begin = end
    state[0] = x
