"""Measures by name, as papers, result files and the command line write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sightline.errors import ParameterError
from sightline.measures.ranked import Ranking, Ties, rank
from sightline.measures.ranking import (
    Discount,
    auc,
    average_precision,
    average_precision_at,
    break_even_point,
    map_at,
    ndcg_at,
    precision_at,
    reciprocal_rank,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_FEEDBACK_DEPTH = 180


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with the name it is reported under; call it with scores and relevance.

    >>> measure("P@2")([0.9, 0.8, 0.7], [1, 0, 1])
    0.5
    """

    name: str
    of: Callable[[Ranking], float]

    def __call__(
        self,
        scores: ArrayLike | Ranking,
        relevance: ArrayLike | None = None,
        *,
        ids: ArrayLike | None = None,
        ties: Ties = "id",
    ) -> float:
        """Return the value of one ranking, or of the ranking that scores give."""
        return self.of(rank(scores, relevance, ids=ids, ties=ties))


def measure(name: str, *, discount: Discount | None = None) -> Measure:
    """Return the measure of that name; upper and lower case are the same.

    Parameters
    ----------
    name : str
        `AvgP` (also `mAP`, `MAP`), `BEP`, `MRR`, `AUC`, `NDCG`, `AP@T` with T the smaller of 180
        and the number of relevant pictures, or one with a depth: `P@20` (also `P20`), `AP@180` with
        T always 180, `MAP@50`, `NDCG@50`.
    discount : {"log2(1+r)", "log2(r)"}, optional
        Of NDCG only; see `ndcg_at`.

    Examples
    --------
    >>> measure("AvgP")([1, 0])
    1.0
    >>> measure("recall")
    Traceback (most recent call last):
    sightline.errors.ParameterError: There is no measure 'recall'. Known are AvgP, mAP, MAP, BEP, \
MRR, AUC, NDCG, AP@T, P@k, AP@k, MAP@k and NDCG@k, where k is a depth such as 10.
    """
    key = name.strip().lower()
    if discount is not None:
        return Measure(name, partial(ndcg_at, k=_ndcg_depth(key, name), discount=discount))
    if key in _WHOLE:
        return Measure(name, _WHOLE[key])
    kind, k = _split(key)
    if kind not in _AT_DEPTH or k < 1:
        raise ParameterError(_unknown(name))
    return Measure(name, partial(_AT_DEPTH[kind], k=k))


def average_precision_of_class(ranking: Ranking) -> float:
    """Return AP@T with T the smaller of 180 and the number of relevant pictures.

    >>> average_precision_of_class(rank([1, 0, 1]))
    0.5
    """
    return average_precision_at(ranking, k=max(1, min(ranking.n_relevant, _FEEDBACK_DEPTH)))


_WHOLE: dict[str, Callable[[Ranking], float]] = {
    "avgp": average_precision,
    "map": average_precision,
    "bep": break_even_point,
    "mrr": reciprocal_rank,
    "auc": auc,
    "ndcg": ndcg_at,
    "ap@t": average_precision_of_class,
}
_AT_DEPTH: dict[str, Callable[..., float]] = {
    "p": precision_at,
    "ap": average_precision_at,
    "map": map_at,
    "ndcg": ndcg_at,
}


def _split(key: str) -> tuple[str, int]:
    found = re.fullmatch(r"([a-z]+)@?([0-9]{1,9})", key)
    return (found[1], int(found[2])) if found else ("", 0)


def _ndcg_depth(key: str, name: str) -> int | None:
    kind, k = _split(key)
    if key != "ndcg" and (kind != "ndcg" or k < 1):
        raise ParameterError.of("discount", "measure", f"left out: {name} has none", name)
    return k or None


def _unknown(name: str) -> str:
    return (
        f"There is no measure {name!r}. Known are AvgP, mAP, MAP, BEP, MRR, AUC, NDCG, AP@T, "
        "P@k, AP@k, MAP@k and NDCG@k, where k is a depth such as 10."
    )
