"""Averages over queries, with the queries that have no value left out and counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sightline.errors import ParameterError
from sightline.measures.names import Measure, measure
from sightline.measures.ranked import Ranking

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Empty = Literal["skip", "zero"]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A measure over a set of queries.

    Attributes
    ----------
    measure : str
        Name as it was given.
    mean : float
        Average over the `n` queries that have a value; NaN if none has.
    values : ndarray of float64
        One per query, in order; NaN where the query was left out.
    n, skipped : int
        Queries averaged and queries left out.
    """

    measure: str
    mean: float
    values: NDArray[np.float64]
    n: int
    skipped: int


def mean_over(name: str, values: ArrayLike) -> Measured:
    """Average per-query values, leaving NaN out.

    >>> found = mean_over("AvgP", [1.0, float("nan"), 0.5])
    >>> found.mean, found.n, found.skipped
    (0.75, 2, 1)
    """
    per_query = np.asarray(values, dtype=np.float64)
    defined = per_query[~np.isnan(per_query)]
    mean = float(defined.mean()) if defined.size else float("nan")
    return Measured(name, mean, per_query, defined.size, per_query.size - defined.size)


def evaluate(
    queries: Iterable[Ranking], measures: Iterable[str | Measure], *, empty: Empty = "skip"
) -> tuple[Measured, ...]:
    """Average several measures over queries, each sorted once.

    Parameters
    ----------
    queries : iterable of Ranking
        From `rankings`, `rank` or `judged_run`; taken one at a time.
    measures : iterable of str or Measure
        Names or measures; the result keeps their order.
    empty : {"skip", "zero"}, default="skip"
        What a query without a relevant picture counts: "skip" leaves it out, "zero" is 0.

    Examples
    --------
    >>> from sightline.measures import rankings
    >>> scores, relevance = [[0.9, 0.1], [0.2, 0.8]], [[1, 0], [1, 0]]
    >>> [m.mean for m in evaluate(rankings(scores, relevance), ["AvgP", "P@1"])]
    [0.75, 0.5]
    """
    if empty not in ("skip", "zero"):
        raise ParameterError.of("empty", "evaluate", "'skip' or 'zero'", empty)
    chosen = [measure(m) if isinstance(m, str) else m for m in measures]
    rows = [_row(ranking, chosen, empty) for ranking in queries]
    table = np.array(rows, dtype=np.float64).reshape(len(rows), len(chosen))
    return tuple(mean_over(m.name, table[:, i].copy()) for i, m in enumerate(chosen))


def _row(ranking: Ranking, chosen: list[Measure], empty: Empty) -> list[float]:
    if not ranking.n_relevant:
        return [0.0 if empty == "zero" else float("nan")] * len(chosen)
    return [m.of(ranking) for m in chosen]
