"""The plan of a run: queries, rounds and methods. All that may be tuned is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sightline_experiments.experiment import RunPlan
from sightline_experiments.feedback.methods import METHODS
from sightline_experiments.online.pool import DEEP

DESCRIPTORS: Mapping[str, str] = {"ehd": "ehd", "cedd": "cedd", "deep": DEEP}
"""The descriptor behind each set of features."""

FEATURES = tuple(DESCRIPTORS)


@dataclass(frozen=True, slots=True)
class Plan(RunPlan):
    """One run.

    Attributes
    ----------
    queries, rounds, shown : how many queries, rounds of feedback, and pictures judged in each.
    most : the largest T of AP@T.
    scaling : scaling of rows (`similarity.scaling`), but for methods that have their own.
    methods : of `METHODS`.
    sweep : further values of C for linear PA.
    flipped : share of wrong judgements of the noisy user.
    background : number of unjudged pictures, drawn once for all sessions.
    """

    queries: int
    rounds: int
    shown: int
    most: int
    scaling: str
    methods: tuple[str, ...]
    sweep: tuple[float, ...]
    flipped: float
    background: int


def full_plan() -> Plan:
    """Return the run whose figures may be quoted."""
    return Plan(
        queries=500,
        rounds=9,
        shown=20,
        most=180,
        features=FEATURES,
        scaling="unit",
        methods=tuple(METHODS),
        sweep=(0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0),
        flipped=0.1,
        background=1000,
    )


def quick_plan() -> Plan:
    """Return a run for a first look: fewer queries, and less of the sweep."""
    return replace(full_plan(), queries=120, sweep=(0.001, 1.0, 1000.0))
