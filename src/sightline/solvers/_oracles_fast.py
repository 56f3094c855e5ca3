"""Separation oracles of ranking measures, compiled: many lists of candidates in one call.

A list's relevant candidates (n of them) and others (m of them) are sorted by their scores, a_1 >=
a_2 >= … and b_1 >= b_2 >= …; an order merges the two, and is given by how many others are above
each relevant one.
"""

from __future__ import annotations

import numpy as np

from sightline._njit_fast import njit
from sightline._typing import Bools, Doubles, Int32s, Ints

AP, NDCG, PRECISION, MRR, AUC = range(5)
# Longer parts of a list are sorted by numpy; shorter ones are faster by insertion.
_SHORT = 48
# With more pairs than this, halving the list is faster than visiting each of them.
_MANY_PAIRS = 512


@njit(cache=True, nogil=True)
def separate(
    scores: Doubles, relevant: Bools, start: Ints, kind: int, k: int, exact: bool,
    inverse: Doubles, harmonic: Doubles, discount: Doubles,
    counts: Int32s, losses: Doubles, values: Doubles,
) -> None:  # fmt: skip
    """Find the most violated order of every list.

    Parameters
    ----------
    scores, relevant : ndarray of float64 or ndarray of bool
        Of the candidates of all lists, one list after the other.
    start : ndarray of int64
        Where each list begins, and the end of the last.
    kind, k : int
        The measure, and how many ranks it counts; 0 for all of them.
    exact : bool
        Use dynamic programming even where a faster form is known.
    inverse : ndarray of float64
        At r the number 1 / (r (r - 1)), for all ranks from 2.
    harmonic : ndarray of float64
        At r the sum of 1 / s over all s up to r.
    discount : ndarray of float64
        At r the discount of rank r, and 0 beyond rank k.
    counts : ndarray of int32
        Filled, for each candidate, with the number of its inverted pairs: above 0 for a relevant
        one, which others precede, below 0 for an other.
    losses, values : ndarray of float64
        Filled with 1 - measure, and the loss minus delta F, of each list's order.
    """
    longest = 0
    for i in range(len(start) - 1):
        longest = max(longest, start[i + 1] - start[i])
    a, b, cum = np.empty(longest), np.empty(longest), np.empty(longest + 1)
    where_a, where_b = np.empty(longest, np.int64), np.empty(longest, np.int64)
    above = np.empty(longest, np.int64)
    table = np.empty(0, np.int32)
    best, room = np.empty(longest + 1), np.empty(longest)
    for i in range(len(start) - 1):
        first, last = start[i], start[i + 1]
        n, m = 0, 0
        for d in range(first, last):
            if relevant[d]:
                a[n], where_a[n] = scores[d], d
                n += 1
            else:
                b[m], where_b[m] = scores[d], d
                m += 1
        sort_down(a, where_a, n, room)
        sort_down(b, where_b, m, room)
        cum[0] = 0.0
        for j in range(m):
            cum[j + 1] = cum[j] + b[j]
        if kind == AP and not exact and n * m <= _MANY_PAIRS:
            ap_greedy(a, b, n, m, inverse, above)
        elif kind == AP and not exact:
            ap_halves(a, b, n, m, harmonic, best, above)
        elif kind == AUC and not exact:
            auc_shift(a, b, n, m, above)
        elif kind == MRR and not exact:
            mrr_scan(a, b, n, m, cum, above, best)
        else:
            if len(table) < n * (m + 1):
                table = np.empty(n * (m + 1), np.int32)
            by_dynamic_programming(a, n, m, cum, kind, k, discount, best, table, above)
        count_inversions(n, m, where_a, where_b, above, counts)
        losses[i] = 1.0 - measured(n, m, above, kind, k, discount)
        inverted = 0.0
        for p in range(n):
            inverted += above[p] * a[p] - cum[above[p]]
        values[i] = losses[i] - 2.0 * inverted / (n * m)


@njit(cache=True, nogil=True)
def sort_down(x: Doubles, where: Ints, n: int, room: Doubles) -> None:
    """Sort the first n numbers, the largest first, and what belongs to them with them."""
    if n <= _SHORT:
        for i in range(1, n):
            value, position = x[i], where[i]
            j = i
            while j > 0 and x[j - 1] < value:
                x[j], where[j] = x[j - 1], where[j - 1]
                j -= 1
            x[j], where[j] = value, position
        return
    for i in range(n):
        room[i] = -x[i]
    order = np.argsort(room[:n], kind="mergesort")
    moved = where[:n][order]
    for i in range(n):
        x[i], where[i] = -room[order[i]], moved[i]


@njit(cache=True, nogil=True)
def gain(i: int, m: int, n: int, others: int, kind: int, k: int, discount: Doubles) -> float:
    """Return what the i-th relevant candidate adds to the measure with m others above it."""
    if kind == AP:
        return i / ((i + m) * n)
    if kind == NDCG:
        return float(discount[i + m])
    if kind == PRECISION:
        return 1.0 / min(k, n) if i + m <= k else 0.0
    if kind == MRR:
        return 1.0 / (1 + m) if i == 1 else 0.0
    return (others - m) / (n * others)


@njit(cache=True, nogil=True)
def ideal(n: int, kind: int, discount: Doubles) -> float:
    """Return what gains are divided by: the discounts of the first n ranks, or 1."""
    if kind != NDCG:
        return 1.0
    total = 0.0
    for r in range(1, n + 1):
        total += discount[r]
    return total


@njit(cache=True, nogil=True)
def measured(n: int, m: int, above: Ints, kind: int, k: int, discount: Doubles) -> float:
    """Return the measure of an order."""
    total = 0.0
    for i in range(n):
        total += gain(i + 1, above[i], n, m, kind, k, discount)
    return min(1.0, total / ideal(n, kind, discount))


@njit(cache=True, nogil=True)
def by_dynamic_programming(
    a: Doubles, n: int, m: int, cum: Doubles, kind: int, k: int, discount: Doubles,
    best: Doubles, table: Int32s, above: Ints,
) -> None:  # fmt: skip
    """Find the order with the largest loss - delta F.

    best[j] is the best value of the relevant ones so far with at most j others above the last of
    them, and `table` its position.
    """
    scale = 2.0 / (n * m)
    norm = ideal(n, kind, discount)
    for j in range(m + 1):
        best[j] = 0.0
    for i in range(n):
        top, position = -np.inf, 0
        for j in range(m + 1):
            value = (
                best[j]
                - gain(i + 1, j, n, m, kind, k, discount) / norm
                - scale * (j * a[i] - cum[j])
            )
            if value > top:
                top, position = value, j
            best[j] = top
            table[i * (m + 1) + j] = position
    j = m
    for i in range(n - 1, -1, -1):
        j = table[i * (m + 1) + j]
        above[i] = j


@njit(cache=True, nogil=True)
def ap_greedy(a: Doubles, b: Doubles, n: int, m: int, inverse: Doubles, above: Ints) -> None:
    """Place each other candidate, the best first, before the relevant one that gains most by it.

    The j-th goes before relevant ones k, k + 1, …, n, where k maximises the sum over them of (j /
    (j + i) - (j - 1) / (j + i - 1)) / n - 2 (a_i - b_j) / (n m); the fraction's difference is i /
    ((j + i) (j + i - 1)). Choices rise with j, so a later one is never before an earlier.
    """
    for i in range(n):
        above[i] = 0
    floor = 0
    two = 2.0 / m
    for j in range(1, m + 1):
        total, top, position = 0.0, 0.0, n
        bj = b[j - 1]
        for i in range(n, floor, -1):
            total += i * inverse[i + j] - two * (a[i - 1] - bj)
            if total > top:
                top, position = total, i - 1
        for i in range(position, n):
            above[i] = j
        floor = position
        if floor == n:
            break


@njit(cache=True, nogil=True)
def ap_halves(
    a: Doubles, b: Doubles, n: int, m: int, harmonic: Doubles, sums: Doubles, above: Ints
) -> None:
    """Make the choices of `ap_greedy`, the middle one of a stretch of others first.

    The sum over relevant ones from k on has a closed form,

        j (H(j + n) - H(j + k - 1)) - (j - 1) (H(j + n - 1) - H(j + k - 2)) - 2 / m (…)

    so that any choice can be evaluated by itself, and since choices rise with j, those before the
    middle one lie below it and those after it above: (n + m) log m evaluations in all.
    """
    sums[n] = 0.0
    for i in range(n - 1, -1, -1):
        sums[i] = sums[i + 1] + a[i]
    positions = np.empty(m, np.int64)
    # A stretch: the others from one to another, and the positions between which they lie.
    stretches = np.empty((2 * 64, 4), np.int64)
    stretches[0, 0], stretches[0, 1], stretches[0, 2], stretches[0, 3] = 1, m, 0, n
    left = 1
    two = 2.0 / m
    while left > 0:
        left -= 1
        first, last = stretches[left, 0], stretches[left, 1]
        low, high = stretches[left, 2], stretches[left, 3]
        if first > last:
            continue
        j = (first + last) // 2
        bj = b[j - 1]
        top, position = -np.inf, high
        for i in range(high, low - 1, -1):
            moved = j * (harmonic[j + n] - harmonic[j + i])
            if j > 1:
                moved -= (j - 1) * (harmonic[j + n - 1] - harmonic[j + i - 1])
            total = moved - two * (sums[i] - (n - i) * bj)
            if total > top:
                top, position = total, i
        positions[j - 1] = position
        stretches[left, 0], stretches[left, 1] = first, j - 1
        stretches[left, 2], stretches[left, 3] = low, position
        stretches[left + 1, 0], stretches[left + 1, 1] = j + 1, last
        stretches[left + 1, 2], stretches[left + 1, 3] = position, high
        left += 2
    j = 0
    for i in range(n):
        while j < m and positions[j] <= i:
            j += 1
        above[i] = j


@njit(cache=True, nogil=True)
def auc_shift(a: Doubles, b: Doubles, n: int, m: int, above: Ints) -> None:
    """Sort by scores, relevant ones lowered by 1/4 and others raised by as much."""
    j = 0
    for i in range(n):
        while j < m and b[j] + 0.25 > a[i] - 0.25:
            j += 1
        above[i] = j


@njit(cache=True, nogil=True)
def mrr_scan(
    a: Doubles, b: Doubles, n: int, m: int, cum: Doubles, above: Ints, later: Doubles
) -> None:
    """Try every rank of the first relevant candidate; the rest is sorted by scores."""
    scale = 2.0 / (n * m)
    # above[i]: others with a larger score; later[i]: their part in -delta F from i on.
    j = 0
    for i in range(n):
        while j < m and b[j] > a[i]:
            j += 1
        above[i] = j
    later[n] = 0.0
    for i in range(n - 1, 0, -1):
        later[i] = later[i + 1] - scale * (above[i] * a[i] - cum[above[i]])
    top, position = -np.inf, 0
    pushed, total = 1, 0.0  # relevant ones after the first that are below all r others anyway
    for r in range(m + 1):
        while pushed < n and above[pushed] <= r:
            total += a[pushed]
            pushed += 1
        value = 1.0 - 1.0 / (1 + r) - scale * (r * a[0] - cum[r])
        value += later[pushed] if pushed < n else 0.0
        value -= scale * (r * total - (pushed - 1) * cum[r])
        if value > top:
            top, position = value, r
    above[0] = position
    for i in range(1, n):
        above[i] = max(above[i], position)


@njit(cache=True, nogil=True)
def count_inversions(
    n: int, m: int, where_a: Ints, where_b: Ints, above: Ints, counts: Int32s
) -> None:
    """Count the inverted pairs of every candidate."""
    for i in range(n):
        counts[where_a[i]] = above[i]
    i = 0
    for j in range(m):
        while i < n and above[i] <= j:
            i += 1
        counts[where_b[j]] = i - n
