"""The bundle method finds what a quadratic programme finds, and never gets worse."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize as by_scipy

from sightline.errors import DataError, ParameterError
from sightline.solvers.bundle import Bundle, Risk, minimize, on_simplex
from tests.naive.solvers import simplex_minimum

Doubles = NDArray[np.float64]


def hinges(X: Doubles, y: Doubles) -> Risk:
    def risk(w: Doubles) -> tuple[float, Doubles]:
        short = 1 - y * (X @ w)
        on = short > 0
        return float(short[on].sum()), -(y[on] @ X[on])

    return risk


def latent(parts: Doubles, others: Doubles) -> Risk:
    """A difference of maxima, as latent SVMs have it: (pictures, ways, numbers) each."""

    def risk(w: Doubles) -> tuple[float, Doubles]:
        worst, right = parts @ w + 1, others @ w
        total, slope = 0.0, np.zeros(len(w))
        for n in range(len(parts)):
            up, down = int(worst[n].argmax()), int(right[n].argmax())
            if worst[n, up] > right[n, down]:
                total += worst[n, up] - right[n, down]
                slope += parts[n, up] - others[n, down]
        return float(total), slope

    return risk


def test_a_convex_problem_is_solved_as_by_a_quadratic_programme() -> None:
    for seed in range(3):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(12, 3)), np.sign(random.normal(size=12))
        # The same as a smooth problem with bounds: its dual over the box 0..1.
        M = (y[:, None] * X) @ (y[:, None] * X).T
        dual = by_scipy(
            lambda m, M=M: 0.5 * m @ M @ m / 0.5 - m.sum(), np.full(12, 0.5),
            jac=lambda m, M=M: M @ m / 0.5 - 1, bounds=[(0, 1)] * 12, method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 2000},
        )  # fmt: skip
        found = minimize(hinges(X, y), np.zeros(3), 0.5, True, 1e-9, 300)
        assert found.value == pytest.approx(-dual.fun, rel=1e-6)
        assert found.gap + 1e-9 >= 0 and found.gap <= 1e-8 * found.value + 1e-9
        assert found.w == pytest.approx((dual.x * y) @ X / 0.5, abs=1e-3)


def test_where_it_is_not_convex_the_best_never_gets_worse_and_planes_spare_it() -> None:
    random = np.random.default_rng(1)
    parts, others = random.normal(size=(8, 3, 5)), random.normal(size=(8, 4, 5)) + 0.3
    risk = latent(parts, others)
    bundle, w = Bundle(0.3), random.normal(size=5)
    values = []
    for _ in range(40):
        bundle.add(w, *risk(w))
        assert (bundle.A @ bundle.best + bundle.b).max() <= bundle.risk + 1e-9
        values.append(bundle.value)
        w, _ = bundle.lowest()
    assert values == sorted(values, reverse=True) and values[-1] < 0.7 * values[0]


def test_a_place_next_to_the_best_is_no_better() -> None:
    random = np.random.default_rng(2)
    risk = latent(random.normal(size=(6, 3, 4)), random.normal(size=(6, 3, 4)))
    found = minimize(risk, np.zeros(4), 0.5, max_iterations=150, tolerance=1e-6)
    assert found.values == sorted(found.values, reverse=True)
    for step in random.normal(size=(200, 4)) * 1e-3:
        w = found.w + step
        assert 0.25 * w @ w + risk(w)[0] >= found.value - 5e-3


def test_shares_are_those_of_a_slow_search() -> None:
    for seed in range(8):
        random = np.random.default_rng(seed)
        A, b = random.normal(size=(5, 3)), random.normal(size=5)
        G = A @ A.T
        found = on_simplex(G, b, np.eye(5)[0])
        assert found.min() >= 0 and found.sum() == pytest.approx(1)
        assert 0.5 * found @ G @ found - b @ found == pytest.approx(simplex_minimum(G, b), abs=1e-7)


def test_planes_that_hold_up_nothing_are_forgotten() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 6)), np.sign(random.normal(size=40))
    bundle, w = Bundle(1.0, convex=True), np.zeros(6)
    bounds = []
    for _ in range(80):
        bundle.add(w, *hinges(X, y)(w))
        w, bound = bundle.lowest()
        bounds.append(bound)
    assert len(bundle.b) < 80
    assert all(b >= a - 1e-7 for a, b in pairwise(bounds))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match="strength"):
        minimize(lambda w: (0.0, w), np.zeros(1), 0.0)
    with pytest.raises(ParameterError, match="max_iterations"):
        minimize(lambda w: (0.0, w), np.zeros(1), 1.0, max_iterations=0)
    with pytest.raises(DataError, match="finite"):
        minimize(lambda w: (np.nan, w), np.zeros(1), 1.0)
