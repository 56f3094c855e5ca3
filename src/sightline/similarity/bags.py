"""Bags: pictures as any number of local descriptors each, in no order.

Kernels of bags (`match`, `likelihood`) compare two pictures' descriptors without a codebook. All
descriptors lie in one array, those of a picture together, so that a block of pictures is a block of
rows in matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sightline.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Descriptors of pictures; picture i has the rows from start[i] to start[i + 1], perhaps none.

    Parameters
    ----------
    values : ndarray of shape (descriptors, numbers)
        Finite; kept as float32.
    start : ndarray of int64
        One more than there are pictures, ascending from 0 to the number of descriptors.

    Examples
    --------
    >>> bags = Bags.from_list([[[1, 0], [0, 1]], [], [[2, 2]]])
    >>> len(bags), bags.dim, bags.sizes.tolist()
    (3, 2, [2, 0, 1])
    >>> bags[2].tolist(), bags.some([2, 0]).start.tolist(), len(bags[1:])
    ([[2.0, 2.0]], [0, 1, 3], 2)
    """

    values: NDArray[np.float32]
    start: NDArray[np.int64]

    def __post_init__(self) -> None:
        values, start = _descriptors(self.values), np.asarray(self.start)
        if start.ndim != 1 or not start.size or start.dtype.kind not in "iu":
            raise DataError(
                f"start must be whole numbers in a row. Got {start.dtype} {start.shape}."
            )
        if start[0] != 0 or start[-1] != len(values) or (np.diff(start.astype(np.int64)) < 0).any():
            raise DataError(
                f"start must rise from 0 to the {len(values)} descriptors. "
                f"Got {start[0]} to {start[-1]}."
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "start", start.astype(np.int64))

    @classmethod
    def from_list(cls, bags: Sequence[ArrayLike], dim: int | None = None) -> Bags:
        """Return the bags of a list with one table of descriptors for each picture.

        A picture without descriptors is an empty list or an empty table. `dim` is the length of a
        descriptor where no picture has any.
        """
        # Numbers beyond float32 become infinite, which the check rejects.
        with np.errstate(over="ignore"):
            tables = [np.asarray(b, dtype=np.float32) for b in bags]
        lengths = {t.shape[1] for t in tables if t.ndim == 2 and t.size}
        lengths |= set() if dim is None else {dim}
        if len(lengths) > 1:
            raise DataError(f"Descriptors must be of one length. Got {sorted(lengths)}.")
        length = lengths.pop() if lengths else 0
        for i, t in enumerate(tables):
            if t.size and t.ndim != 2:
                raise DataError(f"Bag {i} must be a table of descriptors. Got shape {t.shape}.")
        parts = [t.reshape(-1, length) if t.size else t.reshape(0, length) for t in tables]
        start = np.cumsum([0, *(len(p) for p in parts)], dtype=np.int64)
        values = np.concatenate(parts) if parts else np.zeros((0, length), dtype=np.float32)
        return cls(values, start)

    @property
    def dim(self) -> int:
        """How many numbers a descriptor has."""
        return int(self.values.shape[1])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many descriptors each picture has."""
        return np.diff(self.start)

    def __len__(self) -> int:
        return len(self.start) - 1

    @overload
    def __getitem__(self, at: int) -> NDArray[np.float32]: ...
    @overload
    def __getitem__(self, at: slice) -> Bags: ...
    def __getitem__(self, at: int | slice) -> NDArray[np.float32] | Bags:
        if isinstance(at, slice):
            return self.some(np.arange(len(self))[at])
        i = range(len(self))[at]
        bag: NDArray[np.float32] = self.values[self.start[i] : self.start[i + 1]]
        return bag

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return (self[i] for i in range(len(self)))

    def some(self, rows: ArrayLike) -> Bags:
        """Return the bags of these pictures, in this order, or of a mask."""
        chosen = np.arange(len(self))[np.asarray(rows, dtype=None if np.size(rows) else np.int64)]
        start = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(self.sizes[chosen], out=start[1:])
        if len(chosen) and (np.diff(chosen) == 1).all():
            values = self.values[self.start[chosen[0]] : self.start[chosen[-1] + 1]]
        else:
            shift = np.repeat(self.start[chosen] - start[:-1], np.diff(start))
            values = self.values[np.arange(start[-1]) + shift]
        return Bags(values, start)


def _descriptors(values: Any) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        descriptors = np.ascontiguousarray(values, dtype=np.float32)
    if np.ndim(values) != 2:
        raise DataError(f"Descriptors must be a table, one in a row. Got shape {np.shape(values)}.")
    if not np.isfinite(descriptors).all():
        wrong = descriptors[~np.isfinite(descriptors)][0]
        raise DataError(f"Descriptors must be finite. Got {wrong}; leave such rows out.")
    return descriptors
