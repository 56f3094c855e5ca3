"""Relevance from clicks, corrected for position bias by inverse propensity weights.

A picture at rank k is examined with the probability prop(k) = (1 / k)^eta and clicked, if it was
examined, with the probability that it fits (the position-based model). So the clicks at rank k are
worth 1 / prop(k) each (Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased
feedback", 2017), but no more than 1 / floor:

    w(k) = 1 / max(prop(k), floor)        e(k) = prop(k) w(k), which is 1 but for the clipped ranks
    relevance(q, p) = sum_i c_i w(k_i) / sum_i e(k_i)      over the lists i that showed p for q

The second sum is the self-normalisation: it compensates for clipping, so that the mean of the
estimate is the probability that p fits, whatever the floor. Clicks are independent, so the standard
error of the first sum is sqrt(sum_i c_i w(k_i)^2): one click far down a list has a large weight and
a large error. As weights of pairs, w is divided by its mean, so that C of a passive-aggressive step
(C -> a C, `solvers.pa_step`) keeps its meaning.

Two kinds of pairs are made. *Clicked over skipped above* (Joachims, 2002) uses only what was
certainly examined. It always contradicts the order that was shown, so it is unbiased only where
orders vary. *Clicked over others* takes all that was not clicked, and needs the weights. Pairs are
a baseline: training uses the grades, which did better.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.errors import DataError, ParameterError

FLOOR = 0.1
MOST_WEIGHT = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class ImpressionTable:
    """Impressions as columns: a row for each picture of each list, by list and then by rank.

    Attributes
    ----------
    list : ndarray of int64
        The list a row belongs to, 0, 1, …
    query, picture : ndarray of int64
        The query, and the picture shown, as numbers.
    rank : ndarray of int64
        Its rank, from 1 on.
    clicked : ndarray of bool
        Whether it was clicked there.
    """

    list: Ints
    query: Ints
    picture: Ints
    rank: Ints
    clicked: Bools

    def __len__(self) -> int:
        return len(self.list)

    @property
    def n_lists(self) -> int:
        """How many lists there are."""
        return int(self.list[-1]) + 1 if len(self) else 0


@dataclass(frozen=True, slots=True, eq=False)
class ClickPairs:
    """Pairs of pictures of which the first should score higher, and the rank it was clicked at."""

    query: Ints
    plus: Ints
    minus: Ints
    rank: Ints

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True, slots=True, eq=False)
class Relevance:
    """The estimated relevance of each picture shown for a query, by query and then picture.

    Attributes
    ----------
    query, picture : ndarray of int64
        The query and the picture of each estimate.
    clicks : ndarray of int64
        How often it was clicked.
    worth : ndarray of float64
        Sum of the clicks' weights.
    error : ndarray of float64
        Standard error of `worth`, for independent clicks.
    exposure : ndarray of float64
        How many lists it was shown in, less where weights are clipped.
    """

    query: Ints
    picture: Ints
    clicks: Ints
    worth: Doubles
    error: Doubles
    exposure: Doubles

    @property
    def grade(self) -> Doubles:
        """The probability that it fits; an estimate above 1 counts as 1."""
        return np.minimum(self.worth / self.exposure, 1.0)


def impression_table(
    lists: Iterable[tuple[int, Sequence[int], Sequence[int] | None, Collection[int]]],
) -> ImpressionTable:
    """Return the table of lists, each given as query, pictures, their ranks, and those clicked.

    Ranks are 1, 2, … where they are None; they need not be in order.

    >>> rows = impression_table([(7, [3, 5], None, {5}), (7, [5, 3], [2, 1], {3})])
    >>> rows.picture.tolist(), rows.rank.tolist(), rows.clicked.tolist()
    ([3, 5, 3, 5], [1, 2, 1, 2], [False, True, True, False])
    """
    # A flat array: tuples of a large log would take ten times as much memory.
    rows = array("q")
    for i, (query, pictures, ranks, clicked) in enumerate(lists):
        at = range(1, len(pictures) + 1) if ranks is None else ranks
        _check_list(pictures, at, clicked)
        for k, p in sorted(zip(at, pictures, strict=True)):
            rows.extend((i, query, p, k, p in clicked))
    table = np.frombuffer(rows, np.int64).reshape(-1, 5) if rows else np.zeros((0, 5), np.int64)
    columns = [np.ascontiguousarray(table[:, i]) for i in range(5)]
    return ImpressionTable(
        columns[0], columns[1], columns[2], columns[3], columns[4].astype(np.bool_)
    )


def _check_list(pictures: Sequence[int], ranks: Sequence[int], clicked: Collection[int]) -> None:
    if len(pictures) != len(ranks):
        raise DataError(f"{len(pictures)} pictures need as many ranks. Got {len(ranks)}.")
    if len(set(pictures)) < len(pictures) or len(set(ranks)) < len(ranks):
        raise DataError("A list must show each picture once, and one at each rank.")
    if min(ranks, default=1) < 1:
        raise DataError(f"Ranks count from 1. Got {min(ranks)}.")
    if not set(clicked) <= set(pictures):
        raise DataError(f"Picture {min(set(clicked) - set(pictures))} was clicked and not shown.")


def propensity(rank: Ints | Doubles, eta: float) -> Doubles:
    """Return the probability that a picture at each rank is examined.

    >>> propensity(np.array([1, 2, 4]), 1.0).tolist()
    [1.0, 0.5, 0.25]
    """
    return np.asarray(np.asarray(rank, np.float64) ** -eta)


def click_weights(rank: Ints, eta: float, floor: float = FLOOR) -> Doubles:
    """Return the weight of a click at each rank: w(k).

    >>> click_weights(np.array([1, 4, 1000]), 1.0).tolist()
    [1.0, 4.0, 10.0]
    """
    return 1.0 / np.maximum(propensity(rank, eta), _checked(floor))


def relevance(
    rows: ImpressionTable, eta: float | Doubles, floor: float = FLOOR, most: float = np.inf
) -> Relevance:
    """Estimate how well each picture fits each query it was shown for.

    Parameters
    ----------
    rows : ImpressionTable
        The impressions.
    eta : float or ndarray of float64
        Of all rows, or of each row where lists come from several places.
    floor : float, default=0.1
        No click is worth more than 1 / floor.
    most : float, default=np.inf
        Exposure of a picture for a query counts up to this; worth shrinks with it.
    """
    prop = np.asarray(np.asarray(rows.rank, np.float64) ** -np.asarray(eta))
    w = 1.0 / np.maximum(prop, _checked(floor))
    keys = np.stack((rows.query, rows.picture), axis=1)
    unique, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    n = len(unique)
    worth = np.bincount(which, w * rows.clicked, minlength=n).astype(np.float64)
    error = np.sqrt(np.bincount(which, w * w * rows.clicked, minlength=n))
    exposure = np.bincount(which, prop * w, minlength=n).astype(np.float64)
    shrunk = np.minimum(1.0, most / np.maximum(exposure, 1e-300))
    clicks = np.bincount(which, rows.clicked, minlength=n).astype(np.int64)
    return Relevance(
        unique[:, 0], unique[:, 1], clicks, worth * shrunk, error * shrunk, exposure * shrunk
    )


def skipped_above(rows: ImpressionTable) -> ClickPairs:
    """Return every clicked picture over every one above it that was not clicked.

    >>> pairs = skipped_above(impression_table([(0, [8, 9, 7], None, {7, 9})]))
    >>> pairs.plus.tolist(), pairs.minus.tolist(), pairs.rank.tolist()
    ([9, 7], [8, 8], [2, 3])
    """
    first = np.searchsorted(rows.list, rows.list)
    at = np.flatnonzero(rows.clicked)
    return _paired(rows, at, first[at], at)


def count_skipped_above(rows: ImpressionTable) -> int:
    """Return how many pairs `skipped_above` would make.

    >>> lists = [(0, [8, 9, 7], None, {7, 9}), (0, [8, 9], None, {9})]
    >>> count_skipped_above(impression_table(lists))
    3
    """
    at = np.flatnonzero(rows.clicked)
    first = np.searchsorted(rows.list, rows.list[at])
    before = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(rows.clicked, out=before[1:])
    return int(np.sum(at - first) - np.sum(before[at] - before[first]))


def over_others(rows: ImpressionTable) -> ClickPairs:
    """Return every clicked picture over every one of its list that was not clicked.

    >>> pairs = over_others(impression_table([(0, [8, 9, 7], None, {9})]))
    >>> pairs.plus.tolist(), pairs.minus.tolist()
    ([9, 9], [8, 7])
    """
    at = np.flatnonzero(rows.clicked)
    begin = np.searchsorted(rows.list, rows.list[at])
    end = np.searchsorted(rows.list, rows.list[at], side="right")
    return _paired(rows, at, begin, end)


def _paired(rows: ImpressionTable, at: Ints, begin: Ints, end: Ints) -> ClickPairs:
    """Pair each row in `at` with those between `begin` and `end` that were not clicked."""
    lengths = end - begin
    above = np.repeat(at, lengths)
    # 0, 1, … within each run, from where the run begins.
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    below = np.repeat(begin, lengths) + steps
    skipped = ~rows.clicked[below]
    above, below = above[skipped], below[skipped]
    return ClickPairs(rows.query[above], rows.picture[above], rows.picture[below], rows.rank[above])


def pair_weights(
    pairs: ClickPairs, eta: float, floor: float = FLOOR, most: float = MOST_WEIGHT
) -> Doubles:
    """Return the factor of C for each pair: 1 on average before clipping at `most`.

    >>> pair_weights(skipped_above(impression_table([(0, [8, 9, 7], None, {7, 9})])), 1.0).tolist()
    [0.8, 1.2]
    """
    w = click_weights(pairs.rank, eta, floor)
    return np.minimum(w / w.mean(), most) if len(w) else w


def _checked(floor: float) -> float:
    if not 0 < floor <= 1:
        raise ParameterError.of("floor", "click weights", "above 0, at most 1", floor)
    return floor
