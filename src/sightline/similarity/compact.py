"""A compact space of several features: few numbers a picture, one byte each, and a kernel on them.

The L2-normalised rows of all features, side by side, are centred and reduced to their principal
directions, of which strong ones are damped:

    z = W V'(x - m),   W = diag(l^-p)          k(z, z') = exp(-g (1 - cos(z, z')))

with V and l the principal directions of a sample and their standard deviations. Each number is
rounded to one of 255 steps of the largest in its row; the cosine needs no scale to be stored. The
bandwidth is a factor of the median distance, as in `kernels`.

Of p = .5, .75, 1 with factors .4, .55, .7 and 128, 256, 512 directions, p = .75 and .4 of 256 were
chosen on pictures of Corel5K that are not its test pictures: kernel ridge that is corrected in
this space reaches nine tenths of what it gains by corrections in its own (`annotators.online`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIRECTIONS, POWER, FACTOR = 256, 0.75, 0.4
# Pictures that directions are learned from, and those whose distances give the bandwidth.
LEARNED_FROM, _MEASURED = 1_000, 500
_FLOOR, _LEAST_DISTANCE = 1e-3, 1e-3
_LARGEST, _ZERO = 127.0, 128
_BLOCK, _TINY = 4_096, 1e-30
# Rows that fit into the cache as float32.
_CACHED = 1_024


@dataclass(frozen=True, slots=True, eq=False)
class CompactSpace:
    """A compact space, fitted to some pictures and then fixed.

    Attributes
    ----------
    shift : ndarray of float32
        The mean picture in the space, which is subtracted.
    basis : ndarray of float32
        The damped directions as columns, of the features one below the other.
    gamma : float
        The kernel's.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> colours, edges = rng.random((40, 6), np.float32), rng.random((40, 4), np.float32)
    >>> space = CompactSpace.of((colours, edges))
    >>> codes = space.codes((colours, edges))
    >>> itself = kernel_of_codes(codes, codes, space.gamma).diagonal()
    >>> codes.dtype, len(codes), bool((itself > 0.99).all())
    (dtype('uint8'), 40, True)
    """

    shift: NDArray[np.float32]
    basis: NDArray[np.float32]
    gamma: float

    @classmethod
    def of(cls, views: Sequence[Any]) -> CompactSpace:
        """Learn from the rows that some pictures have of each feature."""
        from scipy.linalg import eigh

        X = np.concatenate([_dense(v) for v in views], axis=1)
        if len(X) < 2:
            raise DataError(f"A compact space needs at least 2 pictures. Got {len(X)}.")
        mean = X.mean(axis=0, dtype=np.float64).astype(np.float32)
        X -= mean
        n, directions = len(X), min(DIRECTIONS, len(X) - 1, X.shape[1])
        products = np.asarray(X @ X.T, np.float64)
        values, U = eigh(products, subset_by_index=(n - directions, n - 1), check_finite=False)
        deviations = np.sqrt(np.maximum(values, 0.0) / n)
        # Directions without variance, as of equal pictures, keep nothing.
        lost = deviations <= _FLOOR * max(float(deviations.max()), _TINY)
        # X = sqrt(n) U diag(l) V', so V = X' U diag(1 / l) / sqrt(n).
        scale = np.where(lost, 0.0, np.where(lost, 1.0, deviations) ** -(1.0 + POWER))
        basis = X.T @ (U * scale).astype(np.float32)
        space = cls(mean @ basis, basis, 1.0)
        some = _unit(space.codes(tuple(v[:_MEASURED] for v in views)))
        cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
        median = max(float(np.median(2.0 - 2.0 * cosines)), _LEAST_DISTANCE)
        return cls(space.shift, space.basis, 1.0 / (median * FACTOR**2))

    def codes(self, views: Sequence[Any]) -> NDArray[np.uint8]:
        """Return pictures as points of the space, a byte for each number."""
        length = sum(int(v.shape[1]) for v in views)
        if length != len(self.basis):
            raise DataError(f"Features must be of length {len(self.basis)}. Got {length}.")
        n = int(views[0].shape[0])
        out = np.empty((n, self.basis.shape[1]), np.uint8)
        for start in range(0, n, _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = _rounded(self._points([v[part] for v in views]))
        return out

    def _points(self, views: Sequence[Any]) -> NDArray[np.float32]:
        points = np.tile(-self.shift, (int(views[0].shape[0]), 1))
        first = 0
        for v in views:
            last = first + int(v.shape[1])
            points += v @ self.basis[first:last]
            first = last
        return points

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the fitted arrays; `from_arrays` makes the same space."""
        return {"shift": self.shift, "basis": self.basis, "gamma": np.array([self.gamma])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> CompactSpace:
        """Return a space as it was when `to_arrays` was called."""
        gamma = float(np.asarray(arrays["gamma"])[0])
        return cls(np.asarray(arrays["shift"]), np.asarray(arrays["basis"]), gamma)


def kernel_of_codes(
    codes: NDArray[np.uint8], others: NDArray[np.uint8], gamma: float
) -> NDArray[np.float32]:
    """Return the kernel of pictures with others, (pictures, others), by their codes.

    Each of the others takes a product of its own, so that it has the same bits in any company.

    >>> kernel_of_codes(np.array([[255, 128]], np.uint8), np.array([[255, 128]], np.uint8), 3.0)
    array([[1.]], dtype=float32)
    """
    return np.ascontiguousarray(kernel_rows(codes, code_norms(codes), others, gamma).T)


def kernel_rows(
    codes: NDArray[np.uint8],
    norms: NDArray[np.float32],
    others: NDArray[np.uint8],
    gamma: float,
) -> NDArray[np.float32]:
    """Return the same, (others, pictures), where the norms of the pictures are known."""
    out = np.empty((len(others), len(codes)), np.float32)
    unit = _unit(others)
    sums = np.float32(_ZERO) * unit.sum(axis=1)
    rows = np.empty((_CACHED, codes.shape[1]), np.float32)
    for start in range(0, len(codes), _CACHED):
        part = slice(start, min(start + _CACHED, len(codes)))
        block = rows[: part.stop - start]
        np.copyto(block, codes[part])
        for row, other, shift in zip(out, unit, sums, strict=True):
            cosines = block @ other
            cosines -= shift
            cosines /= norms[part]
            cosines -= np.float32(1.0)
            cosines *= np.float32(gamma)
            np.exp(cosines, out=row[part])
    return out


def code_norms(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the norms of pictures in the space, in steps of their codes."""
    out = np.empty(len(codes), np.float32)
    for start in range(0, len(codes), _CACHED):
        rows = codes[start : start + _CACHED].astype(np.float32)
        rows -= np.float32(_ZERO)
        out[start : start + _CACHED] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.maximum(out, np.float32(1.0))


def _unit(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    return (codes.astype(np.float32) - np.float32(_ZERO)) / code_norms(codes)[:, None]


def _rounded(points: NDArray[np.float32]) -> NDArray[np.uint8]:
    largest = np.abs(points).max(axis=1, keepdims=True)
    points *= np.float32(_LARGEST) / np.maximum(largest, np.float32(_TINY))
    return np.asarray(np.rint(points) + _ZERO, np.uint8)


def _dense(view: Any) -> NDArray[np.float32]:
    return np.asarray(view.toarray() if hasattr(view, "tocsr") else view, np.float32)
