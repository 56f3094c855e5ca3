"""Semantic matching: both sides are mapped to probabilities of classes; a baseline of LSCMR.

Rasiwasia et al., "A new approach to cross-modal multimedia retrieval", 2010. A classifier for each
side learns P(class | row) from labelled rows, and

    f(q, d) = sum over classes c of P(c | q) P(c | d)

which is the probability that both are of one class, were they independent given their rows. Only
classes are learned, not the order of lists. `posteriors` has the classifiers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline._typing import Floats
from sightline.errors import DataError
from sightline.rankers.low_rank import TwoSided, as_side
from sightline.rankers.posteriors import Model, Posteriors


class SemanticMatching(TwoSided):
    """Class probabilities on both sides.

    Parameters
    ----------
    model : {"logistic", "chi2-svm", "chi2-ridge"}, default="logistic"
        "logistic"; "chi2-svm" or "chi2-ridge" for rows that are not negative.
    q_strength, d_strength : float, default=1.0
        How little each side is regularised, greater than 0.
    q_factor, d_factor : float, default=1.0
        Each side's bandwidth as a share of the mean distance; for kernels alone.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, ascending; the dimensions of the shared space.
    q_held_out_, d_held_out_ : ndarray
        Probabilities of the rows learned from, each by a model that was not fitted to it.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.2, 0.8]])
    >>> ranker = SemanticMatching(model="logistic").fit(rows, [0, 0, 1, 1], rows, [0, 0, 1, 1])
    >>> ranker.score(rows, rows, np.eye(2)[[0, 0, 1, 1]][:, [0, 0, 1, 1]])
    1.0
    """

    _name: ClassVar[str] = "SemanticMatching"
    _saved = ("classes_",)

    def __init__(
        self,
        *,
        model: Model = "logistic",
        q_strength: float = 1.0,
        d_strength: float = 1.0,
        q_factor: float = 1.0,
        d_factor: float = 1.0,
    ) -> None:
        self.model = model
        self.q_strength = q_strength
        self.d_strength = d_strength
        self.q_factor = q_factor
        self.d_factor = d_factor

    def fit(self, Q: Any, q_classes: ArrayLike, D: Any, d_classes: ArrayLike) -> Self:
        """Learn from rows of both sides and their classes; they need not come in pairs."""
        labels = [np.asarray(c).ravel() for c in (q_classes, d_classes)]
        names = [np.unique(c) for c in labels]
        if not np.array_equal(names[0], names[1]) or len(names[0]) < 2:
            raise DataError(
                f"Both sides need rows of the same two or more classes. Got {names[0].tolist()} "
                f"and {names[1].tolist()}."
            )
        self.classes_ = names[0]
        numbers = [np.searchsorted(self.classes_, c) for c in labels]
        n = len(self.classes_)
        queries, documents = as_side(Q, "Q", self._name), as_side(D, "D", self._name)
        self._q = Posteriors(self.model, self.q_strength, self.q_factor)
        self._d = Posteriors(self.model, self.d_strength, self.d_factor)
        self._q.fit(queries, numbers[0], n)
        self._d.fit(documents, numbers[1], n)
        self.q_held_out_, self.d_held_out_ = self._q.held_out_, self._d.held_out_
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that queries had in `fit`."""
        return self._q.n_features

    @property
    def n_document_features_(self) -> int:
        """Number of columns that documents had in `fit`."""
        return self._d.n_features

    def embed_queries(self, Q: Any) -> Floats:
        """Return P(class | q) for each row of Q."""
        self._check_fitted()
        return self._q.predict(as_side(Q, "Q", self._name, self.n_features_in_)).astype(np.float32)

    def embed(self, D: Any) -> Floats:
        """Return P(class | d) for each row of D."""
        self._check_fitted()
        return self._d.predict(as_side(D, "D", self._name, self.n_document_features_)).astype(
            np.float32
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; classes are numbered by position."""
        self._check_fitted()
        sides = {"q": self._q.to_arrays(), "d": self._d.to_arrays()}
        return {f"{side}_{k}": v for side, arrays in sides.items() for k, v in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes, with default parameters."""
        ranker = cls()
        ranker._q, ranker._d = (
            Posteriors.from_arrays(
                {k.removeprefix(f"{side}_"): v for k, v in arrays.items() if k[:2] == f"{side}_"}
            )
            for side in "qd"
        )
        ranker.model = ranker._q.model
        ranker.classes_ = np.arange(len(ranker._q.to_arrays()["b"]))
        return ranker
