"""The test queries, behind one door.

`Sealed.measure` ranks all other pictures for each of them by a fitted combiner, once for each
method, set of features and fold; it refuses a second time. Nothing else in this package knows which
pictures they are, so that nothing can be chosen by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.combiners.examples import Lists
from sightline.combiners.linear import Combiner
from sightline.contracts import Progress
from sightline.errors import UsageError
from sightline.reproduce.online.distractors import distracted
from sightline.reproduce.online.protocol import Task

Doubles = NDArray[np.float64]
Int = NDArray[np.int64]


class Sealed:
    """The test queries of each fold.

    Parameters
    ----------
    tests : the queries of each fold, as `make_folds` gives them.
    """

    def __init__(self, tests: Sequence[Int]) -> None:
        self._tests = tuple(tests)
        self._measured: set[tuple[str, str, int]] = set()
        self._lists: tuple[Task, Lists] | None = None

    def measure(self, who: str, features: str, combiner: Combiner, task: Task) -> Doubles:
        """Return the AvgP of each test query of the task's fold."""
        self._once(who, features, task)
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
        """Return the mAP of some test queries with none and with more and more distractors."""
        for who in weights:
            self._once(f"{who}, distracted", features, task)
        queries = self._tests[task.fold.number]
        chosen = np.random.default_rng(0).permutation(len(queries))[:n_queries]
        return distracted(weights, task, queries[np.sort(chosen)], sizes, progress)

    def _once(self, who: str, features: str, task: Task) -> None:
        key = who, features, task.fold.number
        if key in self._measured:
            raise UsageError(
                f"{who} ({features}) has been measured on the test queries of fold "
                f"{task.fold.number} before. Choose on validation queries."
            )
        self._measured.add(key)

    def _ranked(self, task: Task) -> Lists:
        """Return phi of the fold's test queries, kept while the same task is asked about."""
        if self._lists is None or self._lists[0] is not task:
            queries = self._tests[task.fold.number]
            self._lists = task, task.lists(queries)
        return self._lists[1]
