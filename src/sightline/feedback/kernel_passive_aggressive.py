"""Kernel passive-aggressive feedback: one judged picture at a time, near ones weighted more.

Piras, Giacinto and Paredes, 2013, section 3. One judged picture x_t with its sign y_t is drawn at
random, 100 times a round:

    f(x) = sum_j tau_j y_j K(x_j, x),      K(x, x') = exp(-||x - x'||^2 / (2 s2))     (eq. 9, 10)
    tau_t = min(C, l_t / K(x_t, x_t)),     l_t = max(0, 1 - y_t f(x_t))               (eq. 11 to 13)

Departures: the paper divides by ||x_t||^2, which is K(x_t, x_t) only for the linear kernel, and
leaves y_t out of the margin; above is the step that solves its problem. The paper's s2 = .1 fits
unit vectors, and those of paper B's descriptors are codes from 0 to 7, of which no two would be
near: L2-normalise rows first. Draws of one picture add up to one coefficient, which stays with it
from round to round; it is dropped with a judgement that is withdrawn, and starts from 0 with one
that is changed.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Floats
from sightline.errors import ParameterError
from sightline.feedback.learner import positive, whole_number
from sightline.feedback.nearness import NearnessLearner, squared_distances
from sightline.solvers.pa_step import N_OUTCOMES, check_aggressiveness

Kernel = Literal["rbf", "linear"]


class KernelPassiveAggressive(NearnessLearner):
    """A sum of kernels around judged pictures.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness, greater than 0.
    n_draws : int, default=100
        Pictures drawn in each round.
    s2 : float, default=0.1
        How far the kernel "rbf" reaches.
    kernel : {"rbf", "linear"}, default="rbf"
        "rbf", or "linear" for comparison, which needs rows.
    random_state : int, default=0
        Seed of the draws.

    Attributes
    ----------
    coef_ : ndarray of float64
        tau_j y_j summed over draws, one for each judged picture.
    rows_ : ndarray
        See `NearnessLearner`.
    relevant_ : ndarray
        See `NearnessLearner`.
    query_ : ndarray
        See `NearnessLearner`.
    n_rounds_ : int
        See `NearnessLearner`.
    counts_ : ndarray of int64
        How many draws were passive, updates, of pictures without length, and rejected.

    Examples
    --------
    >>> learner = KernelPassiveAggressive(s2=0.5).partial_fit([[0.0], [2.0]], [1, -1])
    >>> learner.coef_.round(2).tolist()
    [1.02, -1.02]
    >>> learner.decision_function([[0.0], [1.0], [2.0]]).round(2).tolist()
    [1.0, 0.0, -1.0]
    """

    coef_: Doubles
    counts_: NDArray[np.int64]

    def __init__(
        self,
        *,
        C: float = 1.0,
        n_draws: int = 100,
        s2: float = 0.1,
        kernel: Kernel = "rbf",
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.n_draws = n_draws
        self.s2 = s2
        self.kernel = kernel
        self.random_state = random_state

    @property
    def ready(self) -> bool:
        """Whether some coefficient is not 0."""
        return bool(getattr(self, "coef_", np.zeros(0)).any())

    def _check(self) -> None:
        check_aggressiveness(self.C, self._name)
        whole_number("n_draws", self.n_draws, self._name)
        positive("s2", self.s2, self._name)
        if self.kernel not in ("rbf", "linear"):
            raise ParameterError.of("kernel", self._name, "'rbf' or 'linear'", self.kernel)

    def _begin(self) -> None:
        super()._begin()
        self.coef_ = np.zeros(0)
        self.counts_ = np.zeros(N_OUTCOMES, dtype=np.int64)

    def _learn(self, rows: Floats, relevant: Bools) -> None:
        coef = self._retained(rows, relevant)
        self._keep(rows, relevant)
        self.coef_ = coef
        if relevant.all() or not relevant.any():
            return
        from sightline.feedback import _passive_aggressive_fast

        random = np.random.default_rng([self.random_state, self.n_rounds_])
        drawn = random.integers(len(rows), size=self.n_draws)
        K = self._kernel_of(rows) if self.kernel == "linear" else self._near(rows)
        signs = np.where(relevant, 1.0, -1.0)
        _passive_aggressive_fast.learn_singles(
            self.coef_, K, signs, drawn, float(self.C), self.counts_
        )

    def _retained(self, rows: Floats, relevant: Bools) -> Doubles:
        """Return the coefficients of rows judged before, matched by content: rows have no ids."""
        before: dict[tuple[bytes, bool], list[float]] = {}
        for row, r, c in zip(self.rows_, self.relevant_, self.coef_, strict=True):
            before.setdefault((row.tobytes(), bool(r)), []).append(c)
        # Popped, so that each of two equal pictures has its own.
        coef = np.zeros(len(rows))
        for i, (row, r) in enumerate(zip(rows, relevant, strict=True)):
            former = before.get((row.tobytes(), bool(r)))
            coef[i] = former.pop(0) if former else 0.0
        return coef

    def _near(self, rows: Floats) -> Doubles:
        return np.asarray(np.exp(squared_distances(rows, self.rows_) / (-2.0 * self.s2)))

    def _kernel_of(self, rows: Floats) -> Doubles:
        return np.asarray(rows.astype(np.float64) @ self.rows_.T.astype(np.float64))

    def _scores(self, rows: Floats) -> Doubles:
        if self.kernel == "linear":
            return np.asarray(self._kernel_of(rows) @ self.coef_)
        return super()._scores(rows)

    def _by_distance(self, squared: Any) -> Doubles:
        if self.kernel == "linear":
            raise ParameterError.of("kernel", self._name, "'rbf' to go by distances", self.kernel)
        return np.asarray(np.exp(squared / (-2.0 * self.s2)) @ self.coef_)
