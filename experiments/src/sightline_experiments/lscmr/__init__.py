"""The experiments of paper C: texts and pictures, of Wikipedia and NUS-WIDE, ranked for each other.

`plan` holds everything that may be tuned; `protocol` has splits, lists and what methods see of a
split, `shape` and `inputs` how rows are laid out, `stacking` makes class probabilities of them and
`methods` has what is done with either; `evaluation` measures each choice once on the test pairs.
`nus` and `nus_plan` are the same for NUS-WIDE.
`results`, `tables` and `curves` show what was found, beside the figures of `paper`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from sightline.contracts import Json, Progress
from sightline.errors import MissingExtra
from sightline_experiments.datasets import wikipedia
from sightline_experiments.datasets.nuswide import TITLE, NusWide
from sightline_experiments.datasets.wikipedia import Wikipedia
from sightline_experiments.experiment import Trial
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
from sightline_experiments.lscmr.results import FIXED, NUS, RANDOM, LscmrResults
from sightline_experiments.lscmr.shape import with_shapes
from sightline_experiments.tuning import Choice, Search, Settings


def run(c: Wikipedia, plan: Plan, progress: Progress) -> LscmrResults:
    """Measure every method on the published split, then on random ones."""
    found = LscmrResults(_settings(plan), classes=c.classes)
    c = Wikipedia(with_shapes(c.train), with_shapes(c.test), c.classes)
    _published(c, plan, progress, found)
    _random(c, plan, progress, found)
    return found


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
    _Experiment(NUS, plan.searches, (), test_set, results, progress).measure(tasks, [None, None])


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
        "published split": f"{plan.share:.0%} of its training pairs validate; then all are learnt",
        "test": "asked once for each method, direction and split",
    }


def _published(c: Wikipedia, plan: Plan, progress: Progress, found: LscmrResults) -> None:
    n = len(c.train)
    order = np.random.default_rng(0).permutation(n)
    held, rest = np.sort(order[: round(plan.share * n)]), np.sort(order[round(plan.share * n) :])
    parts = c.train.at(rest), c.train.at(held)
    tasks = Task.both(0, *parts, plan.candidates)
    finals = Task.both(0, joined(*parts), None, plan.candidates)
    test_set = PairTestSet([c.test])
    _Experiment(FIXED, plan.fixed, (), test_set, found, progress).measure(tasks, finals)


def _random(c: Wikipedia, plan: Plan, progress: Progress, found: LscmrResults) -> None:
    pairs = c.all()
    splits, tests = make_splits(len(pairs), plan.sizes, plan.splits)
    test_set = PairTestSet([pairs.at(t) for t in tests])
    experiment = _Experiment(RANDOM, plan.searches, plan.dimensions, test_set, found, progress)
    for split in splits:
        parts = pairs.at(split.train), pairs.at(split.validation)
        experiment.measure(Task.both(split.number, *parts, plan.candidates), [None, None])


_Task = Task | NusTask


class _Experiment:
    """One protocol: chooses on validation pairs, and measures what was chosen on test pairs."""

    def __init__(
        self,
        protocol: str,
        searches: Mapping[str, Search],
        dimensions: Sequence[int],
        test_set: PairTestSet,
        found: LscmrResults,
        progress: Progress,
    ) -> None:
        self.protocol, self.searches, self.dimensions = protocol, searches, dimensions
        self.test_set, self.found, self.progress = test_set, found, progress
        self.choices: dict[tuple[str, str], Choice[tuple[Trial, Fitted]]] = {}
        self.left_out: set[str] = set()

    def measure(self, tasks: Sequence[_Task], finals: Sequence[_Task | None]) -> None:
        """Measure the directions of a split; what was chosen is fitted to a final task, if any."""
        for task, final in zip(tasks, finals, strict=True):
            for name in self.searches:
                if name in self.left_out:
                    continue
                self.progress.start(
                    f"{self.protocol}, {task.direction}, {task.number}: {name}", None
                )
                try:
                    self._method(name, task, final)
                except MissingExtra as e:
                    self.left_out.add(name)
                    self.found.notes.append(f"{name} was left out: {e}")
                finally:
                    self.progress.finish()
            if self.dimensions and task.number == 0:
                self._dimensions(task)

    def _method(self, name: str, task: _Task, final: _Task | None) -> None:
        trial, fitted = self._chosen(name, task)
        if final is not None:
            fitted = METHODS[name](final, {**trial.settings, **fitted.fixed})
        ran = self.found.result(self.protocol, task.direction, name)
        ran.chosen.append(trial)
        measured = self.test_set.measure(name, task.direction, task.number, fitted.scorer)
        ran.measured.append(measured)
        if fitted.note:
            ran.remarks.append(fitted.note)

    def _chosen(self, name: str, task: _Task) -> tuple[Trial, Fitted]:
        key = task.direction, name
        first = key not in self.choices
        if first:
            self.choices[key] = Choice(self.searches[name])

        def attempt(settings: Settings) -> tuple[Trial, Fitted]:
            begun = time.process_time()
            fitted = METHODS[name](task, settings)
            seconds = time.process_time() - begun
            trial = Trial(task.number, settings, task.value(fitted.scorer), seconds)
            self.found.result(self.protocol, *key).trials.append(trial)
            self.progress.advance()
            return trial, fitted

        return self.choices[key].best(attempt, lambda made: made[0].value, first)

    def _dimensions(self, task: _Task) -> None:
        """Measure LSCMR at several numbers of dimensions, on validation pairs."""
        settings = self.found.result(RANDOM, task.direction, "LSCMR").chosen[0].settings
        for k in self.dimensions:
            fitted = METHODS["LSCMR"](task, {**settings, "n_components": k})
            value = task.value(fitted.scorer)
            self.found.dimensions.setdefault(task.direction, []).append((k, value))
