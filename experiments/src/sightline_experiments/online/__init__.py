"""The experiments of paper D: similarities of pictures combined by online learners and baselines.

`plan` holds everything that may be tuned; `pool` computes descriptors; `protocol` has folds and
what learners see of one, `methods` the learners; `evaluation` measures each choice once on the test
queries. Beside the table: `timing`, `distractors`, `simulation`. `results` and `report` have the
figures beside those of `paper`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sightline._typing import Floats
from sightline.combiners.linear import Combiner, LinearCombiner
from sightline.contracts import Compute, Json, Progress
from sightline.errors import MissingExtra
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.classed import Classed
from sightline_experiments.experiment import Experiment
from sightline_experiments.online.evaluation import FoldTestSet
from sightline_experiments.online.methods import METHODS
from sightline_experiments.online.plan import Plan
from sightline_experiments.online.pool import DEEP, NINE, Describer
from sightline_experiments.online.protocol import (
    Fold,
    Task,
    choose_scalings,
    choose_task,
    make_folds,
    scaled_rows,
    some_queries,
)
from sightline_experiments.online.results import Extras, FoldResult, OnlineResults
from sightline_experiments.online.simulation import simulate
from sightline_experiments.online.timing import learn_from_many, time_methods
from sightline_experiments.tuning import Settings

# The features of the time against triplets, the large run, distractors and the simulation.
_ONCE = "nine"
_DEEPER = "+deep"


def run(
    datasets: Mapping[str, tuple[Classed, ArrayCache] | None],
    plan: Plan,
    compute: Compute,
    progress: Progress,
) -> OnlineResults:
    """Measure every available dataset, and of the first what is beside the table.

    Parameters
    ----------
    datasets : by title, each with the cache of its descriptors, or None if it is missing.
    """
    results = OnlineResults(_settings(plan))
    first = True
    for title, dataset in datasets.items():
        if dataset is None:
            results.unavailable.append(title)
            continue
        _Experiment(*dataset, plan, compute, progress, results).run_folds(extras=first)
        first = False
    return results


def _settings(plan: Plan) -> dict[str, Json]:
    return {
        "folds": plan.splits,
        "triplets": plan.triplets,
        "queries of a fold": {"validation": plan.validation, "test": plan.test},
        "ranked": "all other pictures of the dataset",
        "settings and frames chosen by": "mAP of the fold's own validation queries",
        "codebooks, frames and scales from": "training pictures of the fold",
        "phi": "against what is usual for a picture where validation queries say so",
        "SURF": "replaced by dense gradients, which are free to use",
        "similarities": "cosine, exp(-L1), exp(-L2^2), exp(-chi2), by mean distance",
        "distractors": "made of training pictures' descriptors, each number times 1 + N(0, .1^2)",
        "deep": f"{DEEP}, from a network trained on ImageNet",
    }


class _Experiment(Experiment[Task, Combiner, FoldResult]):
    """One dataset."""

    unit = "fold"

    def __init__(
        self,
        c: Classed,
        cache: ArrayCache,
        plan: Plan,
        compute: Compute,
        progress: Progress,
        results: OnlineResults,
    ) -> None:
        super().__init__(results, progress)
        self.title, self.plan, self.run_results = c.kind.title, plan, results
        self.labels = np.asarray(c.labels, dtype=np.int64)
        self.describer = Describer(c, compute, cache, progress)
        self.folds, tests = make_folds(c.labels, plan.splits, plan.validation, plan.test)
        self.test_set = FoldTestSet(tests)

    def run_folds(self, extras: bool) -> None:
        """Measure all methods, fold by fold, since they share its training data."""
        rows = self.describer.describe(self.folds, NINE)
        features = list(self.plan.features)
        if any(_DEEPER in f for f in features):
            try:
                for classic, deep in zip(
                    rows, self.describer.describe(self.folds, [DEEP]), strict=True
                ):
                    classic |= deep
            except MissingExtra as e:
                features = [f for f in features if _DEEPER not in f]
                self.run_results.notes.append(f"{self.title}: {DEEP} was left out: {e}")
        for fold, rows_of_fold in zip(self.folds, rows, strict=True):
            scaled = self._scaled(rows_of_fold, fold)
            for name in features:
                views = tuple(scaled[n] for n in (NINE if name == _ONCE else scaled))
                plain = Task(
                    fold, self.labels, views, self.plan.triplets, n_sample=self.plan.sample
                )
                task = choose_task(plain, some_queries(fold, self.plan.scaling_queries))
                self._note_context(task, name)
                combiners = self.run(task, fold.number, (self.title, name), self.plan.searches)
                if fold.number == 0 and name == _ONCE:
                    self._beside(task, combiners, extras)

    def fit(self, method: str, settings: Settings, split: Task) -> tuple[Combiner, float]:
        """Fit a method to training triplets."""
        return METHODS[method].fit(split, settings)

    def value(self, method: str, fitted: Combiner, split: Task) -> float:
        """Return the mAP of validation queries."""
        lists = split.validation
        return lists.mean_avgp(fitted.decision_function(lists.rows))

    def measure(self, result: FoldResult, fitted: Combiner, split: Task) -> None:
        """Add the AvgP of each test query."""
        outcome = self.test_set.measure(result.method, result.features, fitted, split)
        result.outcomes.append(outcome)

    def _scaled(self, rows: Mapping[str, Floats], fold: Fold) -> dict[str, Floats]:
        plan = self.plan
        scalings = choose_scalings(
            rows, self.labels, fold, self.progress, plan.scaling_queries, plan.scalings
        )
        self.run_results.scalings.setdefault(self.title, []).append(scalings)
        return {name: scaled_rows(matrix, scalings[name], fold) for name, matrix in rows.items()}

    def _note_context(self, task: Task, features: str) -> None:
        reference = "what is usual for a picture" if task.in_context else "all training pairs"
        self.run_results.scalings[self.title][-1][f"phi of {features}"] = f"against {reference}"

    def _beside(self, task: Task, combiners: Mapping[str, Combiner], all_of_it: bool) -> None:
        """Measure what is beside the table; only time against triplets unless `all_of_it`."""
        plan, progress, extras = self.plan, self.progress, Extras(self.title)
        results = self.run_results.of(self.title, _ONCE)
        chosen = {name: results[name].chosen[0].settings for name in combiners}
        extras.times = time_methods(task, chosen, plan.times, progress)
        self.run_results.extras.append(extras)
        if not all_of_it:
            return
        if plan.simulated:
            extras.simulated = simulate(task, chosen, plan.simulated, plan.refit, progress)
        if plan.large:
            large, extras.comparing = learn_from_many(task, chosen, plan.large, progress)
            extras.n_large = plan.large
            for one in large:
                who = f"{one.method}, {plan.large:,} triplets"
                avgp = self.test_set.measure(who, _ONCE, one.combiner, task)
                extras.large[one.method] = one.seconds, float(np.nanmean(avgp))
        if plan.distractors:
            weights = {n: c.w_ for n, c in combiners.items() if isinstance(c, LinearCombiner)}
            extras.n_distracted = plan.distracted
            extras.distracted = self.test_set.distract(
                weights, _ONCE, task, plan.distractors, plan.distracted, progress
            )
