"""Training data of the region model: rows of all regions, rows of whole pictures, and tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Ints
from sightline.errors import DataError


@dataclass(frozen=True, slots=True, eq=False)
class PictureRegions:
    """Regions of pictures, one after the other.

    Attributes
    ----------
    rows : ndarray of shape (regions of all pictures, numbers)
        Features of the regions.
    start : ndarray of int64
        The regions of picture n are rows start[n] to start[n + 1].
    whole : ndarray of shape (pictures, numbers)
        Features of whole pictures, from which scenes are predicted.
    """

    rows: Doubles
    start: Ints
    whole: Doubles

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def counts(self) -> Ints:
        """How many regions each picture has."""
        return np.diff(self.start)

    @property
    def picture(self) -> Ints:
        """The picture of each region."""
        return np.repeat(np.arange(len(self)), self.counts)

    @classmethod
    def of(cls, X: Sequence[Any], whole: Any = None) -> PictureRegions:
        """Return pictures from the rows of each one's regions.

        Parameters
        ----------
        X : sequence of array-like
            For each picture its regions, (regions, numbers), one region at least.
        whole : array-like, optional
            Rows of whole pictures; by default the sums of their regions, as in the paper.

        Examples
        --------
        >>> pictures = PictureRegions.of([[[1.0, 0.0], [0.0, 1.0]], [[2.0, 2.0]]])
        >>> pictures.start.tolist(), pictures.whole.tolist()
        ([0, 2, 3], [[1.0, 1.0], [2.0, 2.0]])
        """
        parts = [np.asarray(x, np.float64) for x in X]
        if not parts:
            raise DataError("There must be at least one picture. Got none.")
        for n, part in enumerate(parts):
            if part.ndim != 2 or not len(part) or part.shape[1] != parts[0].shape[-1]:
                raise DataError(
                    f"Picture {n} must have a row of {parts[0].shape[-1]} numbers for each region, "
                    f"and one region at least. Got shape {part.shape}."
                )
        rows = np.ascontiguousarray(np.concatenate(parts))
        start = np.concatenate([[0], np.cumsum([len(p) for p in parts])]).astype(np.int64)
        sums = np.add.reduceat(rows, start[:-1], axis=0) if whole is None else whole
        pictures = np.ascontiguousarray(sums, np.float64)
        if pictures.ndim != 2 or len(pictures) != len(parts):
            raise DataError(f"There are {len(parts)} pictures, but rows of {pictures.shape}.")
        if not (np.isfinite(rows).all() and np.isfinite(pictures).all()):
            raise DataError("Regions and pictures must be finite numbers. Got NaN or infinity.")
        return cls(rows, start, pictures)

    def some(self, at: Ints) -> PictureRegions:
        """Return some of the pictures."""
        rows = np.concatenate([np.arange(self.start[n], self.start[n + 1]) for n in at])
        start = np.concatenate([[0], np.cumsum(self.counts[at])]).astype(np.int64)
        return PictureRegions(self.rows[rows], start, self.whole[at])

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return values of regions, picture by picture."""
        return np.split(values, self.start[1:-1])


def as_tags(Y: Any, n_pictures: int) -> Bools:
    """Return which tags pictures have as a table; raise DataError unless it is one of 0 and 1."""
    table = np.asarray(Y)
    if table.ndim != 2 or len(table) != n_pictures or not table.shape[1]:
        raise DataError(f"Tags must be a table of {n_pictures} pictures. Got shape {table.shape}.")
    yes: Bools = table.astype(np.bool_)
    if not np.array_equal(yes, table):
        raise DataError("Tags must be 0 or 1 for each picture and tag.")
    return yes


def fitting(Y: Bools, counts: Ints) -> tuple[Bools, int]:
    """Return tags of which no picture has more than regions, and how many were dropped.

    The rarest are dropped: each region can hold one tag alone.

    >>> placeable, dropped = fitting(np.array([[True, True], [True, False]]), np.array([1, 1]))
    >>> placeable.tolist(), dropped
    ([[True, False], [True, False]], 1)
    """
    placeable = Y.copy()
    often = Y.sum(axis=0)
    for n in np.flatnonzero(Y.sum(axis=1) > counts):
        tags = np.flatnonzero(Y[n])
        ranked = tags[np.argsort(-often[tags], kind="stable")]
        placeable[n, ranked[counts[n] :]] = False
    return placeable, int(Y.sum() - placeable.sum())
