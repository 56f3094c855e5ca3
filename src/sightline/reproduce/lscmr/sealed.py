"""The test pairs, behind one door.

`Sealed.measure` ranks all test documents for each test query by a fitted method, once for each
method, split and direction; it refuses a second time. Nothing else in this package knows which
pairs they are, so that nothing can be chosen by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """AvgP and MAP@50 of each test query, and their mean precision at eleven recalls."""

    avgp: Doubles
    at_50: Doubles
    precision: Doubles


class Sealed:
    """Test pairs of each split."""

    def __init__(self, tests: Sequence[Pairs]) -> None:
        self._tests = tuple(tests)
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
        pairs = self._tests[split]
        scores, relevant = scorer(*sides(pairs, direction)), same_class(pairs)
        ranked = [rank(s, r) for s, r in zip(scores, relevant, strict=True)]
        return Measured(
            np.array([average_precision(r) for r in ranked]),
            np.array([map_at(r, k=R) for r in ranked]),
            np.mean([eleven_points(r).precision for r in ranked], axis=0),
        )
