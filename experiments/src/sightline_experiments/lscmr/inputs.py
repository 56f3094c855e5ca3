"""The inputs of linear methods: rows whose inner products are the kernel exp(-chi2 / s).

Explicit maps keep rankers linear. `Mapped` takes the leading directions of the kernel of training
rows (kernel principal components; Schölkopf, Smola and Müller, 1998), so that a row becomes a few
hundred numbers. All methods have the same; means, directions and scales are of training pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sightline._typing import Doubles
from sightline.similarity.kernels import bandwidth, gram
from sightline_experiments.datasets.wikipedia import Pairs
from sightline_experiments.lscmr.paper import PICTURE

# The bandwidth, as a share of the mean distance, and how many directions are kept at most.
FACTOR = 0.5
PICTURE_DIRECTIONS, TEXT_DIRECTIONS = 300, 100


class View(Protocol):
    """One kind of rows, mapped to inputs."""

    @property
    def training(self) -> Doubles:
        """The training rows, as methods learn from them."""
        ...

    def __call__(self, rows: Doubles) -> Doubles:
        """Return other rows as inputs."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """One kind of rows: centred, and divided by the root of their mean square length."""

    rows: Doubles
    bandwidth: float
    mean: Doubles
    directions: Doubles
    training: Doubles

    @classmethod
    def of(cls, rows: Doubles, n_directions: int) -> Mapped:
        """Fit to training rows."""
        s = bandwidth(rows, "chi2", factor=FACTOR, statistic="mean")
        K = gram(rows, kernel="chi2", bandwidth=s).astype(np.float64)
        mean = K.mean(axis=0)
        values, vectors = np.linalg.eigh(K - mean - mean[:, None] + mean.mean())
        strongest = np.argsort(-values)[:n_directions]
        strongest = strongest[values[strongest] > 1e-6 * values.max()]
        # The centred kernel's trace over rows is the mean square length of the kept directions.
        scale = np.sqrt(values[strongest].sum() / len(rows))
        roots = np.sqrt(values[strongest])
        mapped = vectors[:, strongest] * roots / scale
        return cls(rows, s, mean, vectors[:, strongest] / roots / scale, mapped)

    def __call__(self, rows: Doubles) -> Doubles:
        """Return rows as inputs."""
        K = gram(rows, self.rows, kernel="chi2", bandwidth=self.bandwidth).astype(np.float64)
        centred = K - self.mean - K.mean(axis=1, keepdims=True) + self.mean.mean()
        return np.asarray(centred @ self.directions)


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Both kinds of rows."""

    pictures: View
    texts: View

    @classmethod
    def of(cls, train: Pairs) -> Inputs:
        """Fit to training pairs."""
        return cls(
            Mapped.of(train.pictures, PICTURE_DIRECTIONS), Mapped.of(train.texts, TEXT_DIRECTIONS)
        )

    def sides(self, direction: str) -> tuple[View, View]:
        """Return the inputs of queries and of documents."""
        both = self.pictures, self.texts
        return both if direction == PICTURE else both[::-1]
