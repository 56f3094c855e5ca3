"""The experiments of paper C: texts and pictures, of Wikipedia and NUS-WIDE, ranked for each other.

`plan` holds everything that may be tuned; `protocol` has splits, candidate lists and what methods
see of a split, `shape` and `inputs` the features, `stacking` class probabilities predicted from
them, `methods` what is fitted to either; `evaluation` measures each choice once on the test pairs.
`nus` and `nus_plan` are the same for NUS-WIDE. `results` and `report` have the figures beside those
of `paper`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sightline.contracts import Json, Progress
from sightline_experiments.datasets import wikipedia
from sightline_experiments.datasets.nuswide import TITLE, NusWide
from sightline_experiments.datasets.wikipedia import Wikipedia
from sightline_experiments.experiment import Experiment, Trial, timed
from sightline_experiments.lscmr import paper
from sightline_experiments.lscmr.evaluation import PairTestSet
from sightline_experiments.lscmr.methods import METHODS, Fitted
from sightline_experiments.lscmr.nus import (
    NusTask,
    Part,
    make_parts,
    make_tasks,
    notes_of,
    settings_of,
)
from sightline_experiments.lscmr.nus_plan import NusPlan
from sightline_experiments.lscmr.plan import Plan
from sightline_experiments.lscmr.protocol import Task, joined, make_splits
from sightline_experiments.lscmr.results import FIXED, NUS, RANDOM, DirectionResult, LscmrResults
from sightline_experiments.lscmr.shape import with_shapes
from sightline_experiments.tuning import Search, Settings


def run(c: Wikipedia, plan: Plan, progress: Progress) -> LscmrResults:
    """Measure every method on the published split, then on random ones."""
    results = LscmrResults(_settings(plan), classes=c.classes)
    c = Wikipedia(with_shapes(c.train), with_shapes(c.test), c.classes)
    _published(c, plan, progress, results)
    _random(c, plan, progress, results)
    return results


def without_wikipedia() -> LscmrResults:
    """Return results to go on with where Wikipedia is not there."""
    return LscmrResults({}, unavailable=[wikipedia.TITLE])


def run_nus(c: NusWide | None, plan: NusPlan, progress: Progress, results: LscmrResults) -> None:
    """Measure the methods of the paper on NUS-WIDE as well, if it is there."""
    if c is None:
        results.unavailable.append(TITLE)
        return
    results.settings[TITLE] = settings_of(c, plan)
    train, validation, test = make_parts(c, plan)
    results.notes += notes_of(c, plan)
    test_set = PairTestSet([test], Part.blocks)
    tasks = make_tasks(train, validation, plan.candidates)
    _Experiment(NUS, plan.searches, (), test_set, results, progress).run_split(tasks)


def _settings(plan: Plan) -> dict[str, Json]:
    train, validation, test = plan.sizes
    return {
        "features": "published: 128 visual words of a picture, 10 topics of a text; a picture's "
        "shape is read off its shares, for all methods but those named 'words'",
        "difference from the paper": paper.DIFFERENCE,
        "random splits": plan.splits,
        "pairs of a split": {"train": train, "validation": validation, "test": test},
        "candidates of a list": plan.candidates,
        "relevant": "of the same class",
        "settings chosen by": "mean AvgP of validation queries over validation documents",
        "published split": f"{plan.share:.0%} of its training pairs validate; then all train",
        "test": "asked once for each method, direction and split",
    }


def _published(c: Wikipedia, plan: Plan, progress: Progress, results: LscmrResults) -> None:
    n = len(c.train)
    order = np.random.default_rng(0).permutation(n)
    held, rest = np.sort(order[: round(plan.share * n)]), np.sort(order[round(plan.share * n) :])
    parts = c.train.at(rest), c.train.at(held)
    tasks = Task.both(0, *parts, plan.candidates)
    finals = Task.both(0, joined(*parts), None, plan.candidates)
    test_set = PairTestSet([c.test])
    _Experiment(FIXED, plan.fixed, (), test_set, results, progress).run_split(tasks, finals)


def _random(c: Wikipedia, plan: Plan, progress: Progress, results: LscmrResults) -> None:
    pairs = c.all()
    splits, tests = make_splits(len(pairs), plan.sizes, plan.splits)
    test_set = PairTestSet([pairs.at(t) for t in tests])
    experiment = _Experiment(RANDOM, plan.searches, plan.dimensions, test_set, results, progress)
    for split in splits:
        parts = pairs.at(split.train), pairs.at(split.validation)
        experiment.run_split(Task.both(split.number, *parts, plan.candidates))


_Task = Task | NusTask


class _Experiment(Experiment[_Task, Fitted, DirectionResult]):
    """One protocol, in both directions."""

    def __init__(
        self,
        protocol: str,
        searches: Mapping[str, Search],
        dimensions: Sequence[int],
        test_set: PairTestSet,
        results: LscmrResults,
        progress: Progress,
    ) -> None:
        super().__init__(results, progress)
        self.protocol, self.searches, self.dimensions = protocol, searches, dimensions
        self.test_set, self.run_results = test_set, results
        self._finals: dict[str, _Task] = {}

    def run_split(self, tasks: Sequence[_Task], finals: Sequence[_Task] = ()) -> None:
        """Measure the directions of a split; what was chosen is fitted to a final task, if any."""
        self._finals = {final.direction: final for final in finals}
        for task in tasks:
            self.run(task, task.number, (self.protocol, task.direction), self.searches)
            if self.dimensions and task.number == 0:
                self._dimensions(task)

    def fit(self, method: str, settings: Settings, split: _Task) -> tuple[Fitted, float]:
        """Fit a method to the training pairs of a direction."""
        return timed(lambda: METHODS[method](split, settings))

    def value(self, method: str, fitted: Fitted, split: _Task) -> float:
        """Return the mean AvgP of validation queries."""
        return split.value(fitted.scorer)

    def refit(
        self, method: str, trial: Trial, fitted: Fitted, split: _Task
    ) -> tuple[Trial, Fitted]:
        """Fit what was chosen to all pairs that are not for the test, if there is such a task."""
        final = self._finals.get(split.direction)
        if final is None:
            return trial, fitted
        return trial, METHODS[method](final, {**trial.settings, **fitted.fixed})

    def measure(self, result: DirectionResult, fitted: Fitted, split: _Task) -> None:
        """Add the measures of a method's ranking of the test documents."""
        result.outcomes.append(
            self.test_set.measure(result.method, split.direction, split.number, fitted.scorer)
        )
        if fitted.note:
            result.remarks.append(fitted.note)

    def _dimensions(self, task: _Task) -> None:
        """Measure LSCMR at several numbers of dimensions, on validation pairs."""
        settings = self.run_results.of(RANDOM, task.direction)["LSCMR"].chosen[0].settings
        for k in self.dimensions:
            fitted = METHODS["LSCMR"](task, {**settings, "n_components": k})
            value = task.value(fitted.scorer)
            self.run_results.dimensions.setdefault(task.direction, []).append((k, value))
