"""A kernel of blocks of pictures with fixed landmarks, in float32 where that is exact enough.

The exponent of the rbf kernel, (|x|^2 + |y|^2 - 2 x.y) / (2 s^2), loses in float32 about eps times
(|x|^2 + |y|^2) / (2 s^2). For unit vectors and the usual bandwidths that is some 1e-6 of a kernel's
value, at a third of the time that float64 takes. Longer rows, sparse ones and other kernels are
computed as `MeanKernel` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sightline.similarity.kernels import MeanKernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.similarity.formulas import Rows

# The largest exponent of two opposite rows that float32 is used for.
_LARGEST_EXPONENT = 8.0


@dataclass(frozen=True, eq=False)
class LandmarkKernel:
    """The kernel of any pictures with some landmarks, whose norms are computed once.

    Attributes
    ----------
    kernel : MeanKernel
        The kernel, with all its parameters.
    landmarks : tuple of ndarray
        The views' rows of the landmarks.

    Examples
    --------
    >>> x = np.eye(2, dtype=np.float32)
    >>> LandmarkKernel(MeanKernel(("rbf",), (1.0,), (1.0,)), (x,))((x,)).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]], dtype=float32)
    """

    kernel: MeanKernel
    landmarks: tuple[Rows, ...]

    def __call__(self, views: tuple[Rows, ...]) -> NDArray[np.float32]:
        """Return similarities, (pictures, landmarks)."""
        right = self._extended
        if right is None or any(hasattr(v, "tocsr") for v in views):
            return self.kernel(views, self.landmarks)
        left = [_extended(v, s) for v, s in zip(views, self.kernel.bandwidths, strict=True)]
        largest = zip(left, self._largest, strict=True)
        if any(float(-x[:, -2].min(initial=0.0)) + y > _LARGEST_EXPONENT for x, y in largest):
            return self.kernel(views, self.landmarks)
        total: NDArray[np.float32] | None = None
        for x, y, weight in zip(left, right, self.kernel.weights, strict=True):
            part = x @ y
            # Rounding alone makes a squared distance negative.
            np.minimum(part, 0.0, out=part)
            np.exp(part, out=part)
            if weight != 1.0:
                part *= np.float32(weight)
            total = part if total is None else np.add(total, part, out=total)
        assert total is not None
        return total

    @cached_property
    def _extended(self) -> list[NDArray[np.float32]] | None:
        """The landmarks of each view, transposed and with their norms; None if not for float32."""
        sparse = any(hasattr(v, "tocsr") for v in self.landmarks)
        if sparse or any(name != "rbf" for name in self.kernel.names):
            return None
        return [
            np.ascontiguousarray(_swapped(_extended(v, s), s).T)
            for v, s in zip(self.landmarks, self.kernel.bandwidths, strict=True)
        ]

    @cached_property
    def _largest(self) -> list[float]:
        """The largest exponent of a landmark with the origin, of each view."""
        return [float(-y[-1].min(initial=0.0)) for y in self._extended or ()]


def _extended(rows: NDArray[np.float32], bandwidth: float) -> NDArray[np.float32]:
    """Return rows (x / s^2, -|x|^2 / (2 s^2), 1).

    Products with swapped ones are the exponents of the kernel.
    """
    n, length = rows.shape
    out = np.empty((n, length + 2), np.float32)
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    np.multiply(rows, np.float32(1.0 / bandwidth**2), out=out[:, :length])
    out[:, length], out[:, length + 1] = squares * (-0.5 / bandwidth**2), 1.0
    return out


def _swapped(extended: NDArray[np.float32], bandwidth: float) -> NDArray[np.float32]:
    """Return rows (y, 1, -|y|^2 / (2 s^2))."""
    length = extended.shape[1] - 2
    out = np.empty_like(extended)
    np.multiply(extended[:, :length], np.float32(bandwidth**2), out=out[:, :length])
    out[:, length], out[:, length + 1] = 1.0, extended[:, length]
    return out
