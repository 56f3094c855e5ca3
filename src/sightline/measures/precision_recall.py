"""Precision-recall curves, for plots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline.errors import ParameterError
from sightline.measures.ranked import Ranking, rank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecall:
    """Points of a curve, recall rising."""

    recall: NDArray[np.float64]
    precision: NDArray[np.float64]

    def area(self) -> float:
        """Return the area under the steps; of a non-interpolated curve it is AvgP.

        >>> round(precision_recall_curve([1, 0, 1, 0]).area(), 4)
        0.8333
        """
        return float(np.sum(np.diff(self.recall, prepend=0.0) * self.precision))


def precision_recall_curve(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
) -> PrecisionRecall:
    """Return the non-interpolated curve: one point at each relevant picture of the list.

    Without a relevant picture the curve has no points. Ties follow the id rule, because a curve
    of expected values is no ranking's curve.

    Parameters
    ----------
    scores : array-like or Ranking
        As for `rank`.
    relevance : array-like, optional
        As for `rank`.
    ids : array-like, optional
        As for `rank`.

    Examples
    --------
    >>> curve = precision_recall_curve([1, 0, 1, 0])
    >>> curve.recall, curve.precision.round(4)
    (array([0.5, 1. ]), array([1.    , 0.6667]))
    """
    ranking = rank(scores, relevance, ids=ids)
    if ranking.ties != "id":
        raise ParameterError.of("ties", "precision_recall_curve", "'id'", ranking.ties)
    positions = np.flatnonzero(ranking.relevant)
    hits = np.arange(1, len(positions) + 1)
    return PrecisionRecall(hits / max(ranking.n_relevant, 1), hits / (positions + 1))


def eleven_points(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
) -> PrecisionRecall:
    """Return precision at recall 0, 0.1, ..., 1, interpolated.

    The interpolated precision at a recall is the best precision at that recall or beyond, and 0
    where the list never gets there. Without a relevant picture every precision is NaN.

    >>> eleven_points([1, 0, 1, 0]).precision.round(2)
    array([1.  , 1.  , 1.  , 1.  , 1.  , 1.  , 0.67, 0.67, 0.67, 0.67, 0.67])
    """
    ranking = rank(scores, relevance, ids=ids)
    curve = precision_recall_curve(ranking)
    levels = np.arange(11) / 10
    if not ranking.n_relevant:
        return PrecisionRecall(levels, np.full(11, np.nan))
    best = np.maximum.accumulate(curve.precision[::-1])[::-1]
    # Recalls and levels are both correctly rounded quotients, so equal fractions compare equal.
    first = np.searchsorted(curve.recall, levels, side="left")
    return PrecisionRecall(levels, np.append(best, 0.0)[first])


def mean_eleven_points(curves: Iterable[PrecisionRecall]) -> PrecisionRecall:
    """Return the mean of curves at eleven points; those without a relevant picture do not count.

    >>> lists = [1, 0, 1, 0], [0, 1, 0, 0]
    >>> mean_eleven_points(map(eleven_points, lists)).precision[[0, 10]].round(2)
    array([0.75, 0.58])
    """
    total, n = np.zeros(11), 0
    for c in curves:
        if not np.isnan(c.precision).any():
            total, n = total + c.precision, n + 1
    return PrecisionRecall(np.arange(11) / 10, total / n if n else np.full(11, np.nan))
