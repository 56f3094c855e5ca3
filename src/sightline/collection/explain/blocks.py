"""Blocks of a picture that overlap by half and together cover all of it.

The picture is cut into cells, as evenly as whole pixels allow. A block is two by two cells, and the
next block starts one cell further (as in Grangier and Bengio, 2008; they leave out blocks that do
not fit at the right and bottom edge, here the size of the cells is adjusted instead).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where the blocks lie: the edges of the cells, in pixels from above and from the left.

    `height` and `width` are the picture's, of which blocks made elsewhere may leave out a strip.

    Examples
    --------
    >>> found = Blocks.of(60, 90, 5)
    >>> found.rows, found.columns, found.right
    (3, 5, (0, 15, 30, 45, 60, 75, 90))
    >>> Blocks.of(2, 90, 5).down
    (0, 1, 2)
    """

    height: int
    width: int
    down: tuple[int, ...]
    right: tuple[int, ...]

    @classmethod
    def of(cls, height: int, width: int, along: int) -> Blocks:
        """Return blocks of a picture, `along` of them on its longer side, about square."""
        cell = max(height, width) / (along + 1)
        return cls(height, width, _edges(height, cell), _edges(width, cell))

    @property
    def rows(self) -> int:
        """The number of rows of blocks."""
        return len(self.down) - 2

    @property
    def columns(self) -> int:
        """The number of columns of blocks."""
        return len(self.right) - 2

    def __len__(self) -> int:
        return self.rows * self.columns

    def boxes(self) -> Iterator[tuple[slice, slice]]:
        """Yield the pixels of each block, row by row."""
        for top, bottom in zip(self.down, self.down[2:], strict=False):
            for left, right in zip(self.right, self.right[2:], strict=False):
                yield slice(top, bottom), slice(left, right)

    def in_cells(self, values: NDArray[Any]) -> Floats:
        """Return the mean of the blocks that cover each cell; `values` has one per block.

        >>> Blocks.of(90, 60, 2).in_cells(np.array([[1.0], [3.0]])).tolist()
        [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
        """
        shape = self.rows + 1, self.columns + 1
        total, count = np.zeros(shape), np.zeros(shape)
        for i in (0, 1):
            for j in (0, 1):
                there = slice(i, i + self.rows), slice(j, j + self.columns)
                total[there] += values
                count[there] += 1
        return (total / count).astype(np.float32)


def _edges(pixels: int, cell: float) -> tuple[int, ...]:
    """Return the edges of cells along a side; at least two cells, so that there is one block."""
    n = max(2, min(round(pixels / cell), pixels))
    return tuple(k * pixels // n for k in range(n + 1))
