"""What all experiments have in common: trials, the result of a method, and the results of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sightline import __version__
from sightline.contracts import Json
from sightline.measures.figures import Figures
from sightline_experiments.tuning import Settings


@dataclass(frozen=True, slots=True)
class Trial:
    """Hyperparameters tried on one split.

    Attributes
    ----------
    split : int
        The number of the split, fold or half.
    settings : dict
        The hyperparameters.
    value : float
        The measure on validation data by which they are chosen; more is better.
    seconds : float
        CPU time of fitting.
    """

    split: int
    settings: Settings
    value: float
    seconds: float


T = TypeVar("T", bound=Trial)


@dataclass(slots=True, eq=False)
class MethodResult(Generic[T]):
    """One method in one group of the results: every trial, and the chosen one of each split.

    Attributes
    ----------
    method : str
    group : tuple of str
        What is compared only within itself: the features, the data set, the protocol, the
        direction.
    """

    method: str
    group: tuple[str, ...]
    trials: list[T] = field(default_factory=list)
    chosen: list[T] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The method and its group, as tables of significance tests name it."""
        return f"{self.method} ({', '.join(self.group)})"


R = TypeVar("R", bound=MethodResult[Any])


@dataclass(slots=True, eq=False)
class RunResults:
    """All results of a run.

    Attributes
    ----------
    settings : dict
        How the run was made.
    unavailable : list of str
        Titles of data sets that were not found.
    notes : list of str
        What was left out, and why.
    """

    settings: dict[str, Json]
    unavailable: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def figures(self, experiment: str, more: Mapping[str, Json]) -> Figures:
        """Return the figures of the run, still without rows."""
        settings: dict[str, Json] = {
            **self.settings,
            "sightline": __version__,
            **more,
            "unavailable": list[Json](self.unavailable),
            "notes": list[Json](self.notes),
        }
        return Figures(experiment, settings)


@dataclass(slots=True, eq=False)
class Results(RunResults, Generic[R]):
    """All results of a run that measures methods in groups.

    Attributes
    ----------
    methods : list
        The result of every method that was measured.
    """

    methods: list[R] = field(default_factory=list)

    def groups(self) -> list[tuple[str, ...]]:
        """Return the groups that were measured, in order."""
        return list(dict.fromkeys(r.group for r in self.methods))

    def of(self, *group: str) -> dict[str, R]:
        """Return the results of one group by method."""
        return {r.method: r for r in self.methods if r.group == group}

    def chosen(self) -> dict[str, Json]:
        """Return the chosen hyperparameters of each method, split by split."""
        return {r.name: [dict(t.settings) for t in r.chosen] for r in self.methods}
