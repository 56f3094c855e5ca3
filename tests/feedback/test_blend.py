"""The blend: how far the learnt order is to be trusted, by judgements that are left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, UsageError
from sightline.feedback.blend import SHARES, Blend, in_order, placed
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.feedback.relevance_score import RelevanceScore
from tests.feedback.test_passive_aggressive import Floats, session
from tests.naive import feedback as naive

PLAIN = PassiveAggressive(C=10.0)


def around(n: int = 400, d: int = 16, seed: int = 5) -> tuple[Floats, NDArray[np.int64]]:
    """Pictures of which the first tenth lie around a centre, all made one long."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)).astype(np.float32)
    X[: n // 10] += 5.0 * np.eye(d, dtype=np.float32)[0] + 2.0 * np.eye(d, dtype=np.float32)[1]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(np.arange(n) < n // 10, 1, -1)


def test_where_the_query_is_wrong_it_has_no_share() -> None:
    X, y = session(24, 12, seed=1)
    blend = Blend(learner=PLAIN).start(-np.eye(12)[0]).partial_fit(X, y)
    assert blend.weight_ == 0.0
    assert blend.before_ == 0.0 and blend.after_ is not None and blend.after_ > 0.8


def test_where_judgements_are_noise_the_query_keeps_its_ranking() -> None:
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 40)).astype(np.float32)
    # Only what the query sees tells them apart, and it is faint for a learner.
    X[:, 0] *= 0.3
    y = np.where(X[:, 0] > 0, 1, -1)
    blend = Blend(learner=PassiveAggressive(C=10.0)).start(np.eye(40)[0]).partial_fit(X, y)
    assert blend.before_ == blend.after_ == 1.0
    assert blend.weight_ > 0.5


def test_before_and_after_are_shares_of_pairs_in_order() -> None:
    X, y = session(30, 4, seed=3)
    q = np.array([0.3, 1.0, 0.0, 0.0])
    blend = Blend(learner=PLAIN).start(q).partial_fit(X, y)
    assert blend.before_ == pytest.approx(naive.in_order((X @ q).tolist(), (y > 0).tolist()))
    assert blend.after_ is not None and blend.before_ is not None
    assert blend.after_ >= blend.before_
    assert blend.weight_ in SHARES


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=12))
def test_pairs_in_order_equal_their_twin(judged: list[tuple[int, bool]]) -> None:
    scores, relevant = (list(part) for part in zip(*judged, strict=True))
    if any(relevant) and not all(relevant):
        values, fits = np.array(scores, dtype=float), np.array(relevant)
        found = in_order(values[fits], values[~fits])
        assert found == pytest.approx(naive.in_order(scores, relevant))


@given(st.permutations(range(40)))
def test_the_order_of_judgements_and_of_rounds_does_not_count(order: list[int]) -> None:
    X, y = around(seed=7)
    judged = np.r_[0:20, 100:120]
    said = y[judged].copy()
    said[[3, 25]] *= -1
    at_once = Blend().start(X[0], X).partial_fit(X[judged], said)
    later = Blend().start(X[0], X).partial_fit(X[judged][:10], said[:10])
    later.partial_fit(X[judged][order], said[order])
    assert at_once.w_.tolist() == later.w_.tolist()
    assert at_once.stands_[order].tolist() == later.stands_.tolist()


@given(st.integers(0, 200))
def test_no_judged_pair_is_given_away(seed: int) -> None:
    X, _ = around(seed=seed)
    judged = np.r_[0:20, 100:120]
    said = np.where(X[judged, 2] > 0, 1, -1)
    blend = Blend().start(np.eye(16)[2], X).partial_fit(X[judged], said)
    assert blend.before_ is not None and blend.after_ is not None
    assert blend.after_ >= blend.before_


def test_a_no_that_contradicts_all_others_is_a_slip() -> None:
    X, y = around()
    judged = np.r_[0:20, 100:120]
    said = y[judged].copy()
    said[[3, 25]] *= -1
    blend = Blend().start(X[0], X).partial_fit(X[judged], said)
    # What was said to fit is never doubted, far from all that fits as it is.
    assert np.flatnonzero(blend.stands_ == 0).tolist() == [3]
    # It learns as if that had not been said.
    kept = np.delete(np.arange(40), 3)
    without = Blend(detect_mislabels=False).start(X[0], X).partial_fit(X[judged[kept]], said[kept])
    assert blend._learner.w_.tolist() == without._learner.w_.tolist()
    misled = Blend(detect_mislabels=False).start(X[0], X).partial_fit(X[judged], said)
    assert misled.stands_.all()


def test_what_is_sure_is_no_slip_and_neither_is_the_query() -> None:
    X, y = around()
    judged = np.r_[0:20, 100:120]
    said = y[judged].copy()
    said[3] *= -1
    blend = Blend().start(X[0], X)
    assert blend.partial_fit(X[judged], said, sure=np.arange(40) == 3).stands_[3] == -1
    # Asked for, it would be its own contradiction.
    assert Blend().start(X[3], X).partial_fit(X[judged], said).stands_[3] == -1


def test_who_says_no_often_means_it() -> None:
    X, y = around()
    judged = np.r_[0:20, 100:120]
    for n in (3, 12):
        said = y[judged].copy()
        said[1 : 1 + n] = -1
        doubted = Blend().start(X[0], X).partial_fit(X[judged], said).stands_ == 0
        assert doubted.any() == (n == 3)


def test_truthful_judgements_are_not_doubted() -> None:
    X, y = around()
    judged = np.r_[0:20, 100:120]
    assert (
        Blend().start(X[0], X).partial_fit(X[judged], y[judged]).stands_.tolist()
        == y[judged].tolist()
    )


def test_without_a_background_nothing_is_doubted() -> None:
    X, y = around()
    said = y[:60].copy()
    said[3] *= -1
    assert Blend().start(X[0]).partial_fit(X[:60], said).stands_.all()


def test_judged_pictures_are_placed_first_and_last() -> None:
    scores = np.array([0.0, 5.0, 1.0, 3.0, 2.0])
    order = np.argsort(-placed(scores, [0, 1, 2], [1, -1, 0])).tolist()
    assert order == [0, 3, 4, 2, 1] and scores.tolist() == [0.0, 5.0, 1.0, 3.0, 2.0]
    assert placed(np.zeros(0), [], []).tolist() == []
    assert np.argsort(-placed(np.ones(3), [2, 0], [1, -1]), kind="stable").tolist() == [2, 1, 0]


def test_pictures_that_fit_move_the_ranking_where_they_were_found_low() -> None:
    X, _ = around()
    # The query asks for something that has nothing to do with what fits.
    blend = Blend().start(np.eye(16)[7], X).partial_fit(X[:20], np.ones(20))
    assert blend.weight_ < 1.0 and (blend.before_, blend.after_) == (None, None)
    found = np.argsort(-blend.decision_function(X))[:20]
    assert (found < 40).mean() > 0.8
    # One that has them all on top stays.
    assert Blend().start(X[:40].mean(axis=0), X).partial_fit(X[:20], np.ones(20)).weight_ == 1.0


def test_weights_rank_as_the_scores_do() -> None:
    X, y = session(30, 4, seed=3)
    blend = Blend(learner=PLAIN).start([0.3, 1.0, 0.0, 0.0])
    assert blend.linear and blend.ready and blend.w_.tolist() == [0.3, 1.0, 0.0, 0.0]
    blend.partial_fit(X, y)
    assert blend.linear
    assert pytest.approx(X @ blend.w_ + blend.intercept_) == blend.decision_function(X)


@pytest.mark.parametrize("kind", [1, -1])
def test_one_kind_of_judgement_leaves_the_ranking_untouched(kind: int) -> None:
    X, y = session()
    blend = Blend().start(X[0]).partial_fit(X, y).partial_fit(X[:5], [kind] * 5)
    assert (blend.weight_, blend.before_, blend.after_) == (1.0, None, None)
    assert blend.decision_function(X) == pytest.approx(X @ X[0], abs=1e-5)
    assert blend.partial_fit(np.zeros((0, 8)), []).weight_ == 1.0


def test_two_judgements_are_enough_to_go_on() -> None:
    blend = Blend().start([1.0, 0.0]).partial_fit([[1, 1], [1, 0]], [1, -1])
    assert 0.0 <= blend.weight_ <= 1.0 and np.isfinite(blend.decision_function([[1, 1]])).all()


def test_an_untouched_ranking_may_be_scores() -> None:
    X, y = session(40, 4)
    untouched = -X[:, 0].astype(np.float64)
    blend = Blend(learner=PLAIN).start()
    assert not blend.ready
    blend.partial_fit(X, y, untouched=untouched)
    assert blend.weight_ < 0.5 and blend.before_ == 0.0
    wrong = Blend(learner=PLAIN).start().partial_fit(X, np.ones(40), untouched=untouched)
    assert wrong.decision_function(X, untouched=untouched).tolist() == untouched.tolist()
    with pytest.raises(UsageError, match=r"not fitted yet. Start it with a query"):
        wrong.decision_function(X)
    with pytest.raises(DataError, match="40 finite scores"):
        blend.partial_fit(X, y, untouched=untouched[:3])


def test_without_any_untouched_ranking_it_is_the_learner_alone() -> None:
    X, y = session(40, 4)
    blend = Blend(learner=PLAIN).start().partial_fit(X, y)
    order = sorted(range(40), key=lambda i: X[i].tobytes())
    alone = PassiveAggressive(C=10.0).start().partial_fit(X[order], y[order])
    assert blend.weight_ == 0.0 and blend.linear
    assert blend.decision_function(X) == pytest.approx(alone.decision_function(X))


def test_a_learner_without_weights_is_blended_by_scores() -> None:
    X, y = session(40, 4)
    blend = Blend(learner=RelevanceScore()).start([0.5, 1.0, 0.0, 0.0]).partial_fit(X, y)
    assert not blend.linear and blend.decision_function(X).shape == (40,)
    with pytest.raises(UsageError, match="no weights"):
        blend.w_  # noqa: B018


def test_the_learner_that_was_given_stays_as_it_was() -> None:
    X, y = session()
    given_learner = PassiveAggressive(n_draws=7)
    Blend(learner=given_learner).start(X[0]).partial_fit(X, y)
    assert not hasattr(given_learner, "w_") and given_learner.get_params()["n_draws"] == 7
