"""Rows of a feature that stay on the disk until they are asked for.

Pages of the memory maps that were read are given back, so that a pass over all rows takes the
memory of one block, however many there are.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Floats, Ints

# So few rows are read at once and kept.
AT_ONCE = 8_192


class StoredRows:
    """Dense rows of some pictures, in their order.

    Parameters
    ----------
    parts : sequence of ndarray
        The rows of whole segments, mapped into memory.
    part, row : ndarray
        For each picture which of the parts has its row, and at which position.

    Examples
    --------
    >>> rows = StoredRows([np.eye(3)], np.zeros(2, np.int32), np.array([2, 0]))
    >>> rows.shape, rows.read(slice(0, 1)).tolist()
    ((2, 3), [[0.0, 0.0, 1.0]])
    """

    def __init__(self, parts: Sequence[Floats], part: NDArray[np.int32], row: Ints) -> None:
        self._parts, self._part, self._row = parts, part, row
        self.shape = len(row), int(parts[0].shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Ints | Bools) -> StoredRows | Floats:
        """Return some rows: read, if they are few, otherwise still on the disk."""
        chosen = StoredRows(self._parts, self._part[rows], self._row[rows])
        return chosen.read(slice(None)) if len(chosen) <= AT_ONCE else chosen

    def read(self, rows: slice | Ints) -> Floats:
        """Return some rows as float32."""
        part, row = self._part[rows], self._row[rows]
        out = np.empty((len(row), self.shape[1]), np.float32)
        for number in np.unique(part).tolist():
            chosen, matrix = part == number, self._parts[number]
            at = row[chosen]
            first, last = int(at[0]), int(at[-1]) + 1
            # Consecutive rows are copied without being gathered first.
            consecutive = last - first == len(at) and bool((np.diff(at) == 1).all())
            out[chosen] = matrix[first:last] if consecutive else matrix[at]
            _give_back(matrix)
        return out


def _give_back(matrix: NDArray[np.float32]) -> None:
    """Tell the system that the pages of a mapped matrix are not needed any more."""
    base: object = matrix
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
