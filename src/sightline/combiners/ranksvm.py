"""RankSVM: the weights with the largest margin over all differences at once.

    min  1/2 |w|^2 + C sum_i max(0, 1 - w.x_i)^2        x_i = phi(q, p+) - phi(q, p-)

(Herbrich, Graepel and Obermayer, "Large margin rank boundaries for ordinal regression", 2000), by
scikit-learn's LinearSVC without an intercept. Paper D's batch baseline.

Departures: the loss is squared, which a Newton method in the primal solves without random order, so
that the result is the same every time; the paper names no tool and no C. Every second difference is
negated, since LinearSVC needs two classes; that does not change the problem.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from sightline._typing import Doubles, Floats
from sightline.combiners.examples import Source, differences, judging
from sightline.combiners.linear import LinearCombiner, positive, whole_number
from sightline.errors import DataError, MissingExtra, ParameterError, UsageError


class RankSVM(LinearCombiner):
    """Weights of the largest margin. Needs the extra `baselines`.

    Parameters
    ----------
    C : float or tuple of float, default=0.01
        Weight of a difference's loss, or several values to choose from by validation lists.
    max_iter : int, default=1000
        The most steps of the solver.
    n_pairs, random_state : int
        How many pairs to draw where lists are given, and the seed of the draws.

    Attributes
    ----------
    w_ : ndarray of shape (components,)
        In float64.
    C_, scores_ : float or dict
        The C chosen, and the mean AvgP of validation lists by C.
    converged_ : bool
        Whether the solver ended before `max_iter` steps.
    n_zero_ : int
        Differences left out since they are all zero.

    Examples
    --------
    >>> svm = RankSVM(C=1.0).fit([[2.0, 0.0], [2.0, 1.0], [2.0, -1.0]])
    >>> svm.w_.round(1).tolist()
    [0.5, 0.0]
    """

    def __init__(
        self,
        *,
        C: float | tuple[float, ...] = 0.01,
        max_iter: int = 1000,
        n_pairs: int = 200_000,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.max_iter = max_iter
        self.n_pairs = n_pairs
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
        """Learn from differences, triplets or lists; `validation` is (X, y, qid) to choose C by."""
        values_of_C = self._values_of_C(validation is not None)
        examples = differences(X, y, qid, source, "RankSVM", self.n_pairs, self.random_state)
        rows = examples.whole()
        if not np.isfinite(rows).all():
            raise DataError("Differences must be finite. Got NaN or infinity.")
        nonzero = rows.any(axis=1)
        self.n_zero_ = int(len(rows) - np.count_nonzero(nonzero))
        rows = rows[nonzero]
        judge = judging(validation, "RankSVM")
        self.scores_: dict[float, float] = {}
        trials = []
        for C in values_of_C:
            w, converged = self._solved(rows, C)
            score = 0.0
            if judge is not None:
                score = judge.mean_avgp(judge.rows @ w.astype(np.float32))
                self.scores_[C] = score
            trials.append((score, w, C, converged))
        _, self.w_, self.C_, self.converged_ = max(trials, key=lambda one: one[0])
        return self

    def _solved(self, rows: Floats, C: float) -> tuple[Doubles, bool]:
        if len(rows) < 2:
            # With one difference the solution has a closed form, with none it is 0.
            x = rows.sum(axis=0, dtype=np.float64)
            norm2 = float(x @ x)
            return (x / (norm2 + 0.5 / C) if norm2 else x), True
        try:
            from sklearn.exceptions import ConvergenceWarning
            from sklearn.svm import LinearSVC
        except ImportError as e:
            raise MissingExtra.of("RankSVM", "baselines") from e
        signs = np.where(np.arange(len(rows)) % 2, -1, 1)
        machine = LinearSVC(C=C, dual=False, fit_intercept=False, max_iter=self.max_iter)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            machine.fit(rows * signs[:, None].astype(np.float32), signs)
        converged = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
        return np.asarray(machine.coef_[0], dtype=np.float64), converged

    def _values_of_C(self, validated: bool) -> tuple[float, ...]:
        values = self.C if isinstance(self.C, tuple) else (self.C,)
        if not values:
            raise ParameterError.of("C", "RankSVM", "a number or some numbers", self.C)
        if len(values) > 1 and not validated:
            raise UsageError("RankSVM chooses among several C by validation lists. Give some.")
        whole_number("max_iter", self.max_iter, "RankSVM")
        whole_number("n_pairs", self.n_pairs, "RankSVM")
        return tuple(positive("C", C, "RankSVM") for C in values)
