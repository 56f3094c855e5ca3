"""Linear feedback by passive-aggressive steps: the same as its twin, and the laws it keeps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.contracts import FeedbackLearner
from sightline.errors import DataError, ParameterError, UsageError
from sightline.feedback.blend import Blend
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.solvers.pa_step import UPDATED, ZERO
from tests.naive import feedback as naive

Floats = NDArray[np.float32]


def session(n: int = 20, d: int = 8, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Rows, of which those are relevant whose first number is above 0."""
    X = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return X, np.where(X[:, 0] > 0, 1, -1)


def weights(learner: PassiveAggressive) -> NDArray[np.float64]:
    assert learner.w_ is not None
    return learner.w_


def drawn(
    learner: PassiveAggressive, X: Floats, y: NDArray[np.int64], number: int
) -> list[tuple[Floats, Floats]]:
    """The pairs of a round, without background."""
    random = np.random.default_rng([learner.random_state, number])
    plus, minus = learner._draw(y > 0, random)
    return [(X[a], X[b]) for a, b in zip(plus, minus, strict=True)]


def test_learners_keep_the_contract() -> None:
    assert isinstance(PassiveAggressive().start(), FeedbackLearner)
    assert isinstance(Blend().start(), FeedbackLearner)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("averaged", [False, True])
def test_two_rounds_equal_their_twin(C: float, averaged: bool) -> None:
    X, y = session()
    learner = PassiveAggressive(C=C, n_draws=30, averaged=averaged).start(X[0])
    learner.partial_fit(X[:10], y[:10]).partial_fit(X, y)
    pairs = drawn(learner, X[:10], y[:10], 0) + drawn(learner, X, y, 1)
    after = naive.pairs(X[0].astype(np.float64), pairs, C)
    expected = np.mean(after, axis=0) if averaged else after[-1]
    assert weights(learner) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert learner.counts_.sum() == len(pairs) == 60


def test_without_a_cap_the_last_pair_has_its_margin() -> None:
    X, y = session()
    learner = PassiveAggressive(C=float("inf"), n_draws=1).partial_fit(X, y)
    ((r, n),) = drawn(learner, X, y, 0)
    assert weights(learner) @ (r.astype(np.float64) - n) == pytest.approx(1.0)


def test_no_step_is_longer_than_C() -> None:
    X, y = session()
    learner = PassiveAggressive(C=1e-3, n_draws=50).partial_fit(X, y)
    longest = max(float(np.linalg.norm(r - n)) for r, n in drawn(learner, X, y, 0))
    assert np.linalg.norm(weights(learner)) <= 1e-3 * 50 * longest


def test_relevant_pictures_come_first_whatever_it_starts_from() -> None:
    X, y = session()
    for start in (None, X[0], np.ones(8)):
        learner = (
            PassiveAggressive(n_draws=500)
            .start(start)
            .partial_fit(X[:10], y[:10])
            .partial_fit(X, y)
        )
        scores = learner.decision_function(X)
        assert scores[y > 0].min() > scores[y < 0].max()
        assert scores == pytest.approx(X @ weights(learner))


def test_the_same_seed_gives_the_same_weights_and_rounds_differ() -> None:
    X, y = session()
    one, two = (PassiveAggressive(C=0.01, random_state=3).start(X[0]) for _ in range(2))
    assert weights(one.partial_fit(X, y)).tobytes() == weights(two.partial_fit(X, y)).tobytes()
    first = weights(one).copy()
    assert weights(one.partial_fit(X, y)).tobytes() == weights(two.partial_fit(X, y)).tobytes()
    assert not np.array_equal(first, weights(one))
    other = PassiveAggressive(C=0.01, random_state=4).start(X[0]).partial_fit(X, y)
    assert not np.array_equal(first, weights(other))
    # To start again is to begin anew.
    assert weights(one.start(X[0]).partial_fit(X, y)).tobytes() == first.tobytes()


@pytest.mark.parametrize("kind", [1, -1])
def test_judgements_of_one_kind_change_nothing(kind: int) -> None:
    X, _ = session()
    learner = PassiveAggressive().start(X[0]).partial_fit(X, [kind] * len(X))
    assert weights(learner).tolist() == X[0].astype(np.float64).tolist()
    assert learner.ready and learner.n_rounds_ == 1


def test_nothing_judged_changes_nothing() -> None:
    learner = PassiveAggressive().start([1.0, 2.0])
    assert weights(learner.partial_fit(np.zeros((0, 2)), [])).tolist() == [1.0, 2.0]
    assert weights(learner.partial_fit([], [])).tolist() == [1.0, 2.0]


def test_from_nothing_it_is_ready_after_both_kinds() -> None:
    X, y = session()
    learner = PassiveAggressive().start()
    assert not learner.ready
    with pytest.raises(UsageError, match=r"not fitted yet. Start it with a query"):
        learner.decision_function(X)
    assert not learner.partial_fit(X, np.ones(len(X))).ready
    assert learner.partial_fit(X, y).ready


def test_equal_pictures_judged_both_ways_cannot_be_told_apart() -> None:
    learner = PassiveAggressive(n_draws=10).start([1.0, 0.0])
    learner.partial_fit([[1, 1], [1, 1]], [1, -1])
    assert learner.counts_[ZERO] == 10 and weights(learner).tolist() == [1.0, 0.0]


def test_a_changed_judgement_is_learnt_from_as_it_is_now() -> None:
    learner = PassiveAggressive(C=10.0).start().partial_fit([[1, 0], [0, 1]], [1, -1])
    learner.partial_fit([[1, 0], [0, 1]], [-1, 1])
    a, b = learner.decision_function([[1, 0], [0, 1]])
    assert b - a >= 1 - 1e-9


def test_zero_rows_have_a_place() -> None:
    learner = PassiveAggressive().start([1.0, 0.0]).partial_fit([[0, 0], [1, 0]], [1, -1])
    assert learner.decision_function([[0.0, 0.0]]).tolist() == [0.0]
    assert learner.counts_[UPDATED] >= 1


def test_background_pictures_count_as_others() -> None:
    background = np.array([[0, 1], [0, 2], [5, 0]], dtype=np.float32)
    learner = PassiveAggressive(n_background=50, beside=1 / 3)
    learner.start([1.0, 0.5], background).partial_fit([[1.0, 1.0]], [1])
    # The one that the query ranks best, [5, 0], is left out; the others are pushed down.
    assert learner.counts_.sum() == 50 and learner.counts_[UPDATED] > 0
    scores = learner.decision_function([[1, 1], [0, 1], [0, 2]])
    assert scores[0] > scores[1:].max()
    assert learner._far.tolist() == [0, 1]


def test_background_without_draws_or_relevant_pictures_changes_nothing() -> None:
    background = np.eye(2, dtype=np.float32)
    for learner, y in ((PassiveAggressive(), 1), (PassiveAggressive(n_background=9), -1)):
        learner.start([1.0, 0.0], background).partial_fit([[1.0, 1.0]], [y])
        assert weights(learner).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused_by_name(wrong: float) -> None:
    X, y = session()
    X[3, 2] = wrong
    with pytest.raises(DataError, match=f"Row 3 given to PassiveAggressive holds {wrong} at 2"):
        PassiveAggressive().partial_fit(X, y)
    with pytest.raises(DataError, match="Row 3"):
        PassiveAggressive().start(np.ones(8)).decision_function(X)
    with pytest.raises(DataError, match="query given to PassiveAggressive"):
        PassiveAggressive().start([1.0, wrong])


def test_what_does_not_fit_together_is_refused() -> None:
    X, y = session()
    learner = PassiveAggressive().start(X[0])
    with pytest.raises(DataError, match="must have 8 numbers"):
        learner.partial_fit(X[:, :5], y)
    with pytest.raises(DataError, match="one judgement for each of 20 rows"):
        learner.partial_fit(X, y[:5])
    with pytest.raises(DataError, match=r"\+1 .relevant. or -1"):
        learner.partial_fit(X, np.arange(20))
    with pytest.raises(DataError, match="must have 8 numbers"):
        PassiveAggressive(n_background=1).start(X[0], np.ones((3, 2)))
    for name, value in (("C", 0.0), ("n_draws", 0), ("n_background", -1), ("beside", 1.5)):
        with pytest.raises(ParameterError, match=f"'{name}' parameter of PassiveAggressive"):
            PassiveAggressive().set_params(**{name: value}).start()
    assert PassiveAggressive().set_params(C=2.0).get_params()["C"] == 2.0
