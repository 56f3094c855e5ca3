"""The blend: learnt and untouched ranking together, as far as the judgements themselves bear out.

A learner sees few judgements and may rank worse than the query alone. So the judged pictures are
left out, a fold at a time, and scored by a learner that has not seen them; that order and the
untouched one are held against the judgements, and the share b of the untouched ranking is the one
with which they are ordered best:

    score(x) = (1 - b) learnt(x) / s_learnt + b untouched(x) / s_untouched,     0 <= b <= 1

b is 1 where learning does not help at all and 0 where the untouched ranking adds nothing. s are the
deviations of both scores over the judged pictures.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Estimator, FeedbackLearner
from sightline.errors import DataError, UsageError
from sightline.feedback.learner import (
    Bools,
    Doubles,
    Floats,
    finite_rows,
    judgements,
    weights,
    whole_number,
)
from sightline.feedback.passive_aggressive import PassiveAggressive

SHARES = np.linspace(0.0, 1.0, 11)


class Blend(Estimator):
    """A feedback learner that does not rank worse than the ranking there was.

    The untouched ranking is given by `start(query_weights)`; where it is no weights, such as the
    word scores of a kernel, `learn` and `decision_function` take its scores as `untouched`.

    Parameters
    ----------
    learner : what learns, a `FeedbackLearner`; by default `PassiveAggressive()`.
    n_folds : parts that are left out in turn; as many as judgements at most.

    Attributes
    ----------
    weight_ : the share b of the untouched ranking, from 0 to 1.
    before_, after_ : share of pairs of a relevant and another judged picture that are in order, by
        the untouched ranking and by the blend of it with what was learnt without them; None where
        there is no such pair.
    w_ : the weights, where `linear`.

    Examples
    --------
    >>> rows = np.array([[2, 2], [2, 1], [3, -1], [3, -2]], dtype=np.float32)
    >>> blend = Blend().start([1.0, 0.0]).learn(rows, [1, 1, -1, -1])
    >>> blend.before_, blend.after_, blend.weight_
    (0.0, 1.0, 0.0)
    """

    weight_: float
    before_: float | None
    after_: float | None
    query_: Doubles | None

    def __init__(self, learner: FeedbackLearner | None = None, n_folds: int = 5) -> None:
        self.learner = learner
        self.n_folds = n_folds

    @property
    def linear(self) -> bool:
        """Whether `w_` is all there is to it."""
        return self.query_ is not None and self._learner.linear

    @property
    def ready(self) -> bool:
        """Whether there is anything to rank by."""
        return self.query_ is not None or self._learner.ready

    @property
    def w_(self) -> Doubles:
        """The weights of a linear learner and of a query that is weights."""
        if not self.linear or self.query_ is None:
            raise UsageError("This Blend has no weights: its learner or its query is not linear.")
        untouched = self.weight_ / self._scale[1] * self.query_
        if self.weight_ == 1.0 or not self._learner.ready:
            return np.asarray(untouched if self.weight_ else self.query_.copy())
        learnt: Any = self._learner
        return np.asarray((1.0 - self.weight_) / self._scale[0] * learnt.w_ + untouched)

    @property
    def parts_(self) -> tuple[Doubles | None, float]:
        """Weights of what was learnt, if it counts, and the factor of the untouched score.

        `decision_function` is their sum, row by row; with a linear learner a whole collection can
        be ranked by them without looking at its rows twice.
        """
        if self.weight_ == 1.0 or not self._learner.linear:
            return None, 1.0
        learnt: Any = self._learner
        weights = (1.0 - self.weight_) / self._scale[0] * learnt.w_
        return np.asarray(weights), self.weight_ / self._scale[1]

    def start(self, query_weights: Any = None) -> Self:
        """Forget everything, and begin with the untouched ranking."""
        whole_number("n_folds", self.n_folds, "Blend", 2)
        self.query_ = None if query_weights is None else weights(query_weights, "Blend")
        self._learner = _fresh(self.learner).start(self.query_)
        self._forget()
        return self

    def learn(self, X: Any, y: Any, untouched: Any = None) -> Self:
        """Learn from all judgements so far, and choose the share of the untouched ranking."""
        if not hasattr(self, "_learner"):
            self.start()
        rows, relevant = judgements(X, y, "Blend")
        self._learner.learn(X, y)
        self._forget()
        if relevant.all() or not relevant.any() or not self._learner.ready:
            return self
        before = self._untouched(rows, untouched)
        learnt = self._learner.decision_function(rows)
        left_out = self._left_out(rows, relevant)
        self._scale = _spread(learnt), _spread(before)
        self._choose(left_out, before, relevant)
        return self

    def decision_function(self, X: Any, untouched: Any = None) -> Doubles:
        """Return the blended score of each row of X."""
        rows = finite_rows(X, "Blend")
        if self.weight_ == 1.0:
            return self._untouched(rows, untouched)
        learnt = (1.0 - self.weight_) / self._scale[0] * self._learner.decision_function(rows)
        if self.weight_ == 0.0:
            return np.asarray(learnt)
        before = self._untouched(rows, untouched)
        return np.asarray(learnt + self.weight_ / self._scale[1] * before)

    def _forget(self) -> None:
        self.weight_, self.before_, self.after_ = 1.0, None, None
        self._scale = 1.0, 1.0

    def _untouched(self, rows: Floats, given: Any) -> Doubles:
        if given is None and self.query_ is not None:
            return np.asarray(rows @ self.query_, dtype=np.float64)
        if given is None:
            raise UsageError("Blend was started without a query. Give the scores as 'untouched'.")
        scores = np.asarray(given, dtype=np.float64)
        if scores.shape != (len(rows),) or not np.isfinite(scores).all():
            raise DataError(
                f"'untouched' must be {len(rows)} finite scores, one a row. Got {scores.shape}."
            )
        return scores

    def _left_out(self, rows: Floats, relevant: Bools) -> Doubles:
        """Return scores of judged pictures by learners that have not seen them."""
        fold = _folds(relevant, self.n_folds)
        found = np.zeros(len(rows))
        for number in range(int(fold.max()) + 1):
            out = fold == number
            learner = _fresh(self._learner).start(self.query_)
            learner.learn(rows[~out], np.where(relevant[~out], 1, -1))
            if learner.ready:
                found[out] = learner.decision_function(rows[out])
        return found

    def _choose(self, learnt: Doubles, before: Doubles, relevant: Bools) -> None:
        a, b = learnt / self._scale[0], before / self._scale[1]
        ordered = [in_order((1 - s) * a + s * b, relevant) for s in SHARES]
        self.before_ = ordered[-1]
        best = int(np.argmax(ordered))
        self.weight_, self.after_ = float(SHARES[best]), ordered[best]


def in_order(scores: Doubles, relevant: Bools) -> float:
    """Return the share of pairs of a relevant and another picture in order; a tie counts half.

    >>> in_order(np.array([3.0, 1.0, 2.0]), np.array([True, True, False]))
    0.5
    """
    difference = scores[relevant][:, None] - scores[~relevant][None, :]
    return float((np.sign(difference).mean() + 1) / 2)


def _folds(relevant: Bools, n: int) -> NDArray[np.int64]:
    """Return the fold of each picture, so that both kinds are spread over all folds."""
    order = np.argsort(~relevant, kind="stable")
    fold = np.empty(len(relevant), dtype=np.int64)
    fold[order] = np.arange(len(order)) % min(n, len(order))
    return fold


def _spread(scores: Doubles) -> float:
    found = float(scores.std())
    return found if found > 0 else 1.0


def _fresh(learner: FeedbackLearner | None) -> Any:
    """Return an unlearnt copy of a learner."""
    made: Any = PassiveAggressive() if learner is None else learner
    return type(made)(**made.get_params())
