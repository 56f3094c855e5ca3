"""Label efficiency: how well a word is ranked that has 1, 2, 4 and more tags.

That number of each word's tags is kept, drawn by several seeds; pictures without a tag are not
learned from. The words that are measured have as many as the largest number, and the test pictures
keep all their tags. `tags` draws, `methods` has what is compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline._typing import Bools, Floats
from sightline.collection.models.few_tags import NamedWords
from sightline.collection.models.queries import evaluation_queries, idf_in, one_word
from sightline.contracts import Progress
from sightline.features.deep.network import LITE0
from sightline.features.deep.vector import DeepVector
from sightline.measures.many import measure_queries
from sightline.vectors import Fingerprint
from sightline_experiments.efficiency.methods import N_TRIALS, TRAININGS
from sightline_experiments.efficiency.plan import Plan
from sightline_experiments.efficiency.results import EfficiencyResults, Outcome
from sightline_experiments.efficiency.tags import measured_words, with_few_tags, without_test
from sightline_experiments.noise.inputs import TaggedSet
from sightline_experiments.one_shot import OneShotTestSet


def run(sets: Sequence[TaggedSet], plan: Plan, progress: Progress) -> EfficiencyResults:
    """Measure every method with each number of tags and each draw."""
    results = EfficiencyResults(
        {
            "draws": plan.splits,
            "numbers": list(plan.numbers),
            "compared": plan.compared,
            "features": list(plan.features),
            "trials of ridge": N_TRIALS,
            "measured on": "a quarter of the training pictures"
            if plan.developing
            else "test pictures",
        }
    )
    for s in sets:
        _Measured(without_test(s) if plan.developing else s, plan, results).run(progress)
    return results


class _Measured(OneShotTestSet):
    """One data set."""

    def __init__(self, s: TaggedSet, plan: Plan, results: EfficiencyResults) -> None:
        super().__init__("pictures")
        self.s, self.plan, self.results = s, plan, results
        self._words: Bools = measured_words(s, plan.numbers[-1])
        results.words[s.title] = int(self._words.sum())
        words = [w.replace("_", " ").lower() for w in s.words]
        deep = [f for f in s.training.views if Fingerprint.parse(f).name == "deep"]
        size = DeepVector().sizes[0]
        self._named = NamedWords.of(words, deep[0], LITE0.name, size) if deep else None
        queries = evaluation_queries(s.test.labels, idf_in(s.training.labels), self._words)
        self._queries, self._single = queries, one_word(queries)

    def run(self, progress: Progress) -> None:
        """Measure every number of tags in every draw."""
        draws = range(self.plan.splits)
        progress.start(
            f"{self.s.title}: train", len(TRAININGS) * len(self.plan.numbers) * len(draws)
        )
        for n in self.plan.numbers:
            for seed in draws:
                training = with_few_tags(self.s.training, n, seed)
                for train in TRAININGS:
                    ranked = train(training, self.s.test, self._named)
                    for method, (scores, recipe) in ranked.items():
                        avgp = self._measured(method, n, seed, scores)
                        outcome = Outcome(
                            self.s.title, method, n, seed, avgp, len(training), recipe
                        )
                        self.results.outcomes.append(outcome)
                    progress.advance()
        progress.finish()

    def _measured(self, method: str, n: int, seed: int, scores: Floats) -> float:
        self.claim(f"{method}, {n} tags a word", draw=seed)
        return float(np.nanmean(measure_queries(scores, self._queries).avgp[self._single]))
