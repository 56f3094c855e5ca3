"""The blend: learnt and untouched ranking together, as far as the judgements themselves bear out.

A learner sees few judgements and may rank worse than the query alone; and some judgements are slips
of the hand. So the judged pictures are left out, a fold at a time, and scored by a learner that has
not seen them. By these scores pictures are found that were judged not to fit, and look as if they
did (`slips`), which are not learnt from; and the untouched ranking gets the share b with which
pictures are ordered best, judged ones no worse than by itself:

    score(x) = (1 - b) learnt(x) / s_learnt + b untouched(x) / s_untouched,     0 <= b <= 1
    b = argmax  pairs(fits, does not) + pairs(fits, background) - c |b - b0|

`pairs` is the share of pairs in order, and s are deviations of both scores over the background,
pictures drawn at random that nobody judged; without one, over the judged pictures. b0 and c are .2
where judgements of both kinds stand; .3 and .02 where all others were slips, so that the background
alone decides; 1 and .2 where nothing was judged not to fit: what pictures that fit have in common
may be common, and the ranking moves only as far as it has them low. Before that nothing can be held
against anything, and the ranking stays.

What was judged is known, and need not be ranked by what was learnt from it: `placed` puts pictures
that fit first, and those that do not last; slips stay where the ranking has them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

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
from sightline.feedback.slips import slips

SHARES = np.linspace(0.0, 1.0, 11)
"""The shares that are tried."""

# b0 and c: where both kinds stand, where the others were all slips, and where there were none.
_BOTH, _SLIPPED, _NO_OTHERS = (0.2, 0.2), (0.3, 0.02), (1.0, 0.2)
# A judgement that is likelier a slip than this is not learnt from.
_DOUBTED = 0.35
_MOST_SLIPS = 0.2
# Fewer background pictures than this tell neither a mean nor a deviation.
_ENOUGH = 20

Int = NDArray[np.int64]


class _LeftOut(NamedTuple):
    """Scores by learners that had not seen the pictures, with what the untouched ranking gives.

    `behind` are those of the background, the mean over all folds. All are in units of their
    deviation over the background, or over the judged pictures.
    """

    learnt: Doubles
    behind: Doubles
    untouched: Doubles
    untouched_behind: Doubles


class Blend(Estimator):
    """A feedback learner that does not rank worse than the ranking there was.

    The untouched ranking is given by `start(query_weights)`; where it is no weights, such as the
    word scores of a kernel, every call takes its scores as `untouched`.

    Parameters
    ----------
    learner : what learns, a `FeedbackLearner`; by default `shipped_learner()`. It is begun anew
        each time, so that the order of judgements does not count.
    n_folds : parts that are left out in turn; as many as judgements at most.
    doubts : look for slips; there must be a background.

    Attributes
    ----------
    weight_ : the share b of the untouched ranking, from 0 to 1.
    before_, after_ : share of pairs of a relevant and another judged picture that are in order, by
        the untouched ranking and by the blend of it with what was learnt without them; None where
        there is no such pair.
    stands_ : of each judgement, +1 or -1, and 0 where a -1 is taken for a slip.
    w_ : the weights, where `linear`.

    Examples
    --------
    >>> rows = np.array([[2, 2], [2, 1], [3, -1], [3, -2]], dtype=np.float32)
    >>> blend = Blend().start([1.0, 0.0]).learn(rows, [1, 1, -1, -1])
    >>> blend.before_, blend.after_, blend.weight_
    (0.0, 1.0, 0.1)
    """

    weight_: float
    before_: float | None
    after_: float | None
    stands_: Int
    query_: Doubles | None

    def __init__(
        self, learner: FeedbackLearner | None = None, n_folds: int = 5, doubts: bool = True
    ) -> None:
        self.learner = learner
        self.n_folds = n_folds
        self.doubts = doubts

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

    def start(
        self, query_weights: Any = None, background: Any = None, untouched: Any = None
    ) -> Self:
        """Forget everything, and begin with the untouched ranking; see `FeedbackLearner`.

        Parameters
        ----------
        query_weights, background : see `FeedbackLearner`.
        untouched : scores of the background, where the untouched ranking is no weights.
        """
        whole_number("n_folds", self.n_folds, "Blend", 2)
        self.query_ = None if query_weights is None else weights(query_weights, "Blend")
        self._background = None if background is None else finite_rows(background, "Blend")
        behind = np.zeros((0, 0), np.float32) if self._background is None else self._background
        self._behind = self._untouched(behind, untouched) if len(behind) else None
        self._learner = self._begun()
        self.stands_ = np.zeros(0, dtype=np.int64)
        self._share(1.0)
        return self

    def learn(self, X: Any, y: Any, untouched: Any = None, sure: Any = None) -> Self:
        """Learn from all judgements so far, and choose the share of the untouched ranking.

        Parameters
        ----------
        X, y : see `FeedbackLearner`.
        untouched : scores of the judged pictures, where the untouched ranking is no weights.
        sure : for each judgement whether it is known to be no slip.
        """
        if not hasattr(self, "_learner"):
            self.start()
        rows, relevant = judgements(X, y, "Blend")
        self._learner = self._begun()
        self._share(1.0)
        self.stands_ = np.zeros(len(rows), dtype=np.int64)
        if not len(rows):
            return self
        before = self._untouched(rows, untouched)
        never = self._own(rows) if sure is None else self._own(rows) | np.asarray(sure, dtype=bool)
        # Folds and draws go by place, which must not depend on who was judged first.
        order = np.array(sorted(range(len(rows)), key=lambda i: (rows[i].tobytes(), relevant[i])))
        rows, relevant = rows[order], relevant[order]
        before = None if before is None else before[order]
        stands = self._learn(rows, relevant, before, never[order])
        self.stands_[order] = stands
        return self

    def _learn(self, rows: Floats, relevant: Bools, before: Doubles | None, never: Bools) -> Int:
        """Learn from judgements in an order of their own; return where each of them stands."""
        stands = np.where(relevant, 1, -1).astype(np.int64)
        out = None
        if relevant.any() and (self._plenty or not relevant.all()):
            out = self._left_out(rows, relevant, before)
            if self.doubts and self._plenty:
                # What fits is never doubted: it may be the first of another kind that fits.
                doubted = slips(out.learnt, relevant, never | relevant) > _DOUBTED
                # Who says no so often means it; the learner does not see yet what for.
                stands[doubted & (doubted.mean() <= _MOST_SLIPS)] = 0
        self._learner.learn(rows[stands != 0], stands[stands != 0])
        if before is None and self._learner.ready:
            self._share(0.0)
        elif before is not None and self._learner.ready and out is not None:
            self._choose(out, rows, before, stands)
        return stands

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

    @property
    def _plenty(self) -> bool:
        """Whether the background tells a mean and a deviation."""
        return self._background is not None and len(self._background) >= _ENOUGH

    def _begun(self) -> Any:
        """Return a learner that has learnt nothing yet."""
        made: Any = shipped_learner() if self.learner is None else self.learner
        return type(made)(**made.get_params()).start(self.query_, self._background)

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

    def _left_out(self, rows: Floats, relevant: Bools, before: Doubles | None) -> _LeftOut:
        """Return scores of judged pictures by learners that have not seen them."""
        fold = _folds(relevant, self.n_folds)
        n = int(fold.max()) + 1
        found = np.zeros(len(rows))
        behind = np.zeros(0 if self._background is None else len(self._background))
        for number in range(n):
            out = fold == number
            learner = self._begun().learn(rows[~out], np.where(relevant[~out], 1, -1))
            if not learner.ready:
                continue
            found[out] = learner.decision_function(rows[out])
            if self._plenty:
                theirs = learner.decision_function(self._background)
                found[out] = _in_units(found[out], theirs)
                behind = behind + _in_units(theirs, theirs)
        if not self._plenty:
            found = found / _spread(found)
        none = np.zeros(0)
        if before is None:
            return _LeftOut(found, none, none, none)
        if self._behind is None or not self._plenty:
            return _LeftOut(found, none, before / _spread(before), none)
        own = _in_units(before, self._behind), _in_units(self._behind, self._behind)
        return _LeftOut(found, _in_units(behind, behind), *own)

    def _own(self, rows: Floats) -> Bools:
        """Say which rows are that of the query itself."""
        if self.query_ is None:
            return np.zeros(len(rows), dtype=bool)
        return np.asarray((rows == self.query_.astype(np.float32)).all(axis=1))

    def _choose(self, out: _LeftOut, rows: Floats, before: Doubles, stands: Int) -> None:
        """Take the share that orders pictures best while the judged ones are left out."""
        on, untouched = (rows, before) if self._behind is None else (self._background, self._behind)
        if not self._plenty:
            on, untouched = rows, before
        scales = _spread(self._learner.decision_function(on)), _spread(untouched)
        fits, others = stands == 1, stands == -1
        # The query is its own best hit, whatever ranks.
        fits = fits & ~self._own(rows) if (fits & ~self._own(rows)).any() else fits
        slipped = _SLIPPED if (stands == 0).any() else _NO_OTHERS
        home, pull = _BOTH if others.any() else slipped
        worth = -pull * np.abs(SHARES - home)
        ordered = np.zeros(len(SHARES))
        for i, share in enumerate(SHARES):
            judged = (1 - share) * out.learnt + share * out.untouched
            behind = (1 - share) * out.behind + share * out.untouched_behind
            if others.any():
                ordered[i] = in_order(judged[fits], judged[others])
            if len(behind):
                worth[i] += in_order(judged[fits], behind)
        # No judged pair is given away for the background's sake.
        worth = np.where(ordered >= ordered[-1], worth + ordered, -np.inf)
        best = int(np.argmax(worth))
        self._share(float(SHARES[best]), scales)
        if others.any():
            self.before_, self.after_ = float(ordered[-1]), float(ordered[best])


def in_order(scores: Doubles, others: Doubles) -> float:
    """Return the share of pairs of a score and another one in order; a tie counts half.

    >>> in_order(np.array([3.0, 1.0]), np.array([2.0]))
    0.5
    """
    below = np.sort(others)
    first, last = (np.searchsorted(below, scores, side) for side in ("left", "right"))
    return float((first + last).mean() / (2 * len(below)))


def placed(scores: Doubles, at: Any, stands: Any) -> Doubles:
    """Return scores with judged pictures, by their places, before or after all others.

    >>> placed(np.array([3.0, 1.0, 2.0, 5.0]), [1, 3, 2], [1, -1, 0]).argsort()[::-1].tolist()
    [1, 0, 2, 3]
    """
    found = np.array(scores, dtype=np.float64)
    if len(found):
        found[at] += (2.0 * float(np.ptp(found)) + 1.0) * np.asarray(stands)
    return found


def _folds(relevant: Bools, n: int) -> Int:
    """Return the fold of each picture, so that both kinds are spread over all folds."""
    order = np.argsort(~relevant, kind="stable")
    fold = np.empty(len(relevant), dtype=np.int64)
    fold[order] = np.arange(len(order)) % min(n, len(order))
    return fold


def _spread(scores: Doubles) -> float:
    found = float(scores.std())
    return found if found > 0 else 1.0


def _in_units(scores: Doubles, of: Doubles) -> Doubles:
    """Return scores as deviations from the mean of others."""
    return np.asarray((scores - of.mean()) / _spread(of))


def shipped_learner() -> PassiveAggressive:
    """Return the learner that sessions use.

    Chosen with everything above on queries of Caltech-101 that `reproduce feedback` has not.
    """
    return PassiveAggressive(C=0.05, n_draws=400, averaged=True, n_background=1_000)
