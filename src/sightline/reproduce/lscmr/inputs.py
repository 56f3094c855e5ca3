"""What linear methods see of pairs: shares mapped for the chi2 kernel, centred, of one scale.

All of them see the same. Means and scales are those of training pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.datasets.wikipedia import Pairs
from sightline.reproduce.lscmr.paper import PICTURE
from sightline.similarity.feature_maps import additive_map

Doubles = NDArray[np.float64]
SAMPLES = 1


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """One kind of rows: mapped, centred, and divided by the root of their mean square length."""

    mean: Doubles
    scale: float

    @classmethod
    def of(cls, rows: Doubles) -> Mapped:
        """Learn from training rows."""
        mapped = additive_map(rows, "chi2", SAMPLES)
        mean = mapped.mean(axis=0)
        return cls(mean, float(np.sqrt(np.mean(np.sum((mapped - mean) ** 2, axis=1)))))

    def __call__(self, rows: Doubles) -> Doubles:
        """Return rows as they are seen."""
        return (additive_map(rows, "chi2", SAMPLES) - self.mean) / self.scale


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Both kinds of rows."""

    pictures: Mapped
    texts: Mapped

    @classmethod
    def of(cls, train: Pairs) -> Inputs:
        """Learn from training pairs."""
        return cls(Mapped.of(train.pictures), Mapped.of(train.texts))

    def sides(self, direction: str) -> tuple[Mapped, Mapped]:
        """Return what queries and what documents are seen through."""
        both = self.pictures, self.texts
        return both if direction == PICTURE else both[::-1]
