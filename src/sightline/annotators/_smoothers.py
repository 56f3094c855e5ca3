"""Ridge regression as a linear smoother: fitted = H y, with leave-one-out scores.

For the kernel form H = K (K + a I)^-1, for features Z (the primal form) H = Z (Z'Z + a I)^-1 Z'.
Whatever the form, a picture's score when it is left out is, in closed form,

    f_i^loo = y_i - (y_i - f_i) / (1 - H_ii)

In the kernel form y - f = a G^-1 y and 1 - H_ii = a (G^-1)_ii with G = K + a I, which keeps its
digits when a is small and both are near 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Blocks = Callable[[], Iterator[tuple[slice, "NDArray[np.float64]"]]]
# Other targets, from left-out scores and the targets that gave them.
Revise = Callable[["NDArray[np.float32]", "NDArray[np.float32]"], "NDArray[np.float32]"]

# Below this a picture is fitted by itself alone and has no meaningful leave-one-out score.
_LEAST_REMAINDER = 1e-12


class LeaveOneOut(Protocol):
    """Targets Y of pictures, and the leave-one-out scores of these pictures."""

    Y: NDArray[np.float32]

    def left_out(self, alpha: float, words: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the scores, of all words or of some."""
        ...


class Smoother(LeaveOneOut, Protocol):
    """Ridge on fixed pictures and targets, for any strength alpha."""

    def coefficients(self, alpha: float) -> NDArray[np.float64]:
        """Return one row for each landmark or feature, one column for each word."""
        ...

    def some(self, pictures: NDArray[np.int64]) -> LeaveOneOut:
        """Return the leave-one-out scores of some pictures only, fast for many alphas."""
        ...


class Retargetable(Smoother, Protocol):
    """A smoother that other targets need not be decomposed for again."""

    def retargeted(self, Y: NDArray[np.float32]) -> Smoother:
        """Return the same for other targets."""
        ...


class Diagonal(Protocol):
    """Ridge over features in the basis where their products are diagonal.

    `values` are the diagonal, `VtZtY` the products with the targets.
    """

    values: NDArray[np.float64]
    VtZtY: NDArray[np.float64]


def solved(
    K: NDArray[np.float32], Y: NDArray[np.float32], alpha: float, revise: Revise | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return coefficients and left-out scores of the kernel form for one alpha.

    By Cholesky, which takes a seventh of the time of the decomposition that many alphas share. With
    `revise` they are those of the targets that it makes of the first left-out scores.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.linalg.lapack import dpotri

    G = K.astype(np.float64, order="F")
    G[np.diag_indices_from(G)] += alpha
    factor, lower = cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
    dual: NDArray[np.float64] = cho_solve((factor, lower), Y, check_finite=False)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=int(revise is None))
    remainder = np.maximum(inverse.diagonal(), _LEAST_REMAINDER)
    left_out: NDArray[np.float32] = (Y - dual / remainder[:, None]).astype(np.float32)
    if revise is None:
        return dual, left_out
    targets = revise(left_out, Y)
    dual = cho_solve((factor, lower), targets, check_finite=False)
    return dual, (targets - dual / remainder[:, None]).astype(np.float32)


class Decomposed:
    """The kernel form for many alphas: K = Q diag(l) Q' once, then a product for each."""

    def __init__(self, K: NDArray[np.float32], Y: NDArray[np.float32]) -> None:
        from scipy.linalg import eigh

        values, self.Q = eigh(
            K.astype(np.float64, order="F"), driver="evd", overwrite_a=True, check_finite=False
        )
        # Rounding alone makes an eigenvalue of a kernel negative.
        self.values = np.maximum(values, 0.0)
        self.Y = Y
        self.QtY = self.Q.T @ Y

    def coefficients(self, alpha: float) -> NDArray[np.float64]:
        return np.asarray(self.Q @ (self.QtY / (self.values + alpha)[:, None]))

    def left_out(self, alpha: float, words: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        QtY, Y = (self.QtY, self.Y) if words is None else (self.QtY[:, words], self.Y[:, words])
        shrunk = 1.0 / (self.values + alpha)
        remainder = np.einsum("ij,ij,j->i", self.Q, self.Q, shrunk)
        dual = self.Q @ (QtY * shrunk[:, None])
        dual /= np.maximum(remainder, _LEAST_REMAINDER)[:, None]
        return np.asarray(Y - dual, dtype=np.float32)

    def some(self, pictures: NDArray[np.int64]) -> LeaveOneOut:
        return self

    def retargeted(self, Y: NDArray[np.float32]) -> Smoother:
        other = copy(self)
        other.Y, other.QtY = Y, self.Q.T @ Y
        return other


class Primal:
    """The form over features, read in blocks of pictures, so that only their products are kept."""

    def __init__(self, blocks: Blocks, Y: NDArray[np.float32]) -> None:
        from scipy.linalg import eigh

        self.blocks, self.Y = blocks, Y
        length = next(blocks())[1].shape[1]
        products, targets = np.zeros((length, length)), np.zeros((length, Y.shape[1]))
        for rows, Z in blocks():
            products += Z.T @ Z
            targets += Z.T @ Y[rows]
        values, self.V = eigh(products, driver="evd", overwrite_a=True, check_finite=False)
        self.values = np.maximum(values, 0.0)
        self.VtZtY = self.V.T @ targets

    def coefficients(self, alpha: float) -> NDArray[np.float64]:
        return np.asarray(self.V @ (self.VtZtY / (self.values + alpha)[:, None]))

    def left_out(self, alpha: float, words: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        parts = [
            Rotated(self, Z @ self.V, self.Y[rows]).left_out(alpha, words)
            for rows, Z in self.blocks()
        ]
        return np.concatenate(parts)

    def some(self, pictures: NDArray[np.int64]) -> LeaveOneOut:
        chosen = np.zeros(len(self.Y), dtype=np.bool_)
        chosen[pictures] = True
        parts = [Z[chosen[rows]] @ self.V for rows, Z in self.blocks()]
        return Rotated(self, np.concatenate(parts), self.Y[chosen])

    def retargeted(self, Y: NDArray[np.float32]) -> Smoother:
        other = copy(self)
        targets = sum(Z.T @ Y[rows] for rows, Z in self.blocks())
        other.Y, other.VtZtY = Y, self.V.T @ targets
        return other


class Rotated:
    """Some pictures' features in the basis where the regulariser is a division."""

    def __init__(self, whole: Diagonal, P: NDArray[np.float64], Y: NDArray[np.float32]) -> None:
        self.whole, self.P, self.Y = whole, P, Y

    def left_out(self, alpha: float, words: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        targets, Y = self.whole.VtZtY, self.Y
        if words is not None:
            targets, Y = targets[:, words], Y[:, words]
        shrunk = 1.0 / (self.whole.values + alpha)
        H = np.einsum("ij,ij,j->i", self.P, self.P, shrunk)
        residual = Y - self.P @ (targets * shrunk[:, None])
        residual /= np.maximum(1.0 - H, _LEAST_REMAINDER)[:, None]
        return np.asarray(Y - residual, dtype=np.float32)
