"""AvgP, P@k and the break-even point of thousands of queries over one set of pictures.

The same values as `sightline.measures` gives for one query at a time, with the same tie rule (score
descending, then position ascending), some eighty times as fast: only the ranks of the relevant
pictures count, and these are found without sorting. It needs numba, so it is not part of what
`import sightline.measures` brings in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.errors import DataError, ParameterError
from sightline.measures import _many_fast
from sightline.records import QuerySet

_NONE: Ints = np.zeros(0, dtype=np.int64)
_BLOCK = 256
# A ranking is worse than chance if this share of random orders is better.
_CHANCE = 0.95
_DRAWS, _FEWEST_DRAWS, _DRAWN_NUMBERS = 1_000, 200, 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class ManyMeasured:
    """Measures by query; NaN for a query without a relevant picture."""

    avgp: NDArray[np.float64]
    p10: NDArray[np.float64]
    bep: NDArray[np.float64]

    @property
    def mean_avgp(self) -> float:
        """The mean AvgP of the queries that have one; NaN if none has."""
        defined = self.avgp[~np.isnan(self.avgp)]
        return float(defined.mean()) if defined.size else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """The pictures that compete in each query, besides the relevant ones, where not all do.

    Those of query i are `picture[start[i] : start[i + 1]]`.
    """

    start: Ints
    picture: Ints


def measure_queries(
    word_scores: ArrayLike, queries: QuerySet, others: Others | None = None, k: int = 10
) -> ManyMeasured:
    """Return the measures of queries, given the scores of each picture for each word.

    Parameters
    ----------
    word_scores : array-like of shape (pictures, words)
        A query's scores are the sum of its words', weighted.
    queries : QuerySet
        With relevant pictures.
    others : Others, optional
        Which pictures compete with them; all that are not relevant by default.
    k : int, default=10
        Depth of the precision in `p10`.

    Examples
    --------
    >>> one = np.array([0, 1])
    >>> queries = QuerySet(one, np.array([1]), np.ones(1, np.float32), one, np.array([2]))
    >>> measure_queries([[0, 3.0], [0, 1.0], [0, 2.0]], queries).avgp
    array([0.5])
    """
    measured = _empty(len(queries))
    for first, scores in query_scores(word_scores, queries):
        _measure(scores, queries, others, first, k, measured)
    return measured


def average_precisions(
    scores: ArrayLike, queries: QuerySet, others: Others | None = None, k: int = 10
) -> ManyMeasured:
    """Return the measures of queries, given the scores of each picture for each query.

    Parameters
    ----------
    scores : array-like of shape (queries, pictures)
        NaN raises DataError.
    queries : QuerySet
        As for `measure_queries`; words and weights are not used.
    others : Others, optional
        As for `measure_queries`; words and weights are not used.
    k : int, default=10
        As for `measure_queries`; words and weights are not used.

    Examples
    --------
    >>> one = np.array([0, 1])
    >>> queries = QuerySet(one, np.array([0]), np.ones(1, np.float32), one, np.array([2]))
    >>> found = average_precisions([[3.0, 1.0, 2.0]], queries)
    >>> found.avgp, found.p10, found.bep
    (array([0.5]), array([0.1]), array([0.]))
    """
    table = _table(scores, "Scores")
    if len(table) != len(queries):
        raise DataError(
            f"There must be a row for each of {len(queries)} queries. Got {len(table)}."
        )
    measured = _empty(len(queries))
    _measure(table, queries, others, 0, k, measured)
    return measured


def average_precisions_of_lists(scores: ArrayLike, relevant: ArrayLike, start: Ints) -> Doubles:
    """Return the AvgP of lists of different lengths; NaN where nothing is relevant.

    Parameters
    ----------
    scores : array-like
        Of all lists, one after the other; those of list i from `start[i]` to `start[i + 1]`.
    relevant : array-like of bool
        Whether each picture is.
    start : ndarray of int64
        Where each list begins, and where the last one ends.

    Examples
    --------
    >>> scores, start = [3.0, 1.0, 2.0, 5.0, 5.0], np.array([0, 3, 5])
    >>> average_precisions_of_lists(scores, [0, 1, 1, 0, 1], start).round(3)
    array([0.583, 0.5  ])
    """
    values = np.ascontiguousarray(scores)
    if np.isnan(values).any():
        raise DataError("Scores must not be NaN.")
    avgp = np.empty(len(start) - 1)
    _many_fast.measure_lists(values, np.asarray(relevant, dtype=bool), start, avgp)
    return avgp


def query_scores(
    word_scores: ArrayLike, queries: QuerySet, block: int = _BLOCK
) -> Iterator[tuple[int, Floats]]:
    """Yield the scores of all pictures for a block of queries at a time, and its first query.

    The array of a block is used again for the next one.

    >>> one = np.array([0, 1])
    >>> queries = QuerySet(one, np.array([1]), np.array([0.5], np.float32), one, np.array([2]))
    >>> [(first, s.tolist()) for first, s in query_scores([[0, 3.0], [0, 1.0]], queries)]
    [(0, [[1.5, 0.5]])]
    """
    table = _table(word_scores, "Word scores")
    if queries.term.max(initial=-1) >= table.shape[1]:
        raise DataError(
            f"A query names word {queries.term.max()}, but there are scores for "
            f"{table.shape[1]} words only."
        )
    by_word = np.ascontiguousarray(table.T)
    out = np.empty((min(block, len(queries)), len(table)), dtype=np.float32)
    for first in range(0, len(queries), block):
        part = out[: len(queries) - first]
        _many_fast.combine(by_word, queries.start, queries.term, queries.weight, first, part)
        yield first, part


def untrained_average_precision(n_relevant: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the AvgP that n pictures in random order have on average.

    A relevant picture at rank i has on average (i - 1)(n+ - 1)/(n - 1) relevant ones before it, and
    is at each rank with the same probability, so with H = 1 + 1/2 + … + 1/n the mean of Prec at
    relevant ranks is

        E[AvgP] = (1/n) (H + (n+ - 1)/(n - 1) (n - H))

    Parameters
    ----------
    n_relevant : array-like
        Number n+ of relevant pictures, of one or of many queries; 0 gives NaN.
    n : int
        Number of pictures.

    Examples
    --------
    >>> untrained_average_precision([1, 2, 0], 2)
    array([0.75, 1.  ,  nan])
    """
    relevant = np.asarray(n_relevant, dtype=np.float64)
    if n < 1 or (relevant < 0).any() or (relevant > n).any():
        raise ParameterError.of(
            "n_relevant", "untrained_average_precision", f"from 0 to the {n} pictures", n_relevant
        )
    harmonic = np.sum(1.0 / np.arange(1, n + 1))
    mean = (harmonic + (relevant - 1) / max(n - 1, 1) * (n - harmonic)) / n
    return np.where(relevant > 0, mean, np.nan)


def untrained_lower_bound(n_relevant: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the AvgP that 95 of 100 random orders of n pictures reach.

    A query of one picture is at a random rank, so half of all random orders are far below their own
    mean. A ranking is worse than chance only if its AvgP is below this bound. Seeded draws.

    Parameters
    ----------
    n_relevant : array-like
        Number of relevant pictures, of one or of many queries; 0 gives NaN.
    n : int
        Number of pictures.

    Examples
    --------
    >>> untrained_lower_bound([1, 0], 100).round(4)
    array([0.0105,    nan])
    """
    relevant = np.asarray(n_relevant, dtype=np.int64)
    if n < 1 or (relevant < 0).any() or (relevant > n).any():
        must_be = f"from 0 to the {n} pictures"
        raise ParameterError.of("n_relevant", "untrained_lower_bound", must_be, n_relevant)
    out = np.full(relevant.shape, np.nan)
    draws = max(_FEWEST_DRAWS, min(_DRAWS, _DRAWN_NUMBERS // n))
    ranks = np.tile(np.arange(1, n + 1, dtype=np.int32), (draws, 1))
    ranks = np.random.default_rng(0).permuted(ranks, axis=1, out=ranks)
    for count in np.unique(relevant[relevant > 0]).tolist():
        if count == 1:
            # In the last twentieth of the ranks.
            out[relevant == 1] = 1.0 / np.ceil(_CHANCE * n)
            continue
        chosen = np.sort(ranks[:, :count], axis=1)
        avgp = (np.arange(1, count + 1) / chosen).mean(axis=1)
        out[relevant == count] = np.quantile(avgp, 1.0 - _CHANCE)
    return out


def _empty(n: int) -> ManyMeasured:
    return ManyMeasured(np.empty(n), np.empty(n), np.empty(n))


def _measure(
    scores: Floats, queries: QuerySet, others: Others | None, first: int, k: int, into: ManyMeasured
) -> None:
    wrong = _many_fast.first_nan(scores)
    if wrong >= 0:
        raise DataError(f"Query {first + wrong}: a score is NaN. Give every picture a number.")
    if k < 1:
        raise ParameterError.of("k", "measure_queries", "at least 1", k)
    if queries.relevant.max(initial=-1) >= scores.shape[1]:
        raise DataError(
            f"A query names picture {queries.relevant.max()}, but {scores.shape[1]} have scores."
        )
    start, picture = (_NONE, _NONE) if others is None else (others.start, others.picture)
    _many_fast.measure_rows(
        scores, queries.relevant_start, queries.relevant, start, picture, first, k,
        into.avgp, into.p10, into.bep,
    )  # fmt: skip


def _table(values: Any, what: str) -> Floats:
    table = np.ascontiguousarray(values, dtype=np.float32)
    if np.ndim(values) != 2:
        raise DataError(f"{what} must be a table. Got shape {np.shape(values)}.")
    return table
