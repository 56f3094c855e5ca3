"""The plan of a run: data sets, kinds of noise, seeds and rankers. All that may be tuned is here."""

from __future__ import annotations

from dataclasses import dataclass

from sightline.registry import BY_DEFAULT, FEATURE_SETS
from sightline_experiments.experiment import RunPlan
from sightline_experiments.noise.corruption import Kind

FEATURES = (*FEATURE_SETS["deep-all"], "classic")
CORRUPTIONS: tuple[tuple[Kind, float], ...] = (("wrong", 0.2), ("missing", 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(RunPlan):
    """One run; `splits` is the number of seeds of the noise.

    Attributes
    ----------
    corruptions : tuple of (str, float)
        The kinds of noise, each with its share of the tags.
    rankers : tuple of str
        Those that training selects from.
    """

    corruptions: tuple[tuple[Kind, float], ...] = CORRUPTIONS
    rankers: tuple[str, ...] = BY_DEFAULT

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each repetition."""
        return tuple(range(self.splits))


def full_plan() -> Plan:
    """Return the run whose figures may be quoted."""
    return Plan(splits=3, features=FEATURES)


def quick_plan() -> Plan:
    """Return a run for a first look: one seed, one feature, two rankers."""
    return Plan(splits=1, features=("deep",), rankers=("ridge", "log-product"))
