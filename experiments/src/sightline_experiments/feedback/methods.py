"""The methods: learners with their default parameters, and how their sessions begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sightline.feedback.blend import Blend
from sightline.feedback.kernel_passive_aggressive import KernelPassiveAggressive
from sightline.feedback.passive_aggressive import PassiveAggressive
from sightline.feedback.relevance_score import RelevanceScore
from sightline.feedback.rocchio import Rocchio
from sightline.feedback.svm import SVM
from sightline.similarity.scaling import COMPACT

LINEAR, KERNEL, MACHINE, NEAREST = "PA", "kernel PA", "SVM", "RS"
FROM_QUERY, SHIPPED, REDUCED = "PA from the query", "PA blended", "PA blended, compact"
UNPLACED = "PA blended, not placed"


@dataclass(frozen=True, slots=True)
class Method:
    """A learner, a new one for each session.

    Attributes
    ----------
    learner : returns a new learner.
    from_query : whether it starts with the query's row.
    scaling : scaling of rows (`similarity.scaling`), if not that of the others.
    placed : put judged pictures first and last, if the learner has places for them.
    """

    learner: Callable[..., Any]
    from_query: bool = True
    scaling: str = ""
    placed: bool = True


METHODS: Mapping[str, Method] = {
    LINEAR: Method(PassiveAggressive, from_query=False),
    FROM_QUERY: Method(PassiveAggressive),
    SHIPPED: Method(Blend),
    UNPLACED: Method(Blend, placed=False),
    REDUCED: Method(Blend, scaling=COMPACT),
    KERNEL: Method(KernelPassiveAggressive),
    MACHINE: Method(SVM),
    NEAREST: Method(RelevanceScore),
    "RS stabilised": Method(lambda: RelevanceScore(stabilised=True)),
    "Rocchio": Method(Rocchio),
}
"""By the paper's names; `PA` begins with zero weights, as in the paper. Sessions of a collection do
what `PA blended` does."""

PAPERS = (LINEAR, KERNEL, MACHINE, NEAREST)
"""Those that the paper compares."""
