"""Evaluation on the test queries, once for each method, set of features and fold.

`FoldTestSet.measure` ranks all other pictures for each test query by a fitted combiner. Nothing
else in this package knows the test queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.combiners.examples import JudgedLists
from sightline.combiners.linear import Combiner
from sightline.contracts import Progress
from sightline_experiments.one_shot import OneShotTestSet
from sightline_experiments.online.distractors import distracted
from sightline_experiments.online.protocol import Task


class FoldTestSet(OneShotTestSet):
    """The test queries of each fold.

    Parameters
    ----------
    tests : the queries of each fold, as `make_folds` returns them.
    """

    def __init__(self, tests: Sequence[Ints]) -> None:
        super().__init__("queries")
        self._tests = tuple(tests)
        self._lists: tuple[Task, JudgedLists] | None = None

    def measure(self, who: str, features: str, combiner: Combiner, task: Task) -> Doubles:
        """Return the AvgP of each test query of the task's fold."""
        self.claim(f"{who} ({features})", fold=task.fold.number)
        lists = self._ranked(task)
        return lists.avgp(combiner.decision_function(lists.rows))

    def distract(
        self,
        weights: Mapping[str, Doubles],
        features: str,
        task: Task,
        sizes: Sequence[int],
        n_queries: int,
        progress: Progress,
    ) -> dict[str, list[tuple[int, float]]]:
        """Return the mAP of some test queries without and with more and more distractors."""
        for who in weights:
            self.claim(f"{who}, distracted ({features})", fold=task.fold.number)
        queries = self._tests[task.fold.number]
        chosen = np.random.default_rng(0).permutation(len(queries))[:n_queries]
        return distracted(weights, task, queries[np.sort(chosen)], sizes, progress)

    def _ranked(self, task: Task) -> JudgedLists:
        """Return phi of the fold's test queries; cached for one task."""
        if self._lists is None or self._lists[0] is not task:
            queries = self._tests[task.fold.number]
            self._lists = task, task.lists(queries)
        return self._lists[1]
