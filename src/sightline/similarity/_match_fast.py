"""The match kernel's loops: the largest of each segment of a table, in both directions at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline._njit_fast import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def segment_best(
    table: NDArray[np.float32],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    by_row: NDArray[np.float32],
    by_column: NDArray[np.float32],
) -> None:
    """Write the largest number of each row within each group of columns, and the other way round.

    Group g of rows lies between rows[g] and rows[g + 1]; none is empty, nor is one of columns.
    by_row is (rows, groups of columns), by_column (groups of rows, columns). A tile of two groups
    is read once, while it is in the cache, for both.
    """
    for g in range(len(rows) - 1):
        by_column[g] = table[rows[g]]
        for h in range(len(columns) - 1):
            begin, end = columns[h], columns[h + 1]
            down = by_column[g, begin:end]
            for i in range(rows[g], rows[g + 1]):
                across = table[i, begin:end]
                best = across[0]
                for j in range(len(across)):
                    value = across[j]
                    best = value if value > best else best
                    down[j] = value if value > down[j] else down[j]
                by_row[i, h] = best


@njit(cache=True, nogil=True)
def mean_of_rows(
    values: NDArray[np.float64], rows: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Add to out[g, h] the mean of values[i, h] over the rows i of group g."""
    for g in range(len(rows) - 1):
        share = 1.0 / (rows[g + 1] - rows[g])
        for i in range(rows[g], rows[g + 1]):
            for h in range(values.shape[1]):
                out[g, h] += share * values[i, h]
