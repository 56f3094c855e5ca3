"""What rankers of two kinds of things share: both are mapped into one space of few dimensions.

A query q and a document d, of words, of picture features, in either direction, score

    f(q, d) = (embedded q) . (embedded d)

so that documents are embedded once, and a query is k weights over their embeddings.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Floats
from sightline.contracts import PersistentEstimator
from sightline.errors import DataError, ParameterError
from sightline.measures.many import average_precisions
from sightline.records import QuerySet
from sightline.solvers.oracles import CandidateLists
from sightline.validation import check_finite, check_shape, check_sparse, dense_table
from sightline.vectors import l2_normalize


class TwoSided(PersistentEstimator):
    """A ranker that embeds queries and documents; subclasses define how."""

    _name: ClassVar[str]

    @property
    @abstractmethod
    def n_features_in_(self) -> int:
        """Number of columns that queries had in `fit`."""

    @property
    @abstractmethod
    def n_document_features_(self) -> int:
        """Number of columns that documents had in `fit`."""

    @abstractmethod
    def embed_queries(self, Q: Any) -> Floats:
        """Return queries as points of the shared space, (queries, k)."""

    @abstractmethod
    def embed(self, D: Any) -> Floats:
        """Return documents as points of the shared space, (documents, k)."""

    def query(self, q: Any) -> Floats:
        """Return one query as k weights: documents rank by their product with `embed`'s rows.

        Parameters
        ----------
        q : array-like
            One row, dense or scipy's sparse. A row of zeros, such as a text of unknown words alone
            has, is an error, since it would put documents in no order.
        """
        row = q if hasattr(q, "tocsr") else np.atleast_2d(np.asarray(q))
        if row.shape[0] != 1:
            raise DataError(f"A query is one row. Got {row.shape[0]}; embed_queries takes many.")
        if not empty_rows(row)[0]:
            vector: Floats = self.embed_queries(row)[0]
            return vector
        raise DataError(
            f"The query is all zeros, so {self._name} can put nothing in order: a text of unknown "
            "words, or a picture without features."
        )

    def decision_function(self, Q: Any, D: Any) -> Floats:
        """Return the score of each document for each query, (queries, documents)."""
        product: Floats = self.embed_queries(Q) @ self.embed(D).T
        return product

    def score(self, Q: Any, D: Any, relevance: ArrayLike) -> float:
        """Return the mean AvgP of queries that have relevant documents.

        Parameters
        ----------
        Q, D : array-like
            Rows of queries and of documents.
        relevance : array-like of shape (queries, documents)
            Above 0 where a document is relevant.
        """
        return mean_avgp(self.decision_function(Q, D), relevance)


class LowRank(TwoSided):
    """A ranker of two matrices: f(q, d) = (U q) . (V d).

    Attributes
    ----------
    U_, V_ : ndarray of float32
        (k, columns of queries) and (k, columns of documents), float32.
    """

    U_: Floats
    V_: Floats

    @property
    def n_features_in_(self) -> int:
        """Number of columns that queries had in `fit`."""
        return int(self.U_.shape[1])

    @property
    def n_document_features_(self) -> int:
        """Number of columns that documents had in `fit`."""
        return int(self.V_.shape[1])

    def embed_queries(self, Q: Any) -> Floats:
        """Return U q for each row of Q."""
        self._check_fitted()
        return _mapped(as_side(Q, "Q", self._name, self.U_.shape[1]), self.U_)

    def embed(self, D: Any) -> Floats:
        """Return V d for each row of D."""
        self._check_fitted()
        return _mapped(as_side(D, "D", self._name, self.V_.shape[1]), self.V_)

    def topic(self, dimension: int, n: int = 10, lowest: bool = False) -> NDArray[np.int64]:
        """Return the columns of queries, such as words, that count most in a dimension, best first.

        A dimension has two ends, of which neither is the right one: `lowest` gives the other.
        """
        self._check_fitted()
        if not 0 <= dimension < len(self.U_):
            raise DataError(f"There are dimensions from 0 to {len(self.U_) - 1}. Got {dimension}.")
        row = self.U_[dimension]
        return np.asarray(np.argsort(row if lowest else -row, kind="stable")[:n])

    def nearest_columns(self, column: int, n: int = 10) -> NDArray[np.int64]:
        """Return the columns of queries that point where one does, by cosine, nearest first.

        The column itself is left out.
        """
        self._check_fitted()
        if not 0 <= column < self.U_.shape[1]:
            last = self.U_.shape[1] - 1
            raise DataError(f"There are columns from 0 to {last}. Got {column}.")
        unit_vectors = l2_normalize(self.U_.T)
        order = np.argsort(-(unit_vectors @ unit_vectors[column]), kind="stable")
        return np.asarray(order[order != column][:n])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes a ranker that scores the same."""
        self._check_fitted()
        return {"U": self.U_, "V": self.V_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes, with default parameters."""
        ranker = cls()
        ranker.U_, ranker.V_ = arrays["U"], arrays["V"]
        return ranker


def as_side(
    X: Any, name: str, owner: str, n_columns: int | None = None, min_samples: int = 1
) -> Any:
    """Return rows of one kind, checked: float64, dense or scipy's CSR.

    >>> as_side([[1, 2], [3, 4]], "Q", "LSCMR", 3)
    Traceback (most recent call last):
    sightline.errors.DataError: Q has 2 features, but LSCMR is expecting 3 features as input.
    """
    if hasattr(X, "tocsr"):
        check_sparse(X, name)
        rows = X.tocsr().astype(np.float64)
    else:
        rows = dense_table(X, np.float64, name)
    check_finite(rows.data if hasattr(X, "tocsr") else rows, owner, name)
    check_shape(rows.shape, owner, n_features=n_columns, min_samples=min_samples, name=name)
    return rows


def empty_rows(X: Any) -> NDArray[np.bool_]:
    """Return which rows are all zeros."""
    if hasattr(X, "tocsr"):
        return np.asarray(np.asarray(abs(X.tocsr()).sum(axis=1)).ravel() == 0)
    return np.asarray(~np.asarray(X).any(axis=1))


def check_components(k: Any, Q: Any, D: Any, owner: str) -> int:
    """Return the number of dimensions of the shared space; each side needs as many columns."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError.of("n_components", owner, "a whole number of at least 1", k)
    most = min(Q.shape[1], D.shape[1])
    if k > most:
        raise DataError(
            f"{owner} cannot learn {k} dimensions: queries have {Q.shape[1]} columns and documents "
            f"{D.shape[1]}, so there are at most {most}. Lower 'n_components'."
        )
    return int(k)


def usable_lists(
    Q: Any, D: Any, candidates: Any, relevance: Any, query: NDArray[np.int64]
) -> tuple[CandidateLists, int]:
    """Return lists to learn from, and how many were left out because their query is all zeros."""
    if len(query) and not (query.min() >= 0 and query.max() < Q.shape[0]):
        raise DataError(
            f"Lists belong to queries from 0 to {Q.shape[0] - 1}. Got {query.min()} to "
            f"{query.max()}."
        )
    if len(query) != len(candidates):
        raise DataError(f"{len(candidates)} lists need as many queries. Got {len(query)}.")
    has_query = ~empty_rows(Q)[query]
    if not has_query.any():
        raise DataError("Every query is all zeros, so there is nothing to learn from.")
    if empty_rows(D).all():
        raise DataError("Every document is all zeros, so there is nothing to learn from.")
    usable = np.flatnonzero(has_query)
    lists = CandidateLists.of(
        [candidates[i] for i in usable], [relevance[i] for i in usable], query[usable]
    )
    if not (lists.candidate.min() >= 0 and lists.candidate.max() < D.shape[0]):
        raise DataError(
            f"Candidates are documents from 0 to {D.shape[0] - 1}. Got "
            f"{lists.candidate.min()} to {lists.candidate.max()}."
        )
    return lists, len(query) - len(usable)


def mean_avgp(scores: ArrayLike, relevance: ArrayLike) -> float:
    """Return the mean AvgP of the queries that have relevant documents.

    >>> mean_avgp([[3.0, 1.0, 2.0]], [[1, 0, 0]])
    1.0
    """
    relevant = np.asarray(relevance) > 0
    table = np.asarray(scores, dtype=np.float32)
    if table.shape != relevant.shape:
        raise DataError(
            f"Scores of shape {table.shape} need the relevance of as many. Got {relevant.shape}."
        )
    where, fit = np.nonzero(relevant)
    n = len(relevant)
    start = np.concatenate([[0], np.cumsum(np.bincount(where, minlength=n))]).astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    queries = QuerySet(np.zeros(n + 1, np.int64), none, np.zeros(0, np.float32), start, fit)
    return average_precisions(table, queries).mean_avgp


def _mapped(rows: Any, A: Floats) -> Floats:
    return np.asarray(rows @ A.T.astype(np.float64), dtype=np.float32)
