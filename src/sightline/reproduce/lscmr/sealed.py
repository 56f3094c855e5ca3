"""The test pairs, behind one door.

`Sealed.measure` ranks all test documents for each test query by a fitted method, some queries at a
time, once for each method, split and direction; it refuses a second time. Nothing else in this
package knows which pairs they are, so that nothing can be chosen by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.datasets.wikipedia import Pairs
from sightline.errors import UsageError
from sightline.measures.precision_recall import eleven_points
from sightline.measures.ranked import rank
from sightline.measures.ranking import average_precision, map_at
from sightline.reproduce.lscmr.protocol import Scorer, same_class, sides

Doubles = NDArray[np.float64]
R = 50
# Queries, documents, and which of these are relevant to which of those.
Block = tuple[Any, Any, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """AvgP and MAP@50 of each test query, and their mean precision at eleven recalls."""

    avgp: Doubles
    at_50: Doubles
    precision: Doubles


def at_once(pairs: Pairs, direction: str) -> Iterator[Block]:
    """Yield all queries in one block."""
    yield *sides(pairs, direction), same_class(pairs)


class Sealed:
    """Test pairs of each split.

    Parameters
    ----------
    tests : what is asked, for each split.
    blocks : yields what is asked of one split in a direction, some queries at a time.
    """

    def __init__(
        self, tests: Sequence[Any], blocks: Callable[[Any, str], Iterator[Block]] = at_once
    ) -> None:
        self._tests, self._blocks = tuple(tests), blocks
        self._measured: set[tuple[str, str, int]] = set()

    def measure(self, who: str, direction: str, split: int, scorer: Scorer) -> Measured:
        """Return what a method's ranking of the test documents is worth."""
        key = who, direction, split
        if key in self._measured:
            raise UsageError(
                f"{who} ({direction}) has been measured on the test pairs of split {split} before. "
                "Choose on validation pairs."
            )
        self._measured.add(key)
        found = []
        for queries, documents, relevant in self._blocks(self._tests[split], direction):
            scores = scorer(queries, documents)
            for s, r in zip(scores, relevant, strict=True):
                ranked = rank(s, r)
                at_50, curve = map_at(ranked, k=R), eleven_points(ranked)
                found.append((average_precision(ranked), at_50, curve.precision))
        avgp, at, precision = zip(*found, strict=True)
        return Measured(np.array(avgp), np.array(at), np.mean(precision, axis=0))
