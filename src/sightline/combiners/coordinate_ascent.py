"""Coordinate ascent: the mean AvgP itself, climbed one weight at a time.

Metzler and Croft, "Linear feature-based models for information retrieval", 2007. Weights start
equal. For one weight after the other, in random order, steps up and then down are tried, each twice
as long as the one before; the best is kept and the weights are scaled to sum |w| = 1. A round over
all components that gains less than `tolerance` ends the climb, which is repeated from random
weights a few times; the best climb is kept. Paper D's batch baseline; parameters as in RankLib.

Only one component changes at a time, so that scores follow from those before by one sum.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sightline._typing import Doubles
from sightline.combiners.examples import JudgedLists, Source, judging, lists
from sightline.combiners.linear import LinearCombiner, positive, whole_number
from sightline.errors import DataError

# The first step where a weight is too small for a share of it.
_SMALLEST_STEP = 0.001


class CoordinateAscent(LinearCombiner):
    """Weights that climb the mean AvgP of training lists.

    Parameters
    ----------
    n_steps : int, default=25
        Steps tried each way, for one weight.
    step : float, default=0.05
        The first step, as a share of the weight.
    tolerance : float, default=0.001
        The least gain of a round that is worth another one.
    n_restarts : int, default=2
        Climbs from random weights, after the first from equal ones.
    max_rounds : int, default=100
        The most rounds of a climb.
    random_state : int, default=0
        Seed of starts and orders.

    Attributes
    ----------
    w_ : ndarray of shape (components,)
        Of sum |w| = 1.
    best_score_ : float
        The mean AvgP on the lists by which climbs are compared.

    Examples
    --------
    >>> phi = [[1.0, 0.3], [2.0, 0.2], [3.0, 0.1]]
    >>> climbed = CoordinateAscent().fit(phi, [1, 0, 0], [0, 0, 0])
    >>> climbed.best_score_, climbed.score(phi, [1, 0, 0], [0, 0, 0])
    (1.0, 1.0)
    """

    def __init__(
        self,
        *,
        n_steps: int = 25,
        step: float = 0.05,
        tolerance: float = 0.001,
        n_restarts: int = 2,
        max_rounds: int = 100,
        random_state: int = 0,
    ) -> None:
        self.n_steps = n_steps
        self.step = step
        self.tolerance = tolerance
        self.n_restarts = n_restarts
        self.max_rounds = max_rounds
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        source: Source | None = None,
        validation: tuple[Any, Any, Any] | None = None,
    ) -> Self:
        """Learn from lists, or triplets; `validation` is (X, y, qid) to compare climbs on."""
        self._check()
        training = lists(X, y, qid, source, "CoordinateAscent")
        judge = judging(validation, "CoordinateAscent") or training
        if not (training.relevance > 0).any():
            raise DataError("No list has a relevant picture to learn from. Give more lists.")
        random = np.random.default_rng(self.random_state)
        n = training.rows.shape[1]
        self.best_score_ = -np.inf
        for climb in range(self.n_restarts + 1):
            first = random.random((n,)) if climb else np.ones(n)
            w = self._climbed(training, _scaled(first), random)
            score = judge.mean_avgp(judge.rows.astype(np.float64) @ w)
            if score > self.best_score_:
                self.best_score_, self.w_ = score, w
        return self

    def _climbed(self, training: JudgedLists, w: Doubles, random: np.random.Generator) -> Doubles:
        columns = np.ascontiguousarray(training.rows.T, dtype=np.float64)
        best = training.mean_avgp(w @ columns)
        for _ in range(self.max_rounds):
            before = best
            for k in random.permutation(len(w)):
                weight, best = self._best_weight(training, columns, w, int(k), best)
                if weight != w[k]:
                    w[k] = weight
                    w = _scaled(w)
            if best - before < self.tolerance:
                break
        return w

    def _best_weight(
        self, training: JudgedLists, columns: Doubles, w: Doubles, k: int, best: float
    ) -> tuple[float, float]:
        """Return the best value for one weight, and the mean AvgP it gives."""
        scores, best_weight = w @ columns, float(w[k])
        for sign in (1.0, -1.0):
            step = sign * (self.step * abs(w[k]) or _SMALLEST_STEP)
            moved = 0.0
            for _ in range(self.n_steps):
                moved += step
                step *= 2.0
                value = training.mean_avgp(scores + moved * columns[k])
                if value > best:
                    best, best_weight = value, float(w[k] + moved)
            if best_weight != w[k]:
                # As in RankLib: where going up gains, down is not tried.
                break
        return best_weight, best

    def _check(self) -> None:
        for name, least in (("n_steps", 1), ("n_restarts", 0), ("max_rounds", 1)):
            whole_number(name, getattr(self, name), "CoordinateAscent", least)
        for name in ("step", "tolerance"):
            positive(name, getattr(self, name), "CoordinateAscent")


def _scaled(w: Doubles) -> Doubles:
    total = float(np.abs(w).sum())
    return w / total if total > 0 else w
