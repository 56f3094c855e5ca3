"""Position bias, estimated from clicks alone.

Where one picture was shown for one query at several ranks, its clicks there differ by the ranks
alone: its relevance is the same at each. Rank changes of this kind occur naturally, as pictures are
added and rankings change (Agarwal, Zaitsev, Wang, Li, Najork and Joachims, "Estimating position
bias without intrusive interventions", 2019), or by design, where two pictures of a list change
places.

With prop(k) = (1 / k)^eta, a picture shown n_k times at rank k has clicks in proportion to
n_k prop(k). Given how many it has in all, eta is where the clicks' mean log rank is as expected:

    sum_s sum_k c_sk log k  =  sum_s C_s (sum_k n_sk prop(k) log k) / (sum_k n_sk prop(k))

over all (query, picture) s, with C_s = sum_k c_sk. The relevance has cancelled. The left side has
exactly this mean under the position-based model, and the right side falls as eta grows, so there is
one solution, found by bisection.

Departure: the paper compares each two ranks and fits a free number for each rank, which takes far
more clicks than one number for all.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.solvers.clicks import ImpressionTable

How = Literal["swaps", "rank changes", "assumed", "given"]
# Between no bias at all and one that hides all but the first picture.
LOWEST, HIGHEST = 0.0, 3.0
USUAL = 1.0
# An estimate with a larger standard error is worse than the usual value.
LARGEST_ERROR = 0.25
# Orders of a query that are compared with each other; the most frequent ones.
_MOST_ORDERS = 40
_HALVINGS = 60
_Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PositionBias:
    """An estimate of eta.

    Attributes
    ----------
    eta : float
        The estimate.
    how : {"swaps", "rank changes", "assumed", "given"}
        The evidence: "swaps" of two pictures, other "rank changes", or nothing ("assumed",
        "given").
    error : float
        Its standard error; infinite without evidence.
    clicks : int
        Number of clicks it was estimated from.
    """

    eta: float
    how: How
    error: float = math.inf
    clicks: int = 0


class _Cells(NamedTuple):
    """How often each item was shown and clicked at each of its ranks."""

    which: Ints
    rank: Ints
    times: Doubles
    clicks: Doubles


def estimate_bias(rows: ImpressionTable) -> PositionBias:
    """Return the position bias, by swaps if these suffice, else by any rank changes.

    Examples
    --------
    >>> from sightline.solvers.clicks import impression_table
    >>> first = [(0, [1, 2], None, {1})] * 80 + [(0, [1, 2], None, {2})] * 40
    >>> second = [(0, [2, 1], None, {2})] * 80 + [(0, [2, 1], None, {1})] * 40
    >>> found = estimate_bias(impression_table(first + second))
    >>> found.how, found.eta, found.clicks
    ('swaps', 1.0, 240)
    >>> estimate_bias(impression_table(first)).how
    'assumed'
    """
    for bias in (by_swaps(rows), by_rank_changes(rows)):
        if bias.error <= LARGEST_ERROR:
            return bias
    return PositionBias(USUAL, "assumed")


def by_rank_changes(rows: ImpressionTable) -> PositionBias:
    """Return the estimate by all rank changes, however uncertain."""
    return _solve(_changed(rows), "rank changes")


def by_swaps(rows: ImpressionTable) -> PositionBias:
    """Return the estimate by lists that differ by a swap of two pictures alone."""
    return _solve(_swapped(rows), "swaps")


def _solve(cells: _Cells, how: How) -> PositionBias:
    n = int(cells.which.max(initial=-1)) + 1
    total = np.bincount(cells.which, cells.clicks, minlength=n).astype(np.float64)
    x = np.log(cells.rank.astype(np.float64))
    observed = float(cells.clicks @ x)
    low, high = LOWEST, HIGHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        expected, _ = _moments(cells, x, total, middle)
        low, high = (middle, high) if expected > observed else (low, middle)
    _, spread = _moments(cells, x, total, high)
    error = 1 / math.sqrt(spread) if spread > 0 else math.inf
    return PositionBias(round(high, 6), how, error, int(total.sum()))


def _moments(cells: _Cells, x: Doubles, total: Doubles, eta: float) -> tuple[float, float]:
    """Return the sum of log ranks that is expected of the clicks, and its variance."""
    p = cells.times * np.exp(-eta * x)
    n = len(total)
    whole = np.bincount(cells.which, p, minlength=n)
    mean = np.bincount(cells.which, p * x, minlength=n) / whole
    square = np.bincount(cells.which, p * x * x, minlength=n) / whole
    return float(total @ mean), float(total @ (square - mean * mean))


def _changed(rows: ImpressionTable) -> _Cells:
    """Return the cells of pictures that were shown for a query at two ranks or more."""
    keys = np.stack((rows.query, rows.picture, rows.rank), axis=1)
    cells, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    times = np.bincount(which, minlength=len(cells)).astype(np.float64)
    clicks = np.bincount(which, rows.clicked, minlength=len(cells)).astype(np.float64)
    _, item = np.unique(cells[:, :2], axis=0, return_inverse=True)
    item = item.reshape(-1)
    n = int(item.max(initial=-1)) + 1
    moved = np.bincount(item, minlength=n) > 1
    informative = moved & (np.bincount(item, clicks, minlength=n) > 0)
    usable = informative[item]
    _, numbered = np.unique(item[usable], return_inverse=True)
    return _Cells(numbered.reshape(-1), cells[usable, 2], times[usable], clicks[usable])


def _swapped(rows: ImpressionTable) -> _Cells:
    """Return the cells of pictures that changed places with one other, all else being equal.

    An order may be one swap away from several others; its counts are used once.
    """
    parts: list[tuple[int, ...]] = []
    n = 0
    for ranks, orders in _orders(rows):
        cells: dict[int, dict[int, list[int]]] = defaultdict(dict)
        for order, place in sorted(_in_swaps(orders)):
            counts, picture = orders[order], order[place]
            cell = cells[picture].setdefault(ranks[place], [0, 0])
            cell[0] += counts.times
            cell[1] += counts.clicks[picture]
        for at in cells.values():
            parts.extend((n, rank, *at[rank]) for rank in sorted(at))
            n += 1
    table = np.array(parts, np.int64).reshape(-1, 4).T
    return _Cells(table[0], table[1], table[2].astype(np.float64), table[3].astype(np.float64))


def _in_swaps(orders: dict[_Order, _OrderCounts]) -> set[tuple[_Order, int]]:
    """Return the orders that differ from another one by a swap, with the places that differ."""
    often = sorted(orders, key=lambda o: (-orders[o].times, o))[:_MOST_ORDERS]
    swaps: set[tuple[_Order, int]] = set()
    for one, other in combinations(often, 2):
        moved = [i for i, p in enumerate(one) if p != other[i]]
        # The same pictures in all, so that two places that differ are a swap.
        if len(moved) == 2:
            swaps.update((order, i) for order in (one, other) for i in moved)
    return swaps


@dataclass(slots=True)
class _OrderCounts:
    """How often an order of pictures was shown, and how often each of them was clicked."""

    times: int = 0
    clicks: Counter[int] = field(default_factory=Counter)


def _orders(rows: ImpressionTable) -> Iterator[tuple[tuple[int, ...], dict[_Order, _OrderCounts]]]:
    """Yield the orders in which the same pictures were shown for the same query, at which ranks."""
    groups: dict[tuple[int, _Order, _Order], dict[_Order, _OrderCounts]] = defaultdict(dict)
    ends = np.searchsorted(rows.list, np.arange(rows.n_lists + 1))
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        order = tuple(rows.picture[begin:end].tolist())
        ranks = tuple(rows.rank[begin:end].tolist())
        query = int(rows.query[begin])
        counts = groups[query, ranks, tuple(sorted(order))].setdefault(order, _OrderCounts())
        counts.times += 1
        counts.clicks.update(rows.picture[begin:end][rows.clicked[begin:end]].tolist())
    for (_, ranks, _), orders in groups.items():
        yield ranks, orders
