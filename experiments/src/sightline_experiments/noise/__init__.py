"""The experiment on label noise: training tags that are wrong or missing, and suspected mislabels.

`corruption` puts noise on clean tags, `methods` has what is compared, `suspected` measures whether
the tags that were made wrong are suspected. Test pictures keep their clean tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sightline.collection.models.dataset import Dataset
from sightline.collection.models.queries import (
    combined,
    evaluation_queries,
    idf_in,
    one_word,
    picture_counts,
)
from sightline.contracts import Progress
from sightline.measures.many import measure_queries
from sightline.records import QuerySet
from sightline_experiments.noise.corruption import Kind, corrupted
from sightline_experiments.noise.inputs import TaggedSet
from sightline_experiments.noise.methods import METHODS, SERVED, Ranked
from sightline_experiments.noise.plan import Plan
from sightline_experiments.noise.results import CLEAN, NoiseResults, Outcome, condition
from sightline_experiments.noise.suspected import Suspicion, suspicion
from sightline_experiments.one_shot import OneShotTestSet

_SAMPLE = 7


def run(sets: Sequence[TaggedSet], plan: Plan, progress: Progress) -> NoiseResults:
    """Measure every method with clean tags, and with noise of each kind and seed."""
    results = NoiseResults(
        {
            "seeds": list(range(plan.splits)),
            "features": list(plan.features),
            "rankers": list(plan.rankers),
            "training pictures": {s.title: len(_some(s.training, plan.pictures)) for s in sets},
            "queries": "of one to three words, as sightline evaluate makes them of test pictures",
        }
    )
    for s in sets:
        _Measured(s, plan, results, progress).run()
    return results


def _some(dataset: Dataset, pictures: int | None) -> Dataset:
    if pictures is None or pictures >= len(dataset):
        return dataset
    chosen = np.random.default_rng(_SAMPLE).choice(len(dataset), pictures, replace=False)
    return dataset.only(np.sort(chosen))


class _Measured(OneShotTestSet):
    """One data set."""

    def __init__(self, s: TaggedSet, plan: Plan, results: NoiseResults, progress: Progress) -> None:
        super().__init__("pictures")
        self.title, self.plan, self.results, self.progress = s.title, plan, results, progress
        self.clean, self.test = _some(s.training, plan.pictures), s.test
        known = picture_counts(self.clean.labels) > 1
        # The same queries for all conditions, also for words that noise takes away.
        self.queries = evaluation_queries(self.test.labels, idf_in(self.clean.labels), known)

    def run(self) -> None:
        """Measure every condition."""
        n = len(METHODS) * (1 + len(self.plan.corruptions) * self.plan.splits)
        self.progress.start(f"{self.title}: train", n)
        self._condition("clean", 0.0, 0)
        for kind, share in self.plan.corruptions:
            for seed in range(self.plan.splits):
                self._condition(kind, share, seed)
        self.progress.finish()

    def _condition(self, kind: Kind, share: float, seed: int) -> None:
        noisy = replace(self.clean, labels=corrupted(self.clean.labels, kind, share, seed))
        # A picture without tags is none that training learns words from.
        tagged = np.diff(noisy.labels.indptr) > 0
        training, clean = noisy.only(tagged), self.clean.only(tagged)
        name = condition(kind, share)
        for method, train in METHODS.items():
            ranked = train(training, self.test, self.plan.rankers)
            avgp, single = self._measured(method, name, seed, ranked, training)
            outcome = Outcome(self.title, method, name, seed, avgp, single, ranked.recipe)
            self.results.outcomes.append(outcome)
            self.progress.advance()
            if method == SERVED and kind != "missing" and ranked.left_out is not None:
                found: Suspicion = suspicion(ranked.left_out, training.labels, clean.labels)
                self.results.suspicions.append((self.title, name, seed, found))

    def _measured(
        self, method: str, name: str, seed: int, ranked: Ranked, training: Dataset
    ) -> tuple[float, float]:
        """Return the mean AvgP of all queries, and of those of a single word."""
        self.claim(f"{method}, {name}", seed=seed)
        idf = idf_in(training.labels)
        queries: QuerySet = combined(self.queries, ranked.combination, idf)
        avgp = measure_queries(ranked.rows, queries).avgp
        return float(np.nanmean(avgp)), float(np.nanmean(avgp[one_word(queries)]))


__all__ = ["CLEAN", "run"]
