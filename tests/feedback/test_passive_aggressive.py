"""Linear feedback by passive-aggressive steps: the same as its twin, and what it refuses."""

from __future__ import annotations

import numpy as np

from sightline.contracts import FeedbackLearner
from sightline.feedback.blend import Blend
from sightline.feedback.passive_aggressive import PassiveAggressive


def test_learners_keep_the_contract() -> None:
    assert isinstance(PassiveAggressive().start(), FeedbackLearner)
    assert isinstance(Blend().start(), FeedbackLearner)


def test_two_rounds_put_relevant_pictures_first() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 8)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1, -1)
    for learner in (PassiveAggressive(), Blend()):
        learner.start(X[0]).learn(X[:10], y[:10]).learn(X, y)
        scores = learner.decision_function(X)
        assert scores[y > 0].min() > scores[y < 0].max()
        assert np.allclose(X @ learner.w_, scores)
