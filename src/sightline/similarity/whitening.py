"""Whitening: the directions of largest variance get smaller weights.

    x -> A (x - m) / |A (x - m)|        A = V diag((l + e)^-p) V'

with m the mean and V, l the eigenvectors and eigenvalues of the covariance of a feature over
training pictures, e a thousandth of the mean eigenvalue. p = 0 only centres, p = 1/2 whitens fully.
Activations of a network share a few strong directions, such as how much of anything there is in the
picture; a mild p = 0.15 reduces these without amplifying noise (Jégou and Chum, "Negative evidences
and co-occurences in image retrieval: the benefit of PCA and whitening", 2012, use p = 1/2 on few
dimensions).

Departure: A is symmetric, so that it does not depend on the signs and the order in which a library
returns eigenvectors; distances are the same as in the basis V.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.similarity.formulas import as_rows
from sightline.vectors import l2_normalize, l2_norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FLOOR = 1e-3
_BLOCK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """A feature's whitening, fitted to training pictures and then fixed.

    Examples
    --------
    >>> rows = np.array([[9, 1], [-9, 1], [9, -1], [-9, -1]], dtype=np.float32)
    >>> Whitening.of(rows, power=0.0)(rows)[0].round(2)
    array([0.99, 0.11], dtype=float32)
    >>> Whitening.of(rows, power=0.5)(rows)[0].round(2)
    array([0.71, 0.7 ], dtype=float32)
    """

    mean: NDArray[np.float32]
    matrix: NDArray[np.float32]

    @classmethod
    def of(cls, rows: Any, power: float = 0.15) -> Whitening:
        """Learn from the dense rows of training pictures."""
        from scipy.linalg import eigh

        if not 0 <= power <= 1:
            raise ParameterError.of("power", "Whitening", "from 0 to 1", power)
        X = _dense(rows)
        if not len(X):
            raise DataError("There is no picture to learn the whitening from. Give at least one.")
        mean = X.mean(axis=0, dtype=np.float64)
        covariance = np.zeros((X.shape[1], X.shape[1]))
        for start in range(0, len(X), _BLOCK):
            centred = X[start : start + _BLOCK] - mean
            covariance += centred.T @ centred
        values, V = eigh(covariance / len(X), driver="evd", overwrite_a=True, check_finite=False)
        values = np.maximum(values, 0.0) + _FLOOR * max(float(values.mean()), 0.0)
        # Equal pictures have no direction of variance.
        scale = values**-power if values.min(initial=1.0) > 0 else np.ones(len(values))
        return cls(mean.astype(np.float32), ((V * scale) @ V.T).astype(np.float32))

    def __call__(self, rows: Any) -> NDArray[np.float32]:
        """Return whitened unit vectors; a picture that is the mean itself stays 0."""
        X = _dense(rows)
        if X.shape[1] != len(self.mean):
            raise DataError(f"Features must be of length {len(self.mean)}. Got {X.shape[1]}.")
        out = np.asarray((X - self.mean) @ self.matrix, dtype=np.float32)
        return np.asarray(l2_normalize(out, l2_norms(out, np.float64).astype(np.float32)))

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return the fitted arrays; `from_arrays` makes the same whitening."""
        return {"mean": self.mean, "matrix": self.matrix}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.float32]]) -> Whitening:
        """Return a whitening as it was when `to_arrays` was called."""
        return cls(arrays["mean"], arrays["matrix"])


def _dense(rows: Any) -> NDArray[np.float32]:
    X = as_rows(rows)
    if hasattr(X, "tocsr"):
        raise DataError("Whitening needs dense features; centring would fill a sparse matrix.")
    return np.asarray(X)
