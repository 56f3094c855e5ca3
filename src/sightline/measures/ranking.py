"""Ranking measures of one query.

Every function takes (scores, relevance), or one relevance list already in ranked order, or a
`Ranking`, so that several measures share one sort. A query without a relevant picture has no value:
every measure returns NaN, and `evaluate` leaves it out and counts it.

With rel(i) in {0, 1} the relevance at rank i and Prec(i) = (1/i) sum_{j<=i} rel(j):

    P@k = Prec(k)          BEP = Prec(n+)          AvgP = (1/n+) sum_i rel(i) Prec(i)
    AP@T = (1/T) sum_{i<=T} rel(i) Prec(i)         MAP@R = (1/L) sum_{i<=R} rel(i) Prec(i)

where n+ counts the relevant pictures of the whole collection and L those inside the top R.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.measures.ranked import Ranking, Ties, rank
from sightline.measures.ties import (
    expected_map_in_cut_group,
    expected_reciprocal_rank,
    group_sums,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Discount = Literal["log2(1+r)", "log2(r)"]
_LARGEST_GRADE = 50.0


def precision_at(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    k: int,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return P@k; a list shorter than k is still divided by k.

    >>> precision_at([1, 0, 1, 0], k=2)
    0.5
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    _check_k(k, "precision_at")
    if not ranking.n_relevant:
        return float("nan")
    return float(ranking.expected(ranking.relevant)[:k].sum() / k)


def break_even_point(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return the precision at the number of relevant pictures, where it equals recall.

    >>> break_even_point([1, 0, 1, 0])
    0.5
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    if not ranking.n_relevant:
        return float("nan")
    return precision_at(ranking, k=ranking.n_relevant)


def average_precision(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return AvgP, the area under the non-interpolated precision-recall curve.

    >>> round(average_precision([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0]), 4)
    0.8333
    >>> average_precision([0.5, 0.5], [1, 0], ties="mean")
    0.75
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    if not ranking.n_relevant:
        return float("nan")
    return float(ranking.hits.sum() / ranking.n_relevant)


def average_precision_at(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    k: int,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return AP@T with T = k, divided by T and not by the number of relevant pictures.

    >>> average_precision_at([1, 0, 1, 0], k=2)
    0.5
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    _check_k(k, "average_precision_at")
    if not ranking.n_relevant:
        return float("nan")
    return float(ranking.hits[:k].sum() / k)


def map_at(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    k: int,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return MAP@R with R = k, divided by the relevant pictures inside the top R; none there is 0.

    It is not bounded by AvgP, because ranks below R are ignored.

    >>> map_at([1, 0, 0, 0, 1], k=3)
    1.0
    >>> map_at([0, 0, 0, 1], k=3)
    0.0
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    _check_k(k, "map_at")
    if not ranking.n_relevant:
        return float("nan")
    start, end = ranking.group_at(k - 1) if k < len(ranking) else (0, k)
    if end > k:
        return _map_cutting_a_tie(ranking, start, end, k)
    found = ranking.relevant[:k].sum()
    return float(ranking.hits[:k].sum() / found) if found else 0.0


def ndcg_at(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    k: int | None = None,
    discount: Discount = "log2(1+r)",
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return NDCG of the top k (of the whole list if k is None), with gain 2^grade - 1.

    Parameters
    ----------
    scores : array-like or Ranking
        As for `rank`.
    relevance : array-like, optional
        As for `rank`.
    ids : array-like, optional
        As for `rank`.
    ties : {"id", "mean"}, default="id"
        As for `rank`.
    k : int, optional
        Depth.
    discount : {"log2(1+r)", "log2(r)"}, default="log2(1+r)"
        Rank r is divided by log2(1+r), or, for the older "log2(r)", by 1 at ranks 1 and 2 and by
        log2(r) from there on.

    Examples
    --------
    >>> round(ndcg_at([0, 1], k=2), 4)
    0.6309
    >>> ndcg_at([0, 1], k=2, discount="log2(r)")
    1.0
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    if k is not None:
        _check_k(k, "ndcg_at")
    if not ranking.n_relevant:
        return float("nan")
    gains = ranking.expected(_gains(ranking.grades))[:k]
    best = _gains(np.concatenate((ranking.grades, ranking.missing)))
    ideal = np.sort(best[best > 0])[::-1][:k]
    return _dcg(gains, discount) / _dcg(ideal, discount)


def reciprocal_rank(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return 1 over the rank of the first relevant picture, 0 if the list holds none.

    >>> reciprocal_rank([0, 1])
    0.5
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    if not ranking.n_relevant:
        return float("nan")
    if not ranking.relevant.any():
        return 0.0
    start, end = ranking.group_at(int(ranking.relevant.argmax()))
    return expected_reciprocal_rank(start, end - start, int(ranking.relevant[start:end].sum()))


def auc(
    scores: ArrayLike | Ranking,
    relevance: ArrayLike | None = None,
    *,
    ids: ArrayLike | None = None,
    ties: Ties = "id",
) -> float:
    """Return the share of (relevant, other) pairs in the right order, a tied pair counting 1/2.

    Equal scores count 1/2 under either tie rule. A missing relevant picture is below every other
    of the list. NaN also when there is no other picture to compare with.

    >>> auc([3, 2, 1], [1, 0, 1])
    0.5
    """
    ranking = rank(scores, relevance, ids=ids, ties=ties)
    relevant = group_sums(ranking.relevant, ranking.starts)
    others = group_sums(1 - ranking.relevant, ranking.starts)
    n_pairs = ranking.n_relevant * others.sum()
    if not n_pairs:
        return float("nan")
    below = others.sum() - np.cumsum(others)
    return float(np.sum(relevant * (below + others / 2)) / n_pairs)


def _map_cutting_a_tie(ranking: Ranking, start: int, end: int, k: int) -> float:
    return expected_map_in_cut_group(
        hits_above=float(ranking.hits[:start].sum()),
        relevant_above=int(ranking.relevant[:start].sum()),
        start=start,
        k=k,
        size=end - start,
        n_relevant=int(ranking.relevant[start:end].sum()),
    )


def _gains(grades: NDArray[np.float64]) -> NDArray[np.float64]:
    if grades.max(initial=0.0) > _LARGEST_GRADE:
        raise DataError(
            f"NDCG's gain 2^grade - 1 needs grades of at most {_LARGEST_GRADE:g}. "
            f"Got {grades.max():g}. Scale the grades down."
        )
    gains: NDArray[np.float64] = np.exp2(np.maximum(grades, 0.0)) - 1
    return gains


def _dcg(gains: NDArray[np.float64], discount: Discount) -> float:
    ranks = np.arange(1, len(gains) + 1)
    if discount == "log2(1+r)":
        return float(np.sum(gains / np.log2(1 + ranks)))
    if discount == "log2(r)":
        return float(np.sum(gains / np.log2(np.maximum(ranks, 2))))
    raise ParameterError.of("discount", "ndcg_at", "'log2(1+r)' or 'log2(r)'", discount)


def _check_k(k: int, owner: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError.of("k", owner, "a whole number of at least 1", k)
