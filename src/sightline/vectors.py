"""Feature vectors: L2 normalisation, standardisation and fingerprints, once for all packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

_Real = TypeVar("_Real", np.float32, np.float64)


def l2_norms(rows: Any, dtype: type[np.floating[Any]] | None = None) -> NDArray[Any]:
    """Return the Euclidean length of each row.

    Parameters
    ----------
    rows : array-like of shape (..., n_features) or sparse matrix
        Vectors.
    dtype : type, optional
        Type that squares are added in; by default that of dense rows. Those of sparse rows are
        added in float64.

    Examples
    --------
    >>> l2_norms(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [5.0, 0.0]
    """
    if hasattr(rows, "tocsr"):
        csr = rows.tocsr()
        squares = csr.data.astype(np.float64) ** 2
        return np.sqrt(np.bincount(_row_numbers(csr), squares, csr.shape[0]))
    return np.asarray(np.sqrt(np.einsum("...j,...j->...", rows, rows, dtype=dtype)))


def l2_normalize(
    rows: Any,
    norms: NDArray[Any] | np.floating[Any] | None = None,
    *,
    dtype: DTypeLike = np.float32,
) -> Any:
    """Return rows divided by their Euclidean length; rows of zeros stay zeros.

    Parameters
    ----------
    rows : array-like of shape (..., n_features) or sparse matrix
        Vectors; sparse ones are returned as CSR.
    norms : ndarray of shape (...), optional
        Lengths of the rows, by default `l2_norms(rows)`. Stored features and models were computed
        with sums in a certain order and precision, and pass lengths that were added the same way,
        so that not a bit of them changes. A row of length 0 is not divided.
    dtype : dtype, default=float32
        Type of the result. The division is in the wider type of rows and norms.

    Examples
    --------
    >>> l2_normalize(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.asarray(l2_norms(rows) if norms is None else norms)
    divisors = np.where(lengths > 0, lengths, lengths.dtype.type(1))
    if not hasattr(rows, "tocsr"):
        return np.asarray(rows / divisors[..., None], dtype)
    csr = rows.tocsr(copy=True)
    csr.data = np.asarray(csr.data / divisors[_row_numbers(csr)], dtype)
    return csr


def _row_numbers(csr: Any) -> NDArray[np.int64]:
    """Return the row of each stored number of a CSR matrix."""
    return np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))


def standardize(
    rows: NDArray[_Real],
) -> tuple[NDArray[_Real], NDArray[_Real], NDArray[_Real]]:
    """Return rows less the mean, divided by the standard deviation; and mean and divisor.

    The divisor of a column that never differs is 1.

    >>> z, mean, scale = standardize(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> z.tolist(), mean.tolist(), scale.tolist()
    ([[-1.0, 0.0], [1.0, 0.0]], [2.0, 7.0], [1.0, 1.0])
    """
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(deviation > 0, deviation, deviation.dtype.type(1))
    return (rows - mean) / scale, mean, scale


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What stored vectors are checked by: the feature's name, and a digest of what it depends on.

    It is stored as text, `name-digest`; so are the names of codebooks and models.

    Examples
    --------
    >>> fingerprint = Fingerprint.parse("deep-stages-0a1b2c3d4e5f")
    >>> fingerprint.name, fingerprint.digest, str(fingerprint)
    ('deep-stages', '0a1b2c3d4e5f', 'deep-stages-0a1b2c3d4e5f')
    """

    name: str
    digest: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the fingerprint that a stored text is; one without a hyphen has no name."""
        name, _, digest = text.rpartition("-")
        return cls(name, digest)

    def __str__(self) -> str:
        return f"{self.name}-{self.digest}" if self.name else self.digest
