"""Linear passive-aggressive feedback: a direction in feature space, learned from judged pairs.

Piras, Giacinto and Paredes, "Passive-aggressive online learning for relevance feedback in content
based image retrieval", ICPRAM 2013. Of all judgements so far a relevant picture r and another one n
are drawn at random, 100 times a round, and each pair moves the weights by one step of `pa_step`:

    score(x) = w.x                                                                       (eq. 1)
    min_w 1/2 ||w - w_t||^2 + C l(w),     l(w) = max(0, 1 - w.(x_r - x_n))               (eq. 4, 5)
    w <- w + min(C, l(w_t) / ||x_r - x_n||^2) (x_r - x_n)                                (eq. 6, 7)

A round continues from the weights of the one before.

Departures: the paper names the new weights w_t and takes the loss at the old ones; above is the
problem that its solution solves. It begins with w = 0, `start(None)`; beginning with the query
itself, its row or the weights of its words, ranks better as long as there are few judgements. Where
there is no relevant or no other picture, the weights stay.

Beyond the paper: the mean of all weights may be served instead of the last ones, and unjudged
pictures may be drawn as others (`n_background`). The judged ones are all near the query and
represent the rest of the collection badly. Since some of the rest may be relevant, those that the
query itself ranks best are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Floats, Ints
from sightline.feedback.learner import LinearLearner, number, whole_number
from sightline.solvers.pa_step import N_OUTCOMES, check_aggressiveness


class PassiveAggressive(LinearLearner):
    """Weights that rank relevant pictures before the others.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness, greater than 0: no step is longer than this.
    n_draws : int, default=100
        Pairs of judged pictures drawn in each round.
    random_state : int, default=0
        Seed of the draws; rounds draw differently.
    averaged : bool, default=False
        Serve the mean of the weights after each draw, of all rounds.
    n_background : int, default=0
        Pairs of a relevant and a background picture drawn besides, in each round.
    beside : float, default=0.2
        The share of the background that the query ranks best and that is never drawn.

    Attributes
    ----------
    w_ : ndarray
        The weights, float64; None before it has any.
    query_, background_ : ndarray or None
        As given to `start`, or None.
    n_rounds_ : int
        Number of calls of `partial_fit`.
    counts_ : ndarray of int64
        How many draws were passive, updates, of equal pictures, and rejected.

    Examples
    --------
    >>> learner = PassiveAggressive().start([1.0, 0.0])
    >>> learner.partial_fit([[1, 1], [1, 0]], [1, -1]).w_.tolist()
    [1.0, 1.0]
    >>> learner.decision_function([[0, 2], [1, 0]]).tolist()
    [2.0, 1.0]
    """

    counts_: Ints

    def __init__(
        self,
        *,
        C: float = 1.0,
        n_draws: int = 100,
        random_state: int = 0,
        averaged: bool = False,
        n_background: int = 0,
        beside: float = 0.2,
    ) -> None:
        self.C = C
        self.n_draws = n_draws
        self.random_state = random_state
        self.averaged = averaged
        self.n_background = n_background
        self.beside = beside

    def _check(self) -> None:
        check_aggressiveness(self.C, self._name)
        whole_number("n_draws", self.n_draws, self._name)
        whole_number("n_background", self.n_background, self._name, 0)
        number("beside", self.beside, self._name, 0.0, 1.0)

    def _begin(self) -> None:
        super()._begin()
        self.counts_ = np.zeros(N_OUTCOMES, dtype=np.int64)
        self._now: Doubles | None = None
        self._far = np.zeros(0, dtype=np.int64)
        if self.background_ is not None and self.n_background:
            self._check_length(self.background_)
            self._far = far_from(self.background_, self.query_, self.beside)

    def _learn(self, rows: Floats, relevant: Bools) -> None:
        random = np.random.default_rng([self.random_state, self.n_rounds_])
        plus, minus = self._draw(relevant, random)
        if not len(plus):
            return
        from sightline.feedback import _passive_aggressive_fast

        if self._now is None:
            self._now = np.zeros(rows.shape[1]) if self.w_ is None else self.w_.copy()
            self._late = np.zeros(rows.shape[1])
        more = rows[:0] if self.background_ is None else self.background_
        processed = int(self.counts_.sum())
        _passive_aggressive_fast.learn_pairs(
            self._now, self._late, processed, rows, more, plus, minus, float(self.C), self.counts_
        )
        mean = self._late / self.counts_.sum() if self.averaged else 0.0
        self.w_ = self._now - mean

    def _draw(self, relevant: Bools, random: np.random.Generator) -> tuple[Ints, Ints]:
        """Return places of relevant and of other pictures; background ones come after all judged.

        Both kinds of pair are shuffled, so that neither comes last.
        """
        fits, others = np.flatnonzero(relevant), np.flatnonzero(~relevant)
        n_judged = self.n_draws if len(fits) and len(others) else 0
        n_more = self.n_background if len(fits) and len(self._far) else 0
        plus = fits[random.integers(max(len(fits), 1), size=n_judged + n_more)]
        judged = others[random.integers(max(len(others), 1), size=n_judged)]
        if not n_more:
            return plus, judged
        more = len(relevant) + self._far[random.integers(len(self._far), size=n_more)]
        return plus, random.permutation(np.concatenate([judged, more]))


def far_from(background: Floats, query: Any, beside: float) -> Ints:
    """Return places of background rows, ascending, without the share that a query ranks best.

    >>> far_from(np.array([[3.0], [1.0], [2.0], [0.0]], np.float32), [1.0], 0.25).tolist()
    [1, 2, 3]
    """
    if query is None:
        return np.arange(len(background))
    scores = background @ np.asarray(query, dtype=np.float32)
    n_out = int(np.ceil(beside * len(scores)))
    return np.sort(np.argsort(-scores, kind="stable")[n_out:])
