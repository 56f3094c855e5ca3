"""Semantic matching in a collection: pictures and texts as probabilities of its commonest words.

After Rasiwasia et al., "A new approach to cross-modal multimedia retrieval", 2010, where both sides
are mapped to probabilities of classes. A collection of tags has no classes, and its pictures are of
several at once: the concepts c are its most frequent words, and

    P(c | picture)   softmax regression; a picture with several concepts is of each in equal shares
    P(c | text)      the mean, over words w weighted by how rare they are, of P(c | w), the smoothed
                     share of c among the concepts of the pictures that have w
    f(text, picture) = sum over c of P(c | text) P(c | picture)

Departure: text is not classified by regression, since the concepts are themselves words of it, and
a regression would only learn to reproduce them; what counts is which other concepts a word implies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats
from sightline.errors import DataError, ParameterError
from sightline.rankers.captions import Captions
from sightline.rankers.low_rank import TwoSided, as_side
from sightline.rankers.posteriors import softmax, softmax_regression
from sightline.solvers.structural import TrainingRound
from sightline.vectors import standardize

# The least number of pictures of a concept; each word has one pseudo-count.
_LEAST_PICTURES = 3
_CHANCE = 1.0


class ConceptMatching(TwoSided):
    """Texts and pictures as probabilities of concepts.

    Parameters
    ----------
    n_concepts : int, default=150
        The most concepts.
    strength : float, default=0.1
        How little the regression of pictures is regularised, greater than 0.

    Attributes
    ----------
    concepts_ : ndarray
        Which columns of texts are concepts, the most frequent first.
    shares_ : ndarray of shape (words, concepts)
        P(c | w).

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.8, 0.3], [0.0, 1.0], [0.2, 0.8], [0.1, 0.7]])
    >>> words = np.array([[1, 0]] * 3 + [[0, 1]] * 3)
    >>> ranker = ConceptMatching(n_concepts=2).fit(rows, words)
    >>> ranker.decision_function(words[[0, 3]], rows[[1, 4]]).argmax(axis=1).tolist()
    [0, 1]
    """

    _name: ClassVar[str] = "ConceptMatching"

    def __init__(self, *, n_concepts: int = 150, strength: float = 0.1) -> None:
        self.n_concepts = n_concepts
        self.strength = strength

    def fit(self, X: Any, labels: Any) -> Self:
        """Learn from rows of pictures and the words of each, (pictures, words)."""
        from scipy.sparse import csr_matrix

        for name in ("n_concepts", "strength"):
            if not getattr(self, name) > 0:
                must_be = "greater than 0"
                raise ParameterError.of(name, self._name, must_be, getattr(self, name))
        pictures, tags = as_side(X, "X", self._name), csr_matrix(labels)
        counts = np.asarray((tags > 0).sum(axis=0)).ravel()
        order = np.argsort(-counts, kind="stable")[: self.n_concepts]
        self.concepts_ = order[counts[order] >= _LEAST_PICTURES]
        if len(self.concepts_) < 2:
            raise DataError(
                f"Semantic matching needs two words on at least {_LEAST_PICTURES} pictures each. "
                f"Got {len(self.concepts_)}."
            )
        shares = tags[:, self.concepts_].toarray()
        of_any = shares.sum(axis=1) > 0
        shares = shares[of_any] / shares[of_any].sum(axis=1, keepdims=True)
        usual = shares.mean(axis=0)
        together = np.asarray(tags[of_any].T @ shares)
        n_tagged = np.asarray(tags[of_any].sum(axis=0)).ravel()[:, None]
        self.shares_ = ((together + _CHANCE * usual) / (n_tagged + _CHANCE)).astype(np.float32)
        self._fit_pictures(pictures[of_any], shares)
        return self

    def _fit_pictures(self, rows: Any, shares: Doubles) -> None:
        # Columns count equally, whatever their units; sparse rows are not centred, and stay sparse.
        if hasattr(rows, "tocsr"):
            squares = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
            mean, scale = np.zeros(rows.shape[1]), np.where(squares > 0, np.sqrt(squares), 1.0)
            scaled = rows.multiply(1.0 / scale).tocsr()
        else:
            scaled, mean, scale = standardize(rows)
        l2 = 1.0 / (self.strength * rows.shape[0])
        W, b = softmax_regression(scaled, shares, shares.shape[1], l2)
        self._W = W / scale
        self._b = b - self._W @ mean

    @property
    def n_features_in_(self) -> int:
        """Number of columns that queries had in `fit`."""
        return len(self.shares_)

    @property
    def n_document_features_(self) -> int:
        """Number of columns that documents had in `fit`."""
        return int(self._W.shape[1])

    def embed_queries(self, Q: Any) -> Floats:
        """Return P(concept | text) for each row of words; a row of none is 0."""
        self._check_fitted()
        rows = as_side(Q, "Q", self._name, len(self.shares_))
        lengths = np.asarray(abs(rows).sum(axis=1)).reshape(-1, 1)
        return np.asarray(rows @ self.shares_ / np.where(lengths > 0, lengths, 1.0), np.float32)

    def embed(self, D: Any) -> Floats:
        """Return P(concept | picture) for each row."""
        self._check_fitted()
        rows = as_side(D, "X", self._name, self._W.shape[1])
        return softmax(np.asarray(rows @ self._W.T) + self._b).astype(np.float32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes a ranker that scores the same."""
        self._check_fitted()
        return {
            "concepts": self.concepts_, "shares": self.shares_, "W": self._W, "b": self._b,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes, with default parameters."""
        ranker = cls()
        ranker.concepts_, ranker.shares_ = arrays["concepts"], arrays["shares"]
        ranker._W, ranker._b = arrays["W"], arrays["b"]
        return ranker


class CaptionConcepts(Captions):
    """`ConceptMatching` between captions and pictures; `n_components` are its concepts."""

    _kind: ClassVar[type[Any]] = ConceptMatching

    def __init__(self, *, n_components: int = 150, strength: float = 0.1) -> None:
        self.n_components = n_components
        self.strength = strength

    def _fitted(
        self,
        texts: Any,
        X: Any,
        labels: Any,
        k: int,
        on_round: Callable[[TrainingRound], None] | None,
    ) -> ConceptMatching:
        # There may be more concepts than columns, if less well separated: only words bound them.
        return ConceptMatching(
            n_concepts=min(self.n_components, labels.shape[1]), strength=self.strength
        ).fit(X, labels)
