"""The plan of a run: what is asked, of how many pictures, and the sizes of collections."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sightline_experiments.experiment import RunPlan
from sightline_experiments.queries.calibration import SIZES
from sightline_experiments.queries.questions import (
    MINUS,
    MISSPELLED,
    ONE,
    PLURAL,
    PLUS,
    RARE,
    SENTENCE,
    THREE,
    TWO,
)

CALIBRATION = "calibration"
PARTS: dict[str, tuple[str, ...]] = {
    "words": (ONE, TWO, THREE, RARE),
    "signs": (MINUS, PLUS),
    "spelling": (PLURAL, MISSPELLED),
    "sentences": (SENTENCE,),
    CALIBRATION: (),
}
"""What `--only` names, with the kinds of questions of each part."""
_SMALL, _MEDIUM = 100, 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(RunPlan):
    """One run.

    Attributes
    ----------
    questions : int
        At most so many of each kind.
    measured : int
        At most so many pictures to measure on.
    withheld : int
        How many tagged pictures take the place of the untagged ones, to choose by; 0 measures the
        test.
    sizes : tuple of int
        Numbers of tagged pictures for the calibration.
    draws : int
        How often pictures are drawn for small sizes.
    parts : tuple of str
        What is measured, of `PARTS`.
    rankers : tuple of str
        Rankers to train; all that `train` tries by default.
    """

    questions: int
    measured: int
    withheld: int = 0
    sizes: tuple[int, ...] = SIZES
    draws: int = 5
    parts: tuple[str, ...] = tuple(PARTS)
    rankers: tuple[str, ...] = ()

    def kinds(self) -> frozenset[str]:
        """Return the kinds of questions that are asked."""
        return frozenset(kind for part in self.parts for kind in PARTS[part])

    def draws_of(self, size: int) -> int:
        """Return how often pictures are drawn for a size: the less, the more they are."""
        if size <= _SMALL:
            return self.draws
        return min(self.draws, 3) if size <= _MEDIUM else 1


def full_plan() -> Plan:
    """Return the run whose figures may be quoted."""
    return Plan(questions=200, measured=500)


def quick_plan() -> Plan:
    """Return a run for a first look."""
    return replace(full_plan(), questions=40, measured=300, sizes=(30, 100), draws=2)
