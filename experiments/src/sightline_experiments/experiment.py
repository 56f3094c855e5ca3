"""The parts of all experiments: trials, results, and the loop over splits and methods.

`Experiment` is the protocol of all papers: on each split every method is fitted with the
hyperparameters of its search, the best by validation data are chosen, and their fit is measured
once on test data. The subclass of a paper fits and measures its methods.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from sightline import __version__
from sightline.contracts import Json, Progress
from sightline.errors import MissingExtra
from sightline.measures.figures import Figures
from sightline_experiments.tuning import Choice, Search, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The plan of a run; the subclass of a paper adds what may be tuned.

    Attributes
    ----------
    splits : int
        How many splits, folds or halves of the data.
    features : tuple of str
        Sets of features, each measured separately.
    """

    splits: int = 1
    features: tuple[str, ...] = ()

    def with_options(
        self, features: tuple[str, ...] | None = None, splits: int | None = None
    ) -> Self:
        """Return the plan with other features or another number of splits, if given."""
        plan = self if features is None else replace(self, features=features)
        return plan if splits is None else replace(plan, splits=splits)


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
    details : dict
        What fitting found out, such as the number of steps.
    """

    split: int
    settings: Settings
    value: float
    seconds: float
    details: Mapping[str, Json] = field(default_factory=dict)


Outcome = TypeVar("Outcome")  # what a method is measured by on the test data of a split


@dataclass(slots=True, eq=False)
class MethodResult(Generic[Outcome]):
    """One method in one group of the results.

    Attributes
    ----------
    method : str
    group : tuple of str
        Methods are compared only within a group: the features, the dataset, the protocol, the
        direction.
    trials : list of Trial
        Every combination of hyperparameters that was tried.
    chosen : list of Trial
        The best of each split, by validation data.
    outcomes : list
        Its measurements on the test data of each split.
    """

    method: str
    group: tuple[str, ...]
    trials: list[Trial] = field(default_factory=list)
    chosen: list[Trial] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The method and its group, as tables of significance tests name it."""
        return f"{self.method} ({', '.join(self.group)})"

    def seconds(self) -> float:
        """Return the CPU seconds of the chosen fits, the mean over splits."""
        return float(np.mean([t.seconds for t in self.chosen]))


R = TypeVar("R", bound=MethodResult[Any])


@dataclass(slots=True, eq=False)
class RunResults:
    """All results of a run.

    Attributes
    ----------
    settings : dict
        The settings of the run.
    unavailable : list of str
        Titles of data sets that were not found.
    notes : list of str
        Methods that were left out, and why.
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
class Results(RunResults, ABC, Generic[R]):
    """All results of a run that measures methods in groups.

    Attributes
    ----------
    methods : list
        The result of every method that was measured.
    """

    methods: list[R] = field(default_factory=list)

    @abstractmethod
    def new(self, method: str, group: tuple[str, ...]) -> R:
        """Return an empty result of a method."""

    def result(self, method: str, group: tuple[str, ...]) -> R:
        """Return the result of a method in a group, a new one if there is none."""
        for r in self.methods:
            if (r.method, r.group) == (method, group):
                return r
        self.methods.append(self.new(method, group))
        return self.methods[-1]

    def groups(self) -> list[tuple[str, ...]]:
        """Return the groups that were measured, in order."""
        return list(dict.fromkeys(r.group for r in self.methods))

    def of(self, *group: str) -> dict[str, R]:
        """Return the results of one group by method."""
        return {r.method: r for r in self.methods if r.group == group}

    def chosen(self) -> dict[str, Json]:
        """Return the chosen hyperparameters of each method, split by split."""
        return {r.name: [dict(t.settings) for t in r.chosen] for r in self.methods}


Split = TypeVar("Split")  # a split as methods see it
Fit = TypeVar("Fit")  # what fitting a method gives


def timed(fit: Callable[[], Fit]) -> tuple[Fit, float]:
    """Return the result of a function, and the CPU seconds it took."""
    begin = time.process_time()
    fitted = fit()
    return fitted, time.process_time() - begin


class Experiment(ABC, Generic[Split, Fit, R]):
    """The loop over the methods of a split: choose on validation data, measure on test data.

    Parameters
    ----------
    results : Results
        Where everything is added.
    progress : Progress
    scope : str
        Named in notes about methods that were left out, if there are several experiments.
    """

    unit = "split"

    def __init__(self, results: Results[R], progress: Progress, scope: str = "") -> None:
        self.results, self.progress = results, progress
        self._scope = f" ({scope})" if scope else ""
        self._choices: dict[tuple[str, tuple[str, ...]], Choice[tuple[Trial, Fit]]] = {}
        self._left_out: set[str] = set()

    @abstractmethod
    def fit(self, method: str, settings: Settings, split: Split) -> tuple[Fit, float]:
        """Fit a method to the training data of a split; return it with its CPU seconds."""

    @abstractmethod
    def value(self, method: str, fitted: Fit, split: Split) -> float:
        """Return the measure of a fit on the validation data of a split; more is better."""

    @abstractmethod
    def measure(self, result: R, fitted: Fit, split: Split) -> None:
        """Add the outcome on the test data of a split, which is measured once."""

    def refit(self, method: str, trial: Trial, fitted: Fit, split: Split) -> tuple[Trial, Fit]:
        """Fit the chosen hyperparameters to more data, if the protocol does so."""
        return trial, fitted

    def details(self, fitted: Fit) -> Mapping[str, Json]:
        """Return details of a fit for the tables."""
        return {}

    def run(
        self, split: Split, number: int, group: tuple[str, ...], searches: Mapping[str, Search]
    ) -> dict[str, Fit]:
        """Measure every method on a split; return the chosen fits."""
        fits: dict[str, Fit] = {}
        for method, search in searches.items():
            if method in self._left_out:
                continue
            result = self.results.result(method, group)
            label = f"{', '.join(group)}, {self.unit} {number}: {method}"
            self.progress.start(label, None)
            try:
                trial, fitted = self._choose(result, search, split, number)
                trial, fitted = self.refit(method, trial, fitted, split)
            except MissingExtra as e:
                self._left_out.add(method)
                self.results.methods.remove(result)
                self.results.notes.append(f"{method}{self._scope} was left out: {e}")
                continue
            finally:
                self.progress.finish()
            result.chosen.append(trial)
            self.measure(result, fitted, split)
            fits[method] = fitted
        return fits

    def _choose(self, result: R, search: Search, split: Split, number: int) -> tuple[Trial, Fit]:
        key = result.method, result.group
        first = key not in self._choices
        if first:
            self._choices[key] = Choice(search)

        def attempt(settings: Settings) -> tuple[Trial, Fit]:
            fitted, seconds = self.fit(result.method, settings, split)
            value = self.value(result.method, fitted, split)
            trial = Trial(number, settings, value, seconds, self.details(fitted))
            result.trials.append(trial)
            self.progress.advance()
            return trial, fitted

        return self._choices[key].best(attempt, lambda tried: tried[0].value, first)
