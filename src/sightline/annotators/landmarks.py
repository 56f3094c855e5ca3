"""Kernel ridge on landmarks, fitted to blocks of pictures, so that memory does not grow with them.

With landmarks z, K their kernel and k_i the kernel of picture i with them, the scores c'k minimise

    sum_i (y_i - c'k_i)^2 + alpha c'K c        (sum_i k_i k_i' + alpha K) c = sum_i k_i y_i

(Williams and Seeger, "Using the Nyström method to speed up kernel machines", 2001). That is what
`KernelRidge` solves where it has landmarks. Here only the two sums are kept. A picture's score when
it is left out follows from them in closed form (`_smoothers`), for any pictures at hand.

Similarities are computed in float32, products and sums in float64: the inverse of K amplifies its
weak directions, of which there are many. With float32 products, scores of Caltech-101 changed by
.001, also where the mean similarity was taken out first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.annotators._alpha import best_alpha
from sightline.annotators._smoothers import Rotated
from sightline.annotators.ridge import inverse_root
from sightline.similarity.landmark_kernel import LandmarkKernel
from sightline.similarity.serialization import kernel_to_arrays, rows_to_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.similarity.formulas import Rows
    from sightline.similarity.kernels import MeanKernel

_ROWS = 2048
_COPIES, _TABLES = 6, 3


def bytes_needed(n_landmarks: int, n_words: int, length: int) -> int:
    """Return about how many bytes fitting takes, however many pictures there are.

    Square tables of the landmarks, tables of landmarks by words, and a block of pictures.

    Parameters
    ----------
    n_landmarks : int
        Number of landmarks.
    n_words : int
        Number of words.
    length : int
        Numbers in a row, of all views together.

    Examples
    --------
    >>> bytes_needed(4_000, 1_000, 512) < 2e9
    True
    """
    square, tables = 8 * n_landmarks**2, 8 * n_landmarks * n_words
    return _COPIES * square + _TABLES * tables + 4 * _ROWS * (3 * length + 4 * n_landmarks)


class LandmarkRidge:
    """Kernel ridge that learns from one block of pictures after the other.

    Parameters
    ----------
    kernel : MeanKernel
        The kernel, with its bandwidths.
    landmarks : tuple of ndarray
        The views' rows of the landmarks.
    n_words : int
        Number of words.

    Attributes
    ----------
    n : int
        Number of pictures so far.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from sightline.similarity.kernels import MeanKernel
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]], np.float32)
    >>> Y = csr_matrix([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    >>> ridge = LandmarkRidge(MeanKernel(("rbf",), (0.5,), (1.0,)), (X[::2],), 2)
    >>> for rows in (slice(0, 2), slice(2, 4)):
    ...     ridge.partial_fit((X[rows],), Y[rows])
    >>> ridge.solve().arrays(0.1)["dual"].round() + 0.0
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    def __init__(self, kernel: MeanKernel, landmarks: tuple[Rows, ...], n_words: int) -> None:
        K = kernel(landmarks)
        self.kernel, self.landmarks = kernel, landmarks
        self.similarities = LandmarkKernel(kernel, landmarks)
        self.scale = float(K.diagonal().mean(dtype=np.float64)) or 1.0
        self.root = inverse_root(K)
        # Of the products, which are symmetric, only the lower triangle is filled.
        self._products = np.zeros((len(K), len(K)), order="F")
        self._targets = np.zeros((n_words, len(K)))
        self.n = 0

    def partial_fit(self, views: tuple[Rows, ...], labels: Any) -> None:
        """Learn from pictures and their words, a table in CSR form with 1 where one has a word."""
        for start in range(0, labels.shape[0], _ROWS):
            rows = slice(start, start + _ROWS)
            self._add(tuple(v[rows] for v in views), labels[rows])

    def _add(self, views: tuple[Rows, ...], labels: Any) -> None:
        from scipy.linalg.blas import dsyrk

        k = self.similarities(views).astype(np.float64)
        self._products = dsyrk(1.0, k.T, beta=1.0, c=self._products, lower=1, overwrite_c=1)
        words = np.unique(labels.indices)
        self._targets[words] += labels[:, words].T.tocsr() @ k
        self.n += len(k)

    def solve(self) -> LandmarkSolution:
        """Return the solutions for all alphas of what was learned so far."""
        from scipy.linalg import eigh
        from scipy.linalg.blas import dsymm

        within = self.root.T @ dsymm(1.0, self._products, self.root, lower=1)
        values, vectors = eigh(within, driver="evd", overwrite_a=True, check_finite=False)
        basis = self.root @ vectors
        targets = basis.T @ self._targets.T
        # Rounding alone makes an eigenvalue negative.
        return LandmarkSolution(self, np.maximum(values, 0.0), basis, targets)


class LandmarkSolution:
    """What kernel ridge is for any alpha, in the basis where the regulariser is a division."""

    def __init__(
        self,
        ridge: LandmarkRidge,
        values: NDArray[np.float64],
        basis: NDArray[np.float64],
        targets: NDArray[np.float64],
    ) -> None:
        self._ridge, self.values, self._basis, self.VtZtY = ridge, values, basis, targets

    def left_out(self, views: tuple[Rows, ...], labels: Any) -> Rotated:
        """Return what has the scores of pictures it learned from, each as if left out."""
        parts = [
            self._ridge.similarities(tuple(v[start : start + _ROWS] for v in views)) @ self._basis
            for start in range(0, labels.shape[0], _ROWS)
        ]
        return Rotated(self, np.concatenate(parts), np.asarray(labels.toarray(), np.float32))

    def best_alpha(self, judged: Rotated, random_state: int = 0) -> float:
        """Return the alpha with the least squared error of left-out scores."""
        return best_alpha(judged, self._ridge.scale, "error", random_state)

    def scaled(self, alpha: float) -> float:
        """Return alpha in units of the kernel."""
        return alpha * self._ridge.scale

    def arrays(self, alpha: float) -> dict[str, NDArray[Any]]:
        """Return what `KernelRidge.from_arrays` makes a fitted ridge of."""
        dual = self._basis @ (self.VtZtY / (self.values + self.scaled(alpha))[:, None])
        arrays = {"dual": dual.astype(np.float32), **kernel_to_arrays(self._ridge.kernel)}
        for i, rows in enumerate(self._ridge.landmarks):
            arrays |= rows_to_arrays(f"landmarks.{i}", rows)
        return arrays
