"""Compiled: PAMIR's loop over triplets, for sparse and for dense rows.

Triplets that follow one another with the same query and relevant picture share the latter's score,
until an update changes it.

Places in sparse rows are unsigned: with a sign, numba checks of each whether it counts from the
end, which takes as long as the arithmetic. What runs once a word or a picture is inlined: passing
five arrays takes as long as twenty products. Rows of triplets to come are fetched while others are
learned from.
"""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Columns, Doubles, Floats, Int32s, Ints, UInt64s
from sightline.solvers._fetch_fast import fetch_row
from sightline.solvers._pa_step_fast import step_size
from sightline.solvers.pa_step import PASSIVE, UPDATED

# Triplets between asking for a row and using it. Without it a step costs three times as much with
# 40,000 pictures as with 4,000, with it nearly as much; 2, 5 and 12 do about as well.
_AHEAD = 8
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@njit(cache=True, nogil=True, inline="always")
def row_product(
    W: Floats, t: np.uint64, columns: Columns, values: Floats, begin: np.uint64, end: np.uint64
) -> float:
    """Return w_t . p for the sparse row between `begin` and `end`.

    Four sums, because one would wait for each addition to end before the next can begin.
    """
    a = b = c = d = np.float32(0.0)
    rest = begin + ((end - begin) & ~_THREE)
    for i in range(begin, rest, _FOUR):
        a += W[t, columns[i]] * values[i]
        b += W[t, columns[i + _ONE]] * values[i + _ONE]
        c += W[t, columns[i + _TWO]] * values[i + _TWO]
        d += W[t, columns[i + _THREE]] * values[i + _THREE]
    for i in range(rest, end):
        a += W[t, columns[i]] * values[i]
    return float((a + b) + (c + d))


@njit(cache=True, nogil=True, inline="always")
def query_score(
    W: Floats, terms: Ints, weights: Floats, first: int, last: int,
    columns: Columns, values: Floats, begin: np.uint64, end: np.uint64,
) -> float:  # fmt: skip
    """Return F(q, p) = sum_t q_t (w_t . p)."""
    score = 0.0
    for k in range(first, last):
        t = np.uint64(terms[k])
        score += weights[k] * row_product(W, t, columns, values, begin, end)
    return score


@njit(cache=True, nogil=True, inline="always")
def add_row(
    W: Floats | Doubles, t: np.uint64, factor: float | np.float32, columns: Columns, values: Floats,
    begin: np.uint64, end: np.uint64,
) -> None:  # fmt: skip
    """Add a multiple of a sparse row to w_t."""
    for i in range(begin, end):
        W[t, columns[i]] += factor * values[i]


@njit(cache=True, nogil=True, inline="always")
def overlap(
    scratch: Floats, columns: Columns, values: Floats, begin: np.uint64, end: np.uint64
) -> float:
    """Return the product of a row and the one spread out in `scratch`.

    In double precision and one after the other, so that equal rows give exactly their squared
    length, and their difference exactly 0.
    """
    total = 0.0
    for i in range(begin, end):
        total += np.float64(scratch[columns[i]]) * np.float64(values[i])
    return total


@njit(cache=True, nogil=True, inline="always")
def spread(
    scratch: Floats, columns: Columns, values: Floats, begin: np.uint64, end: np.uint64
) -> None:
    """Write a sparse row into the dense `scratch`."""
    for i in range(begin, end):
        scratch[columns[i]] = values[i]


@njit(cache=True, nogil=True, inline="always")
def wipe(scratch: Floats, columns: Columns, begin: np.uint64, end: np.uint64) -> None:
    """Set the cells of a sparse row in `scratch` to 0 again."""
    for i in range(begin, end):
        scratch[columns[i]] = np.float32(0.0)


@njit(cache=True, nogil=True)
def squared_lengths(start: UInt64s, values: Floats) -> Doubles:
    """Return ||p||^2 of each row, summed in the order in which `overlap` sums."""
    out = np.empty(len(start) - 1)
    for p in range(len(out)):
        total = 0.0
        for i in range(start[p], start[p + 1]):
            total += np.float64(values[i]) * np.float64(values[i])
        out[p] = total
    return out


@njit(cache=True, nogil=True, inline="always")
def move_sparse(
    W: Floats, U: Doubles, late: int, tau: float,
    terms: Ints, weights: Floats, first: int, last: int, columns: Columns, values: Floats,
    begin: np.uint64, end: np.uint64, m_begin: np.uint64, m_end: np.uint64,
) -> None:  # fmt: skip
    """Add tau q (p+ - p-)' to W, and `late` times as much to U where there is one."""
    for k in range(first, last):
        t, step = np.uint64(terms[k]), np.float32(tau * weights[k])
        add_row(W, t, step, columns, values, begin, end)
        add_row(W, t, -step, columns, values, m_begin, m_end)
    if len(U):
        for k in range(first, last):
            t, much = np.uint64(terms[k]), late * tau * weights[k]
            add_row(U, t, much, columns, values, begin, end)
            add_row(U, t, -much, columns, values, m_begin, m_end)


@njit(cache=True, nogil=True)
def learn_sparse(
    W: Floats, U: Doubles, processed: int,
    start: UInt64s, columns: Columns, values: Floats, norms: Doubles,
    q_start: Ints, terms: Ints, weights: Floats, q_norms: Doubles,
    query: Int32s, plus: Int32s, minus: Int32s, C: float, variant: int, scratch: Floats,
    counts: Ints,
) -> None:  # fmt: skip
    """Learn from triplets in turn, with margin 1 and the same C for all of them."""
    same = np.empty(0)
    learn_sparse_by(
        W, U, processed, start, columns, values, norms, q_start, terms, weights, q_norms,
        query, plus, minus, same, same, C, variant, scratch, counts,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def learn_sparse_by(
    W: Floats, U: Doubles, processed: int,
    start: UInt64s, columns: Columns, values: Floats, norms: Doubles,
    q_start: Ints, terms: Ints, weights: Floats, q_norms: Doubles,
    query: Int32s, plus: Int32s, minus: Int32s, rho: Doubles, share: Doubles,
    C: float, variant: int, scratch: Floats, counts: Ints,
) -> None:  # fmt: skip
    """Learn from triplets in turn; `U` is for averaging, without rows where it is not wanted.

    `processed` is the number of triplets of earlier calls. `rho` is the margin of each triplet and
    `share` the factor of its C; both are 1 where they are empty. `scratch` has a place for each
    column and is all 0, before and after.
    """
    last_q, last_p, written, above = -1, -1, -1, 0.0
    for i in range(len(query)):
        q, p, m = query[i], plus[i], minus[i]
        if i + _AHEAD < len(query):
            later = minus[i + _AHEAD]
            fetch_row(columns, values, start[later], start[later + 1])
            later = plus[i + _AHEAD]
            if later != p:
                fetch_row(columns, values, start[later], start[later + 1])
        first, last = q_start[q], q_start[q + 1]
        begin, end, m_begin, m_end = start[p], start[p + 1], start[m], start[m + 1]
        if q != last_q or p != last_p:
            above = query_score(W, terms, weights, first, last, columns, values, begin, end)
            last_q, last_p = q, p
        loss = (
            (rho[i] if len(rho) else 1.0)
            - above
            + query_score(W, terms, weights, first, last, columns, values, m_begin, m_end)
        )
        if loss <= 0.0:
            counts[PASSIVE] += 1
            continue
        if written != p:
            if written >= 0:
                wipe(scratch, columns, start[written], start[written + 1])
            spread(scratch, columns, values, begin, end)
            written = p
        shared = overlap(scratch, columns, values, m_begin, m_end)
        norm2 = q_norms[q] * (norms[p] - 2.0 * shared + norms[m])
        tau, outcome = step_size(loss, norm2, C * share[i] if len(share) else C, variant)
        counts[outcome] += 1
        if outcome != UPDATED:
            continue
        move_sparse(
            W, U, processed + i, tau, terms, weights, first, last,
            columns, values, begin, end, m_begin, m_end,
        )  # fmt: skip
        last_p = -1
    if written >= 0:
        wipe(scratch, columns, start[written], start[written + 1])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def product(a: Floats, b: Floats) -> float:
    """Return a . b; the order of the sum is the compiler's, or it could not use wide registers."""
    total = np.float32(0.0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return np.float64(total)


@njit(cache=True, nogil=True)
def learn_dense(
    W: Floats, U: Doubles, processed: int, X: Floats,
    q_start: Ints, terms: Ints, weights: Floats, q_norms: Doubles,
    query: Int32s, plus: Int32s, minus: Int32s, C: float, variant: int, v: Floats, counts: Ints,
) -> None:  # fmt: skip
    """Learn from triplets in turn, with margin 1 and the same C for all of them."""
    same = np.empty(0)
    learn_dense_by(
        W, U, processed, X, q_start, terms, weights, q_norms,
        query, plus, minus, same, same, C, variant, v, counts,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def learn_dense_by(
    W: Floats, U: Doubles, processed: int, X: Floats,
    q_start: Ints, terms: Ints, weights: Floats, q_norms: Doubles,
    query: Int32s, plus: Int32s, minus: Int32s, rho: Doubles, share: Doubles,
    C: float, variant: int, v: Floats, counts: Ints,
) -> None:  # fmt: skip
    """Learn from triplets in turn, as `learn_sparse_by` does; `v` has a place for each column.

    Rows are long here, so the query's weights v = sum_t q_t w_t are added up once a run of equal
    queries, and each picture is then one product instead of one a word.
    """
    last_q, last_p, above = -1, -1, 0.0
    for i in range(len(query)):
        q, p, m = query[i], plus[i], minus[i]
        if q != last_q:
            gather(v, W, terms, weights, q_start[q], q_start[q + 1])
            last_q, last_p = q, -1
        if p != last_p:
            above, last_p = product(v, X[p]), p
        loss = (rho[i] if len(rho) else 1.0) - above + product(v, X[m])
        if loss <= 0.0:
            counts[PASSIVE] += 1
            continue
        norm2 = q_norms[q] * squared_distance(X[p], X[m])
        tau, outcome = step_size(loss, norm2, C * share[i] if len(share) else C, variant)
        counts[outcome] += 1
        if outcome != UPDATED:
            continue
        move_dense(W, U, processed + i, tau, terms, weights, q_start[q], q_start[q + 1], X[p], X[m])
        add_difference(v, np.float32(tau * q_norms[q]), X[p], X[m])
        above = product(v, X[p])


@njit(cache=True, nogil=True)
def gather(v: Floats, W: Floats, terms: Ints, weights: Floats, first: int, last: int) -> None:
    """Write a query's weights v = sum_t q_t w_t."""
    v[:] = np.float32(0.0)
    for k in range(first, last):
        add_to(v, weights[k], W[terms[k]])


@njit(cache=True, nogil=True)
def move_dense(
    W: Floats, U: Doubles, late: int, tau: float,
    terms: Ints, weights: Floats, first: int, last: int, plus: Floats, minus: Floats,
) -> None:  # fmt: skip
    """Add tau q (p+ - p-)' to W, and `late` times as much to U where there is one."""
    for k in range(first, last):
        add_difference(W[terms[k]], np.float32(tau * weights[k]), plus, minus)
        if len(U):
            add_difference(U[terms[k]], late * tau * weights[k], plus, minus)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squared_distance(a: Floats, b: Floats) -> float:
    """Return ||a - b||^2, exactly 0 for equal rows."""
    total = np.float32(0.0)
    for i in range(len(a)):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return np.float64(total)


@njit(cache=True, nogil=True)
def add_to(v: Floats, factor: float | np.float32, row: Floats) -> None:
    """Add a multiple of a row."""
    for i in range(len(v)):
        v[i] += factor * row[i]


@njit(cache=True, nogil=True)
def add_difference(w: Floats | Doubles, factor: float | np.float32, a: Floats, b: Floats) -> None:
    """Add a multiple of a - b."""
    for i in range(len(w)):
        w[i] += factor * (a[i] - b[i])


@njit(cache=True, nogil=True)
def score_sparse(W: Floats, start: UInt64s, columns: Columns, values: Floats, out: Floats) -> None:
    """Write w_t . p for each picture p and word t; a word's weights stay in the cache meanwhile."""
    for t in range(len(W)):
        for p in range(len(out)):
            out[p, t] = row_product(W, np.uint64(t), columns, values, start[p], start[p + 1])


@njit(cache=True, nogil=True)
def score_judged_sparse(
    W: Floats, start: UInt64s, columns: Columns, values: Floats,
    q_start: Ints, terms: Ints, weights: Floats, judged_start: Ints, judged: Ints, out: Floats,
) -> None:  # fmt: skip
    """Write F(q, p) for each query and the pictures judged for it."""
    for q in range(len(q_start) - 1):
        for i in range(judged_start[q], judged_start[q + 1]):
            p = judged[i]
            out[p] = query_score(
                W, terms, weights, q_start[q], q_start[q + 1],
                columns, values, start[p], start[p + 1],
            )  # fmt: skip


@njit(cache=True, nogil=True)
def score_judged_dense(
    W: Floats, X: Floats,
    q_start: Ints, terms: Ints, weights: Floats, judged_start: Ints, judged: Ints, out: Floats,
) -> None:  # fmt: skip
    """Write F(q, p) for each query and the pictures judged for it."""
    v = np.empty(X.shape[1], dtype=np.float32)
    for q in range(len(q_start) - 1):
        gather(v, W, terms, weights, q_start[q], q_start[q + 1])
        for i in range(judged_start[q], judged_start[q + 1]):
            out[judged[i]] = product(v, X[judged[i]])
