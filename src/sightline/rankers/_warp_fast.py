"""Compiled: WARP's loop over queries and relevant pictures, for sparse and for dense rows.

The arithmetic is that of `_pamir_fast`, in the same order, so that with one trial it is PAMIR. The
first other picture is that of the drawn triplet; further ones are drawn by a random state of their
own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Columns, Doubles, Floats, Int32s, Ints, UInt64s
from sightline.rankers._pamir_fast import (
    add_difference,
    gather,
    move_dense,
    move_sparse,
    overlap,
    product,
    query_score,
    spread,
    squared_distance,
    wipe,
)
from sightline.solvers._pa_step_fast import step_size
from sightline.solvers._triplets_fast import below, following, negative_of
from sightline.solvers.pa_step import PASSIVE, UPDATED


@njit(cache=True, nogil=True)
def count_others(
    q: int, p: int, relevant_start: Ints, negative_start: Ints, n_pictures: int, n_lower: Ints
) -> int:
    """Return n-, the number of pictures that p should precede."""
    if len(n_lower):
        return int(n_lower[p])
    if len(negative_start):
        return int(negative_start[q + 1] - negative_start[q])
    return int(n_pictures - (relevant_start[q + 1] - relevant_start[q]))


@njit(cache=True, nogil=True)
def another(
    x: np.uint64, q: int, p: int, relevant_start: Ints, relevant: Ints, negative_start: Ints,
    negative: Ints, n_pictures: int, n_lower: Ints,
) -> int:  # fmt: skip
    """Draw uniformly a picture that p should precede; `n_lower` is empty without grades."""
    if len(n_lower):
        return int(negative[negative_start[q] + below(x, n_lower[p])])
    return negative_of(x, q, relevant_start, relevant, negative_start, negative, n_pictures)


@njit(cache=True, nogil=True)
def learn_sparse(
    W: Floats, U: Doubles, processed: int,
    start: UInt64s, columns: Columns, values: Floats, norms: Doubles,
    q_start: Ints, terms: Ints, weights: Floats, q_norms: Doubles,
    query: Int32s, plus: Int32s, minus: Int32s, state: NDArray[np.uint64],
    relevant_start: Ints, relevant: Ints, negative_start: Ints, negative: Ints, n_pictures: int,
    n_lower: Ints, gains: Doubles, L: Doubles, max_trials: int,
    C: float, variant: int, scratch: Floats, counts: Ints,
) -> None:  # fmt: skip
    """Learn from triplets in turn, looking for other pictures until one violates the margin.

    `processed` is the number of triplets of earlier calls. `U` is for averaging, without rows where
    it is not wanted; `L` is the weight of each rank, by which C is multiplied; `gains` are those of
    grades, if there are any. `scratch` has a place for each column and is all 0, before and after.
    """
    x = state[0]
    last_q, last_p, above = -1, -1, 0.0
    for i in range(len(query)):
        q, p, m = query[i], plus[i], minus[i]
        first, last = q_start[q], q_start[q + 1]
        begin, end = start[p], start[p + 1]
        if q != last_q or p != last_p:
            above = query_score(W, terms, weights, first, last, columns, values, begin, end)
            last_q, last_p = q, p
        n_other = count_others(q, p, relevant_start, negative_start, n_pictures, n_lower)
        trials = 0
        while True:
            trials += 1
            m_begin, m_end = start[m], start[m + 1]
            rho = gains[p] - gains[m] if len(gains) else 1.0
            loss = (
                rho
                - above
                + query_score(W, terms, weights, first, last, columns, values, m_begin, m_end)
            )
            if not loss <= 0.0 or trials >= min(max_trials, n_other):
                break
            x = following(x)
            m = another(
                x, q, p, relevant_start, relevant, negative_start, negative, n_pictures, n_lower
            )
        if loss <= 0.0:
            counts[PASSIVE] += 1
            continue
        spread(scratch, columns, values, begin, end)
        shared = overlap(scratch, columns, values, m_begin, m_end)
        wipe(scratch, columns, begin, end)
        norm2 = q_norms[q] * (norms[p] - 2.0 * shared + norms[m])
        share = L[n_other // trials] / L[n_other]
        tau, outcome = step_size(loss, norm2, C * share, variant)
        counts[outcome] += 1
        if outcome != UPDATED:
            continue
        move_sparse(
            W, U, processed + i, tau, terms, weights, first, last,
            columns, values, begin, end, m_begin, m_end,
        )  # fmt: skip
        last_p = -1
    state[0] = x


@njit(cache=True, nogil=True)
def learn_dense(
    W: Floats, U: Doubles, processed: int, X: Floats,
    q_start: Ints, terms: Ints, weights: Floats, q_norms: Doubles,
    query: Int32s, plus: Int32s, minus: Int32s, state: NDArray[np.uint64],
    relevant_start: Ints, relevant: Ints, negative_start: Ints, negative: Ints, n_pictures: int,
    n_lower: Ints, gains: Doubles, L: Doubles, max_trials: int,
    C: float, variant: int, v: Floats, counts: Ints,
) -> None:  # fmt: skip
    """Learn from triplets in turn, as `learn_sparse` does; `v` has a place for each column."""
    x = state[0]
    last_q, last_p, above = -1, -1, 0.0
    for i in range(len(query)):
        q, p, m = query[i], plus[i], minus[i]
        if q != last_q:
            gather(v, W, terms, weights, q_start[q], q_start[q + 1])
            last_q, last_p = q, -1
        if p != last_p:
            above, last_p = product(v, X[p]), p
        n_other = count_others(q, p, relevant_start, negative_start, n_pictures, n_lower)
        trials = 0
        while True:
            trials += 1
            loss = (gains[p] - gains[m] if len(gains) else 1.0) - above + product(v, X[m])
            if not loss <= 0.0 or trials >= min(max_trials, n_other):
                break
            x = following(x)
            m = another(
                x, q, p, relevant_start, relevant, negative_start, negative, n_pictures, n_lower
            )
        if loss <= 0.0:
            counts[PASSIVE] += 1
            continue
        norm2 = q_norms[q] * squared_distance(X[p], X[m])
        share = L[n_other // trials] / L[n_other]
        tau, outcome = step_size(loss, norm2, C * share, variant)
        counts[outcome] += 1
        if outcome != UPDATED:
            continue
        move_dense(W, U, processed + i, tau, terms, weights, q_start[q], q_start[q + 1], X[p], X[m])
        add_difference(v, np.float32(tau * q_norms[q]), X[p], X[m])
        above = product(v, X[p])
    state[0] = x
