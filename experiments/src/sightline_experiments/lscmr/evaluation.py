"""Evaluation on the test pairs, once for each method, split and direction.

`PairTestSet.measure` ranks all test documents for each test query by a fitted method, some queries
at a time. Nothing else in this package knows the test pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.measures.precision_recall import eleven_points
from sightline.measures.ranked import rank
from sightline.measures.ranking import average_precision, map_at
from sightline_experiments.datasets.wikipedia import Pairs
from sightline_experiments.lscmr.protocol import Scorer, same_class, sides
from sightline_experiments.one_shot import OneShotTestSet

R = 50
# Queries, documents, and which of these are relevant to which of those.
Block = tuple[Any, Any, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """AvgP and MAP@50 of each test query, and their mean precision at eleven recalls."""

    avgp: Doubles
    at_50: Doubles
    precision: Doubles


def in_one_block(pairs: Pairs, direction: str) -> Iterator[Block]:
    """Yield all queries in one block."""
    yield *sides(pairs, direction), same_class(pairs)


class PairTestSet(OneShotTestSet):
    """Test pairs of each split.

    Parameters
    ----------
    tests : the test pairs of each split.
    blocks : yields the queries of one split in a direction, some at a time.
    """

    def __init__(
        self, tests: Sequence[Any], blocks: Callable[[Any, str], Iterator[Block]] = in_one_block
    ) -> None:
        super().__init__("pairs")
        self._tests, self._blocks = tuple(tests), blocks

    def measure(self, who: str, direction: str, split: int, scorer: Scorer) -> Measured:
        """Return the measures of a method's ranking of the test documents."""
        self.claim(f"{who} ({direction})", split=split)
        per_query = []
        for queries, documents, relevant in self._blocks(self._tests[split], direction):
            scores = scorer(queries, documents)
            for s, r in zip(scores, relevant, strict=True):
                ranked = rank(s, r)
                at_50, curve = map_at(ranked, k=R), eleven_points(ranked)
                per_query.append((average_precision(ranked), at_50, curve.precision))
        avgp, at, precision = zip(*per_query, strict=True)
        return Measured(np.array(avgp), np.array(at), np.mean(precision, axis=0))
