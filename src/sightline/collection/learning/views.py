"""Rows of a feature as learners see them: weighted and of length one.

Counts of visual words are weighted by how few training pictures hold each (tf-idf); other rows are
only scaled. The weights belong to a model, not to the store, since they come from the pictures it
was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.records import FeatureRows, SparseRows
from sightline.store.matrices import Matrix, SparseMatrix

Float = NDArray[np.float32]
View = Any  # a dense float32 matrix, or a scipy one in CSR form


def as_view(rows: FeatureRows | SparseRows | Matrix) -> View:
    """Return rows of the store as a matrix to compute with."""
    if isinstance(rows, FeatureRows):
        return np.asarray(rows.rows, np.float32)
    if isinstance(rows, SparseMatrix):
        index, value = rows.entries()
        return _csr(value, index, rows.start - rows.start[0], rows.shape[1])
    if isinstance(rows, SparseRows):
        return _csr(rows.value, rows.index, rows.start, rows.length)
    return np.asarray(rows, np.float32)


def _csr(value: Any, index: Any, start: NDArray[np.int64], length: int) -> View:
    from scipy.sparse import csr_matrix

    parts = (np.asarray(value, np.float32), np.asarray(index, np.int32), start)
    return csr_matrix(parts, shape=(len(start) - 1, length))


def table_arrays(table: View, prefix: str) -> dict[str, NDArray[Any]]:
    """Return a table, dense or sparse, as arrays that can travel."""
    if not hasattr(table, "tocsr"):
        return {f"{prefix}dense": np.asarray(table)}
    return {
        f"{prefix}data": table.data, f"{prefix}indices": table.indices,
        f"{prefix}indptr": table.indptr, f"{prefix}shape": np.array(table.shape),
    }  # fmt: skip


def table_of(arrays: Mapping[str, NDArray[Any]], prefix: str) -> View:
    """Return the table again.

    >>> table_of(table_arrays(np.eye(2), "a."), "a.").tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if f"{prefix}dense" in arrays:
        return arrays[f"{prefix}dense"]
    from scipy.sparse import csr_matrix

    parts = tuple(arrays[f"{prefix}{n}"] for n in ("data", "indices", "indptr"))
    return csr_matrix(parts, shape=tuple(arrays[f"{prefix}shape"].tolist()), copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """How the rows of one feature are weighted before they are compared.

    `idf` is empty where only their length is made one; `plain` leaves rows, such as counts, as they
    are.
    """

    idf: Float
    plain: bool = False

    @classmethod
    def of(cls, view: View, *, plain: bool = False) -> Weighting:
        """Learn the weights from training rows."""
        if plain or not hasattr(view, "tocsr"):
            return cls(np.zeros(0, np.float32), plain)
        from sightline.features.local.visterms import idf_of

        return cls(np.asarray(idf_of(view), np.float32))

    def __call__(self, view: View) -> View:
        """Return rows weighted and of length one; a row of zeros stays so."""
        if self.plain:
            return view
        if not hasattr(view, "tocsr"):
            norm = np.sqrt(np.einsum("ij,ij->i", view, view))
            return view / np.where(norm > 0, norm, 1)[:, None]
        from sightline.features.local.visterms import weighted

        return weighted(view, self.idf)
