"""The base of feedback learners, and the checks of judgements and rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from sightline._typing import Bools, Doubles, Floats
from sightline.contracts import Estimator
from sightline.errors import DataError, NotFittedError, ParameterError
from sightline.validation import dense_table

_REMEDY = "Start it with a query, or let it learn from relevant and other pictures."


class Learner(Estimator, ABC):
    """A learner with a query, `query_`, and rows of one length.

    Attributes
    ----------
    query_ : ndarray of float64 or None
        The weights it was started with, float64; None without a query.
    background_ : ndarray of float32 or None
        Rows of unjudged pictures; None without any.
    n_rounds_ : int
        Number of calls of `partial_fit`.
    """

    query_: Doubles | None
    background_: Floats | None
    n_rounds_: int

    @property
    def linear(self) -> bool:
        """Whether scores are the product with `w_`."""
        return False

    @property
    @abstractmethod
    def ready(self) -> bool:
        """Whether there is anything to rank by."""

    def start(self, query_weights: Any = None, background: Any = None) -> Self:
        """Reset, and begin with the query, or without one.

        Parameters
        ----------
        query_weights : array-like, optional
            A picture's own row, or a text ranker's weights.
        background : array-like, optional
            Rows of unjudged pictures drawn at random from the collection.
        """
        self._check()
        self.query_ = None if query_weights is None else weights(query_weights, self._name)
        self.background_ = None if background is None else finite_rows(background, self._name)
        self.n_rounds_ = 0
        self._begin()
        return self

    def fit(self, X: Any, y: Any) -> Self:
        """Reset, and learn from judgements alone, without a query."""
        return self.start().partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from all judgements of the session so far."""
        self._check()
        if not hasattr(self, "n_rounds_"):
            self.start()
        rows, relevant = judgements(X, y, self._name)
        if len(rows):
            self._check_length(rows)
        self._learn(rows, relevant)
        self.n_rounds_ += 1
        return self

    def decision_function(self, X: Any) -> Doubles:
        """Return a score for each row of X."""
        self._check_ready()
        rows = finite_rows(X, self._name)
        self._check_length(rows)
        return self._scores(rows)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @abstractmethod
    def _check(self) -> None:
        """Raise ParameterError for parameters out of their range."""

    @abstractmethod
    def _begin(self) -> None:
        """Reset the learned state, once `query_` is set."""

    @abstractmethod
    def _learn(self, rows: Floats, relevant: Bools) -> None:
        """Learn from judged rows; there may be none, or none of one kind."""

    @abstractmethod
    def _scores(self, rows: Floats) -> Doubles:
        """Return scores of checked rows."""

    def _length(self) -> int | None:
        """Return the length of rows, or None if it is not known yet."""
        return None if self.query_ is None else len(self.query_)

    @property
    def n_features_in_(self) -> int:
        """Number of columns that rows had so far."""
        length = self._length() if hasattr(self, "n_rounds_") else None
        if length is None:
            raise NotFittedError.of(self._name, _REMEDY)
        return length

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is anything to rank by."""
        return self.ready

    def _check_ready(self) -> None:
        if not self.ready:
            raise NotFittedError.of(self._name, _REMEDY)

    def _check_length(self, rows: Floats) -> None:
        wanted = self._length()
        if wanted is not None and rows.shape[1] != wanted:
            raise DataError(
                f"Rows given to {self._name} must have {wanted} numbers, as before. "
                f"Got {rows.shape[1]}."
            )


class LinearLearner(Learner):
    """A learner that is weights `w_`, float64; None before it has any."""

    w_: Doubles | None

    @property
    def linear(self) -> bool:
        """Always true."""
        return True

    @property
    def ready(self) -> bool:
        """Whether some weight is not 0."""
        w = getattr(self, "w_", None)
        return w is not None and bool(w.any())

    def _begin(self) -> None:
        self.w_ = None if self.query_ is None else self.query_.copy()

    def _scores(self, rows: Floats) -> Doubles:
        return np.asarray(rows @ np.asarray(self.w_), dtype=np.float64)

    def _length(self) -> int | None:
        return None if self.w_ is None else len(self.w_)


def finite_rows(X: Any, owner: str) -> Floats:
    """Return rows as (n, d) of float32; errors name the first row that is not finite."""
    rows: Floats = dense_table(X, np.float32)
    wrong = ~np.isfinite(rows).all(axis=1)
    if wrong.any():
        at = int(wrong.argmax())
        column = int((~np.isfinite(rows[at])).argmax())
        raise DataError(
            f"Row {at} given to {owner} holds {rows[at, column]} at {column}, so that picture has "
            "no place in a ranking. Leave it out or extract its features again."
        )
    return rows


def finite_scores(values: Any, name: str, owner: str, n: int | None = None) -> Doubles:
    """Return scores, n of them where that is given; they must be finite."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not np.isfinite(scores).all() or n not in (None, len(scores)):
        count = "" if n is None else f"{n} "
        raise DataError(
            f"{name!r} of {owner} must be {count}finite scores, one a picture. "
            f"Got shape {scores.shape}."
        )
    return scores


def judgements(X: Any, y: Any, owner: str) -> tuple[Floats, Bools]:
    """Return judged rows, and which of them are relevant."""
    signs = np.asarray(y)
    rows = finite_rows(X if len(signs) or np.ndim(X) == 2 else np.zeros((0, 0)), owner)
    if signs.ndim != 1 or len(signs) != len(rows):
        raise DataError(
            f"There must be one judgement for each of {len(rows)} rows. Got shape {signs.shape}."
        )
    wrong = (signs != 1) & (signs != -1)
    if wrong.any():
        raise DataError(
            f"A judgement is +1 (relevant) or -1 (not). Got {signs[wrong][0]!r} for row "
            f"{int(wrong.argmax())}."
        )
    return rows, signs == 1


def weights(values: Any, owner: str) -> Doubles:
    """Return weights of a query, finite and in one row."""
    w = np.array(values, dtype=np.float64)
    if w.ndim != 1 or not w.size or not np.isfinite(w).all():
        raise DataError(
            f"The query given to {owner} must be finite numbers in a row. Got {values}."
        )
    return w


def whole_number(name: str, value: Any, owner: str, least: int = 1) -> int:
    """Return a parameter that must be a whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError.of(name, owner, f"a whole number of at least {least}", value)
    return int(value)


def number(name: str, value: Any, owner: str, least: float, most: float = np.inf) -> float:
    """Return a parameter that must be a number from `least` to `most`."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (is_number and least <= value <= most and np.isfinite(value)):
        must_be = f"at least {least:g}" if np.isinf(most) else f"from {least:g} to {most:g}"
        raise ParameterError.of(name, owner, must_be, value)
    return float(value)


def positive(name: str, value: Any, owner: str) -> float:
    """Return a parameter that is greater than 0 and finite."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not (is_number and 0 < value < np.inf):
        raise ParameterError.of(name, owner, "greater than 0", value)
    return float(value)
