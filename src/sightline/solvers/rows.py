"""Matrices of pictures as compiled loops read them: checked, float32, rows side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError

Floats = NDArray[np.float32]
_SMALL = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class SparseMatrix:
    """Rows that are mostly zero; columns below 65,536 are kept in two bytes, to read half as much.

    Row i has `values` in the columns `indices` between start[i] and start[i + 1], ascending.
    """

    start: NDArray[np.uint64]
    indices: NDArray[np.uint16] | NDArray[np.uint32]
    values: Floats
    shape: tuple[int, int]


def as_rows(X: Any, owner: str, n_features: int | None = None) -> SparseMatrix | Floats:
    """Return a matrix of pictures, scipy's sparse or anything numpy understands.

    >>> as_rows([[1, 2], [3, 4]], "PAMIR").dtype
    dtype('float32')
    >>> as_rows([[1, float("nan")], [3, 4]], "PAMIR")
    Traceback (most recent call last):
    sightline.errors.DataError: X must hold finite numbers, of which PAMIR found 1 that are not.
    """
    rows = _sparse(X) if hasattr(X, "tocsr") else _dense(X)
    values = rows.values if isinstance(rows, SparseMatrix) else rows
    wrong = values.size - np.count_nonzero(np.isfinite(values))
    if wrong:
        raise DataError(f"X must hold finite numbers, of which {owner} found {wrong} that are not.")
    if not rows.shape[1]:
        raise DataError("X must have at least one column. Got none.")
    if n_features is not None and rows.shape[1] != n_features:
        raise DataError(
            f"X must have {n_features} columns, as {owner} was fitted with. Got {rows.shape[1]}."
        )
    return rows


def _dense(X: Any) -> Floats:
    try:
        # Numbers beyond float32 become infinite, which is what is checked and refused.
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"X must be a table of numbers. {error}") from error
    if np.ndim(X) != 2:
        raise DataError(f"X must be a table with a row for each picture. Got shape {np.shape(X)}.")
    return rows


def _sparse(X: Any) -> SparseMatrix:
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
