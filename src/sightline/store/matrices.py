"""Feature rows on disk: dense ones as one float32 matrix, sparse ones as positions and values.

A dense file holds `rows`. A sparse file holds `start`, `index` and `value` (row i has the values
between start[i] and start[i + 1], at those positions; all others are zero) and `length`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.errors import StoreDamaged
from sightline.records import FeatureRows, SparseRows
from sightline.store.shards import Rows

Arrays = dict[str, NDArray[Any] | Rows]


class StoredSparseMatrix:
    """Sparse rows, mapped into memory.

    Parameters
    ----------
    start : ndarray of int64
        Row i has the entries from start[i] to start[i + 1].
    index : ndarray
        The column of each entry.
    value : ndarray
        The value of each entry.
    length : int
        The number of columns.

    Examples
    --------
    >>> start, columns = np.array([0, 1, 1, 3]), np.array([2, 0, 1])
    >>> m = StoredSparseMatrix(start, columns, np.array([5, 1, 2.0]), 4)
    >>> m.shape, m.dot(np.array([1, 10, 100, 1000], np.float32)).tolist()
    ((3, 4), [500.0, 0.0, 21.0])
    """

    def __init__(self, start: Ints, index: NDArray[Any], value: NDArray[Any], length: int) -> None:
        self.start, self.index, self.value = start, index, value
        self.shape = (len(start) - 1, length)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Ints) -> StoredSparseMatrix:
        if isinstance(rows, slice):
            first, last, _ = rows.indices(len(self))
            part = self.start[first : max(first, last) + 1]
            return StoredSparseMatrix(part, self.index, self.value, self.shape[1])
        at = spans(self.start, rows)
        start = starts(self.start[rows + 1] - self.start[rows])
        return StoredSparseMatrix(start, self.index[at], self.value[at], self.shape[1])

    def dot(self, weights: Floats) -> Floats:
        """Return the inner product of each row with the weights."""
        index, value = self.entries()
        return self._sums(value * weights[index])

    def squares(self) -> Floats:
        """Return the squared norm of each row."""
        value = self.entries()[1]
        return self._sums(value * value)

    def _sums(self, values: NDArray[Any]) -> Floats:
        """Return the sum of each row, given a number for each entry."""
        sums = np.zeros(len(self), np.float32)
        full = np.flatnonzero(np.diff(self.start))
        if len(full):
            sums[full] = np.add.reduceat(values, self.start[full] - int(self.start[0]))
        return sums

    def entries(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the columns and values of all entries, row by row."""
        low, high = self.start[0], self.start[-1]
        return self.index[low:high], self.value[low:high]


Matrix = Floats | StoredSparseMatrix


def starts(lengths: Sequence[int] | Ints) -> Ints:
    """Return the offset of each of several consecutive pieces, and the end."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def spans(start: Ints, rows: Ints) -> Ints:
    """Return the positions of the entries of some rows, row by row.

    >>> spans(np.array([0, 2, 2, 5]), np.array([2, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    length = start[rows + 1] - start[rows]
    out: Ints = np.repeat(start[rows] - (np.cumsum(length) - length), length)
    return out + np.arange(len(out))


def to_arrays(rows: FeatureRows | SparseRows) -> Arrays:
    """Return what a feature's file holds."""
    if isinstance(rows, FeatureRows):
        return {"rows": np.asarray(rows.rows, np.float32)}
    index, value = rows.index, np.asarray(rows.value, np.float32)
    return _sparse_arrays(rows.start, [index], [value], len(index), rows.length)


def _sparse_arrays(start: Ints, index: Any, value: Any, n: int, length: int) -> Arrays:
    # Halves the bytes of every codebook of at most 65,536 visual words.
    kind = np.dtype(np.uint16 if length <= 1 << 16 else np.int32)
    return {
        "start": start,
        "index": Rows((i.astype(kind) for i in index), (n,), kind),
        "value": Rows(value, (n,), np.float32),
        "length": np.array([length], np.int64),
    }


def open_matrix(arrays: Mapping[str, NDArray[Any]], name: str) -> Matrix:
    """Return the rows a feature's file holds."""
    if "rows" in arrays:
        return np.asarray(arrays["rows"])
    try:
        length = int(arrays["length"][0])
        return StoredSparseMatrix(arrays["start"], arrays["index"], arrays["value"], length)
    except (KeyError, IndexError) as e:
        raise StoreDamaged(
            f"The feature file {name} is incomplete. Run: sightline store repair"
        ) from e


def joined(parts: Sequence[Matrix]) -> Arrays:
    """Return what the file of several matrices, one below the other, holds."""
    n, length = sum(len(p) for p in parts), parts[0].shape[1]
    sparse = [p for p in parts if isinstance(p, StoredSparseMatrix)]
    if not sparse:
        dense = (p for p in parts if not isinstance(p, StoredSparseMatrix))
        return {"rows": Rows(dense, (n, length), np.float32)}
    start = starts(np.concatenate([np.diff(p.start) for p in sparse]))
    index: Iterable[NDArray[Any]] = (p.entries()[0] for p in sparse)
    value: Iterable[NDArray[Any]] = (p.entries()[1] for p in sparse)
    return _sparse_arrays(start, index, value, int(start[-1]), length)


def taken_rows(name: str, parts: Sequence[Matrix], order: Ints) -> FeatureRows | SparseRows:
    """Return the rows of several matrices, reordered, as records."""
    sparse = [p for p in parts if isinstance(p, StoredSparseMatrix)]
    if not sparse:
        return FeatureRows(name, np.concatenate([np.asarray(p) for p in parts])[order])
    start = starts(np.concatenate([np.diff(p.start) for p in sparse]))
    index = np.concatenate([p.entries()[0] for p in sparse])
    value = np.concatenate([p.entries()[1] for p in sparse])
    m = StoredSparseMatrix(start, index, value, sparse[0].shape[1])[order]
    return SparseRows(name, m.shape[1], m.start, m.index.astype(np.int32), np.asarray(m.value))
