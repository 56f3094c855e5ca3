"""The blend: learnt and untouched ranking together, as far as the judgements themselves bear out.

A learner sees few judgements and may rank worse than the query alone. So the judged pictures are
left out, a fold at a time, and scored by a learner that has not seen them; that order and the
untouched one are held against the judgements, and the share b of the untouched ranking is the one
with which they are ordered best:

    score(x) = (1 - b) learnt(x) / s_learnt + b untouched(x) / s_untouched,     0 <= b <= 1

b is 1 where learning does not help at all and 0 where the untouched ranking adds nothing; of shares
that order them equally well the smallest is taken, since what was judged is known. Before there are
relevant and other pictures, nothing can be held against anything, and the ranking stays untouched.
s are the deviations of both scores over the judged pictures.
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
"""The shares that are tried."""


class Blend(Estimator):
    """A feedback learner that does not rank worse than the ranking there was.

    The untouched ranking is given by `start(query_weights)`; where it is no weights, such as the
    word scores of a kernel, `learn` and `decision_function` take its scores as `untouched`.

    Parameters
    ----------
    learner : what learns, a `FeedbackLearner`; by default `shipped_learner()`.
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
        if not hasattr(self, "_learner"):
            return False
        return bool(self._learner.linear) and (self.query_ is not None or self.weight_ == 0.0)

    @property
    def ready(self) -> bool:
        """Whether there is anything to rank by."""
        return hasattr(self, "_learner") and (self.query_ is not None or self.weight_ < 1.0)

    @property
    def w_(self) -> Doubles:
        """The weights, of a linear learner and of an untouched ranking that is weights."""
        if not self.linear or not self.ready:
            raise UsageError("This Blend has no weights: its learner or its query is not linear.")
        learnt, untouched = self._parts
        found = np.zeros(1) if self.query_ is None else untouched * self.query_
        return np.asarray(found + learnt * self._learner.w_ if learnt else found)

    @property
    def parts_(self) -> tuple[Doubles | None, float]:
        """Weights of what was learnt, None if it does not count, and the factor of the untouched.

        `decision_function` is their sum, row by row; with a linear learner a whole collection can
        be ranked by them without looking at its rows twice.
        """
        learnt, untouched = self._parts
        if not learnt or not self._learner.linear:
            return None, untouched
        return np.asarray(learnt * self._learner.w_), untouched

    def start(self, query_weights: Any = None, background: Any = None) -> Self:
        """Forget everything, and begin with the untouched ranking; see `FeedbackLearner`."""
        whole_number("n_folds", self.n_folds, "Blend", 2)
        self.query_ = None if query_weights is None else weights(query_weights, "Blend")
        self._background = background
        self._learner = _fresh(self.learner).start(self.query_, background)
        self._share(1.0)
        return self

    def learn(self, X: Any, y: Any, untouched: Any = None) -> Self:
        """Learn from all judgements so far, and choose the share of the untouched ranking.

        Parameters
        ----------
        X, y : see `FeedbackLearner`.
        untouched : scores of the judged pictures, where the untouched ranking is no weights.
        """
        if not hasattr(self, "_learner"):
            self.start()
        rows, relevant = judgements(X, y, "Blend")
        self._learner.learn(rows, y)
        self._share(1.0)
        before = self._untouched(rows, untouched)
        if before is None and self._learner.ready:
            self._share(0.0)
        elif before is not None and self._learner.ready and 0 < relevant.sum() < len(relevant):
            self._choose(rows, before, relevant)
        return self

    def decision_function(self, X: Any, untouched: Any = None) -> Doubles:
        """Return the blended score of each row of X."""
        rows = finite_rows(X, "Blend")
        before = self._untouched(rows, untouched)
        learnt_part, untouched_part = self._parts
        if before is None and untouched_part:
            raise UsageError(
                "This Blend has nothing to rank by. Start it with a query, or give the scores of "
                "the untouched ranking as 'untouched'."
            )
        found = np.zeros(len(rows)) if before is None else untouched_part * before
        if learnt_part:
            found = found + learnt_part * self._learner.decision_function(rows)
        return np.asarray(found)

    def _share(self, weight: float, scales: tuple[float, float] = (1.0, 1.0)) -> None:
        """Take a share of the untouched ranking; `_choose` says what bears it out."""
        self.weight_, self.before_, self.after_ = weight, None, None
        # Alone it is not scaled: rounding would order pictures anew that lie close together.
        self._parts = ((1.0 - weight) / scales[0], weight / scales[1]) if weight < 1 else (0.0, 1.0)

    def _untouched(self, rows: Floats, given: Any) -> Doubles | None:
        if given is None:
            return None if self.query_ is None else np.asarray(rows @ self.query_, np.float64)
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
            learner = _fresh(self._learner).start(self.query_, self._background)
            learner.learn(rows[~out], np.where(relevant[~out], 1, -1))
            if learner.ready:
                found[out] = learner.decision_function(rows[out])
        return found

    def _choose(self, rows: Floats, before: Doubles, relevant: Bools) -> None:
        """Take the share that orders the judged pictures best while they are left out."""
        scales = _spread(self._learner.decision_function(rows)), _spread(before)
        a, b = self._left_out(rows, relevant) / scales[0], before / scales[1]
        ordered = [in_order((1 - share) * a + share * b, relevant) for share in SHARES]
        best = int(np.argmax(ordered))
        self._share(float(SHARES[best]), scales)
        self.before_, self.after_ = ordered[-1], ordered[best]


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


def shipped_learner() -> PassiveAggressive:
    """Return the learner that sessions use, chosen on Caltech-101.

    The queries it was chosen on were not all kept apart from those of `reproduce feedback`.
    """
    return PassiveAggressive(averaged=True, n_background=100)


def _fresh(learner: FeedbackLearner | None) -> Any:
    """Return an unlearnt copy of a learner."""
    made: Any = shipped_learner() if learner is None else learner
    return type(made)(**made.get_params())
