"""Support vector machine feedback with an RBF kernel; a baseline of paper B.

    min 1/2 ||w||^2 + C sum_i max(0, 1 - y_i (w.phi(x_i) + b))
    K(x, x') = exp(-gamma ||x - x'||^2)

The score is the decision value, in units of the margin. It is refitted to all judgements in each
round, by scikit-learn (extra `baselines`). The paper gives no parameters: C = 1 and gamma = 5,
which is 1/(2 s2) of kernel PA's s2 = .1. Without both kinds of judgement there is nothing to fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Floats
from sightline.errors import MissingExtra
from sightline.feedback.learner import positive
from sightline.feedback.nearness import NearnessLearner, squared_distances


class SVM(NearnessLearner):
    """Relevant against other pictures.

    Parameters
    ----------
    C : float, default=1.0
        Weight of errors, greater than 0.
    gamma : float, default=5.0
        How fast the kernel falls with squared distance.
    balanced : bool, default=False
        Give relevant and other pictures the same weight in all.

    Attributes
    ----------
    coef_, intercept_ : ndarray of float64 or float
        Of each judged picture, 0 where it is no support vector, and b.
    rows_ : ndarray
        See `NearnessLearner`.
    relevant_ : ndarray
        See `NearnessLearner`.
    query_ : ndarray
        See `NearnessLearner`.
    n_rounds_ : int
        See `NearnessLearner`.

    Examples
    --------
    >>> learner = SVM(C=10.0, gamma=1.0).partial_fit([[0.0], [2.0]], [1, -1])
    >>> learner.decision_function([[0.0], [1.0], [2.0]]).round(2).tolist()
    [1.0, 0.0, -1.0]
    """

    coef_: Doubles
    intercept_: float

    def __init__(self, *, C: float = 1.0, gamma: float = 5.0, balanced: bool = False) -> None:
        self.C = C
        self.gamma = gamma
        self.balanced = balanced

    @property
    def ready(self) -> bool:
        """Whether there are judgements of both kinds."""
        relevant = getattr(self, "relevant_", np.zeros(0, dtype=bool))
        return bool(relevant.any() and not relevant.all())

    def _check(self) -> None:
        positive("C", self.C, self._name)
        positive("gamma", self.gamma, self._name)

    def _begin(self) -> None:
        super()._begin()
        self.coef_, self.intercept_ = np.zeros(0), 0.0

    def _learn(self, rows: Floats, relevant: Bools) -> None:
        self._keep(rows, relevant)
        self.coef_, self.intercept_ = np.zeros(len(rows)), 0.0
        if not self.ready:
            return
        machine = _classifier(self.C, "balanced" if self.balanced else None)
        machine.fit(self._kernel(squared_distances(rows, rows)), relevant)
        self.coef_[machine.support_] = machine.dual_coef_[0]
        self.intercept_ = float(machine.intercept_[0])

    def _kernel(self, squared: Any) -> Doubles:
        return np.asarray(np.exp(-self.gamma * squared))

    def _by_distance(self, squared: Any) -> Doubles:
        support = np.flatnonzero(self.coef_)
        K = self._kernel(squared[:, support])
        return np.asarray(K @ self.coef_[support] + self.intercept_)


def _classifier(C: float, weight: str | None) -> Any:
    try:
        from sklearn.svm import SVC
    except ImportError as e:
        raise MissingExtra.of("The SVM of feedback", "baselines") from e
    return SVC(C=C, kernel="precomputed", class_weight=weight)
