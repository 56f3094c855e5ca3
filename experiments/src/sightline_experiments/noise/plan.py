"""The plan of a run: features, kinds of noise, seeds and rankers; all that may be tuned."""

from __future__ import annotations

from dataclasses import dataclass

from sightline.registry import BY_DEFAULT, FEATURE_SETS
from sightline_experiments.experiment import RunPlan
from sightline_experiments.noise.corruption import Kind

FEATURES = (*FEATURE_SETS["deep-all"], "color")
"""What `sightline index` computes by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(RunPlan):
    """One run; `splits` is the number of seeds of the noise.

    Attributes
    ----------
    corruptions : tuple of (str, float)
        The kinds of noise, each with the share of tags it hits. Of tags of which a fifth is missing
        as many are right as of tags of which a fifth is wrong: what these lose is not due to noise,
        but to fewer tags.
    rankers : tuple of str
        Those that training selects from.
    pictures : int or None
        Training pictures, a seeded sample; None for all.
    """

    corruptions: tuple[tuple[Kind, float], ...] = (
        ("wrong", 0.2),
        ("missing", 0.2),
        ("missing", 0.5),
    )
    rankers: tuple[str, ...] = BY_DEFAULT
    pictures: int | None = None


def full_plan() -> Plan:
    """Return the run of everything that `sightline train` does by default."""
    return Plan(splits=3, features=FEATURES)


def quick_plan() -> Plan:
    """Return a run for a first look: one feature, the two rankers that win."""
    return Plan(splits=2, features=("deep",), rankers=("ridge", "log-product"))
