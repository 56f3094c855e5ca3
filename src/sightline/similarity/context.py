"""Contextual similarity: phi standardised by each picture's similarity to other pictures.

Some pictures are near to everything by some measure, such as one with few keypoints whose bag of
words is almost empty, and would rank high for every query. Of a sample of training pictures, the
mean m(p) and deviation d(p) of each component of phi with p are learned, and

    phi'(q, p) = (phi(q, p) - m(p)) / d(p)

Only the context of p changes the ranking; that of the query would be the same for all pictures that
it ranks. After Jégou, Harzallah and Schmid, "A contextual dissimilarity measure for accurate and
efficient image search", 2007, which does so for one distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Floats
from sightline.errors import DataError
from sightline.similarity.pairs import PairsOf, Phi, Views, differences_of

SAMPLE = 500
_BLOCK = 256
# A deviation below this, where all training pairs have 1, is rounding.
_LEAST = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Mean and 1 / deviation of phi for each picture of a collection, (pictures, components).

    Examples
    --------
    >>> rows = np.array([[1, 0], [0, 1], [1, 1], [1, 2]], dtype=np.float32)
    >>> phi = Phi.of((rows,), kinds=("cosine",))
    >>> usual = Context.of(phi, (rows,), np.arange(4))
    >>> usual(phi((rows[:1],), (rows,))[0, 1:], [1, 2, 3]).ravel().round(2)
    array([-1.39, -0.71, -1.41], dtype=float32)
    """

    mean: Floats
    factor: Floats

    @classmethod
    def of(cls, phi: Phi, views: Views, sample: Any) -> Context:
        """Learn from the similarity of every picture to those of a sample, without itself.

        Parameters
        ----------
        views : tuple of array-like
            Rows of every picture.
        sample : array-like
            Positions of pictures to compare with, two at least.
        """
        chosen = np.asarray(sample, dtype=np.int64)
        if len(chosen) < 2:
            raise DataError(
                f"The context needs a sample of at least 2 pictures. Got {len(chosen)}."
            )
        n = views[0].shape[0]
        mean = np.zeros((n, phi.n_components), dtype=np.float32)
        factor = np.zeros_like(mean)
        others = tuple(v[chosen] for v in views)
        for begin in range(0, n, _BLOCK):
            part = np.arange(begin, min(begin + _BLOCK, n))
            block = phi(tuple(v[part] for v in views), others)
            weight = (part[:, None] != chosen[None, :]).astype(np.float64)
            weight /= weight.sum(axis=1, keepdims=True)
            usual = np.einsum("ij,ijk->ik", weight, block)
            spread = np.sqrt(np.einsum("ij,ijk->ik", weight, (block - usual[:, None]) ** 2))
            mean[part] = usual
            # A component that is the same for all stays 0.
            varies = phi.factor > 0
            factor[part] = np.where(varies, 1.0 / np.maximum(spread, _LEAST), 0.0)
        return cls(mean, factor)

    def __call__(self, phi: Any, picture: Any) -> Floats:
        """Return phi' for phi of shape (…, pictures, components), given which pictures they are."""
        out = phi - self.mean[picture]
        out *= self.factor[picture]
        return np.asarray(out, dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class PairsInContext:
    """phi' of pictures by their rows, as `pairs.PairsOf` is phi."""

    pairs: PairsOf
    context: Context

    @property
    def n_components(self) -> int:
        """How many numbers phi'(q, p) has."""
        return self.pairs.n_components

    def rows(self, query: Any, picture: Any) -> Floats:
        """Return phi'(query[i], picture[i]), (pairs, components)."""
        return self.context(self.pairs.rows(query, picture), picture)

    def differences(self, query: Any, first: Any, second: Any, y: Any) -> Floats:
        """Return y (phi'(query, first) - phi'(query, second)) of each triplet."""
        n = int(self.pairs.views[0].shape[0])
        return differences_of(self.rows, n, query, first, second, y)
