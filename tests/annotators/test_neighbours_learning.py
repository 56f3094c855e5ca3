"""How neighbours learn: compiled loops against plain ones, optima, planted data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.annotators import _neighbours_fast as fast
from sightline.annotators import neighbours as module
from sightline.annotators._neighbour_sigmoid import Prior, fit_curves, shared_curve
from sightline.annotators._neighbour_weights import (
    Curve,
    LeaveOneOutNeighbours,
    WordIncidence,
    learn,
    weights_of,
)
from sightline.annotators.neighbours import Neighbours
from tests.naive import neighbours as naive
from tests.naive.annotators import problem

Floats = NDArray[np.float32]


def left_out(
    n: int = 20, k: int = 6, n_views: int = 2, seed: int = 0
) -> tuple[LeaveOneOutNeighbours, Floats]:
    """Return a random problem and the table of its words, some on no picture and some on all."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 6)) < [0.5, 0.3, 0.1, 0.0, 1.0, 0.2]).astype(np.float32)
    nearest = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    distances = np.sort(rng.random((n, k, n_views)).astype(np.float32), axis=1)
    own = np.sort(rng.choice(n, n - 3, replace=False))
    words = WordIncidence.of(Y)
    return LeaveOneOutNeighbours.of(own, nearest[own].astype(np.int32), distances[own], words), Y


def curves(logistic: bool, seed: int = 0) -> Curve:
    rng = np.random.default_rng(seed)
    if logistic:
        return Curve(rng.normal(5, 3, size=6), rng.normal(size=6), True)
    return Curve.straight(1e-3, 6)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 30), st.booleans())
def test_the_nearest_are_those_of_a_plain_sort(seed: int, n: int, k: int, skip: bool) -> None:
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, 6, size=(4, n)).astype(np.float32)
    own = rng.integers(0, n, size=4) if skip else np.full(4, -1)
    k = min(k, n - skip)
    out = np.empty((4, k), dtype=np.int32)
    fast.nearest_rows(distances, own.astype(np.int64), out)
    for i in range(4):
        assert out[i].tolist() == naive.nearest(distances[i].tolist(), int(own[i]), k)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 12))
def test_lists_are_merged_by_depth(seed: int, n_lists: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    lists = np.array([[rng.permutation(12)[:k] for _ in range(3)] for _ in range(n_lists)])
    out = np.empty((3, k), dtype=np.int32)
    fast.merge_lists(lists.astype(np.int32), 12, out)
    for i in range(3):
        assert out[i].tolist() == naive.merged(lists[:, i].tolist(), k)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_and_its_derivatives_are_those_of_plain_loops(
    logistic: bool, seed: int
) -> None:
    some, Y = left_out(seed=seed)
    curve = curves(logistic, seed)
    pi = np.random.default_rng(seed).dirichlet(np.ones(6), size=len(some.own))

    def plain(weights: NDArray[np.float64]) -> float:
        return naive.log_likelihood(
            some.own.tolist(), some.nearest, weights, Y, some.cost.tolist(),
            curve.slope, curve.offset, logistic,
        )  # fmt: skip

    value, gradient = some.likelihood(pi, curve)
    assert value == pytest.approx(plain(pi), rel=1e-9)
    for i, k in ((0, 0), (5, 3), (16, 5)):
        moved = np.zeros_like(pi)
        moved[i, k] = 1e-6
        slope = (plain(pi + moved) - plain(pi - moved)) / 2e-6
        assert gradient[i, k] == pytest.approx(slope, rel=1e-3, abs=1e-6)


def test_present_and_absent_words_count_1_in_all() -> None:
    some, Y = left_out()
    tagged = Y[some.own].sum()
    assert some.cost == pytest.approx([1 / (Y[some.own].size - tagged), 1 / tagged])
    nothing = LeaveOneOutNeighbours.of(
        some.own, some.nearest, some.distances, WordIncidence.of(np.zeros((20, 6)))
    )
    assert nothing.cost.tolist() == [1 / (17 * 6), 0.0]


def test_what_neighbours_say_is_that_of_plain_loops() -> None:
    some, Y = left_out()
    pi = np.random.default_rng(1).dirichlet(np.ones(6), size=len(some.own))
    words = np.array([5, 0])
    x, y = some.word_evidence(pi, words)
    for i in range(len(x)):
        expected = naive.word_evidence(some.nearest[i].tolist(), pi[i].tolist(), Y[:, words])
        assert x[i] == pytest.approx(expected)
    assert np.array_equal(y, Y[some.own][:, words] > 0)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.floats(0, 50))
def test_weights_by_distance_sum_to_1_and_fall(seed: int, theta: float) -> None:
    distances = np.sort(np.random.default_rng(seed).random((3, 5, 1)).astype(np.float32), axis=1)
    pi = weights_of("distance", np.array([theta]), distances)
    assert pi.sum(axis=1) == pytest.approx(1.0)
    assert (np.diff(pi, axis=1) <= 1e-12).all()
    for row, far in zip(pi, distances, strict=True):
        assert row == pytest.approx(naive.by_distance(far.tolist(), [theta]), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("logistic", [False, True])
def test_weights_of_ranks_are_the_optimum(logistic: bool) -> None:
    some, _ = left_out(60, 8)
    curve = curves(logistic)
    gamma, history = learn("rank", some, curve, np.full(8, 1 / 8))
    slopes = some.likelihood(weights_of("rank", gamma, some.distances), curve)[1].sum(axis=0)
    # The problem is concave: at its optimum no weight can be moved to another rank at a gain.
    level = float(gamma @ slopes)
    assert slopes.max() - level < 0.01 * np.abs(slopes).max()
    assert gamma.sum() == pytest.approx(1.0)
    assert history[-1] > history[0]
    assert (np.diff(history) >= -1e-12).all()


@pytest.mark.parametrize("logistic", [False, True])
def test_theta_is_the_best_of_many(logistic: bool) -> None:
    X, Y = problem(80, d=4)
    model = Neighbours(K=20).fit(X, Y)
    found = next(model.search_.among_themselves(20))
    some = LeaveOneOutNeighbours.of(
        np.arange(80), found.nearest, found.distances, WordIncidence.of(Y)
    )
    curve = Curve(np.full(5, 6.0), np.full(5, -3.0), True) if logistic else Curve.straight(1e-3, 5)
    theta, history = learn("distance", some, curve, np.array([1.0]))
    tried = [
        some.likelihood(weights_of("distance", np.array([t]), some.distances), curve)[0]
        for t in np.linspace(0, 20, 401)
    ]
    assert history[-1] >= max(tried) - 1e-6
    assert theta[0] == pytest.approx(np.linspace(0, 20, 401)[np.argmax(tried)], abs=0.2)


@pytest.mark.parametrize("seed", range(5))
def test_curves_are_the_optimum(seed: int) -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    x = np.where(rng.random((40, 3)) < 0.4, 0.0, rng.random((40, 3)))
    y = rng.random((40, 3)) < [0.5, 0.05, 0.0]
    cost, prior = np.array([0.3, 1.0]), np.array([4.0, -1.0, 0.5, 0.2])
    a, b = np.full(3, 4.0), np.full(3, -1.0)
    fast.climb_curves(x, y, cost, prior, a, b)
    for t in range(3):

        def depth(ab: NDArray[np.float64], t: int = t) -> float:
            return -naive.curve_height(x[:, t], y[:, t], cost.tolist(), prior.tolist(), ab)

        best = minimize(depth, [4.0, -1.0], bounds=[(0.2, None), (None, None)], tol=1e-12)
        assert depth(np.array([a[t], b[t]])) <= best.fun + 1e-6
        assert a[t] >= 0.2


def test_curves_never_get_worse_and_keep_the_order_of_pictures() -> None:
    some, _ = left_out(40, 8, seed=3)
    pi = weights_of("rank", np.full(8, 1 / 8), some.distances)
    prior = shared_curve(some, pi)
    first = fit_curves(some, pi, prior)
    again = fit_curves(some, pi, prior, first)

    def height(curve: Curve) -> float:
        cost = prior.penalty(curve.slope, curve.offset).sum()
        return some.likelihood(pi, curve)[0] - float(cost)

    shared = Curve(np.full(6, prior.slope), np.full(6, prior.offset), True)
    assert height(first) > height(shared)
    assert height(again) >= height(first) - 1e-12
    assert (first.slope > 0).all()
    nothing = LeaveOneOutNeighbours.of(
        some.own, some.nearest, some.distances, WordIncidence.of(np.zeros((40, 2)))
    )
    assert isinstance(shared_curve(nothing, pi), Prior)


@pytest.mark.parametrize("weights", ["rank", "distance"])
def test_learnt_weights_are_better_than_equal_ones(weights: Any) -> None:
    rng = np.random.default_rng(0)
    cluster = np.arange(600) % 40
    X = rng.random((40, 2))[cluster] + 0.04 * rng.normal(size=(600, 2))
    Y = np.eye(40)[cluster]
    model = Neighbours(weights=weights, K=60).fit(X[:400], Y[:400])
    arrays = Neighbours(weights="rank", K=60).fit(X[:400], Y[:400]).to_arrays()
    equal = Neighbours.from_arrays({**arrays, "gamma": np.full(60, 1 / 60)})
    assert model.score(X[400:], Y[400:]) > equal.score(X[400:], Y[400:]) + 0.03
    if weights == "rank":
        assert model.gamma_[:10].sum() > 2 * model.gamma_[-10:].sum()


@pytest.mark.parametrize("choice", ["union", "mean"])
def test_a_view_that_tells_nothing_counts_nothing(choice: Any) -> None:
    X, Y = problem(400, d=3)
    noise = np.random.default_rng(5).normal(size=(400, 3)).astype(np.float32)
    model = Neighbours(K=60, neighbours=choice).fit((X, noise), Y)
    useful, useless = model.theta_ * model.search_.scales
    assert useless < 0.1 * useful
    alone = Neighbours(K=60).fit(X, Y)
    assert useful == pytest.approx(alone.theta_[0] * alone.search_.scales[0], rel=0.6)


def test_curves_lift_rare_words() -> None:
    X, Y = problem(400, d=3)
    rng = np.random.default_rng(0)
    Y[:, 0] *= rng.random(400) < 0.15
    plain, lifted = (Neighbours(K=60, sigmoid=s).fit(X, Y) for s in (False, True))
    tagged = Y > 0

    def mean_of_tagged(model: Neighbours, word: int) -> float:
        return float(np.exp(model.leave_one_out_[tagged[:, word], word]).mean())

    rare, common = 0, 1
    before = mean_of_tagged(plain, rare) / mean_of_tagged(plain, common)
    after = mean_of_tagged(lifted, rare) / mean_of_tagged(lifted, common)
    assert after > 1.2 * before
    assert (lifted.curve_.slope > 0).all()


def test_many_pictures_are_learnt_from_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = problem(200)
    everything = Neighbours(K=20).fit(X, Y)
    monkeypatch.setattr(module, "_MOST_PICTURES", 100)
    some = Neighbours(K=20).fit(X, Y)
    assert some.leave_one_out_.shape == (200, 5)
    assert some.theta_[0] != everything.theta_[0]
    assert some.theta_[0] == pytest.approx(everything.theta_[0], rel=0.5)
    assert Neighbours(K=20).fit(X, Y).theta_.tobytes() == some.theta_.tobytes()
