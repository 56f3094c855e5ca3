"""The blend of learned and untouched ranking, weighted by cross-validation on the judgements.

A learner has few judgements and may rank worse than the query alone; and some judgements are label
noise. So the judged pictures are held out, a fold at a time, and scored by a learner fitted without
them. By these scores suspected mislabels are found (`label_noise`), pictures that were judged not
to fit and score as if they did, which are not learned from; and the untouched ranking gets the
weight b with which pictures are ordered best, judged ones no worse than by itself:

    score(x) = (1 - b) z_learned(x) + b z_untouched(x),     0 <= b <= 1
    b = argmax  pairs(fits, does not) + pairs(fits, background) - c |b - b0|

`pairs` is the share of pairs in order. z are the scores of a ranking, standardised (`scale`) over
the pictures that are to be ranked, so neither the unit of either ranking nor a constant that is
added to it matters. Where these pictures are not given, it is over the background, unjudged
pictures drawn at random, together with the judged ones where the untouched ranking is scores, since
such a background mostly leaves out what these rank high; without a background, over the judged
pictures. A ranking that gives all these pictures the same score adds nothing to them.

b0 and c are .2 where judgements of both kinds stand; .3 and .02 where all others are suspected
mislabels, so that the background alone decides; 1 and .2 where nothing was judged not to fit: what
pictures that fit have in common may be common in the collection, and the ranking moves only as far
as it ranks them low. Without any judgement that fits nothing can be compared, and the ranking
stays.

The share of the untouched ranking that is reported is measured: the standard deviation, over the
pictures of the scale, of its term in the formula, divided by the sum of that of both terms. It is
b, unless a few pictures alone make up the spread of a ranking (see `scale`).

Judged pictures need not be ranked by a model that was fitted to them: `placed` puts pictures that
fit first, and those that do not last; suspected mislabels stay where the ranking has them.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sightline._typing import Bools, Doubles, Floats, Ints
from sightline.contracts import Estimator, FeedbackLearner
from sightline.errors import NotFittedError, UsageError
from sightline.feedback.held_out import HeldOutScores, score_held_out
from sightline.feedback.label_noise import mislabel_probabilities
from sightline.feedback.learner import finite_rows, finite_scores, judgements, weights, whole_number
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.feedback.scale import LARGEST, Scale

SHARES = np.linspace(0.0, 1.0, 11)
"""The weights of the untouched ranking that are tried."""

# b0 and c: with both kinds, with suspected mislabels for all others, and without others.
_BOTH, _ALL_DOUBTED, _NO_OTHERS = (0.2, 0.2), (0.3, 0.02), (1.0, 0.2)
# A judgement that is a mislabel with a higher probability than this is not learned from.
_DOUBTED = 0.35
_MOST_DOUBTED = 0.2
# Too few background pictures for a mean and a standard deviation.
_ENOUGH = 20
_REMEDY = "Start it with a query, or give the scores of the untouched ranking as 'untouched'."

Measured = tuple[Floats, Doubles]
"""Rows and untouched scores that spreads are measured on, not necessarily of the same pictures."""


class Blend(Estimator):
    """A feedback learner that does not rank worse than the untouched ranking.

    The untouched ranking is given by `start(query_weights)`; where it is no weights, such as the
    word scores of a kernel, every call takes its scores as `untouched`.

    Parameters
    ----------
    learner : FeedbackLearner, optional
        By default `shipped_learner()`. It is fitted from scratch each time, so that the order of
        judgements does not matter.
    n_folds : int, default=5
        Parts that are left out in turn; as many as judgements at most.
    detect_mislabels : bool, default=True
        Leave out answers that are probably mislabelled; there must be a background.

    Attributes
    ----------
    weight_ : float
        The weight b of the untouched ranking, from 0 to 1.
    share_ : float
        The share of the untouched ranking in the blended score, from 0 to 1, as the standard
        deviation of its term over the pictures that are ranked, divided by the sum of both terms'.
    centres_ : tuple of (float, float)
        Means of the learned and of the untouched term over these pictures, before they are centred.
        Both are 0 where one ranking is served alone, as it is.
    intercept_ : float
        What centres them, a constant that is added to every score: -sum(centres_).
    bounds_ : tuple of (float, float)
        How large the learned and the untouched term get on the pictures that are ranked, up or
        down; infinite where one ranking is served alone. An untouched term that is no weights is
        cut off there on other pictures too.
    before_, after_ : float or None
        Share of pairs of a relevant and another judged picture that are in order, by the untouched
        ranking and by the blend of it with what was learned without them; None where there is no
        such pair.
    stands_ : ndarray of int64
        Of each judgement, +1 or -1, and 0 where a -1 is taken for a mislabel.
    w_ : ndarray of float64
        The weights, where `linear`.

    Examples
    --------
    >>> rows = np.array([[2, 2], [2, 1], [3, -1], [3, -2]], dtype=np.float32)
    >>> blend = Blend().start([1.0, 0.0]).partial_fit(rows, [1, 1, -1, -1])
    >>> blend.before_, blend.after_, blend.weight_
    (0.0, 1.0, 0.1)
    """

    weight_: float
    share_: float
    centres_: tuple[float, float]
    bounds_: tuple[float, float]
    before_: float | None
    after_: float | None
    stands_: Ints
    query_: Doubles | None

    def __init__(
        self,
        *,
        learner: FeedbackLearner | None = None,
        n_folds: int = 5,
        detect_mislabels: bool = True,
    ) -> None:
        self.learner = learner
        self.n_folds = n_folds
        self.detect_mislabels = detect_mislabels

    @property
    def linear(self) -> bool:
        """Whether scores are the product with `w_`."""
        if not hasattr(self, "_learner"):
            return False
        return bool(self._learner.linear) and (self.query_ is not None or self.weight_ == 0.0)

    @property
    def ready(self) -> bool:
        """Whether there is anything to rank by."""
        return hasattr(self, "_learner") and (self.query_ is not None or self.weight_ < 1.0)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is anything to rank by."""
        return self.ready

    @property
    def w_(self) -> Doubles:
        """The weights, of a linear learner and of an untouched ranking that is weights."""
        if not self.linear or not self.ready:
            raise UsageError("This Blend has no weights: its learner or its query is not linear.")
        learned_part, untouched_part = self._parts
        w = np.zeros(1) if self.query_ is None else untouched_part * self.query_
        return np.asarray(w + learned_part * self._learner.w_ if learned_part else w)

    @property
    def intercept_(self) -> float:
        """The constant in every score."""
        return 0.0 - sum(self.centres_)

    @property
    def parts_(self) -> tuple[Doubles | None, float]:
        """Weights of the learner, None without a share, and the factor of the untouched ranking.

        `decision_function` is their sum and `intercept_`, row by row; with a linear learner a whole
        collection can be ranked by them in one pass over its rows.
        """
        learned_part, untouched_part = self._parts
        if not learned_part or not self._learner.linear:
            return None, untouched_part
        return np.asarray(learned_part * self._learner.w_), untouched_part

    def start(
        self,
        query_weights: Any = None,
        background: Any = None,
        untouched: Any = None,
        *,
        ranked: Any = None,
        ranked_untouched: Any = None,
    ) -> Self:
        """Reset, and begin with the untouched ranking; see `FeedbackLearner`.

        Parameters
        ----------
        query_weights, background : array-like, optional
            See `FeedbackLearner`.
        untouched : array-like, optional
            Scores of the background, where the untouched ranking is no weights.
        ranked : array-like, optional
            Rows of the pictures that are to be ranked, or of some drawn from them at random, over
            which spreads are measured. The background does not represent them where those that the
            query ranks high are left out of it. Judged pictures need not be among them.
        ranked_untouched : array-like, optional
            Scores of all pictures that are to be ranked, in any order, where the untouched ranking
            is no weights; not only of those in `ranked`.
        """
        whole_number("n_folds", self.n_folds, "Blend", 2)
        self.query_ = None if query_weights is None else weights(query_weights, "Blend")
        self._background = None if background is None else finite_rows(background, "Blend")
        behind = np.zeros((0, 0), np.float32) if self._background is None else self._background
        self._behind = self._untouched(behind, untouched) if len(behind) else None
        self._given = ranked is not None
        self._measured = self._to_measure(ranked, ranked_untouched)
        self._learner = self._begun()
        self.stands_ = np.zeros(0, dtype=np.int64)
        self._alone(1.0)
        return self

    def _to_measure(self, ranked: Any, untouched: Any) -> Measured | None:
        """Return what spreads are measured on; None where that has to be judged pictures."""
        if ranked is not None:
            rows = finite_rows(ranked, "Blend")
            if untouched is None:
                scores = self._untouched(rows, None)
            else:
                scores = finite_scores(untouched, "ranked_untouched", "Blend")
            return None if scores is None or not len(scores) or not len(rows) else (rows, scores)
        if self._background is None or not self._plenty or self._behind is None:
            return None
        return self._background, self._behind

    def _with_judged(self, rows: Floats, before: Doubles) -> Measured:
        """Return what spreads are measured on, once pictures are judged."""
        if self._measured is None:
            return rows, before
        if self._given or self.query_ is not None:
            return self._measured
        both = np.vstack([self._measured[0], rows]), np.append(self._measured[1], before)
        return np.ascontiguousarray(both[0]), both[1]

    def fit(self, X: Any, y: Any) -> Self:
        """Reset, and learn from judgements alone, without an untouched ranking."""
        return self.start().partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any, untouched: Any = None, sure: Any = None) -> Self:
        """Learn from all judgements so far, and choose the share of the untouched ranking.

        Parameters
        ----------
        X, y : array-like
            See `FeedbackLearner`.
        untouched : array-like, optional
            Scores of the judged pictures, where the untouched ranking is no weights.
        sure : array-like, optional
            For each judgement whether it is known to be no mislabel.
        """
        if not hasattr(self, "_learner"):
            self.start()
        rows, relevant = judgements(X, y, "Blend")
        self._learner = self._begun()
        self._alone(1.0)
        self.stands_ = np.zeros(len(rows), dtype=np.int64)
        if not len(rows):
            return self
        before = self._untouched(rows, untouched)
        never = self._own(rows) if sure is None else self._own(rows) | np.asarray(sure, dtype=bool)
        # Folds and draws go by position, which must not depend on the order of judging.
        order = np.array(sorted(range(len(rows)), key=lambda i: (rows[i].tobytes(), relevant[i])))
        rows, relevant = rows[order], relevant[order]
        before = None if before is None else before[order]
        stands = self._learn(rows, relevant, before, never[order])
        self.stands_[order] = stands
        return self

    def _learn(self, rows: Floats, relevant: Bools, before: Doubles | None, never: Bools) -> Ints:
        """Learn from judgements in canonical order; return +1, -1 or, for a mislabel, 0 of each."""
        stands = np.where(relevant, 1, -1).astype(np.int64)
        out = None
        if relevant.any() and (self._plenty or not relevant.all()):
            out = self._held_out(rows, relevant, before)
            if self.detect_mislabels and self._plenty:
                # Positives are never doubted: one may be the first of another kind that fits.
                doubted = mislabel_probabilities(out.doubted, relevant, never | relevant) > _DOUBTED
                # So many negatives are intended, even if the learner cannot explain them yet.
                stands[doubted & (doubted.mean() <= _MOST_DOUBTED)] = 0
        self._learner.partial_fit(rows[stands != 0], stands[stands != 0])
        if before is None and self._learner.ready:
            self._alone(0.0)
        elif before is not None and self._learner.ready and out is not None:
            self._choose(out, rows, before, stands)
        return stands

    def decision_function(self, X: Any, untouched: Any = None) -> Doubles:
        """Return the blended score of each row of X."""
        if not hasattr(self, "_learner"):
            raise NotFittedError.of("Blend", _REMEDY)
        rows = finite_rows(X, "Blend")
        before = self._untouched(rows, untouched)
        learned_part, untouched_part = self._parts
        if before is None and untouched_part:
            raise NotFittedError.of("Blend", _REMEDY)
        scores = np.zeros(len(rows))
        if before is not None:
            scores = untouched_part * before - self.centres_[1]
        if before is not None and self.query_ is None:
            scores = np.clip(scores, -self.bounds_[1], self.bounds_[1])
        if learned_part:
            scores = scores + learned_part * self._learner.decision_function(rows)
            scores = scores - self.centres_[0]
        return np.asarray(scores)

    @property
    def _plenty(self) -> bool:
        """Whether the background is large enough for a mean and a deviation."""
        return self._background is not None and len(self._background) >= _ENOUGH

    def _begun(self) -> Any:
        """Return a learner without judgements."""
        learner: Any = shipped_learner() if self.learner is None else self.learner
        return type(learner)(**learner.get_params()).start(self.query_, self._background)

    def _alone(self, weight: float) -> None:
        """Serve the learner, 0, or the untouched ranking, 1, alone.

        It is not scaled, since rounding could swap pictures with close scores.
        """
        self.weight_ = self.share_ = weight
        self.before_, self.after_ = None, None
        self._parts, self.centres_ = (1.0 - weight, weight), (0.0, 0.0)
        self.bounds_ = (np.inf, np.inf)

    def _both(self, weight: float, learned: Scale, untouched: Scale) -> None:
        """Give the untouched ranking a weight below 1; `_choose` selects it."""
        self.weight_ = weight
        untouched_spread = weight * untouched.spread
        total = (1.0 - weight) * learned.spread + untouched_spread
        self.share_ = untouched_spread / total if total > 0 else 1.0
        parts = (1.0 - weight) / learned.width, 0.0 if untouched.flat else weight / untouched.width
        self._parts = parts
        self.centres_ = parts[0] * learned.mean, parts[1] * untouched.mean
        self.bounds_ = (1.0 - weight) * LARGEST, weight * LARGEST

    def _untouched(self, rows: Floats, given: Any) -> Doubles | None:
        if given is None:
            return None if self.query_ is None else np.asarray(rows @ self.query_, np.float64)
        return finite_scores(given, "untouched", "Blend", len(rows))

    def _held_out(self, rows: Floats, relevant: Bools, before: Doubles | None) -> HeldOutScores:
        """Return scores of judged pictures by learners fitted without them."""
        background = ranked = rows[:0]
        if self._background is not None and self._plenty:
            background = self._background
        if self._measured is not None and before is not None:
            ranked, _ = self._with_judged(rows, before)
        return score_held_out(self._begun, rows, relevant, self.n_folds, background, ranked)

    def _own(self, rows: Floats) -> Bools:
        """Return which rows are that of the query itself."""
        if self.query_ is None:
            return np.zeros(len(rows), dtype=bool)
        return np.asarray((rows == self.query_.astype(np.float32)).all(axis=1))

    def _choose(self, out: HeldOutScores, rows: Floats, before: Doubles, stands: Ints) -> None:
        """Choose the weight that orders held-out judged pictures best."""
        measured, scores = self._with_judged(rows, before)
        learned_scale = Scale.of(self._learner.decision_function(measured))
        untouched = Scale.of(scores)
        # Weights rank without a bound; scores are served with one.
        z = untouched.bounded if self.query_ is None else untouched
        untouched_scores, behind = z(before), np.zeros(0)
        if self._behind is not None and len(out.background):
            behind = z(self._behind)
        fits, others = stands == 1, stands == -1
        # The query is its own best hit under any ranking.
        fits = fits & ~self._own(rows) if (fits & ~self._own(rows)).any() else fits
        without_others = _ALL_DOUBTED if (stands == 0).any() else _NO_OTHERS
        preferred, pull = _BOTH if others.any() else without_others
        value = -pull * np.abs(SHARES - preferred)
        ordered = np.zeros(len(SHARES))
        for i, share in enumerate(SHARES):
            judged = (1 - share) * out.judged + share * untouched_scores
            if others.any():
                compared = judged if share < 1 else before
                ordered[i] = in_order(compared[fits], compared[others])
            if len(behind):
                below = (1 - share) * out.background + share * behind
                value[i] += in_order(judged[fits], below)
        # The background must not cost a judged pair, and a flat ranking gets no weight.
        possible = (ordered >= ordered[-1]) & ~(learned_scale.flat & (SHARES < 1))
        best = int(np.argmax(np.where(possible, value + ordered, -np.inf)))
        if SHARES[best] < 1:
            self._both(float(SHARES[best]), learned_scale, untouched)
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
    out = np.array(scores, dtype=np.float64)
    if len(out):
        out[at] += (2.0 * float(np.ptp(out)) + 1.0) * np.asarray(stands)
    return out


def shipped_learner() -> PassiveAggressive:
    """Return the learner that sessions use.

    Chosen, with the constants above, on queries of Caltech-101 that `reproduce feedback` leaves
    out.
    """
    return PassiveAggressive(C=0.05, n_draws=400, averaged=True, n_background=1_000)
