"""SSI: supervised semantic indexing, a low-rank ranker learned from pairs; a baseline of LSCMR.

Bai et al., "Learning to rank with (a lot of) word features", Information Retrieval 13(3), 2010.
With f(q, d) = (U q).(V d), a pair of a relevant document d+ and another d- of one query's list
costs max(0, 1 - f(q, d+) + f(q, d-)), and where that is above 0

    U <- U + eta V (d+ - d-) q'        V <- V + eta U q (d+ - d-)'        both by the old U and V

from a random start, without a regulariser: it is stopped where validation queries are best.

Departures: 8 pairs of a drawn query in a row (`pairs_per_query`, 1 is the paper), which changes the
order of pairs and not what one of them does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sightline._typing import Floats
from sightline.contracts import Progress
from sightline.errors import DataError, ParameterError
from sightline.progress import NoProgress
from sightline.rankers import _ssi_fast
from sightline.rankers.low_rank import (
    LowRank,
    as_side,
    check_components,
    empty_rows,
    usable_lists,
)
from sightline.solvers.oracles import CandidateLists
from sightline.solvers.rows import SparseMatrix, as_rows

_SILENT = NoProgress()

_AT_ONCE = 8


class SSI(LowRank):
    """A low-rank ranker between two kinds of things, trained on pairs.

    Parameters
    ----------
    n_components : int, default=10
        Dimensions k of the shared space.
    eta : float, default=0.01
        The learning rate, greater than 0.
    n_iter : int, default=500000
        The most pairs to learn from; all of them where there is no validation.
    eval_every, patience : int
        Pairs between two evaluations on validation queries, and how many evaluations may pass
        without a better mean AvgP.
    pairs_per_query : int, default=8
        Pairs of a drawn query that are learned from in a row.
    random_state : int, default=0
        Seed of the start and of the draws.

    Attributes
    ----------
    U_, V_ : ndarray
        (k, columns of queries) and (k, columns of documents), float32.
    n_iter_, best_iter_, n_updates_ : int
        Pairs learned from, after how many the factors were taken, and how many moved them.
    history_ : list of tuple
        (pairs, mean AvgP) at each evaluation.
    n_dropped_, n_empty_ : int
        See `LSCMR`.

    Examples
    --------
    >>> Q, D = np.eye(2), np.eye(3)
    >>> ranker = SSI(n_components=2, eta=0.1, n_iter=2000)
    >>> ranker = ranker.fit(Q, D, [[0, 1, 2], [0, 1, 2]], [[1, 0, 0], [0, 1, 0]])
    >>> ranker.score(Q, D, [[1, 0, 0], [0, 1, 0]])
    1.0
    """

    _name: ClassVar[str] = "SSI"

    def __init__(
        self,
        *,
        n_components: int = 10,
        eta: float = 0.01,
        n_iter: int = 500_000,
        eval_every: int = 25_000,
        patience: int = 4,
        pairs_per_query: int = 8,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.eta = eta
        self.n_iter = n_iter
        self.eval_every = eval_every
        self.patience = patience
        self.pairs_per_query = pairs_per_query
        self.random_state = random_state

    def fit(
        self,
        Q: Any,
        D: Any,
        candidates: Any,
        relevance: Any,
        query: ArrayLike | None = None,
        *,
        validation: tuple[Any, Any, ArrayLike] | None = None,
        progress: Progress = _SILENT,
    ) -> Self:
        """Learn from pairs of each list's candidates.

        Parameters
        ----------
        Q : array-like
            As for `LSCMR.fit`.
        D : array-like
            As for `LSCMR.fit`.
        candidates : array-like
            As for `LSCMR.fit`.
        relevance : array-like
            As for `LSCMR.fit`.
        query : array-like, optional
            As for `LSCMR.fit`.
        progress : Progress, optional
            As for `LSCMR.fit`.
        validation : tuple of (array-like, array-like, array-like), optional
            Queries, documents and relevance of all by all, to stop by.
        """
        self._check()
        queries, documents = as_side(Q, "Q", "SSI"), as_side(D, "D", "SSI")
        k = check_components(self.n_components, queries, documents, "SSI")
        list_queries = (
            np.arange(len(candidates)) if query is None else np.asarray(query, dtype=np.int64)
        )
        lists, n_empty = usable_lists(queries, documents, candidates, relevance, list_queries)
        rng = np.random.default_rng(self.random_state)
        sides = queries, documents
        A, B = ((rng.standard_normal((s.shape[1], k)) / math.sqrt(s.shape[1])).astype(np.float32)
                for s in sides)  # fmt: skip
        pairs = Pairs(queries, documents, lists, self.pairs_per_query, self.random_state)
        self._train(pairs, A, B, validation, progress)
        self.n_dropped_ = lists.n_dropped + n_empty
        self.n_empty_ = int(np.count_nonzero(empty_rows(documents)))
        return self

    def _train(
        self,
        pairs: Pairs,
        A: Floats,
        B: Floats,
        validation: tuple[Any, Any, ArrayLike] | None,
        progress: Progress,
    ) -> None:
        every = self.n_iter if validation is None else self.eval_every
        self.history_: list[tuple[int, float]] = []
        self.n_iter_ = self.best_iter_ = self.n_updates_ = 0
        best, worse, best_factors = -math.inf, 0, (A, B)
        progress.start("pairs", self.n_iter)
        while self.n_iter_ < self.n_iter and worse < self.patience:
            n = min(every, self.n_iter - self.n_iter_)
            self.n_updates_ += pairs.learn(A, B, n, self.eta)
            self.n_iter_ += n
            progress.advance(n)
            if not (np.isfinite(A).all() and np.isfinite(B).all()):
                raise DataError(f"SSI's factors grew without bound. Lower 'eta', now {self.eta}.")
            self.U_, self.V_ = np.ascontiguousarray(A.T), np.ascontiguousarray(B.T)
            value = math.nan if validation is None else self.score(*validation)
            self.history_.append((self.n_iter_, value))
            if validation is None or value > best:
                best, worse, best_factors = value, 0, (self.U_, self.V_)
                self.best_iter_ = self.n_iter_
            else:
                worse += 1
        progress.finish()
        self.U_, self.V_ = best_factors

    def _check(self) -> None:
        eta = self.eta
        if isinstance(eta, bool) or not (
            isinstance(eta, int | float | np.number) and 0 < eta < np.inf
        ):
            raise ParameterError.of("eta", "SSI", "greater than 0", eta)
        for name in ("n_iter", "eval_every", "patience", "pairs_per_query"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ParameterError.of(name, "SSI", "a whole number of at least 1", value)


class Pairs:
    """Draws pairs of lists and learns from them; the draws go on from call to call."""

    def __init__(self, Q: Any, D: Any, lists: CandidateLists, per_query: int, seed: int) -> None:
        queries, documents = as_rows(Q, "SSI"), as_rows(D, "SSI")
        squares = Q.multiply(Q) if hasattr(Q, "tocsr") else Q * Q
        lengths = np.asarray(squares.sum(axis=1)).ravel().astype(np.float32)
        owner = np.repeat(np.arange(len(lists)), np.diff(lists.start))
        sides: list[Any] = []
        for flags in (lists.relevant, ~lists.relevant):
            counted = np.bincount(owner[flags], minlength=len(lists))
            start = np.concatenate([[0], np.cumsum(counted)]).astype(np.int64)
            sides += [start, lists.candidate[flags]]
        if isinstance(queries, SparseMatrix) != isinstance(documents, SparseMatrix):
            queries, documents = (_as_sparse(side) for side in (Q, D))
        rows: list[Any] = [queries, documents]
        self._kernel: Callable[..., int] = _ssi_fast.learn_dense
        if isinstance(queries, SparseMatrix):
            self._kernel = _ssi_fast.learn_sparse
            rows = [part for s in rows for part in (s.start, s.indices, s.values)]
        self._inputs: list[Any] = [*rows, lengths, lists.query, *sides]
        self._per_query = per_query
        self._state = np.random.default_rng(seed).integers(1, 1 << 63, 1, dtype=np.uint64)

    def learn(self, A: Floats, B: Floats, n: int, eta: float) -> int:
        """Learn from n pairs; return how many moved the factors."""
        how = self._state, n, self._per_query, np.float32(eta)
        wide = _padded(A), _padded(B)
        moved = int(self._kernel(*wide, *self._inputs, *how))
        if wide[0] is not A:
            A[:], B[:] = (part[:, : A.shape[1]] for part in wide)
        return moved


def _padded(factor: Floats) -> Floats:
    """Return a factor with columns of zeros up to a multiple of eight, which stay zeros.

    A processor takes eight numbers at once and the rest of a row one by one: with 10 dimensions a
    pair costs .21 µs for .23, with 100 .46 for .59.
    """
    k = factor.shape[1]
    if k % _AT_ONCE == 0:
        return factor
    return np.pad(factor, ((0, 0), (0, -k % _AT_ONCE)))


def _as_sparse(side: Any) -> SparseMatrix | Floats:
    """Return rows as a sparse matrix, whatever they were, so that both sides are of a kind."""
    from scipy import sparse

    return as_rows(side if hasattr(side, "tocsr") else sparse.csr_array(side), "SSI")
