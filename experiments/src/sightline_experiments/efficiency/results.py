"""Results of a run, and its figures in the form of all experiments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sightline.measures.figures import Figure, Figures
from sightline_experiments.efficiency.methods import METHODS, RIDGE, SERVED
from sightline_experiments.experiment import RunResults

AVGP, NEEDED, PICTURES = "AvgP", "tags needed", "pictures"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A method trained with n tags a word in one draw: the mean AvgP of single words."""

    title: str
    method: str
    n: int
    seed: int
    avgp: float
    pictures: int
    recipe: str


@dataclass(slots=True, eq=False)
class EfficiencyResults(RunResults):
    """All results of a run.

    Attributes
    ----------
    outcomes : list of Outcome
    words : dict
        By data set, how many words are measured.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)

    def values(self, title: str, method: str, n: int) -> list[float]:
        """Return the AvgP of a method with n tags a word, draw by draw."""
        key = (title, method, n)
        return [o.avgp for o in self.outcomes if (o.title, o.method, o.n) == key]

    def numbers(self, title: str) -> list[int]:
        """Return the numbers of tags that were measured, ascending."""
        return sorted({o.n for o in self.outcomes if o.title == title})

    def needed(self, title: str) -> list[float]:
        """Return how many tags ours needs for what ridge has with the number compared, by draw."""
        numbers, compared = self.numbers(title), int(str(self.settings["compared"]))
        if compared not in numbers:
            return []
        curves = zip(*(self.values(title, SERVED, n) for n in numbers), strict=True)
        return [
            tags_needed(numbers, curve, goal)
            for curve, goal in zip(curves, self.values(title, RIDGE, compared), strict=True)
        ]


def tags_needed(numbers: Sequence[int], curve: Sequence[float], goal: float) -> float:
    """Return where a curve first reaches a goal, between numbers by their logarithm.

    Infinite if it never does; the smallest number if it has it from the start.

    >>> tags_needed((1, 4, 16), (0.1, 0.2, 0.4), 0.3), tags_needed((1, 4), (0.1, 0.2), 0.3)
    (8.0, inf)
    """
    if curve[0] >= goal:
        return float(numbers[0])
    for (n, a), (m, b) in zip(
        zip(numbers, curve, strict=True), zip(numbers[1:], curve[1:], strict=True), strict=False
    ):
        if b >= goal:
            share = (goal - a) / (b - a)
            return float(2 ** (math.log2(n) + share * (math.log2(m) - math.log2(n))))
    return math.inf


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of a mean; None of a single value."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def figures_of(results: EfficiencyResults) -> Figures:
    """Return the figures of a run; `spread` is the standard error over draws."""
    recipes = [
        f"{o.title}, {o.n} tags, draw {o.seed}: {o.method} {o.recipe}" for o in results.outcomes
    ]
    figures = results.figures("efficiency", {"recipes": list(recipes), "words": {**results.words}})
    for title in results.words:
        for n in results.numbers(title):
            for method in METHODS:
                values = results.values(title, method, n)
                row = _figure(method, AVGP, values, title, at=n, n=results.words[title])
                figures.rows.append(row)
            pictures = [float(o.pictures) for o in results.outcomes if (o.title, o.n) == (title, n)]
            figures.rows.append(_figure(SERVED, PICTURES, pictures, title, at=n))
        needed = results.needed(title)
        if needed and all(map(math.isfinite, needed)):
            figures.rows.append(_figure(SERVED, NEEDED, needed, title))
    return figures


def _figure(
    method: str,
    measure: str,
    values: Sequence[float],
    title: str,
    at: int | None = None,
    n: int | None = None,
) -> Figure:
    mean, spread = float(np.mean(values)), standard_error(values)
    return Figure(method, measure, mean, protocol=title, at=at, spread=spread, n=n)
