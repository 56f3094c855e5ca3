"""How much NDCG would change if two pictures of a query were swapped in the current ranking.

    |delta NDCG| = |2^r+ - 2^r-| |D(i) - D(j)| / ideal DCG      D(i) = 1 / log2(1 + i)

for pictures of grades r+ and r- at ranks i and j (Burges, Ragno and Le, "Learning to rank with
nonsmooth cost functions", 2006). A learner that weights pairs by it concentrates on the top of the
list.

Departures: it is divided by the largest change that two pictures of the query could make, so that
it is between 0 and 1, whatever the length of the list; and ranks are those at the beginning of a
portion of triplets, since a step moves few pictures far.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats
from sightline.rankers.training import Rows, judged_scores
from sightline.solvers.graded import gain
from sightline.solvers.targets import Targets
from sightline.solvers.triplets import Triplets


class Swaps:
    """The changes of NDCG by swaps of pictures, for rows that are judged in grades."""

    def __init__(self, rows: Rows, targets: Targets) -> None:
        assert targets.graded is not None
        self.rows, self.targets, self._pairs = rows, targets, targets.graded
        self._gains = gain(self._pairs.grades, "exponential")
        start, by_grade = self._pairs.lower_start, self._pairs.lower
        lengths = np.diff(start)
        full = np.flatnonzero(lengths > 0)
        spans = np.zeros(len(lengths))
        lowest, highest = by_grade[start[full]], by_grade[start[full + 1] - 1]
        spans[full] = self._gains[highest] - self._gains[lowest]
        self._largest = spans * (discount(np.ones(len(lengths))) - discount(lengths))

    def shares(self, drawn: Triplets, W: Floats) -> Doubles:
        """Return the change by each triplet's swap, relative to the query's largest change."""
        query, plus, minus = drawn
        at = discount(self.ranks(W))
        change = (self._gains[plus] - self._gains[minus]) * np.abs(at[plus] - at[minus])
        return np.asarray(change / self._largest[query], dtype=np.float64)

    def ranks(self, W: Floats) -> NDArray[np.int64]:
        """Return each row's rank in its query, from 1; of equal scores the earlier row is first."""
        scores = judged_scores(self.rows, W, self.targets)
        order = np.lexsort((-scores, self._pairs.which))
        ranks = np.empty(len(order), dtype=np.int64)
        first = self._pairs.lower_start[self._pairs.which[order]]
        ranks[order] = np.arange(len(order)) - first + 1
        return ranks


def discount(ranks: NDArray[np.int64] | Doubles) -> Doubles:
    """Return 1 / log2(1 + rank).

    >>> discount(np.array([1, 3])).tolist()
    [1.0, 0.5]
    """
    return np.asarray(1.0 / np.log2(1.0 + ranks))
