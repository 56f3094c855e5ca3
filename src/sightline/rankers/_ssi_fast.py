"""Compiled: SSI's steps over pairs of documents, some pairs of a query in a row.

Factors are kept feature by feature (A = U', B = V'), so that a feature's k numbers lie side by
side. While pairs of one query are learned from, u = U q is kept up to date by |q|^2 times what U
gains, and U itself is moved once after the last of them; the result is the same as moving it each
time.
"""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Columns, Floats, Ints, UInt64s
from sightline.solvers._triplets_fast import below, following


@njit(cache=True, nogil=True)
def drawn(x: np.uint64, i: int, start: Ints, documents: Ints) -> int:
    """Return one of a list's documents, drawn uniformly."""
    return int(documents[start[i] + below(x, start[i + 1] - start[i])])


@njit(cache=True, nogil=True, fastmath=True)
def violated_by(u: Floats, v: Floats) -> np.float32:
    """Return 1 - u.v."""
    total = np.float32(0.0)
    for c in range(len(u)):
        total += u[c] * v[c]
    return np.float32(1.0) - total


@njit(cache=True, nogil=True)
def answer(u: Floats, v: Floats, gained: Floats, eta: np.float32, length: np.float32) -> None:
    """Move u, and what U is to gain, towards v."""
    for c in range(len(u)):
        step = eta * v[c]
        gained[c] += step
        u[c] += length * step


@njit(cache=True, nogil=True)
def learn_dense(
    A: Floats, B: Floats, Q: Floats, D: Floats, lengths: Floats,
    query: Ints, plus_start: Ints, plus: Ints, minus_start: Ints, minus: Ints,
    state: UInt64s, n_pairs: int, per_query: int, eta: np.float32,
) -> int:  # fmt: skip
    """Learn from pairs of dense rows; return how many moved the factors."""
    x, moved, done = state[0], 0, 0
    k = A.shape[1]
    u, v, gained = np.empty(k, np.float32), np.empty(k, np.float32), np.empty(k, np.float32)
    while done < n_pairs:
        x = following(x)
        i = below(x, len(query))
        q = Q[query[i]]
        u[:], gained[:] = 0.0, 0.0
        for f in range(len(q)):
            for c in range(k):
                u[c] += q[f] * A[f, c]
        for _ in range(min(per_query, n_pairs - done)):
            done += 1
            x = following(x)
            p = drawn(x, i, plus_start, plus)
            x = following(x)
            m = drawn(x, i, minus_start, minus)
            v[:] = 0.0
            for f in range(D.shape[1]):
                difference = D[p, f] - D[m, f]
                for c in range(k):
                    v[c] += difference * B[f, c]
            if violated_by(u, v) > 0:
                for f in range(D.shape[1]):
                    step = eta * (D[p, f] - D[m, f])
                    for c in range(k):
                        B[f, c] += step * u[c]
                answer(u, v, gained, eta, lengths[query[i]])
                moved += 1
        for f in range(len(q)):
            for c in range(k):
                A[f, c] += q[f] * gained[c]
    state[0] = x
    return moved


@njit(cache=True, nogil=True)
def add_row(
    v: Floats, B: Floats, columns: Columns, values: Floats, begin: int, end: int, sign: np.float32
) -> None:
    """Add a sparse row's point in the space, or take it away."""
    for j in range(begin, end):
        x = sign * values[j]
        row = B[columns[j]]
        for c in range(len(v)):
            v[c] += x * row[c]


@njit(cache=True, nogil=True)
def move_rows(
    B: Floats, u: Floats, columns: Columns, values: Floats, begin: int, end: int, eta: np.float32
) -> None:
    """Add eta times a sparse row's numbers times u to the rows of B."""
    for j in range(begin, end):
        x = eta * values[j]
        row = B[columns[j]]
        for c in range(len(u)):
            row[c] += x * u[c]


@njit(cache=True, nogil=True)
def learn_sparse(
    A: Floats, B: Floats, q_start: UInt64s, q_columns: Columns, q_values: Floats,
    d_start: UInt64s, d_columns: Columns, d_values: Floats, lengths: Floats,
    query: Ints, plus_start: Ints, plus: Ints, minus_start: Ints, minus: Ints,
    state: UInt64s, n_pairs: int, per_query: int, eta: np.float32,
) -> int:  # fmt: skip
    """Learn from pairs of sparse rows; return how many moved the factors."""
    x, moved, done = state[0], 0, 0
    k = A.shape[1]
    u, v, gained = np.empty(k, np.float32), np.empty(k, np.float32), np.empty(k, np.float32)
    one = np.float32(1.0)
    while done < n_pairs:
        x = following(x)
        i = below(x, len(query))
        begin, end = int(np.int64(q_start[query[i]])), int(np.int64(q_start[query[i] + 1]))
        u[:], gained[:] = 0.0, 0.0
        add_row(u, A, q_columns, q_values, begin, end, one)
        for _ in range(min(per_query, n_pairs - done)):
            done += 1
            x = following(x)
            p = drawn(x, i, plus_start, plus)
            x = following(x)
            m = drawn(x, i, minus_start, minus)
            p_begin, p_end = int(np.int64(d_start[p])), int(np.int64(d_start[p + 1]))
            m_begin, m_end = int(np.int64(d_start[m])), int(np.int64(d_start[m + 1]))
            v[:] = 0.0
            add_row(v, B, d_columns, d_values, p_begin, p_end, one)
            add_row(v, B, d_columns, d_values, m_begin, m_end, -one)
            if violated_by(u, v) > 0:
                move_rows(B, u, d_columns, d_values, p_begin, p_end, eta)
                move_rows(B, u, d_columns, d_values, m_begin, m_end, -eta)
                answer(u, v, gained, eta, lengths[query[i]])
                moved += 1
        move_rows(A, gained, q_columns, q_values, begin, end, one)
    state[0] = x
    return moved
