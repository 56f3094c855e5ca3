"""Outlines of regions: runs of equal labels, masks in COCO's run lengths, and boxes.

Runs go down the columns, one column after the other, as COCO's do, so that a mask needs no
reordering.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline._typing import Bools, Int32s, Ints


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask in run lengths, uncompressed, as in COCO.

    Attributes
    ----------
    height, width : int
        Of the picture as it was cut, in pixels.
    counts : tuple of int
        Lengths of alternating runs outside and inside, outside first, down the columns.
    """

    height: int
    width: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, inside: Bools) -> Mask:
        """Return the runs of a mask.

        >>> Mask.of(np.array([[False, True], [True, True]])).counts
        (1, 3)
        >>> Mask.of(np.array([[True], [False]])).counts
        (0, 1, 1)
        """
        values, lengths = runs_of(inside.astype(np.int32))
        first = [0] if len(values) and values[0] else []
        height, width = inside.shape
        return cls(height, width, (*first, *lengths.tolist()))

    def inside(self) -> Bools:
        """Return the mask, (height, width).

        >>> Mask(2, 2, (1, 3)).inside().tolist()
        [[False, True], [True, True]]
        """
        flat = np.repeat(np.arange(len(self.counts)) % 2 == 1, self.counts)
        return np.ascontiguousarray(flat.reshape(self.width, self.height).T)


@dataclass(frozen=True, slots=True)
class Box:
    """The least box around a mask, as shares of the picture: left, top, width and height."""

    left: float
    top: float
    width: float
    height: float

    @classmethod
    def of(cls, inside: Bools) -> Box:
        """Return the box of a mask that holds a pixel at least.

        >>> Box.of(np.array([[False, True], [False, True]]))
        Box(left=0.5, top=0.0, width=0.5, height=1.0)
        """
        rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
        height, width = inside.shape
        return cls(
            float(columns[0] / width),
            float(rows[0] / height),
            float((columns[-1] + 1 - columns[0]) / width),
            float((rows[-1] + 1 - rows[0]) / height),
        )


def runs_of(labels: Int32s) -> tuple[Ints, Ints]:
    """Return labels of runs down the columns, and their lengths.

    >>> [part.tolist() for part in runs_of(np.array([[0, 1], [0, 1]], np.int32))]
    [[0, 1], [2, 2]]
    """
    flat = labels.T.ravel()
    begin = np.flatnonzero(np.diff(flat, prepend=flat[:1] - 1))
    lengths = np.diff(np.append(begin, len(flat)))
    return flat[begin].astype(np.int64), lengths.astype(np.int64)


def labels_of(values: Ints, lengths: Ints, height: int, width: int) -> Int32s:
    """Return the labels of runs.

    >>> labels_of(np.array([0, 1]), np.array([3, 1]), 2, 2).tolist()
    [[0, 0], [0, 1]]
    """
    flat = np.repeat(values, lengths).astype(np.int32)
    return np.ascontiguousarray(flat.reshape(width, height).T)
