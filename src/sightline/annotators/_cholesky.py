"""Ridge on one Gram matrix by Cholesky factors, for one alpha after the other.

With G = K + alpha I = L L', coefficients are G^-1 Y, and 1 - H_ii = alpha (G^-1)_ii is alpha times
the squared length of column i of L^-1 (`_smoothers` has the formula of left-out scores). Up to some
pictures factors are in float64. Of more they are in float32, in half the time and memory, and
coefficients are refined where the residual Y - G c of a few words is not small: their rounding
errors would be those of a kernel that is off by as much as its own rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of more pictures factors are in float32.
_DOUBLE = 1_500
# The residual of unit targets that is left as it is, and on how many words it is measured.
_RESIDUAL, _MEASURED = 1e-4, 16
_REFINEMENTS = 3
_LEAST_REMAINDER = 1e-12
_BLOCK = 512


class Factored:
    """K + alpha I, factored.

    Parameters
    ----------
    K : ndarray of float32
        A symmetric Gram matrix.
    alpha : float
        Strength of the regulariser, greater than 0.

    Examples
    --------
    >>> ridge = Factored(np.eye(2, dtype=np.float32), 1.0)
    >>> ridge.coefficients(np.eye(2, dtype=np.float32)).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    >>> ridge.remainder().round(6).tolist()
    [0.5, 0.5]
    """

    def __init__(self, K: NDArray[np.float32], alpha: float) -> None:
        from scipy.linalg import lapack

        self.K, self.alpha = K, alpha
        is_double = len(K) <= _DOUBLE
        self._lapack: Any = lapack
        # A symmetric matrix is its own transpose, which is in the order that LAPACK wants.
        G = K.T.astype(np.float64 if is_double else np.float32, order="F")
        if not self._factor(G) and not is_double:
            is_double = True
            if not self._factor(K.T.astype(np.float64, order="F")):
                raise DataError(f"The kernel is not positive with alpha {alpha:g}. Use a larger.")

    def _factor(self, G: NDArray[Any]) -> bool:
        G[np.diag_indices_from(G)] += G.dtype.type(self.alpha)
        self._prefix = "d" if G.dtype == np.float64 else "s"
        self._L, info = self._call("potrf")(G, lower=1, clean=1, overwrite_a=1)
        return bool(info == 0)

    def _call(self, name: str) -> Any:
        return getattr(self._lapack, f"{self._prefix}{name}")

    def coefficients(self, Y: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a column for each column of targets, in Fortran order."""
        dual = self._solved(Y)
        few = np.unique(np.linspace(0, Y.shape[1] - 1, _MEASURED).astype(np.int64))
        for _ in range(_REFINEMENTS):
            if (
                self._prefix == "d"
                or np.abs(self._residual(Y[:, few], dual[:, few])).max(initial=0.0) <= _RESIDUAL
            ):
                break
            for start in range(0, Y.shape[1], _BLOCK):
                part = slice(start, start + _BLOCK)
                dual[:, part] += self._solved(self._residual(Y[:, part], dual[:, part]))
        return dual

    def _solved(self, Y: NDArray[Any]) -> NDArray[np.float32]:
        targets = np.array(Y, self._L.dtype, order="F")
        out, _ = self._call("potrs")(self._L, targets, lower=1, overwrite_b=1)
        return np.asarray(out, np.float32, order="F")

    def _residual(self, Y: NDArray[Any], dual: NDArray[np.float32]) -> NDArray[np.float32]:
        rest = Y - self.K @ dual
        rest -= np.float32(self.alpha) * dual
        return np.asarray(rest, np.float32)

    def remainder(self) -> NDArray[np.float64]:
        """Return the diagonal of the inverse; the factor is used up."""
        inverse, _ = self._call("trtri")(self._L, lower=1, overwrite_c=1)
        del self._L
        squares = np.zeros(len(inverse))
        # Columns lie one after the other.
        for start in range(0, len(inverse), _BLOCK):
            part = inverse[:, start : start + _BLOCK]
            squares[start : start + _BLOCK] = np.einsum("ij,ij->j", part, part)
        return np.maximum(squares, _LEAST_REMAINDER)
