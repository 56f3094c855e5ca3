"""The passive-aggressive step: closed forms, guards, averages and the laws that follow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sightline.errors import DataError, ParameterError
from sightline.solvers import _pa_step_fast, pa_step
from sightline.solvers.pa_step import (
    PASSIVE,
    REJECTED,
    UPDATED,
    VARIANTS,
    ZERO,
    PassiveAggressiveWeights,
    Variant,
    step_size,
)
from tests.naive import solvers as naive

PA, PA_I, PA_II = range(3)
numbers = st.floats(-3, 3, allow_nan=False, width=32)
vectors = st.lists(numbers, min_size=3, max_size=3).map(np.array)
aggressiveness = st.floats(0.01, 10)


def examples(seed: int, n: int, size: int = 4) -> list[tuple[naive.Vector, float, float]]:
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=size), float(rng.uniform(0.5, 2)), float(rng.uniform(0.2, 3)))
        for _ in range(n)
    ]


@pytest.mark.parametrize("variant", ["PA-I", "PA-II"])
@pytest.mark.parametrize("C", [0.05, 0.4, 5.0])
def test_closed_forms_minimise_the_objective(variant: Variant, C: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(10):
        old, x = rng.normal(size=3), rng.normal(size=3)
        # The minimiser is old + tau x: what leaves that line costs and gains nothing.
        best = minimize(
            lambda s, old=old, x=x: naive.objective(old + s[0] * x, old, x, C, variant),
            [0.0],
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-14},
        )
        tau, _ = step_size(1 - float(old @ x), float(x @ x), C, VARIANTS.index(variant))
        assert tau == pytest.approx(best.x[0], abs=1e-5)
        beside = old + tau * x + 1e-3 * rng.normal(size=3)
        assert naive.objective(old + tau * x, old, x, C, variant) <= naive.objective(
            beside, old, x, C, variant
        )


def test_pa_is_the_nearest_point_without_loss() -> None:
    rng = np.random.default_rng(8)
    for _ in range(10):
        old, x = rng.normal(size=3), rng.normal(size=3)
        nearest = minimize(
            lambda w, old=old: 0.5 * np.sum((w - old) ** 2),
            old,
            constraints=[{"type": "ineq", "fun": lambda w, x=x: w @ x - 1}],
            method="SLSQP",
            options={"ftol": 1e-14},
        ).x
        tau, _ = step_size(1 - float(old @ x), float(x @ x), 1.0, PA)
        np.testing.assert_allclose(old + tau * x, nearest, atol=1e-5)


@given(st.floats(0.001, 100), st.floats(0.001, 100))
def test_without_a_limit_every_variant_is_pa(loss: float, norm2: float) -> None:
    pa = step_size(loss, norm2, 1.0, PA)
    assert step_size(loss, norm2, math.inf, PA_I) == pa
    assert step_size(loss, norm2, math.inf, PA_II) == pa
    assert step_size(loss, norm2, 1e12, PA_II)[0] == pytest.approx(pa[0], rel=1e-6)


@given(st.floats(0.001, 100), st.floats(0.001, 100), aggressiveness)
def test_no_step_is_longer_than_c_and_none_than_pas(loss: float, norm2: float, C: float) -> None:
    longest = step_size(loss, norm2, C, PA)[0]
    assert 0 < step_size(loss, norm2, C, PA_I)[0] <= min(C, longest)
    assert 0 < step_size(loss, norm2, C, PA_II)[0] < longest


@given(vectors, vectors, aggressiveness, st.sampled_from(VARIANTS))
def test_a_step_never_raises_the_examples_loss(
    start: naive.Vector, x: naive.Vector, C: float, variant: Variant
) -> None:
    learner = PassiveAggressiveWeights(3, C, variant)
    learner.w = start.astype(np.float64)
    before = max(0.0, 1 - float(learner.w @ x))
    learner.step(x)
    assert max(0.0, 1 - float(learner.w @ x)) <= before + 1e-9


@given(vectors, vectors, st.floats(0.1, 5))
def test_an_unlimited_update_reaches_exactly_the_margin(
    start: naive.Vector, x: naive.Vector, rho: float
) -> None:
    learner = PassiveAggressiveWeights(3, math.inf)
    learner.w = start.astype(np.float64)
    if learner.step(x, rho=rho) > 0 and x @ x > 1e-6:
        assert learner.w @ x == pytest.approx(rho, abs=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_class_is_the_naive_loop(variant: Variant) -> None:
    shown = examples(3, 60)
    learner = PassiveAggressiveWeights(4, 0.3, variant)
    for x, rho, weight in shown:
        learner.step(x, rho, weight)
    last, mean = naive.learn(shown, 0.3, variant)
    np.testing.assert_allclose(learner.w, last, atol=1e-12)
    np.testing.assert_allclose(learner.averaged(), mean, atol=1e-12)
    assert learner.t == learner.counts.sum() == 60


def test_the_average_of_nothing_is_nothing() -> None:
    assert PassiveAggressiveWeights(2).averaged().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("a", [0.25, 8.0])
def test_scaling_examples_by_a_and_c_by_its_square_scales_weights(
    variant: Variant, a: float
) -> None:
    plain, scaled = (
        PassiveAggressiveWeights(4, 0.2, variant),
        PassiveAggressiveWeights(4, 0.2 / a**2, variant),
    )
    for x, rho, weight in examples(5, 40):
        plain.step(x, rho, weight)
        scaled.step(a * x, rho, weight)
    np.testing.assert_allclose(scaled.w, plain.w / a, rtol=1e-9)


def test_weights_grow_by_at_most_c_times_the_longest_example() -> None:
    learner, longest = PassiveAggressiveWeights(4, 0.15), 0.0
    for i, (x, rho, _) in enumerate(examples(6, 50), 1):
        learner.step(x, rho)
        longest = max(longest, float(np.linalg.norm(x)))
        assert np.linalg.norm(learner.w) <= 0.15 * i * longest + 1e-12


def test_a_weight_multiplies_c() -> None:
    twice, heavy = PassiveAggressiveWeights(2, 0.2), PassiveAggressiveWeights(2, 0.1)
    assert twice.step([1.0, 0.0]) == heavy.step([1.0, 0.0], weight=2.0) == 0.2


def test_guards_are_counted() -> None:
    learner = PassiveAggressiveWeights(2, 1.0)
    for x in ([1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1e-7, 0.0], [math.nan, 0.0], [math.inf, 1.0]):
        learner.step(x)
    assert learner.step([1e200, 1e200]) == 0.0, "the squared length overflows"
    assert learner.w.tolist() == [1.0, 0.0]
    wanted = {PASSIVE: 1, UPDATED: 1, ZERO: 2, REJECTED: 3}
    assert {k: int(learner.counts[k]) for k in wanted} == wanted


def test_wrong_calls_are_named() -> None:
    with pytest.raises(ParameterError, match=r"'C' parameter of \w+Weights must be greater"):
        PassiveAggressiveWeights(2, C=0)
    with pytest.raises(ParameterError, match=r"'PA', 'PA-I' or 'PA-II'. Got 'PA-3'"):
        PassiveAggressiveWeights(2, variant="PA-3")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"must have 2 numbers. Got \(3,\)"):
        PassiveAggressiveWeights(2).step([1, 2, 3])
    with pytest.raises(ParameterError, match="'weight' parameter of step must be greater than 0"):
        PassiveAggressiveWeights(2).step([1, 2], weight=-1)


@given(st.floats(-2, 100), st.floats(0, 100), aggressiveness, st.sampled_from([PA, PA_I, PA_II]))
def test_compiled_and_plain_are_one_formula(
    loss: float, norm2: float, C: float, variant: int
) -> None:
    assert _pa_step_fast.step_size(loss, norm2, C, variant) == step_size(loss, norm2, C, variant)
    assert pa_step.step_size(math.nan, norm2, C, variant) == (0.0, REJECTED)
    assert _pa_step_fast.step_size(math.nan, norm2, C, variant) == (0.0, REJECTED)
