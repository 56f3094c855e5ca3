"""CCA: canonical correlation analysis of pairs, a baseline of LSCMR.

Hotelling, "Relations between two sets of variates", 1936; for retrieval across kinds as in
Rasiwasia et al., "A new approach to cross-modal multimedia retrieval", 2010. Of pairs (q, d), both
centred, it finds the directions in which they correlate most,

    max corr(A q, B d)        with the covariances raised by kappa times their mean variance

and scores by the cosine in the shared space. One model serves both directions; relevance is not
used.

Both sides are first reduced to the directions of their largest singular values, in which
covariances are diagonal, so that what is left is one singular value decomposition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats
from sightline.errors import DataError, ParameterError
from sightline.rankers.low_rank import TwoSided, as_side, check_components
from sightline.vectors import l2_normalize

# Directions below this share of the largest singular value are rounding errors.
_LEAST = 1e-7


class CCA(TwoSided):
    """Canonical correlations of two kinds of things that come in pairs.

    Parameters
    ----------
    n_components : int, default=10
        Dimensions k of the shared space.
    kappa : float, default=0.01
        The ridge, at least 0, as a share of each side's mean variance; 0 is CCA itself.
    max_rank : int, default=200
        Directions that each side is reduced to first, at most.

    Attributes
    ----------
    correlations_ : ndarray
        Of the k dimensions, descending.
    A_, B_ : ndarray of shape (k, columns)
        In float32. `q_mean_`, `d_mean_` are subtracted before.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Q = rng.normal(size=(50, 3))
    >>> D = Q @ rng.normal(size=(3, 4))
    >>> ranker = CCA(n_components=3, kappa=0.0).fit(Q, D)
    >>> ranker.correlations_.round(3).tolist(), ranker.score(Q, D, np.eye(50))
    ([1.0, 1.0, 1.0], 1.0)
    """

    _name: ClassVar[str] = "CCA"

    def __init__(self, *, n_components: int = 10, kappa: float = 0.01, max_rank: int = 200) -> None:
        self.n_components = n_components
        self.kappa = kappa
        self.max_rank = max_rank

    def fit(self, Q: Any, D: Any) -> Self:
        """Learn from pairs: row i of Q belongs to row i of D. Rows are dense or scipy's sparse."""
        self._check()
        queries, documents = as_side(Q, "Q", "CCA"), as_side(D, "D", "CCA")
        if queries.shape[0] != documents.shape[0]:
            raise DataError(
                f"CCA learns from pairs. Got {queries.shape[0]} queries and "
                f"{documents.shape[0]} documents."
            )
        k = check_components(self.n_components, queries, documents, "CCA")
        q, d = (_reduced(side, self.max_rank, self.kappa) for side in (queries, documents))
        k = min(k, len(q.shrunk), len(d.shrunk))
        if k < self.n_components:
            raise DataError(
                f"CCA cannot learn {self.n_components} dimensions from rows that differ in "
                f"{k} alone. Lower 'n_components'."
            )
        left, correlations, right = np.linalg.svd(
            q.shrunk[:, None] * (q.scores.T @ d.scores) * d.shrunk
        )
        self.correlations_ = np.clip(correlations[:k], 0.0, 1.0)
        self.A_ = (left[:, :k].T @ q.whiten).astype(np.float32)
        self.B_ = (right[:k] @ d.whiten).astype(np.float32)
        self.q_mean_, self.d_mean_ = q.mean.astype(np.float32), d.mean.astype(np.float32)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that queries had in `fit`."""
        return int(self.A_.shape[1])

    @property
    def n_document_features_(self) -> int:
        """Number of columns that documents had in `fit`."""
        return int(self.B_.shape[1])

    def embed_queries(self, Q: Any) -> Floats:
        """Return queries in the shared space, as unit vectors; one that is the mean stays 0."""
        self._check_fitted()
        return _projected(as_side(Q, "Q", "CCA", self.A_.shape[1]), self.q_mean_, self.A_)

    def embed(self, D: Any) -> Floats:
        """Return documents in the shared space, as unit vectors; one that is the mean stays 0."""
        self._check_fitted()
        return _projected(as_side(D, "D", "CCA", self.B_.shape[1]), self.d_mean_, self.B_)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes a ranker that scores the same."""
        self._check_fitted()
        return {
            "A": self.A_, "B": self.B_, "q_mean": self.q_mean_, "d_mean": self.d_mean_,
            "correlations": self.correlations_,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes, with default parameters."""
        ranker = cls()
        ranker.A_, ranker.B_ = arrays["A"], arrays["B"]
        ranker.q_mean_, ranker.d_mean_ = arrays["q_mean"], arrays["d_mean"]
        ranker.correlations_ = arrays["correlations"]
        return ranker

    def _check(self) -> None:
        kappa = self.kappa
        if isinstance(kappa, bool) or not (
            isinstance(kappa, int | float | np.number) and 0 <= kappa < np.inf
        ):
            raise ParameterError.of("kappa", "CCA", "at least 0", kappa)
        rank = self.max_rank
        if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
            raise ParameterError.of("max_rank", "CCA", "a whole number of at least 1", rank)


class _Reduced(NamedTuple):
    """One side in the directions it differs in most.

    `scores` are its left singular vectors, `shrunk` what the ridge leaves of each (1 without it),
    and `whiten` maps centred rows to shrunk scores times the root of their number.
    """

    scores: Doubles
    shrunk: Doubles
    whiten: Doubles
    mean: Doubles


def _reduced(X: Any, max_rank: int, kappa: float) -> _Reduced:
    n, columns = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    if columns <= n:
        dense = (X.toarray() if hasattr(X, "tocsr") else X) - mean
        squares, right = np.linalg.eigh(dense.T @ dense)
        values, right = _largest(squares, right, max_rank)
        left = dense @ right / values
    else:
        # With more columns than rows the table of rows by rows is smaller; centring it from both
        # sides is what centring the rows would do, and would fill a sparse matrix.
        gram = np.asarray((X @ X.T).toarray() if hasattr(X, "tocsr") else X @ X.T)
        gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        squares, left = np.linalg.eigh(gram)
        values, left = _largest(squares, left, max_rank)
        right = np.asarray(X.T @ left) / values
    ridge = kappa * float(np.sum(np.maximum(squares, 0.0))) / columns
    roots = np.sqrt(values**2 + ridge)
    return _Reduced(left, values / roots, np.sqrt(n) * right.T / roots[:, None], mean)


def _largest(squares: Doubles, vectors: Doubles, most: int) -> tuple[Doubles, Doubles]:
    """Return singular values and vectors, the largest first, without rounding errors."""
    values = np.sqrt(np.maximum(squares, 0.0))[::-1]
    n_kept = int(np.count_nonzero(values > _LEAST * max(float(values[0]), 1e-300)))
    if not values[0] > 0:
        raise DataError("All rows of a side are the same, so CCA has nothing to learn from.")
    n_kept = min(n_kept, most)
    return values[:n_kept], vectors[:, ::-1][:, :n_kept]


def _projected(rows: Any, mean: Floats, A: Floats) -> Floats:
    exact = A.astype(np.float64)
    return np.asarray(l2_normalize(np.asarray(rows @ exact.T) - exact @ mean.astype(np.float64)))
