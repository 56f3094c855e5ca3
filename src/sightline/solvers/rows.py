"""Matrices of pictures as compiled loops read them: checked, float32, rows side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.validation import check_finite, check_shape, check_sparse, dense_table

_SMALL = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class SparseMatrix:
    """Rows that are mostly zero; columns below 65,536 take two bytes, to read half as much.

    Row i has `values` in the columns `indices` between start[i] and start[i + 1], ascending.
    """

    start: NDArray[np.uint64]
    indices: NDArray[np.uint16] | NDArray[np.uint32]
    values: Floats
    shape: tuple[int, int]


class RowBlocks(Protocol):
    """Dense rows of pictures that are read when they are asked for, such as those of a file."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of pictures and of features."""
        ...

    def read(self, rows: Ints) -> Floats:
        """Return some rows, of ascending positions."""
        ...


def as_rows(X: Any, owner: str, n_features: int | None = None) -> SparseMatrix | Floats:
    """Return a matrix of pictures, scipy's sparse or anything numpy understands.

    >>> as_rows([[1, 2], [3, 4]], "PAMIR").dtype
    dtype('float32')
    >>> as_rows([[1, float("nan")], [3, 4]], "PAMIR")
    Traceback (most recent call last):
    sightline.errors.DataError: X must hold finite numbers. PAMIR got 1 that are NaN or inf.
    """
    rows = _sparse(X) if hasattr(X, "tocsr") else dense_table(X, np.float32)
    check_finite(rows.values if isinstance(rows, SparseMatrix) else rows, owner)
    check_shape(rows.shape, owner, n_features=n_features)
    return rows


def _sparse(X: Any) -> SparseMatrix:
    check_sparse(X)
    with np.errstate(over="ignore"):
        table = X.tocsr().astype(np.float32)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    small = np.uint16 if table.shape[1] <= _SMALL else np.uint32
    return SparseMatrix(
        table.indptr.astype(np.uint64),
        table.indices.astype(small),
        table.data,
        (int(table.shape[0]), int(table.shape[1])),
    )
