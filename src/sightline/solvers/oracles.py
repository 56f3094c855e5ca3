"""Separation oracles: of all orders of a list, the one a ranking measure violates most.

For the structural training of rankers (Joachims, "A support vector method for multivariate
performance measures", 2005; Yue et al., "A support vector method for optimizing average precision",
2007; Chakrabarti et al., 2008). With f the scores of a list's n+ relevant and n- other candidates,

    F(y) = 1 / (n+ n-) sum_{i relevant} sum_{j other} y_ij (f_i - f_j)        y_ij = 1 or -1
    delta F(y) = F(y*) - F(y) = 2 / (n+ n-) sum over inverted (i, j) of f_i - f_j
    the oracle: argmax_y Delta(y) - delta F(y),      Delta = 1 - measure

Every measure here is a sum over relevant candidates that only depends on how many others precede
each, so that in the best order both kinds are sorted by their scores and dynamic programming over
(relevant ones placed, others above) finds it exactly in n+ n- steps. For average precision there is
also a greedy algorithm, for AUC sorting by shifted scores, and for the reciprocal rank an
enumeration of first ranks; they give the same orders, faster, and are used.

An order is given by its inversions: `counts` c has for a relevant candidate the others above it,
and for an other, negative, the relevant ones below it. Then delta F = 2 / (n+ n-) sum_d c_d f_d,
and its gradient is as cheap: no matrix of pairs is ever made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Doubles, Ints
from sightline.errors import DataError, ParameterError
from sightline.solvers import _oracles_fast

_KINDS = {
    "map": _oracles_fast.AP,
    "ndcg": _oracles_fast.NDCG,
    "p": _oracles_fast.PRECISION,
    "mrr": _oracles_fast.MRR,
    "auc": _oracles_fast.AUC,
}


@dataclass(frozen=True, slots=True)
class Criterion:
    """A ranking measure to optimise.

    >>> Criterion.named("ndcg@10")
    Criterion(name='ndcg@10', kind=1, k=10)
    >>> Criterion.named("bleu")
    Traceback (most recent call last):
    sightline.errors.ParameterError: The 'optimise' parameter of a ranking must be 'map', 'ndcg', \
'ndcg@k', 'p@k', 'mrr' or 'auc', with a whole k of at least 1. Got 'bleu'.
    """

    name: str
    kind: int
    k: int = 0

    @classmethod
    def named(cls, name: str, owner: str = "a ranking") -> Self:
        """Return the measure of a name."""
        parts = re.fullmatch(r"(map|mrr|auc|ndcg|(?:ndcg|p)@([1-9]\d{0,8}))", str(name))
        if parts is None:
            must_be = "'map', 'ndcg', 'ndcg@k', 'p@k', 'mrr' or 'auc', with a whole k of at least 1"
            raise ParameterError.of("optimise", owner, must_be, name)
        return cls(name, _KINDS[name.partition("@")[0]], int(parts[2] or 0))


@dataclass(frozen=True, slots=True, eq=False)
class CandidateLists:
    """Lists of candidates of different length, one after the other.

    Attributes
    ----------
    start : ndarray of int64
        List i has the candidates from start[i] to start[i + 1].
    candidate : ndarray of int64
        Their positions among the documents.
    relevant : ndarray of bool
        Whether they are.
    query : ndarray of int64
        The position of each list's query.
    n_dropped : int
        Lists left out, for want of a relevant or an other candidate.
    """

    start: Ints
    candidate: Ints
    relevant: NDArray[np.bool_]
    query: Ints
    n_dropped: int = 0

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def of(cls, candidates: Any, relevance: Any, query: ArrayLike | None = None) -> CandidateLists:
        """Return lists, one for each query; those that rank nothing are dropped and counted.

        Parameters
        ----------
        candidates, relevance : array-like
            For each list positions of documents, and numbers above 0 where these are relevant;
            tables, or sequences of different length.
        query : array-like, optional
            Of each list; the first list belongs to query 0 and so on by default.

        Examples
        --------
        >>> lists = CandidateLists.of([[0, 1, 2], [1, 2]], [[1, 0, 0], [1, 1]])
        >>> len(lists), lists.n_dropped, lists.query.tolist()
        (1, 1, [0])
        """
        if len(candidates) != len(relevance):
            raise DataError(
                f"{len(candidates)} lists need the relevance of as many. Got {len(relevance)}."
            )
        query_of_list = (
            np.arange(len(candidates)) if query is None else np.asarray(query, dtype=np.int64)
        )
        if len(query_of_list) != len(candidates):
            raise DataError(
                f"{len(candidates)} lists need as many queries. Got {len(query_of_list)}."
            )
        usable, parts, flags = [], [], []
        for i, (ids, grades) in enumerate(zip(candidates, relevance, strict=True)):
            positions, flag = np.asarray(ids, dtype=np.int64), np.asarray(grades) > 0
            if positions.ndim != 1 or positions.shape != flag.shape:
                raise DataError(
                    f"List {i} has candidates of shape {positions.shape} and relevance of shape "
                    f"{flag.shape}. Give a number for each candidate."
                )
            if flag.any() and not flag.all():
                usable.append(i)
                parts.append(positions)
                flags.append(flag)
        if not usable:
            raise DataError("No list has both a relevant and an other candidate to learn from.")
        start = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)
        return cls(start, np.concatenate(parts), np.concatenate(flags), query_of_list[usable],
                   len(candidates) - len(usable))  # fmt: skip

    def pairs(self) -> Doubles:
        """Return n+ n- of each list."""
        n = np.add.reduceat(self.relevant.astype(np.int64), self.start[:-1])
        return np.asarray(n * (np.diff(self.start) - n), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Separated:
    """The most violated order of each list: inversions, loss, and loss minus delta F."""

    counts: NDArray[np.int32]
    losses: Doubles
    values: Doubles


def separate(
    scores: ArrayLike, lists: CandidateLists, criterion: Criterion, exact: bool = False
) -> Separated:
    """Return the order of each list with the largest Delta(y) - delta F(y).

    Parameters
    ----------
    scores : array-like
        Of all candidates of all lists, in their order.
    lists : CandidateLists
        As `CandidateLists.of` makes them.
    criterion : Criterion
        The measure.
    exact : bool, default=False
        Use dynamic programming also where a faster form is known; the values are the same.

    Examples
    --------
    >>> lists = CandidateLists.of([[0, 1, 2]], [[1, 0, 0]])
    >>> found = separate([0.1, 0.4, 0.0], lists, Criterion.named("auc"))
    >>> found.counts.tolist(), found.losses.tolist(), found.values.round(2).tolist()
    ([2, -1, -1], [1.0], [1.2])
    """
    f = np.ascontiguousarray(scores, dtype=np.float64)
    if f.shape != lists.candidate.shape:
        raise DataError(f"{lists.candidate.size} candidates need as many scores. Got {f.shape}.")
    if not np.isfinite(f).all():
        raise DataError("Scores must be finite. Got NaN or infinity.")
    longest = int(np.diff(lists.start).max(initial=1))
    inverse, harmonic, discount = _tables(longest, criterion)
    orders = Separated(np.empty(len(f), dtype=np.int32), np.empty(len(lists)), np.empty(len(lists)))
    _oracles_fast.separate(
        f, lists.relevant, lists.start, criterion.kind, criterion.k, exact, inverse, harmonic,
        discount, orders.counts, orders.losses, orders.values,
    )  # fmt: skip
    return orders


def _tables(longest: int, criterion: Criterion) -> tuple[Doubles, Doubles, Doubles]:
    r = np.arange(longest + 1, dtype=np.float64)
    inverse = np.zeros(longest + 1)
    inverse[2:] = 1.0 / (r[2:] * (r[2:] - 1))
    harmonic = np.zeros(longest + 1)
    harmonic[1:] = np.cumsum(1.0 / r[1:])
    discount = np.zeros(longest + 1)
    discount[1:] = 1.0 / np.log2(1.0 + r[1:])
    if criterion.k:
        discount[criterion.k + 1 :] = 0.0
    return inverse, harmonic, discount
