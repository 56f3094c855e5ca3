"""Relevance feedback: ranking learned from the pictures a person judges in a session (paper B).

Every learner implements `contracts.FeedbackLearner`: `start` with the query, `partial_fit` on all
judgements of a session so far, and rank by `decision_function`. `Blend` wraps a learner and
combines it with the untouched ranking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.feedback.blend import Blend, shipped_learner
    from sightline.feedback.kernel_passive_aggressive import KernelPassiveAggressive
    from sightline.feedback.learner import Learner, LinearLearner
    from sightline.feedback.nearness import NearnessLearner
    from sightline.feedback.passive_aggressive import PassiveAggressive
    from sightline.feedback.relevance_score import RelevanceScore
    from sightline.feedback.rocchio import Rocchio
    from sightline.feedback.simulation import SimulatedUser, simulate
    from sightline.feedback.svm import SVM
else:
    __getattr__ = lazy(
        __name__,
        {
            "blend": ("Blend", "shipped_learner"),
            "kernel_passive_aggressive": ("KernelPassiveAggressive",),
            "learner": ("Learner", "LinearLearner"),
            "nearness": ("NearnessLearner",),
            "passive_aggressive": ("PassiveAggressive",),
            "relevance_score": ("RelevanceScore",),
            "rocchio": ("Rocchio",),
            "simulation": ("SimulatedUser", "simulate"),
            "svm": ("SVM",),
        },
    )

__all__ = [
    "Blend",
    "KernelPassiveAggressive",
    "Learner",
    "LinearLearner",
    "NearnessLearner",
    "PassiveAggressive",
    "RelevanceScore",
    "Rocchio",
    "SVM",
    "SimulatedUser",
    "shipped_learner",
    "simulate",
]
