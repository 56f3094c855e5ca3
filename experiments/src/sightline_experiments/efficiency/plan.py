"""The plan of a run: numbers of tags a word, draws, features; all that may be tuned."""

from __future__ import annotations

from dataclasses import dataclass

from sightline_experiments.experiment import RunPlan
from sightline_experiments.noise.plan import FEATURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(RunPlan):
    """One run; `splits` is the number of draws of tags.

    Attributes
    ----------
    numbers : tuple of int
        How many tags each word keeps, ascending.
    compared : int
        The number of tags whose AvgP by ridge the other method should have with fewer.
    developing : bool
        Measure on a quarter of the training pictures in the place of the test, to choose by.
    """

    numbers: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    compared: int = 16
    developing: bool = False


def full_plan() -> Plan:
    """Return the run with the features that `sightline train` learns from by default."""
    return Plan(splits=3, features=FEATURES)


def quick_plan() -> Plan:
    """Return a run for a first look: one feature, few numbers."""
    return Plan(splits=2, features=("deep",), numbers=(4, 16), compared=16)
