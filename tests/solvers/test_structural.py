"""The cutting-plane method, on a model that is small enough to be solved otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from sightline.solvers.structural import Outcome, TrainingRound, cutting_planes
from tests.factories.recorded_progress import RecordedProgress

Doubles = NDArray[np.float64]
Plane = tuple[float, Doubles]


@dataclass
class Binary:
    """A linear SVM as a structured model: a batch says of each example whether it is wrong.

    Delta is 1 and delta F = y w.x for an example that the batch calls wrong, and both are 0 else.
    """

    X: Doubles
    y: Doubles
    lam: float = 0.1
    lazy: bool = False
    w: Doubles = field(init=False)
    kept: Doubles = field(init=False)
    solved: Doubles = field(init=False)
    solved_for: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.w = np.zeros(self.X.shape[1])

    def separate(self) -> Plane:
        wrong = self.y * (self.X @ self.w) < 1
        return float(wrong.mean()), (self.X * (self.y * wrong)[:, None]).mean(axis=0)

    def violations(self, batches: Sequence[Plane]) -> list[float]:
        return [delta - float(psi @ self.w) for delta, psi in batches]

    def penalty(self) -> float:
        return self.lam / 2 * float(self.w @ self.w)

    def blend(self, share: float) -> None:
        self.w = self.kept + share * (self.solved - self.kept)

    def solve(self, batches: Sequence[Plane]) -> None:
        self.solved_for.append(len(batches))
        self.solved = self.w
        if self.lazy:
            return
        d, G = np.array([b[0] for b in batches]), np.array([b[1] for b in batches])
        # The dual over the simplex, with room for no slack at all.
        n = len(d)
        dual = minimize(
            lambda a: 0.5 / self.lam * a @ (G @ G.T) @ a - d @ a,
            np.full(n, 0.5 / n),
            jac=lambda a: G @ G.T @ a / self.lam - d,
            bounds=[(0, 1)] * n,
            constraints={"type": "ineq", "fun": lambda a: 1 - a.sum()},
            options={"ftol": 1e-12, "maxiter": 200},
        )
        self.w = self.solved = dual.x @ G / self.lam

    def remember(self) -> None:
        self.kept = self.w.copy()

    def recall(self) -> None:
        self.w = self.kept.copy()


def made(**given: object) -> Binary:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    return Binary(X, y, **given)  # type: ignore[arg-type]


def hinge(model: Binary, w: Doubles) -> float:
    loss = np.maximum(0, 1 - model.y * (model.X @ w)).mean()
    return model.lam / 2 * float(w @ w) + float(loss)


def test_a_convex_problem_is_solved_within_eps() -> None:
    model = made()
    outcome = cutting_planes(model, eps=1e-3)
    best = minimize(lambda w: hinge(model, w), model.w, method="Nelder-Mead",
                    options={"maxiter": 20_000, "xatol": 1e-8, "fatol": 1e-10})  # fmt: skip
    assert outcome.stop == "converged"
    # What was solved for lies below the optimum, and the true objective above it.
    last = outcome.rounds[-1]
    assert last.penalty + last.xi <= best.fun + 1e-6
    assert outcome.kept.objective == pytest.approx(hinge(model, model.w))
    assert best.fun - 1e-8 <= outcome.kept.objective <= best.fun + 1.1e-3


def test_slack_bounds_the_training_loss_where_it_ends() -> None:
    model = made()
    outcome = cutting_planes(model, eps=0.01)
    assert np.mean(model.y * (model.X @ model.w) <= 0) <= outcome.kept.violation
    assert outcome.rounds[-1].violation <= outcome.rounds[-1].xi + 0.01


def test_the_best_round_is_kept_and_the_objective_never_above_the_start() -> None:
    outcome = cutting_planes(made(lam=0.02), eps=1e-3, max_rounds=20)
    assert outcome.kept.objective <= min(r.objective for r in outcome.rounds)
    assert outcome.rounds[0].objective == pytest.approx(1.0)
    assert [r.number for r in outcome.rounds] == list(range(len(outcome.rounds)))


def test_what_was_kept_is_what_the_model_ends_with() -> None:
    model = made(lam=0.02)
    outcome = cutting_planes(model, eps=1e-3, max_rounds=6)
    assert outcome.kept.objective == pytest.approx(hinge(model, model.w))


def test_no_round_is_solved_without_a_batch() -> None:
    model = made()
    cutting_planes(model)
    assert model.solved_for[0] == 1


def test_training_that_leads_nowhere_ends_and_says_so() -> None:
    class Restless(Binary):
        def separate(self) -> Plane:
            return 1.0, np.zeros(4)

        def violations(self, batches: Sequence[Plane]) -> list[float]:
            return [0.5] * len(batches) if len(batches) > 1 or self.solved_for else [1.0]

        def solve(self, batches: Sequence[Plane]) -> None:
            self.solved_for.append(len(batches))
            self.solved = self.w

    def outcome(patience: int, rounds: int, rising: bool) -> Outcome:
        model = Restless(np.zeros((2, 4)), np.ones(2))
        if rising:
            answers = iter(np.linspace(1, 0, 1000))
            model.violations = lambda b: [next(answers) if len(b) == 1 else 0.0] * len(b)  # type: ignore[method-assign,assignment]
        return cutting_planes(model, eps=-1.0, patience=patience, max_rounds=rounds)

    stalled = outcome(3, 50, rising=False)
    # The first round is better than the start, and none after it.
    assert stalled.stop == "stalled" and len(stalled.rounds) == 5
    assert outcome(30, 5, rising=True).stop == "max_rounds"


def test_batches_are_let_go_where_there_are_too_many() -> None:
    model = made(lam=0.02)
    outcome = cutting_planes(model, eps=1e-3, max_batches=3, max_rounds=8)
    assert max(model.solved_for) == 3 and outcome.kept.objective < 0.6


def test_rounds_are_told() -> None:
    told, heard = RecordedProgress(), list[TrainingRound]()
    outcome = cutting_planes(made(), progress=told, on_round=heard.append)
    assert told.all() == ("cutting planes", 200, len(outcome.rounds) - 1, True)
    assert tuple(heard) == outcome.rounds[1:]
