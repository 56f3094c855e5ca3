"""Queries with the F1 of every set of best pictures that could be shown of them.

Of a query with n+ relevant pictures the best max(200, 4 n+) are evaluated one by one: a longer list
has an F1 of .4 at most. The rest counts as one step, with the last picture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.errors import DataError
from sightline.records import QuerySet

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENGTHS = 3
# Queries of one length that are too few for an estimate of their own share that of all queries.
_FEW = 20
_ROUNDING = 1e-6
_LIST, _LISTS = 200, 4


class FittedThreshold(NamedTuple):
    """What makes a threshold: the words' h, b by length, and how much best(q) counts."""

    h: NDArray[np.float64]
    offsets: NDArray[np.float64]
    follow: float


@dataclass(frozen=True, slots=True, eq=False)
class ShownSets:
    """Queries that have a word and a relevant picture.

    Attributes
    ----------
    at : ndarray of int64
        Where the lists of pictures begin: that of query i lies between at[i] and at[i + 1].
    ranked : ndarray of float64
        The listed pictures' scores, best first.
    f1 : ndarray of float64
        F1 of the list that ends with this picture.
    relevant : ndarray of float64
        The scores of relevant pictures, those of query i between start_of[i] and the next.
    others : ndarray of float64
        (queries, depth) scores of the best other pictures; -inf where there are none.
    start, term, weight : ndarray of int64 or ndarray of float32
        The queries' words.
    n_words : int
        How many words there are.
    """

    at: NDArray[np.int64]
    ranked: NDArray[np.float64]
    f1: NDArray[np.float64]
    relevant: NDArray[np.float64]
    start_of: NDArray[np.int64]
    others: NDArray[np.float64]
    start: NDArray[np.int64]
    term: NDArray[np.int64]
    weight: NDArray[np.float32]
    n_words: int

    @classmethod
    def of(cls, table: NDArray[np.float32], queries: QuerySet, depth: int) -> ShownSets:
        """Return the queries that can be learned from; `table` is pictures by words."""
        from sightline.measures.many import query_scores

        usable = _usable(queries)
        n_fit = np.diff(usable.relevant_start)
        at = _starts(np.minimum(np.maximum(_LIST, _LISTS * n_fit), len(table) - 1) + 1)
        ranked, f1, relevant = np.empty(at[-1]), np.empty(at[-1]), np.empty(len(usable.relevant))
        others = np.full((len(usable), depth), -np.inf)
        for first, part in query_scores(table, usable):
            for i, scores in enumerate(part, first):
                fit = usable.relevant_to(i)
                relevant[usable.relevant_start[i] : usable.relevant_start[i + 1]] = scores[fit]
                span = slice(at[i], at[i + 1])
                ranked[span], f1[span], best = _listed(scores, fit, at[i + 1] - at[i], depth)
                # Where there are fewer, the best of them stands in.
                others[i] = best[0] if len(best) else -np.inf
                others[i, : len(best)] = best
        words = usable.start, usable.term, usable.weight, table.shape[1]
        return cls(at, ranked, f1, relevant, usable.relevant_start, others, *words)

    def __len__(self) -> int:
        return len(self.at) - 1

    @property
    def length(self) -> NDArray[np.int64]:
        """How many words each query has, from 0 for one to 2 for more than two."""
        return np.minimum(np.diff(self.start), LENGTHS) - 1

    @property
    def mean_weight(self) -> NDArray[np.float64]:
        """The mean weight of each query's words."""
        total = np.add.reduceat(self.weight.astype(np.float64), self.start[:-1])
        return np.asarray(total / np.diff(self.start))

    def thresholds(self, fitted: FittedThreshold) -> NDArray[np.float64]:
        """Return theta of each query."""
        words = np.add.reduceat(self.weight * fitted.h[self.term], self.start[:-1])
        offset = self.mean_weight * fitted.offsets[self.length]
        return np.asarray(fitted.follow * self.ranked[self.at[:-1]] + words + offset)

    def mean_f1(self, fitted: FittedThreshold) -> float:
        """Return the mean F1 of what is shown."""
        shown = self.ranked >= np.repeat(self.thresholds(fitted), np.diff(self.at))
        n_shown = np.add.reduceat(shown, self.at[:-1], dtype=np.int64)
        f1 = self.f1[self.at[:-1] + np.maximum(n_shown - 1, 0)]
        return float(np.where(n_shown > 0, f1, 0.0).mean())

    def with_best_offsets(self, fitted: FittedThreshold) -> FittedThreshold:
        """Return the same with the offsets that give the largest mean F1 for each length.

        What lengths with few queries share is one number for each word; where thresholds follow the
        best picture, one number for each query, which was the same for all lengths where tried.
        """
        shape = np.ones(LENGTHS) if fitted.follow else np.arange(1.0, LENGTHS + 1)
        offsets = shape * self._best_offset(fitted, np.arange(len(self)), shape)
        for length in range(LENGTHS):
            members = np.flatnonzero(self.length == length)
            if len(members) >= _FEW:
                offsets[length] = self._best_offset(fitted, members, np.ones(LENGTHS))
        return fitted._replace(offsets=offsets)

    def _best_offset(
        self, fitted: FittedThreshold, members: NDArray[np.int64], shape: NDArray[np.float64]
    ) -> float:
        """Return the b for which offsets of b times `shape` give some queries the best mean F1.

        Going down with b, each picture that comes in changes its query's F1 by a known amount, so
        one sort of all pictures gives the sum for every b.
        """
        none = fitted._replace(offsets=np.zeros(LENGTHS))
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[members] = True
        n_listed = np.diff(self.at)
        listed = np.repeat(chosen, n_listed)
        unit = np.repeat(self.mean_weight * shape[self.length], n_listed)
        z = ((self.ranked - np.repeat(self.thresholds(none), n_listed)) / unit)[listed]
        change = np.diff(self.f1, prepend=0.0)
        change[self.at[:-1]] = self.f1[self.at[:-1]]
        change = change[listed]
        order = np.argsort(-z, kind="stable")
        z, total = z[order], np.cumsum(change[order])
        span = float(z[0] - z[-1]) or 1.0
        # What rounding could have put in this order comes in together.
        apart = np.flatnonzero(z[:-1] - z[1:] > _ROUNDING * span)
        last = np.append(apart, len(z) - 1)
        at = last[np.argmax(total[last].round(9))]
        below = z[at + 1] if at + 1 < len(z) else z[at] - span
        # Halfway to the next picture, so that no rounding decides on this one.
        return float((z[at] + below) / 2)


def _listed(
    scores: NDArray[np.float32], fit: NDArray[np.int64], n: int, depth: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return n scores, best first but for the last, which is the worst; their F1; the best others.

    The first n - 1 are the best pictures there are, the last stands for all that is left.
    """
    fits = np.zeros(len(scores), dtype=np.bool_)
    fits[fit] = True
    order = (
        np.argpartition(-scores, n - 2)[: n - 1] if 1 < n < len(scores) else np.arange(len(scores))
    )
    order = order[np.argsort(-scores[order], kind="stable")]
    listed, hits = scores[order].astype(np.float64), np.cumsum(fits[order])
    f1 = 2.0 * hits / (np.arange(1, len(order) + 1) + len(fit))
    best = listed[~fits[order]][:depth]
    if len(order) < n:
        listed = np.append(listed, float(scores.min()))
        f1 = np.append(f1, 2.0 * len(fit) / (len(scores) + len(fit)))
    return listed, f1, best


def halves(queries: QuerySet, n_pictures: int) -> list[tuple[NDArray[np.bool_], QuerySet]]:
    """Return every other picture and the rest, each with the queries over it."""
    sides = []
    for side in (0, 1):
        mask = np.arange(n_pictures) % 2 == side
        inside = mask[queries.relevant]
        ends = np.concatenate(([0], np.cumsum(inside)))
        fit = (np.cumsum(mask) - 1)[queries.relevant[inside]]
        sides.append(
            (mask, replace(queries, relevant_start=ends[queries.relevant_start], relevant=fit))
        )
    return sides


def _usable(queries: QuerySet) -> QuerySet:
    """Return the queries that have words that count, and a relevant picture."""
    n_terms, n_fit = np.diff(queries.start), np.diff(queries.relevant_start)
    owner = np.repeat(np.arange(len(queries)), n_terms)
    total = np.bincount(owner, queries.weight, minlength=len(queries))
    keep = (n_terms > 0) & (n_fit > 0) & (total > 0)
    if not keep.any():
        raise DataError("No query has both a word and a relevant picture. Give at least one.")
    terms, relevant = np.repeat(keep, n_terms), np.repeat(keep, n_fit)
    return QuerySet(
        _starts(n_terms[keep]), queries.term[terms], queries.weight[terms],
        _starts(n_fit[keep]), queries.relevant[relevant],
    )  # fmt: skip


def _starts(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    start = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=start[1:])
    return start
