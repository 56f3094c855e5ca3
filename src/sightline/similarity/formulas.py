"""The formulas of kernels, by name: the comparison of two rows, and its similarity.

Of two rows x, y of one feature, with bandwidth s:

    linear       x.y
    rbf          exp(-|x - y|^2 / (2 s^2))
    exponential  exp(-|x - y| / s)
    chi2         exp(-sum_k (x_k - y_k)^2 / (x_k + y_k) / s)      for counts, which are not negative
    likelihood   exp(-d(x, y) / s), d = -log of the overlap of two Gaussians, of which rows hold the
                 means, then the logarithms of the variances (`likelihood` has it for mixtures)

Sums are in float64, for |x|^2 + |y|^2 - 2 x.y of nearly equal rows loses all of float32's digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.validation import check_finite, check_shape, check_sparse, dense_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

Rows = Any
"""Rows of one feature: a float32 array, or a scipy CSR matrix of float32."""


_LARGEST = 1e15


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel in two steps, between which the bandwidth is estimated.

    Attributes
    ----------
    compare : callable
        From two blocks of rows to a float64 array of distances, or of inner products.
    value : callable
        From those and the bandwidth to similarities; may write over its first argument.
    squared : bool
        `compare` gives squared distances; the bandwidth is a distance.
    unit : bool
        k(x, x) is 1. Otherwise the kernel has no bandwidth either.
    counts : bool
        Rows must be dense and not negative.
    gaussians : bool
        Rows must be dense, means and as many logarithms of variances.
    """

    compare: Callable[[Rows, Rows], NDArray[np.float64]]
    value: Callable[[NDArray[np.float64], float], NDArray[np.float64]]
    squared: bool = False
    unit: bool = True
    counts: bool = False
    gaussians: bool = False


def as_rows(values: Any, kernel: str = "linear") -> Rows:
    """Return values as rows the kernel can use: C-ordered float32, or CSR of float32.

    >>> as_rows([[1, 2]]).dtype
    dtype('float32')
    """
    if kernel not in KERNELS:
        raise ParameterError.of("kernel", "MeanKernel", f"one of {sorted(KERNELS)}", kernel)
    if hasattr(values, "tocsr"):
        check_sparse(values)
        rows = values.tocsr().astype(np.float32)
        rows.sort_indices()
        held = rows.data
    else:
        rows = held = dense_table(values, np.float32)
    check_shape(rows.shape, f"the {kernel} kernel")
    check_finite(held, f"The {kernel} kernel")
    if held.size and (largest := max(float(held.max()), -float(held.min()))) > _LARGEST:
        raise DataError(
            f"Features must lie between -{_LARGEST:g} and {_LARGEST:g}, or their products do not "
            f"fit a float. Got {largest:g}; scale them."
        )
    if rows is not held and (KERNELS[kernel].counts or KERNELS[kernel].gaussians):
        raise DataError(f"Sparse data is not supported by the {kernel} kernel. Call toarray first.")
    if KERNELS[kernel].counts and (held < 0).any():
        raise DataError(f"Negative values in data passed to the {kernel} kernel.")
    if KERNELS[kernel].gaussians and rows.shape[1] % 2:
        raise DataError(
            f"The {kernel} kernel needs dense rows of means and as many logarithms of variances, "
            f"such as the feature gaussians. Got {rows.shape[1]} numbers a row."
        )
    return rows


def inner_products(a: Rows, b: Rows) -> NDArray[np.float64]:
    """Return x.y of every row of `a` with every row of `b`."""
    product = a.astype(np.float64) @ b.astype(np.float64).T
    return np.asarray(product.toarray() if hasattr(product, "tocsr") else product)


def squared_distances(a: Rows, b: Rows) -> NDArray[np.float64]:
    """Return |x - y|^2 of every row of `a` with every row of `b`."""
    distances = inner_products(a, b)
    distances *= -2.0
    distances += squared_norms(a)[:, None]
    distances += squared_norms(b)[None, :]
    return np.maximum(distances, 0.0, out=distances)


def squared_norms(a: Rows) -> NDArray[np.float64]:
    """Return |x|^2 of every row."""
    if hasattr(a, "tocsr"):
        return np.asarray(a.astype(np.float64).power(2).sum(axis=1)).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", a, a, dtype=np.float64))


def _chi2(a: Rows, b: Rows) -> NDArray[np.float64]:
    from sightline.similarity._distances_fast import chi2_distances

    out = np.empty((a.shape[0], b.shape[0]))
    chi2_distances(a.astype(np.float64), np.ascontiguousarray(b.T, dtype=np.float64), out)
    return out


def _overlaps(a: Rows, b: Rows) -> NDArray[np.float64]:
    from sightline.similarity._likelihood_fast import log_overlaps

    out = np.empty((a.shape[0], b.shape[0]))
    log_overlaps(*_gaussians(a), *_gaussians(b), 1.0, out)
    return np.maximum(-out, 0.0, out=out)


def _gaussians(rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    half = rows.shape[1] // 2
    means = np.ascontiguousarray(rows[:, :half], dtype=np.float64)
    return means, np.exp(np.ascontiguousarray(rows[:, half:], dtype=np.float64))


def _identity(products: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    return products


def _gaussian(squared: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    squared *= -0.5 / s**2
    return np.exp(squared, out=squared)


def _laplacian(squared: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    return _falling(np.sqrt(squared, out=squared), s)


def _falling(distances: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    distances *= -1.0 / s
    return np.exp(distances, out=distances)


KERNELS = {
    "linear": Kernel(inner_products, _identity, unit=False),
    "rbf": Kernel(squared_distances, _gaussian, squared=True),
    "exponential": Kernel(squared_distances, _laplacian, squared=True),
    "chi2": Kernel(_chi2, _falling, counts=True),
    "likelihood": Kernel(_overlaps, _falling, gaussians=True),
}
"""The kernels by name; a further one needs a line here and a test."""
