"""Kernels and rows as plain arrays, to be kept in a file, and made again from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline._typing import Arrays
from sightline.similarity.kernels import MeanKernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.similarity.formulas import Rows


def kernel_to_arrays(kernel: MeanKernel) -> Arrays:
    """Return everything that makes a mean kernel.

    >>> kernel = MeanKernel(("rbf",), (2.0,), (1.0,))
    >>> kernel_from_arrays(kernel_to_arrays(kernel)) == kernel
    True
    """
    return {
        "bandwidths": np.array(kernel.bandwidths),
        "weights": np.array(kernel.weights),
        "kernels": names_to_array(kernel.names),
    }


def kernel_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> MeanKernel:
    """Return the kernel as it was."""
    names = names_from_array(arrays["kernels"])
    return MeanKernel(
        names, tuple(arrays["bandwidths"].tolist()), tuple(arrays["weights"].tolist())
    )


def names_to_array(names: Iterable[str]) -> NDArray[np.uint8]:
    """Return names, none of which has a space in it, as bytes.

    >>> names_from_array(names_to_array(("rbf", "chi2")))
    ('rbf', 'chi2')
    """
    return np.frombuffer(" ".join(names).encode(), np.uint8)


def names_from_array(array: NDArray[Any]) -> tuple[str, ...]:
    """Return the names as they were."""
    return tuple(array.tobytes().decode().split())


def rows_to_arrays(name: str, rows: Rows) -> Arrays:
    """Return dense or sparse rows under names that begin with `name`.

    >>> rows_from_arrays("x", rows_to_arrays("x", np.eye(2))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if not hasattr(rows, "tocsr"):
        return {name: rows}
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices.astype(np.int32),
        f"{name}.indptr": rows.indptr.astype(np.int64),
        f"{name}.length": np.array([rows.shape[1]], np.int64),
    }


def rows_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> Rows:
    """Return the rows as they were."""
    if name in arrays:
        return arrays[name]
    from scipy.sparse import csr_matrix

    parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    shape = (len(parts[2]) - 1, int(arrays[f"{name}.length"][0]))
    return csr_matrix(parts, shape=shape)
