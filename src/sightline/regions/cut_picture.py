"""The regions of a picture as one row of fixed length, so that a store keeps them as a feature.

    5 numbers               height, width, number of regions, and how many numbers a region and
                            the whole picture have
    numbers of the picture  features of the whole picture, if there are any
    numbers of regions      a row for each, one after the other
    runs                    label + 64 × length of each, down the columns (`outlines`)

Most of a row is zero, and zeros are not stored: a photograph takes some ten thousand numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Int32s, Ints
from sightline.errors import DataError
from sightline.regions.outlines import labels_of, runs_of

MOST_REGIONS = 50
MOST_NUMBERS = 256
# Below 65,536 the store keeps positions in two bytes.
LENGTH = 1 << 16
_HEAD = 5
_RUNS = _HEAD + (1 + MOST_REGIONS) * MOST_NUMBERS
_STEP = 64


@dataclass(frozen=True, slots=True, eq=False)
class CutPicture:
    """A picture cut into regions.

    Attributes
    ----------
    height, width : int
        In pixels, as it was cut; coarser where regions were too ragged.
    values, lengths : ndarray of int64
        Runs of regions, down the columns.
    rows : ndarray of shape (regions, numbers)
        Features of the regions.
    whole : ndarray of float32
        Numbers of the whole picture; empty where it has none.
    """

    height: int
    width: int
    values: Ints
    lengths: Ints
    rows: Floats
    whole: Floats

    @classmethod
    def of(cls, labels: Int32s, rows: Floats, whole: Floats | None = None) -> CutPicture:
        """Return a picture from the region of each pixel, and the rows of regions."""
        labels, values, lengths = _few_runs(labels)
        none = np.zeros(0, np.float32)
        height, width = labels.shape
        return cls(height, width, values, lengths, rows, none if whole is None else whole)

    @property
    def labels(self) -> Int32s:
        """The region of each pixel, from 0: (height, width)."""
        return labels_of(self.values, self.lengths, self.height, self.width)

    @property
    def areas(self) -> NDArray[np.float64]:
        """The share of each region in the picture."""
        counts = np.bincount(self.values, self.lengths, len(self.rows))
        # A region that a coarser grid missed still counts for a cell.
        shares: NDArray[np.float64] = np.maximum(counts, 1) / (self.height * self.width)
        return shares


def packed(cut: CutPicture) -> Floats:
    """Return a picture's regions as one row."""
    n, length = cut.rows.shape
    if n > MOST_REGIONS or max(length, len(cut.whole)) > MOST_NUMBERS:
        must = f"{MOST_REGIONS} regions of {MOST_NUMBERS} numbers"
        raise DataError(f"A picture may have {must} at most. Got {n} of {length}.")
    row = np.zeros(LENGTH, np.float32)
    row[:_HEAD] = cut.height, cut.width, n, length, len(cut.whole)
    row[_HEAD : _HEAD + len(cut.whole)] = cut.whole
    begin = _HEAD + MOST_NUMBERS
    row[begin : begin + n * length] = cut.rows.ravel()
    row[_RUNS : _RUNS + len(cut.values)] = cut.values + _STEP * cut.lengths
    return row


def unpacked(index: NDArray[Any], value: Floats) -> CutPicture:
    """Return the regions of a row, given by positions and numbers of it that are not zero.

    >>> labels = np.array([[0, 0, 1]], np.int32)
    >>> row = packed(CutPicture.of(labels, np.eye(2, dtype=np.float32)))
    >>> at = np.flatnonzero(row)
    >>> again = unpacked(at, row[at])
    >>> again.labels.tolist(), again.rows.tolist(), again.areas.round(2).tolist()
    ([[0, 0, 1]], [[1.0, 0.0], [0.0, 1.0]], [0.67, 0.33])
    """
    row = np.zeros(LENGTH, np.float32)
    row[np.asarray(index, np.int64)] = value
    height, width, n, length, whole = (int(x) for x in row[:_HEAD])
    runs = row[_RUNS:][row[_RUNS:] > 0].astype(np.int64)
    values, lengths = runs % _STEP, runs // _STEP
    sound = 1 <= n <= MOST_REGIONS and max(length, whole) <= MOST_NUMBERS
    if not sound or lengths.sum() != height * width or values.max() >= n:
        raise DataError("A row of regions is damaged. Run: sightline store verify")
    begin = _HEAD + MOST_NUMBERS
    rows = row[begin : begin + n * length].reshape(n, length)
    # Copies, so that the whole row is not held along with them.
    numbers = row[_HEAD : _HEAD + whole].copy()
    return CutPicture(height, width, values, lengths, rows.copy(), numbers)


def _few_runs(labels: Int32s) -> tuple[Int32s, Ints, Ints]:
    """Return labels and their runs; every second pixel alone where there are too many.

    >>> _few_runs(np.indices((301, 301)).sum(axis=0).astype(np.int32) % 2)[0].shape
    (151, 151)
    """
    values, lengths = runs_of(labels)
    # A float32 counts up to 2^24, and one run may be nearly all of a picture.
    while len(values) > LENGTH - _RUNS or labels.size * _STEP >= 1 << 24:
        labels = labels[::2, ::2]
        values, lengths = runs_of(labels)
    return labels, values, lengths
