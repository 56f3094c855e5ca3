"""Combiners that are weights: the score of two pictures is w.phi(q, p)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats
from sightline.combiners.examples import JudgedLists
from sightline.contracts import PersistentEstimator
from sightline.errors import DataError, ParameterError


class Combiner(PersistentEstimator):
    """The base of all combiners: scores of phi, and the mean AvgP of lists."""

    @abstractmethod
    def decision_function(self, phi: Any) -> Floats:
        """Return scores of shape (…,) for phi of shape (…, components)."""

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse input is not taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def score(self, X: Any, y: Any, qid: Any) -> float:
        """Return the mean AvgP of lists: rows phi(q, p), their relevance and their query."""
        lists = JudgedLists.of(X, y, qid)
        return lists.mean_avgp(self.decision_function(lists.rows))

    def _rows(self, phi: Any, n_components: int) -> Floats:
        rows = np.asarray(phi, dtype=np.float32)
        if not rows.ndim or rows.shape[-1] != n_components:
            raise DataError(
                f"phi has {rows.shape[-1] if rows.ndim else 0} features, but "
                f"{type(self).__name__} is expecting {n_components} features as input, along its "
                f"last axis. Got shape {rows.shape}."
            )
        return rows

    def _checked(self, scores: Any) -> Floats:
        checked = np.asarray(scores, dtype=np.float32)
        if np.isnan(checked).any():
            raise DataError("phi holds numbers that are not finite, so pictures cannot be ranked.")
        return checked


class LinearCombiner(Combiner):
    """A combiner that is weights `w_`, float64, one for each component."""

    w_: Doubles

    @property
    def n_features_in_(self) -> int:
        """Number of components that phi had in `fit`."""
        return len(self.w_)

    def decision_function(self, phi: Any) -> Floats:
        """Return w.phi(q, p), of shape (…,) for phi of shape (…, components)."""
        self._check_fitted()
        rows = self._rows(phi, len(self.w_))
        with np.errstate(invalid="ignore", over="ignore"):
            return self._checked(rows @ self.w_.astype(np.float32))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes a combiner that scores the same."""
        self._check_fitted()
        return {"w": self.w_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted combiner, with default parameters."""
        combiner = cls()
        combiner.w_ = arrays["w"]
        return combiner


def whole_number(name: str, value: Any, owner: str, least: int = 1) -> int:
    """Return a parameter that must be a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError.of(name, owner, f"a whole number of at least {least}", value)
    return int(value)


def positive(name: str, value: Any, owner: str) -> float:
    """Return a parameter that is greater than 0 and finite."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (number and 0 < value < np.inf):
        raise ParameterError.of(name, owner, "greater than 0", value)
    return float(value)
