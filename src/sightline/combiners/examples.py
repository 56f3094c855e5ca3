"""Training data of combiners: differences of two pictures' phi, or lists of pictures by query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.errors import DataError, DataTypeError, UsageError
from sightline.solvers.picture_triplets import PictureTriplets, of_judgements
from sightline.validation import check_finite, check_shape, dense_table

_PORTION = 1 << 18


class Source(Protocol):
    """Gives phi of pictures by position, such as `similarity.pairs.PairsOf`."""

    @property
    def n_components(self) -> int:
        """How many numbers phi of two pictures has."""
        ...

    def rows(self, query: Any, picture: Any) -> Floats:
        """Return phi(q, p) of queries and pictures, a row for each pair."""
        ...

    def differences(self, query: Any, first: Any, second: Any, y: Any) -> Floats:
        """Return y (phi(q, p1) - phi(q, p2)), a row for each triplet."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class JudgedLists:
    """Judged pictures of each query, with phi and relevance; above 0 is relevant.

    Those of query i are the rows from start[i] to start[i + 1].

    Examples
    --------
    >>> lists = JudgedLists.of([[0.0], [1.0], [2.0]], [1, 0, 1], [7, 7, 3])
    >>> lists.rows.tolist(), lists.start.tolist()
    ([[2.0], [0.0], [1.0]], [0, 1, 3])
    >>> lists.mean_avgp(lists.rows[:, 0])
    0.75
    """

    rows: Floats
    relevance: Doubles
    start: Ints

    @classmethod
    def of(cls, X: Any, y: Any, qid: Any) -> Self:
        """Return lists of rows, by query in ascending order; rows of a query stay in order."""
        rows = as_table(X)
        relevance, names = np.asarray(y, dtype=np.float64), np.asarray(qid)
        if not relevance.shape == names.shape == (len(rows),):
            sizes = f"{len(rows)}, {relevance.shape} and {names.shape}"
            raise DataError(f"X, y and qid must be of one length. Got {sizes}.")
        for name, values in (("X", rows), ("y", relevance)):
            check_finite(values, "A combiner", name)
        if not len(rows):
            raise DataError("There is no list to learn from. Give at least one picture.")
        order = np.argsort(names, kind="stable")
        first = np.flatnonzero(np.append(True, names[order][1:] != names[order][:-1]))
        start = np.append(first, len(rows)).astype(np.int64)
        return cls(np.ascontiguousarray(rows[order]), relevance[order], start)

    @classmethod
    def of_triplets(cls, triplets: PictureTriplets, source: Source) -> Self:
        """Return the pictures of triplets; relevant are those that come first more often."""
        query, picture, relevance = triplets.lists()
        return cls.of(source.rows(query, picture), relevance, query)

    def __len__(self) -> int:
        return len(self.start) - 1

    def avgp(self, scores: NDArray[Any]) -> Doubles:
        """Return the AvgP of each list, NaN where nothing is relevant; ties by position."""
        from sightline.measures.many import average_precisions_of_lists

        return average_precisions_of_lists(scores, self.relevance > 0, self.start)

    def mean_avgp(self, scores: NDArray[Any]) -> float:
        """Return the mean AvgP of the lists that have one; NaN if none has."""
        avgp = self.avgp(scores)
        defined = avgp[~np.isnan(avgp)]
        return float(defined.mean()) if defined.size else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Rows x = y (phi(q, p1) - phi(q, p2)), some at a time; w.x should be above 0.

    Numbers that are not finite are left in: online learners reject such an example and count it.
    """

    n_components: int
    n: int
    _part: Callable[[slice], Floats]

    def __len__(self) -> int:
        return self.n

    def portions(self) -> Iterator[Floats]:
        """Yield all rows in order, so many at a time that memory stays bounded."""
        for begin in range(0, self.n, _PORTION):
            yield self._part(slice(begin, min(begin + _PORTION, self.n)))

    def whole(self) -> Floats:
        """Return all rows at once."""
        if not self.n:
            return np.zeros((0, self.n_components), dtype=np.float32)
        return np.concatenate(list(self.portions())) if self.n > _PORTION else next(self.portions())


def differences(
    X: Any, y: Any, qid: Any, source: Source | None, owner: str, n: int = 200_000, seed: int = 0
) -> Differences:
    """Return the input of a learner of pairs as differences.

    Parameters
    ----------
    X : array-like
        As for `fit`, see `sightline.combiners`.
    y : array-like
        As for `fit`, see `sightline.combiners`.
    qid : array-like
        As for `fit`, see `sightline.combiners`.
    source : Source or None
        As for `fit`, see `sightline.combiners`.
    owner : str
        The name that errors give.
    n, seed : int
        The most pairs to draw from lists, and the seed of the draws.

    Examples
    --------
    >>> differences([[1.0], [2.0]], [1, -1], None, None, "OPR").whole().tolist()
    [[1.0], [-2.0]]
    """
    if isinstance(X, PictureTriplets):
        return _of_triplets(X, source, owner)
    rows = as_table(X)
    if qid is not None:
        return _of_lists(rows, y, qid, n, seed)
    if y is None:
        return Differences(rows.shape[1], len(rows), lambda part: rows[part])
    signs = np.asarray(y)
    if signs.shape != (len(rows),) or not np.isin(signs, (-1, 1)).all():
        raise DataError(
            f"y must hold 1 or -1 for each of {len(rows)} differences. Rows of single pictures "
            "need a qid as well."
        )
    signs = signs.astype(np.float32)
    return Differences(rows.shape[1], len(rows), lambda part: rows[part] * signs[part, None])


def lists(X: Any, y: Any, qid: Any, source: Source | None, owner: str) -> JudgedLists:
    """Return the input of a learner of lists as lists; raise UsageError for differences alone."""
    if isinstance(X, PictureTriplets):
        return JudgedLists.of_triplets(X, _require_source(source, owner))
    if y is None or qid is None:
        raise UsageError(
            f"{owner} learns from lists: give rows of single pictures with y and qid, or triplets "
            "of pictures with their source. Differences of two pictures are not enough."
        )
    return JudgedLists.of(X, y, qid)


def judging(validation: tuple[Any, Any, Any] | None, owner: str) -> JudgedLists | None:
    """Return validation lists (X, y, qid), some of which must have a relevant picture."""
    if validation is None:
        return None
    if not isinstance(validation, tuple) or len(validation) != 3:
        raise UsageError(f"The validation of {owner} must be (X, y, qid).")
    judged = JudgedLists.of(*validation)
    if not (judged.relevance > 0).any():
        raise DataError("No validation list has a relevant picture to judge by. Give more lists.")
    return judged


def as_table(X: Any) -> Floats:
    """Return rows as float32, side by side; numbers beyond it become infinite, and are rejected."""
    if hasattr(X, "tocsr"):
        raise DataTypeError("Sparse data is not supported by combiners. Call toarray first.")
    rows: Floats = dense_table(X, np.float32)
    check_shape(rows.shape, "a combiner")
    return rows


def _of_triplets(triplets: PictureTriplets, source: Source | None, owner: str) -> Differences:
    pairs, t = _require_source(source, owner), triplets

    def part(of: slice) -> Floats:
        return pairs.differences(t.query[of], t.first[of], t.second[of], t.y[of])

    return Differences(pairs.n_components, len(t), part)


def _of_lists(rows: Floats, y: Any, qid: Any, n: int, seed: int) -> Differences:
    if y is None:
        raise UsageError("Rows with a qid need y, the relevance of each. Got none.")
    query = np.unique(np.asarray(qid), return_inverse=True)[1].reshape(-1)
    # Queries are numbered apart from rows, none of which is a query itself.
    pairs = of_judgements(query + len(rows), np.arange(len(rows)), y, n, random_state=seed)
    plus, minus = pairs.first, pairs.second
    return Differences(rows.shape[1], len(plus), lambda at: rows[plus[at]] - rows[minus[at]])


def _require_source(source: Source | None, owner: str) -> Source:
    if source is None:
        raise UsageError(
            f"{owner} cannot learn from positions of pictures alone. Give the source of their phi, "
            "such as Phi.over(views)."
        )
    return source
