"""Eigenvalues of kernels' tables: how far from an inner product, the nearest one, landmarks.

A kernel that is no inner product has negative eigenvalues over some pictures. `nearest_psd` returns
the positive semidefinite table that is nearest in the sum of squares: the same without its negative
part (Higham, "Computing a nearest symmetric positive semidefinite matrix", 1988). All take time
that grows with the cube of the number of pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The largest relative asymmetry that rounding explains.
_ASYMMETRY = 1e-4
_BLOCK = 256
_EPSILON = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """A summary of the eigenvalues of a kernel's table.

    Attributes
    ----------
    largest, smallest : float
        Eigenvalues.
    n_negative : int
        How many are below 0 by more than rounding.
    negative_share : float
        The negative ones' part of the sum of all sizes; 0 for an inner product.
    """

    largest: float
    smallest: float
    n_negative: int
    negative_share: float

    @property
    def worst(self) -> float:
        """The most negative eigenvalue as a part of the largest size; 0 for an inner product."""
        size = max(abs(self.largest), abs(self.smallest))
        return max(0.0, -self.smallest / size) if self.n_negative else 0.0


def spectrum(K: Any) -> Spectrum:
    """Return a summary of the eigenvalues of a symmetric table.

    >>> spectrum([[0, 1], [1, 0]])
    Spectrum(largest=1.0, smallest=-1.0, n_negative=1, negative_share=0.5)
    """
    from scipy.linalg import eigvalsh

    table = as_symmetric(K)
    if not len(table):
        raise DataError("A kernel's table needs at least one picture. Got none.")
    values = eigvalsh(table, check_finite=False)
    sizes = np.abs(values)
    negative = values < -_rounding(table)
    share = float(sizes[negative].sum() / sizes.sum()) if sizes.any() else 0.0
    return Spectrum(float(values[-1]), float(values[0]), int(negative.sum()), share)


def nearest_psd(K: Any) -> NDArray[np.float32]:
    """Return the nearest table without negative eigenvalues, exactly symmetric.

    It is a kernel over these pictures alone: new ones need their own values corrected in the same
    way, or a learner that accepts the kernel as it is.

    >>> nearest_psd([[0, 1], [1, 0]])
    array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """
    from scipy.linalg import eigh

    table = as_symmetric(K)
    values, vectors = eigh(table, driver="evd", overwrite_a=True, check_finite=False)
    if not len(values) or values[0] >= 0:
        return as_symmetric(K).astype(np.float32)
    positive = values > 0
    # By the smaller part: the positive one, or the negative one that is removed.
    if positive.sum() <= len(values) / 2:
        half = vectors[:, positive] * np.sqrt(values[positive])
        table_psd = half @ half.T
    else:
        half = vectors[:, ~positive] * np.sqrt(-values[~positive])
        table_psd = as_symmetric(K) + half @ half.T
    return np.asarray((table_psd + table_psd.T) / 2, dtype=np.float32)


def inverse_root(K: Any) -> NDArray[np.float64]:
    """Return R with R R' = K^-1 on the directions in which K is positive, (pictures, directions).

    Rows k(p, landmarks) times the R of the landmarks' table have the landmarks' kernel as their
    inner products (Williams and Seeger, "Using the Nyström method to speed up kernel machines",
    2001).

    >>> inverse_root([[4.0, 0.0], [0.0, 0.0]]).tolist()
    [[0.5], [0.0]]
    """
    from scipy.linalg import eigh

    table = as_symmetric(K)
    if not len(table):
        raise DataError("A kernel's table needs at least one picture. Got none.")
    least = _rounding(table)
    values, vectors = eigh(table, driver="evd", overwrite_a=True, check_finite=False)
    # Directions of float32 rounding errors would be amplified.
    positive = values > least
    root: NDArray[np.float64] = vectors[:, positive] / np.sqrt(values[positive])
    # A library may return either of two opposite vectors.
    signs = np.sign(root[np.abs(root).argmax(axis=0), np.arange(root.shape[1])])
    return np.asarray(root * signs)


def as_symmetric(K: Any) -> NDArray[np.float64]:
    """Return a table of pictures by themselves as float64, exactly symmetric."""
    table = np.array(K, dtype=np.float64)
    check_symmetric(table)
    table += table.T.copy()
    table *= 0.5
    return table


def check_symmetric(table: NDArray[Any]) -> None:
    """Raise DataError unless a table is square, finite and, but for rounding, symmetric.

    It is read in blocks, since a copy may not fit in memory.
    """
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise DataError(f"A kernel's table must be square. Got shape {table.shape}.")
    gap = size = 0.0
    for i in range(0, len(table), _BLOCK):
        block = table[i : i + _BLOCK]
        if not np.isfinite(block).all():
            raise DataError("A kernel's table must be finite. Got NaN or infinity.")
        gap = max(gap, float(np.abs(block - table[:, i : i + _BLOCK].T).max()))
        size = max(size, float(np.abs(block).max()))
    if gap > _ASYMMETRY * size:
        raise DataError(f"A kernel's table must be symmetric. Two numbers differ by {gap:g}.")


def _rounding(table: NDArray[np.float64]) -> float:
    """Return how much an eigenvalue can move if every number is rounded to float32.

    Independent errors make a matrix whose norm grows with the root of its side.
    """
    return float(np.abs(table).max(initial=0.0) * np.sqrt(len(table))) * _EPSILON
