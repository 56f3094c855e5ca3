"""One query's pictures in ranked order: sorted once, read by every measure.

The tie rule is score descending, then picture id ascending. With ties="mean" a measure is instead
its expected value under a random order of the tied pictures; that is for evaluation only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.measures.ties import expected_hits, group_means

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Ties = Literal["id", "mean"]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Relevance grades in ranked order; make one with `rank`.

    Attributes
    ----------
    grades : ndarray of float64
        Relevance by rank, best score first; above 0 is relevant.
    starts : ndarray
        Where each group of equal scores begins.
    missing : ndarray of float64
        Grades of judged pictures that the list does not hold, such as beyond a run's depth.
    ties : {"id", "mean"}
        "id" when the order within a group counts, "mean" for the expectation over all orders.
    """

    grades: NDArray[np.float64]
    starts: NDArray[np.intp]
    missing: NDArray[np.float64]
    ties: Ties = "id"

    def __len__(self) -> int:
        return len(self.grades)

    @cached_property
    def relevant(self) -> NDArray[np.float64]:
        """1 where the picture is relevant, else 0, by rank."""
        return (self.grades > 0).astype(np.float64)

    @cached_property
    def n_relevant(self) -> int:
        """Number of relevant pictures in the collection, listed or missing."""
        return int(self.relevant.sum()) + int(np.count_nonzero(self.missing > 0))

    @cached_property
    def hits(self) -> NDArray[np.float64]:
        """rel(i) Prec(i) by rank, expected under ties="mean"."""
        if self.ties == "mean":
            return expected_hits(self.relevant, self.starts)
        return self.relevant * np.cumsum(self.relevant) / np.arange(1, len(self) + 1)

    def expected(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a quantity by rank under the tie rule."""
        return group_means(values, self.starts) if self.ties == "mean" else values

    def group_at(self, rank: int) -> tuple[int, int]:
        """Return start and end of the group that covers a 0-based rank, under the tie rule."""
        if self.ties == "id":
            return rank, rank + 1
        after = int(np.searchsorted(self.starts, rank, side="right"))
        end = int(self.starts[after]) if after < len(self.starts) else len(self)
        return int(self.starts[after - 1]), end


def rank(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
    missing: ArrayLike = (),
) -> Ranking:
    """Sort one query's pictures.

    Parameters
    ----------
    scores : array-like or Ranking
        One per picture; NaN raises DataError. Without `relevance`, a relevance list that is already
        in ranked order, or a `Ranking`, which is returned as it is.
    relevance : array-like, optional
        Grade of each picture; 0 and below are not relevant.
    ids : array-like, optional
        What breaks ties, ascending; the position by default.
    ties : {"id", "mean"}, default="id"
        "id" or "mean".
    missing : array-like, default=()
        Grades of judged pictures that are not among `scores`.

    Examples
    --------
    >>> rank([0.1, 0.9, 0.5], [1, 0, 1]).grades
    array([0., 1., 1.])
    >>> rank([0.5, 0.5], [1, 0], ids=[7, 3]).grades
    array([0., 1.])
    """
    if isinstance(scores, Ranking):
        return _unchanged(scores, relevance, ids, ties)
    if ties not in ("id", "mean"):
        raise ParameterError.of("ties", "rank", "'id' or 'mean'", ties)
    lost = _grades(missing)
    if relevance is None:
        grades = _grades(scores)
        return Ranking(grades, np.arange(len(grades)), lost, ties)
    values, grades = _scores(scores), _grades(relevance)
    _check_lengths(len(values), len(grades))
    order = _order(values, ids)
    return Ranking(grades[order], _starts(values[order]), lost, ties)


def rankings(
    scores: Iterable[ArrayLike],
    relevance: Iterable[ArrayLike],
    *,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> Iterator[Ranking]:
    """Sort the rows of two tables, a row a query and a column a picture; `ids` names the columns.

    >>> [r.grades.tolist() for r in rankings([[1, 2], [2, 1]], [[1, 0], [1, 0]])]
    [[0.0, 1.0], [1.0, 0.0]]
    """
    for row, (values, grades) in enumerate(zip(scores, relevance, strict=True)):
        try:
            yield rank(values, grades, ids=ids, ties=ties)
        except DataError as error:
            raise DataError(f"Query {row}: {error}") from error


def _unchanged(
    ranking: Ranking, relevance: ArrayLike | None, ids: ArrayLike | None, ties: Ties
) -> Ranking:
    # "id" is also the default, so only an explicit "mean" can contradict the ranking.
    if relevance is not None or ids is not None or (ties != "id" and ties != ranking.ties):
        raise ParameterError(
            "A Ranking brings its own relevance, ids and tie rule. "
            "Pass the Ranking alone, or the scores it was made from."
        )
    return ranking


def _scores(scores: ArrayLike) -> NDArray[Any]:
    values = np.asarray(scores)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "biuf"):
        raise DataError(
            "Scores must be one row of numbers, one for each picture. "
            f"Got {values.dtype} of shape {values.shape}."
        )
    unknown = np.flatnonzero(np.isnan(values))
    if unknown.size:
        raise DataError(
            f"The score at position {unknown[0]} is NaN ({unknown.size} in all), "
            "so pictures cannot be ranked. Give every picture a number."
        )
    return values


def _grades(relevance: ArrayLike) -> NDArray[np.float64]:
    try:
        grades = np.asarray(relevance, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"Relevance must be numbers. Got {relevance!r}.") from error
    if grades.ndim != 1:
        raise DataError(f"Relevance must be one row of numbers. Got shape {grades.shape}.")
    odd = np.flatnonzero(~np.isfinite(grades))
    if odd.size:
        raise DataError(f"The relevance at position {odd[0]} must be finite. Got {grades[odd[0]]}.")
    return grades


def _check_lengths(n_scores: int, n_grades: int) -> None:
    if n_scores != n_grades:
        raise DataError(
            f"Scores and relevance must be of one length. Got {n_scores} and {n_grades}."
        )


def _order(values: NDArray[Any], ids: ArrayLike | None) -> NDArray[np.intp]:
    # The complement reverses every integer order; a minus would wrap unsigned numbers.
    falling = -values if values.dtype.kind == "f" else ~values
    if ids is None:
        return np.argsort(falling, kind="stable")
    names = np.asarray(ids)
    if names.shape != values.shape or names.dtype.kind not in "iuUS":
        raise DataError(
            f"Ids must be {len(values)} whole numbers or strings, one for each score. "
            f"Got {names.dtype} of shape {names.shape}."
        )
    unique, counts = np.unique(names, return_counts=True)
    if len(unique) < len(names):
        raise DataError(f"Ids must differ. Got {unique[counts > 1][0].item()!r} more than once.")
    return np.lexsort((names, falling))


def _starts(ordered: NDArray[Any]) -> NDArray[np.intp]:
    if not ordered.size:
        return np.zeros(0, dtype=np.intp)
    return np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
