"""Fitted weights of words over features: scores of pictures, and queries as weights.

W has a row w_t for each word, and a query q scores a picture p by q . W p (`rankers.pamir`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Floats
from sightline.contracts import PersistentEstimator
from sightline.errors import DataError
from sightline.rankers.training import word_scores
from sightline.solvers.rows import as_rows
from sightline.validation import Classes
from sightline.words.tfidf import query_vector

Terms = Sequence[int] | Sequence[str] | NDArray[np.int64]


class WordWeights(PersistentEstimator):
    """What scores pictures by W_, with idf_ for how much each word counts in a query.

    `words_` are the words by position, where words have names; else None.
    """

    _name: ClassVar[str]
    _saved = ("classes_", "words_")
    W_: Floats
    idf_: NDArray[np.float64]
    words_: tuple[str, ...] | None
    classes_: Classes

    @property
    def n_features_in_(self) -> int:
        """Number of columns that X had in `fit`."""
        return int(self.W_.shape[1])

    def decision_function(self, X: Any, words: NDArray[np.int64] | None = None) -> Floats:
        """Return the score of each picture for each word, or for the words at some positions."""
        self._check_fitted()
        W = self.W_ if words is None else self.W_[words]
        return word_scores(as_rows(X, self._name, self.W_.shape[1]), W)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes a ranker of it that scores the same.

        Names of words are not kept.
        """
        self._check_fitted()
        return {"W": self.W_, "idf": self.idf_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes."""
        ranker = cls()
        ranker.W_, ranker.words_ = arrays["W"], None
        ranker.classes_ = np.arange(len(ranker.W_))
        ranker.idf_ = arrays.get("idf", np.ones(len(ranker.W_)))
        return ranker

    def query(self, terms: Terms, weights: ArrayLike | None = None) -> Floats:
        """Return a query as weights over features: pictures rank by their product with them.

        Parameters
        ----------
        terms : ndarray of int64
            Positions of words, or words where the ranker has their names.
        weights : array-like, optional
            The query vector's values; by default a unit vector of the words' idf.
        """
        ids, q = self._vector(terms, weights)
        vector: Floats = q @ self.W_[ids]
        return vector

    def _vector(self, terms: Terms, weights: ArrayLike | None) -> tuple[NDArray[np.int64], Floats]:
        """Return a query vector: positions of words, and their values."""
        self._check_fitted()
        places = self._places(terms)
        if weights is None:
            return query_vector(places, self.idf_)
        q = np.asarray(weights, dtype=np.float32).reshape(-1)
        if len(places) != len(q):
            raise DataError(f"{len(places)} terms need as many weights. Got {len(q)}.")
        return places, q

    def _places(self, terms: Terms) -> NDArray[np.int64]:
        positions = np.asarray(terms).reshape(-1)
        if positions.dtype.kind == "U":
            known = {w: i for i, w in enumerate(self.words_ or ())}
            positions = np.array([known.get(str(w), -1) for w in positions], dtype=np.int64)
        if positions.size and not (positions.min() >= 0 and positions.max() < len(self.W_)):
            fitted = f"{self._name} was fitted to {len(self.W_)} words"
            raise DataError(f"{fitted}, which do not include all of {terms!r}.")
        return positions.astype(np.int64)
