"""Measures of a ranking: P@20, AP@T and the precision among unjudged pictures.

    headline     the query is left out of the ranking, T = min(class size - 1, 180)
    paper        the query is ranked with the others, and is relevant, T = min(class size, 180)

P@20 and AP@T count pictures that were judged before, which stay in the ranking; a learner may
memorise them. So there is also P@20 of the ranking without them, as a share of what is possible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Ints


class Measured(NamedTuple):
    """The measures of one ranking; `unjudged` is NaN if no relevant picture is left to judge."""

    precision: float
    average: float
    paper_precision: float
    paper_average: float
    unjudged: float


def best(scores: NDArray[Any], k: int) -> Ints:
    """Return the k best places, by score descending and place ascending.

    >>> best(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    n = len(scores)
    if k >= n:
        return np.argsort(-scores, kind="stable")
    least = np.partition(scores, n - k)[n - k]
    there = np.flatnonzero(scores >= least)
    return there[np.argsort(-scores[there], kind="stable")][:k]


def measured(order: Ints, fits: Bools, query: int, judged: Ints, shown: int, most: int) -> Measured:
    """Measure a ranking of which only the best are known.

    Parameters
    ----------
    order : places of the best pictures; as many as `depth` says.
    fits : which pictures are relevant; the query is one of them.
    judged : places of what was judged before.
    shown, most : 20 of P@20, and the largest T.
    """
    relevant = fits[order]
    without = order != query
    n = int(fits.sum())
    new = ~np.isin(order, judged) & without
    left = n - len(np.unique(judged[fits[judged] & (judged != query)])) - 1
    possible = min(shown, left)
    return Measured(
        float(relevant[without][:shown].sum() / shown),
        _average(relevant[without], min(n - 1, most)),
        float(relevant[:shown].sum() / shown),
        _average(relevant, min(n, most)),
        float(relevant[new][:shown].sum() / possible) if possible else float("nan"),
    )


def depth(n_judged: int, shown: int, most: int) -> int:
    """Return how many of the best pictures are needed to measure a ranking."""
    return max(most, n_judged + shown) + 1


def _average(relevant: Bools, T: int) -> float:
    """Return AP@T of relevance in order (eq. 14): divided by T, not by what was found."""
    first = relevant[:T]
    ranks = np.arange(1, len(first) + 1)
    return float((first * np.cumsum(first) / ranks).sum() / T)
