"""LSCMR: latent semantic cross-modal ranking, learned from lists of candidates.

Lu, Wu, Tang, Zhang, He and Zhuang, "A low rank structural large margin method for cross-modal
ranking", SIGIR 2013. Queries q and documents d of different kinds, such as texts and pictures, are
mapped into one space of k dimensions, where f(q, d) = (U q).(V d). With F, delta F and Delta of
`solvers.oracles`, Delta = 1 - the measure to optimise,

    min_{U, V, xi}  lam / 2 ||U||^2 + lam / 2 ||V||^2 + xi
    s.t. for every batch of orders y_1 … y_N:  1/N sum_i delta F(y_i) >= 1/N sum_i Delta(y_i) - xi

The paper solves it by cutting planes (`solvers.structural`). Its inner problem is solved by
projected sub-gradients (eq. 11-13): the most violated batch moves U, with the new U the most
violated one moves V, each by a step 1 / (lam (t + t0)), is projected to norm 1 / sqrt(lam), and
both norms are made equal, which changes no score.

Departures: by default the same objective is minimised by `solvers.descent`, which ends deeper; on
Wikipedia's training pairs at .883 where planes end at .906, and the mean AvgP of validation queries
is .298 and .220 in place of .278 and .190. Of planes, t0 is such that the first step is no longer
than U is, where the paper leaves the rate open. The start is N(0, 1) divided by the root of the
number of columns, or given; batches are formed as matrices where that is smaller (`_lscmr_planes`);
the factors with the best true objective are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from sightline._typing import Doubles
from sightline.contracts import Mapper, Progress
from sightline.errors import DataError, ParameterError
from sightline.progress import NoProgress
from sightline.rankers._lscmr_planes import Plane, Planes, planes_of
from sightline.rankers.low_rank import (
    LowRank,
    as_side,
    check_components,
    empty_rows,
    usable_lists,
)
from sightline.solvers.descent import descend
from sightline.solvers.oracles import Criterion
from sightline.solvers.structural import TrainingRound, cutting_planes

Solver = Literal["descent", "planes"]
SOLVERS: tuple[str, ...] = get_args(Solver)
_SILENT = NoProgress()
_LEAST_T0 = 10.0
# Steps between two checks whether the inner objective still falls, and by how much it must.
_CHECK_EVERY, _FALLING = 50, 1e-4


class LSCMR(LowRank):
    """A low-rank ranker between two kinds of things, trained on whole lists.

    Parameters
    ----------
    n_components : int, default=10
        Dimensions k of the shared space.
    lam : float, default=0.001
        Strength of the regulariser, greater than 0.
    optimise : str, default="map"
        "map", "ndcg", "ndcg@k", "p@k", "mrr" or "auc".
    solver : {"descent", "planes"}, default="descent"
        "descent", or "planes" as in the paper.
    max_rounds : int, default=200
        The most rounds.
    eps, patience, n_steps : float or int
        Of planes: by how much the worst orders may be violated more than those learned from, how
        many rounds may pass without a better objective, and sub-gradient steps in a round.
    random_state : int, default=0
        Seed of the start; the same number gives the same factors, byte for byte.
    shards : int, default=1
        Parts of the lists that are processed in parallel; the result is the same.

    Attributes
    ----------
    U_, V_ : ndarray
        (k, columns of queries) and (k, columns of documents), float32.
    rounds_ : tuple of TrainingRound
        Every round: batches, penalty, xi, violation and objective.
    objective_, xi_, violation_ : float
        Of the factors that were kept, in round `best_round_` or on the way to it.
    stop_reason_ : str
        "converged", "stalled" or "max_rounds".
    n_dropped_ : int
        Lists not learned from, for want of a relevant or an other candidate, or because their query
        is all zeros.
    n_empty_ : int
        Documents that are all zeros; they score 0 for every query.

    Examples
    --------
    >>> Q, D = np.eye(2), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> ranker = LSCMR(n_components=2, lam=0.01)
    >>> ranker = ranker.fit(Q, D, [[0, 1, 2], [0, 1, 2]], [[1, 0, 0], [0, 1, 0]])
    >>> ranker.score(Q, D, [[1, 0, 0], [0, 1, 0]]), ranker.stop_reason_
    (1.0, 'converged')
    """

    _name: ClassVar[str] = "LSCMR"

    def __init__(
        self,
        *,
        n_components: int = 10,
        lam: float = 1e-3,
        optimise: str = "map",
        solver: Solver = "descent",
        max_rounds: int = 200,
        eps: float = 0.01,
        patience: int = 50,
        n_steps: int = 500,
        random_state: int = 0,
        shards: int = 1,
    ) -> None:
        self.n_components = n_components
        self.lam = lam
        self.optimise = optimise
        self.solver = solver
        self.max_rounds = max_rounds
        self.eps = eps
        self.patience = patience
        self.n_steps = n_steps
        self.random_state = random_state
        self.shards = shards

    def fit(
        self,
        Q: Any,
        D: Any,
        candidates: Any,
        relevance: Any,
        query: ArrayLike | None = None,
        *,
        start: tuple[ArrayLike, ArrayLike] | None = None,
        progress: Progress = _SILENT,
        on_round: Callable[[TrainingRound], None] | None = None,
        compute: Mapper | None = None,
    ) -> Self:
        """Learn from lists.

        Parameters
        ----------
        Q, D : array-like
            Rows of queries and of documents, dense or scipy's sparse. They need not come in pairs,
            and either may have rows that are in no list.
        candidates, relevance : array-like
            For each list positions in D, and numbers above 0 where relevant.
        query : array-like, optional
            The position in Q of each list's query; list i belongs to row i by default.
        start : tuple of (array-like, array-like), optional
            U and V to begin with, such as those of another ranker; random ones by default.
        progress, on_round : Progress or callable
            Called with each round, which `rounds_` keeps.
        compute : Mapper, optional
            Where shards of lists are processed; in this process by default.
        """
        criterion = self._check()
        queries, documents = as_side(Q, "Q", "LSCMR"), as_side(D, "D", "LSCMR")
        k = check_components(self.n_components, queries, documents, "LSCMR")
        list_queries = (
            np.arange(len(candidates)) if query is None else np.asarray(query, dtype=np.int64)
        )
        lists, n_empty_queries = usable_lists(
            queries, documents, candidates, relevance, list_queries
        )
        planes = planes_of(queries, documents, lists, criterion, self.shards, compute)
        factors = Factors(
            planes, k, self.lam, self.n_steps,
            np.random.default_rng(self.random_state), start,
        )  # fmt: skip
        if self.solver == "descent":
            outcome = descend(factors, self.max_rounds, progress, on_round)
        else:
            outcome = cutting_planes(
                factors,
                self.eps,
                self.max_rounds,
                self.patience,
                progress=progress,
                on_round=on_round,
            )
        self.U_, self.V_ = factors.U.astype(np.float32), factors.V.astype(np.float32)
        self.rounds_, self.best_round_ = outcome.rounds, outcome.kept.number
        self.stop_reason_ = outcome.stop
        best = outcome.kept
        self.objective_, self.xi_, self.violation_ = best.objective, best.xi, best.violation
        self.n_dropped_ = lists.n_dropped + n_empty_queries
        self.n_empty_ = int(np.count_nonzero(empty_rows(documents)))
        return self

    def _check(self) -> Criterion:
        for name in ("lam", "eps"):
            value = getattr(self, name)
            if isinstance(value, bool) or not (
                isinstance(value, int | float | np.number) and 0 < value < np.inf
            ):
                raise ParameterError.of(name, "LSCMR", "greater than 0", value)
        for name in ("max_rounds", "patience", "n_steps"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ParameterError.of(name, "LSCMR", "a whole number of at least 1", value)
        if self.solver not in SOLVERS:
            raise ParameterError.of("solver", "LSCMR", f"one of {SOLVERS}", self.solver)
        return Criterion.named(self.optimise, "LSCMR")


class Factors:
    """U and V during training: the structured model that `cutting_planes` trains."""

    def __init__(
        self,
        planes: Planes,
        k: int,
        lam: float,
        n_steps: int,
        rng: np.random.Generator,
        start: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        self.planes, self.lam, self.n_steps = planes, float(lam), n_steps
        shapes = [(k, side.shape[1]) for side in (planes.Q, planes.D)]
        if start is None:
            self.U, self.V = (rng.standard_normal(s) / np.sqrt(s[1]) for s in shapes)
        else:
            self.U, self.V = (_initial_factor(A, s) for A, s in zip(start, shapes, strict=True))
        self.U, self.V = balanced(self._projected(self.U), self._projected(self.V))
        self._kept = self._solved = self.U, self.V
        self._t, self._t0 = 0, 0.0

    def separate(self) -> Plane:
        """Return the batch that is violated most."""
        return self.planes.separate(self.U, self.V)

    def violations(self, batches: Sequence[Plane]) -> list[float]:
        """Return the violations of batches."""
        return [float(v) for v in self.planes.together(batches).violations(self.U, self.V)]

    def penalty(self) -> float:
        """Return lam / 2 (||U||^2 + ||V||^2)."""
        return self.lam / 2 * float(np.sum(self.U**2) + np.sum(self.V**2))

    def remember(self) -> None:
        """Keep U and V."""
        self._kept = self.U.copy(), self.V.copy()

    def recall(self) -> None:
        """Go back to what was kept."""
        self.U, self.V = (part.copy() for part in self._kept)

    def blend(self, share: float) -> None:
        """Move a share of the way from the factors kept to those of the last solution."""
        self.U, self.V = (
            kept + share * (solved - kept)
            for kept, solved in zip(self._kept, self._solved, strict=True)
        )

    def parameters(self) -> Doubles:
        """Return U and V as one row."""
        return np.concatenate([self.U.ravel(), self.V.ravel()])

    def put(self, parameters: Doubles) -> None:
        """Take U and V from one row."""
        parts = np.split(parameters, [self.U.size])
        self.U, self.V = parts[0].reshape(self.U.shape), parts[1].reshape(self.V.shape)

    def slope(self, batch: Plane) -> Doubles:
        """Return the gradient of the penalty and the violation of a batch by U and V."""
        alone = self.planes.together([batch])
        by_u = self.lam * self.U - alone.toward_u(0, self.V)
        by_v = self.lam * self.V - alone.toward_v(0, self.U)
        return np.concatenate([by_u.ravel(), by_v.ravel()])

    def solve(self, batches: Sequence[Plane]) -> None:
        """Take projected sub-gradient steps; end with the best factors on these batches."""
        together = self.planes.together(batches)
        best = at_last_check = np.inf
        best_factors = self.U, self.V
        for step in range(self.n_steps + 1):
            violations = together.violations(self.U, self.V)
            worst = int(violations.argmax())
            objective = self.penalty() + max(0.0, float(violations[worst]))
            if objective < best:
                best, best_factors = objective, (self.U, self.V)
            if step % _CHECK_EVERY == 0:
                if at_last_check - best <= _FALLING * best:
                    break
                at_last_check = best
            violated = violations[worst] > 0
            self.U = self._moved(self.U, together.toward_u(worst, self.V) if violated else None)
            violations = together.violations(self.U, self.V)
            worst = int(violations.argmax())
            violated = violations[worst] > 0
            self.V = self._moved(self.V, together.toward_v(worst, self.U) if violated else None)
            self.U, self.V = balanced(self.U, self.V)
            self._t += 1
        self.U, self.V = self._solved = best_factors

    def _moved(self, A: Doubles, toward: Doubles | None) -> Doubles:
        if not self._t0 and toward is not None:
            length = float(np.linalg.norm(A))
            steepness = float(np.linalg.norm(toward)) / (self.lam * length) if length else 0.0
            self._t0 = max(_LEAST_T0, steepness)
        share = 1.0 / (self._t + (self._t0 or _LEAST_T0))
        moved = (1.0 - share) * A
        if toward is not None:
            moved += share / self.lam * toward
        return self._projected(moved)

    def _projected(self, A: Doubles) -> Doubles:
        return projected(A, self.lam)


def _initial_factor(A: ArrayLike, shape: tuple[int, int]) -> Doubles:
    factor = np.array(A, dtype=np.float64)
    if factor.shape != shape or not np.isfinite(factor).all():
        raise DataError(
            f"LSCMR starts from finite numbers of shape {shape} here. Got {factor.shape}."
        )
    return factor


def projected(A: Doubles, lam: float) -> Doubles:
    """Return the nearest matrix of norm at most 1 / sqrt(lam).

    >>> projected(np.array([[3.0, 4.0]]), lam=1.0)
    array([[0.6, 0.8]])
    """
    length = float(np.linalg.norm(A)) * float(np.sqrt(lam))
    return A / length if length > 1 else A


def balanced(U: Doubles, V: Doubles) -> tuple[Doubles, Doubles]:
    """Return factors with the same product and equal norms; zeros stay as they are.

    >>> balanced(np.array([[4.0]]), np.array([[1.0]]))
    (array([[2.]]), array([[2.]]))
    """
    u, v = float(np.linalg.norm(U)), float(np.linalg.norm(V))
    if not (u and v):
        return U, V
    mean = np.sqrt(u * v)
    return U * (mean / u), V * (mean / v)
