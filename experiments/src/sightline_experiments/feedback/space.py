"""The pictures of a dataset in sessions: scaled rows, classes, and queries."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sightline._typing import Floats, Ints
from sightline.errors import DataError
from sightline.similarity.scaling import FeatureScaling

SEED = 0
_BLOCK = 1024


class Space:
    """Rows of one descriptor.

    Attributes
    ----------
    rows : scaled rows of all pictures.
    labels : the class of each picture.
    sizes : the size of each picture's class.
    background : rows of a random sample of pictures.

    Examples
    --------
    >>> space = Space([[3.0, 0.0], [0.0, 2.0]], [0, 0], "unit", 1)
    >>> space.rows.tolist(), space.sizes.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [2, 2])
    """

    def __init__(self, rows: Any, labels: Any, scaling: str, n_background: int) -> None:
        self.labels: Ints = np.asarray(labels, dtype=np.int64)
        self.rows: Floats = np.ascontiguousarray(
            FeatureScaling.of(scaling, rows)(rows), dtype=np.float32
        )
        self.sizes: Ints = np.bincount(self.labels)[self.labels]
        random = np.random.default_rng([SEED, 2])
        n = min(n_background, len(self.rows))
        self.background: Floats = self.rows[random.permutation(len(self.rows))[:n]]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def squared(self) -> Floats:
        """Squared distances between all pictures."""
        n = len(self)
        lengths = np.einsum("ij,ij->i", self.rows, self.rows)
        out = np.empty((n, n), dtype=np.float32)
        for begin in range(0, n, _BLOCK):
            part = slice(begin, begin + _BLOCK)
            np.matmul(self.rows[part], self.rows.T, out=out[part])
            out[part] *= -2.0
            out[part] += lengths[part, None]
            out[part] += lengths[None, :]
        np.maximum(out, 0.0, out=out)
        # Rounding leaves small values, whose square roots are not small.
        np.fill_diagonal(out, 0.0)
        return out


def choose_queries(labels: Any, n: int, seed: int = SEED) -> Ints:
    """Return n pictures that cover all classes with more than one, ascending.

    One of each class, the others at random; the same seed gives the same ones.

    >>> choose_queries([0, 0, 1, 1, 2, 2], 4).shape
    (4,)
    """
    classes = np.asarray(labels, dtype=np.int64)
    sizes = np.bincount(classes)
    useful = np.flatnonzero(sizes[classes] > 1)
    random = np.random.default_rng([seed, 1])
    shuffled = random.permutation(useful)
    first = shuffled[np.sort(np.unique(classes[shuffled], return_index=True)[1])]
    if not len(first) <= n <= len(useful):
        raise DataError(
            f"Queries that cover all classes must be from {len(first)} to {len(useful)}. Got {n}."
        )
    rest = shuffled[~np.isin(shuffled, first)]
    return np.sort(np.concatenate([first, rest[: n - len(first)]]))


def validation_queries(labels: Any, n: int) -> Ints:
    """Return up to n validation queries, none of which is in `choose_queries`.

    >>> labels = np.repeat(np.arange(3), 9)
    >>> bool(np.isin(validation_queries(labels, 9), choose_queries(labels, 9)).any())
    False
    """
    return np.setdiff1d(choose_queries(labels, n, SEED + 1), choose_queries(labels, n))
