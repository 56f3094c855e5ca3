"""Rows of pictures as plain arrays, which is how a model that holds some is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.similarity.formulas import Rows


def rows_to_arrays(name: str, rows: Rows) -> dict[str, NDArray[Any]]:
    """Return dense or sparse rows under names that begin with `name`."""
    if not hasattr(rows, "tocsr"):
        return {name: rows}
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices.astype(np.int32),
        f"{name}.indptr": rows.indptr.astype(np.int64),
        f"{name}.length": np.array([rows.shape[1]], dtype=np.int64),
    }


def rows_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> Rows:
    """Return the rows that `rows_to_arrays` was given.

    >>> rows_from_arrays("x", rows_to_arrays("x", np.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if name in arrays:
        return arrays[name]
    from scipy.sparse import csr_matrix

    parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    return csr_matrix(parts, shape=(len(parts[2]) - 1, int(arrays[f"{name}.length"][0])))
