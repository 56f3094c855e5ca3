"""What kernel ridge chooses by itself: alpha, the weights of views; and the balance of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.annotators._alpha import best_alpha
from sightline.annotators._weights import _is_better
from sightline.annotators.ridge import KernelRidge
from sightline.annotators.targets import mean_average_precision
from tests.naive import annotators as naive
from tests.naive.annotators import problem


@pytest.mark.parametrize("criterion", ["AvgP", "error"])
@pytest.mark.parametrize("noise", [0.02, 2.0])
def test_alpha_is_the_best_of_its_neighbours(criterion: Any, noise: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 20)).astype(np.float32)
    hidden = X @ rng.normal(size=(20, 8)) + noise * 4 * rng.normal(size=(150, 8))
    Y = (hidden > 2).astype(np.float32)
    chosen = KernelRidge(kernel="linear", criterion=criterion).fit(X, Y)

    def quality(alpha: float) -> float:
        scores = KernelRidge(kernel="linear", alpha=alpha).fit(X, Y).leave_one_out_
        if criterion == "error":
            return -float(np.square(scores - Y).mean())
        return mean_average_precision(scores, Y)

    best = max(quality(a) for a in 10.0 ** np.arange(-4, 2.1, 0.25))
    assert quality(chosen.alpha_) >= best - (0.01 if criterion == "AvgP" else 1e-6)


class Planted:
    """Left-out scores whose squared error is least at one strength."""

    def __init__(self, power: float) -> None:
        self.power = power
        self.Y = np.tile(np.array([[0.0], [1.0]], dtype=np.float32), (5, 3))

    def left_out(self, alpha: float, words: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        return np.asarray(self.Y[:, words] + (np.log10(alpha / 3) - self.power), dtype=np.float32)

    def coefficients(self, alpha: float) -> NDArray[np.float64]:
        raise AssertionError("a strength is chosen without coefficients")

    def some(self, pictures: NDArray[np.int64]) -> Planted:
        return self


@pytest.mark.parametrize("power", [-5.75, -3.0, -1.25, -1.0, -0.75, 0.5, 4.25, 6.0])
def test_alpha_climbs_as_far_as_it_has_to(power: float) -> None:
    found = best_alpha(Planted(power), scale=3.0, criterion="error", random_state=0)
    assert np.log10(found) == pytest.approx(power)


class Ranked(Planted):
    """Left-out scores that rank perfectly up to one strength, and some words worse above it."""

    def left_out(self, alpha: float, words: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        scores = self.Y.copy()
        scores[:, : self.worse] *= -1 if np.log10(alpha / 3) > self.power + 0.01 else 1
        return np.asarray(scores[:, words], dtype=np.float32)

    worse = 0


@pytest.mark.parametrize(("worse", "expected"), [(0, -0.5), (1, -0.5), (3, -0.75)])
def test_a_stronger_alpha_is_taken_while_it_is_not_clearly_worse(
    worse: int, expected: float
) -> None:
    planted = Ranked(-0.75)
    planted.worse = worse
    found = best_alpha(planted, scale=3.0, criterion="AvgP", random_state=0)
    assert np.log10(found) == pytest.approx(expected)


def test_more_noise_asks_for_a_larger_alpha() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 20)).astype(np.float32)
    direction, noise = rng.normal(size=(20, 8)), rng.normal(size=(200, 8))
    found = [
        KernelRidge(kernel="linear", criterion="error")
        .fit(X, (X @ direction + s * noise > 3))
        .alpha_
        for s in (0.1, 40.0)
    ]
    assert found[0] < found[1] / 5


@pytest.mark.parametrize("alpha", [0.05, 1.0, "auto"])
@pytest.mark.parametrize("balance", [0.5, 1.0])
def test_balanced_words_equal_the_naive_ones(alpha: Any, balance: float) -> None:
    X, Y = problem(40)
    Y[:, 3] = X[:, 0] < 1.2
    Y[:, 4] = 0
    ridge = KernelRidge(alpha=alpha, balance=balance).fit(X, Y)
    K = ridge.kernel_((X,)).astype(np.float64)
    for t in range(5):
        y, tagged = Y[:, t].astype(np.float64), Y[:, t].sum()
        weights = np.where(y, ((40 - tagged) / max(tagged, 1)) ** balance, 1.0)
        dual = naive.weighted_ridge(K, y, ridge.alpha_, weights)
        assert ridge.dual_[:, t] == pytest.approx(dual, rel=1e-3, abs=1e-3)
        for i in (0, 20, 39):
            kept = np.arange(40) != i
            without = naive.weighted_ridge(
                K[np.ix_(kept, kept)], y[kept], ridge.alpha_, weights[kept]
            )
            assert ridge.leave_one_out_[i, t] == pytest.approx(K[i, kept] @ without, abs=1e-3)


def test_a_little_balance_changes_little() -> None:
    X, Y = problem(40)
    plain = KernelRidge(alpha=0.1).fit(X, Y)
    near = KernelRidge(alpha=0.1, balance=1e-6).fit(X, Y)
    assert near.dual_ == pytest.approx(plain.dual_, abs=1e-4)
    assert near.leave_one_out_ == pytest.approx(plain.leave_one_out_, abs=1e-4)


def test_a_view_that_says_nothing_is_made_to_count_less() -> None:
    X, Y = problem(150, n_words=20)
    noise = np.random.default_rng(9).normal(size=(150, 6)).astype(np.float32)
    ridge = KernelRidge(weights="auto", alpha=0.1).fit((noise, X), Y)
    assert ridge.kernel_.weights[0] < 0.2
    assert sum(ridge.kernel_.weights) == pytest.approx(1)
    alike = KernelRidge(alpha=0.1).fit((noise, X), Y)
    assert mean_average_precision(ridge.leave_one_out_, Y) > mean_average_precision(
        alike.leave_one_out_, Y
    )


def test_a_gain_within_the_scatter_of_words_is_no_gain() -> None:
    before = np.full(100, 0.5)
    scatter = np.tile([0.1, -0.1], 50)
    assert not _is_better(before, before)
    assert not _is_better(before + scatter + 0.004, before)
    assert _is_better(before + scatter + 0.006, before)
    assert not _is_better(before + scatter - 0.006, before)


def test_few_pictures_or_one_view_leave_the_weights_alike() -> None:
    X, Y = problem(30, n_words=20)
    assert KernelRidge(weights="auto").fit((X, X), Y).kernel_.weights == (0.5, 0.5)
    assert KernelRidge(weights="auto").fit(X, Y).kernel_.weights == (1.0,)
    X, Y = problem(60, n_words=3)
    assert KernelRidge(weights="auto").fit((X, X), Y).kernel_.weights == (0.5, 0.5)


def test_twin_views_keep_their_weights() -> None:
    X, Y = problem(80, n_words=12)
    assert KernelRidge(weights="auto", alpha=0.1).fit((X, X), Y).kernel_.weights == (0.5, 0.5)


@pytest.mark.parametrize("criterion", ["error", "AvgP"])
def test_words_of_one_picture_each_do_not_choose_the_largest_strength(criterion: Any) -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(12, 6))
    new = np.repeat(np.arange(12), 5)
    X, others = (centres[k] + 0.3 * rng.normal(size=(len(k), 6)) for k in (np.arange(12), new))
    ridge = KernelRidge(criterion=criterion).fit(X, np.eye(12))
    assert ridge.alpha_ == pytest.approx(10**-0.5)
    best = ridge.decision_function(others).argmax(axis=1)
    assert (best == new).mean() > 0.8
