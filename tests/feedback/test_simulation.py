"""Simulated users and their sessions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sightline.errors import DataError, ParameterError
from sightline.feedback.kernel_passive_aggressive import KernelPassiveAggressive
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.feedback.simulation import SimulatedUser, simulate


def test_a_share_of_answers_is_wrong_and_stays_so() -> None:
    fits = np.arange(4000) % 2 == 0
    user = SimulatedUser(fits, flipped=0.1, random_state=5)
    said = user.judge(np.arange(4000))
    assert 0.08 < (said != np.where(fits, 1, -1)).mean() < 0.12
    assert user.judge([7, 7, 3]).tolist() == said[[7, 7, 3]].tolist()
    again = SimulatedUser(fits, flipped=0.1, random_state=5).judge(np.arange(4000))
    assert again.tolist() == said.tolist()
    assert SimulatedUser(fits).judge([0, 1]).tolist() == [1, -1]
    assert SimulatedUser(fits, flipped=1.0).judge([0, 1]).tolist() == [-1, 1]
    with pytest.raises(ParameterError, match="flipped"):
        SimulatedUser(fits, flipped=1.5)


def test_a_session_goes_as_the_paper_says() -> None:
    X = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    fits = X[:, 0] > 0
    query = int(np.flatnonzero(fits)[0])
    rounds = list(simulate(PassiveAggressive(), X, query, SimulatedUser(fits), 4, 5))
    assert [r.number for r in rounds] == [0, 1, 2, 3, 4]
    assert rounds[0].scores == pytest.approx(X @ X[query], abs=1e-5)
    assert rounds[0].judged.tolist() == [query]
    for before, after in pairwise(rounds):
        assert query not in after.shown and len(after.shown) == 5
        assert set(after.judged) == set(before.judged) | set(before.shown)
        assert len(set(after.judged.tolist())) == len(after.judged)
    assert fits[rounds[-1].shown].mean() > fits[rounds[0].shown].mean()


def test_what_is_not_ready_keeps_the_ranking() -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(30, 3))).astype(np.float32)
    user = SimulatedUser(np.ones(30, dtype=bool))
    for learner in (PassiveAggressive(), KernelPassiveAggressive()):
        first, second = simulate(learner, X, 0, user, 1, 5, from_query=False)
        assert first.scores.tolist() == second.scores.tolist()


def test_a_query_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="Got query 5 and a user for 3"):
        next(simulate(PassiveAggressive(), np.eye(3), 5, SimulatedUser([True] * 3)))
