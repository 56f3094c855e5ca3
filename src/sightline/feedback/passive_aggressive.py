"""Linear passive-aggressive feedback: a direction in feature space, learnt from judged pairs.

Piras, Giacinto and Paredes, "Passive-aggressive online learning for relevance feedback in content
based image retrieval", ICPRAM 2013. Of all judgements so far a relevant picture r and another one n
are drawn at random, 100 times a round, and each pair moves the weights by one step of `pa_step`:

    score(x) = w.x                                                                       (eq. 1)
    min_w 1/2 ||w - w_t||^2 + C l(w),     l(w) = max(0, 1 - w.(x_r - x_n))               (eq. 4, 5)
    w <- w + min(C, l(w_t) / ||x_r - x_n||^2) (x_r - x_n)                                (eq. 6, 7)

A round goes on from the weights of the one before.

Departures: the paper names the new weights w_t and takes the loss at the old ones; above is what
its solution solves. It begins with w = 0, `start(None)`; beginning with the query itself, its row
or the weights of its words, ranks better as long as there are few judgements. Where there is no
relevant or no other picture, nothing is learnt.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.feedback.learner import Bools, Floats, LinearLearner, whole_number
from sightline.solvers.pa_step import N_OUTCOMES, check_aggressiveness


class PassiveAggressive(LinearLearner):
    """Weights that put relevant pictures before the others.

    Parameters
    ----------
    C : aggressiveness, greater than 0: no step is longer than this.
    n_draws : pairs drawn in each round.
    random_state : seed of the draws; rounds draw differently.

    Attributes
    ----------
    w_ : the weights, float64; None where nothing is known yet.
    query_ : the weights it was started with, or None.
    n_rounds_ : how often it was given judgements.
    counts_ : how many draws were passive, updates, of pictures alike, and rejected.

    Examples
    --------
    >>> learner = PassiveAggressive().start([1.0, 0.0])
    >>> learner.learn([[1, 1], [1, 0]], [1, -1]).w_.tolist()
    [1.0, 1.0]
    >>> learner.decision_function([[0, 2], [1, 0]]).tolist()
    [2.0, 1.0]
    """

    counts_: NDArray[np.int64]

    def __init__(self, C: float = 1.0, n_draws: int = 100, random_state: int = 0) -> None:
        self.C = C
        self.n_draws = n_draws
        self.random_state = random_state

    def _check(self) -> None:
        check_aggressiveness(self.C, self._name)
        whole_number("n_draws", self.n_draws, self._name)

    def _begin(self) -> None:
        super()._begin()
        self.counts_ = np.zeros(N_OUTCOMES, dtype=np.int64)

    def _learn(self, rows: Floats, relevant: Bools) -> None:
        if relevant.all() or not relevant.any():
            return
        from sightline.feedback import _passive_aggressive_fast

        if self.w_ is None:
            self.w_ = np.zeros(rows.shape[1])
        random = np.random.default_rng([self.random_state, self.n_rounds_])
        plus, minus = draw_pairs(relevant, self.n_draws, random)
        _passive_aggressive_fast.learn_pairs(
            self.w_, rows, plus, minus, float(self.C), self.counts_
        )


def draw_pairs(
    relevant: Bools, n: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return places of relevant and of other pictures, drawn with replacement."""
    fits, others = np.flatnonzero(relevant), np.flatnonzero(~relevant)
    return fits[random.integers(len(fits), size=n)], others[random.integers(len(others), size=n)]
