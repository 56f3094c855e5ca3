"""Ridge in which the pictures that have a word count more than the many that do not.

    min  sum_i w_it (y_it - f_t(p_i))^2 + alpha |f_t|^2        w_it = (n- / n+)^balance if y_it = 1,
                                                               else 1
Each word has weights of its own, and yet one factorisation serves all: with P the pictures with a
word, w their weight, d = w - 1 and H the plain smoother (see _smoothers), the weighted fit is the
plain fit to the targets w (I + d H_PP)^-1 1 on P and 0 elsewhere, and a picture's share in its own
score is w_i (H_ii - d H_iP (I + d H_PP)^-1 H_Pi). Both follow from Woodbury's identity. Left-out
scores keep the weight that the word had with all pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def balanced(
    K: NDArray[np.float32], Y: NDArray[np.float32], alpha: float, balance: float
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return coefficients and left-out scores of the weighted kernel form."""
    inverse = _inverse(K, alpha)
    H = -alpha * inverse
    H[np.diag_indices_from(H)] += 1.0
    targets, left_out = np.zeros(Y.shape), np.empty(Y.shape, dtype=np.float32)
    remainders = np.empty(Y.shape)
    for t in range(Y.shape[1]):
        P = np.flatnonzero(Y[:, t])
        w = (max(len(Y) - len(P), 1) / max(len(P), 1)) ** balance
        targets[P, t], remainders[:, t] = _of_word(H, P, w)
    dual = inverse @ targets
    residual = Y - (targets - alpha * dual)
    left_out[...] = Y - residual / np.maximum(remainders, 1e-12)
    return dual, left_out


def _of_word(
    H: NDArray[np.float64], P: NDArray[np.int64], w: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the targets on P, and 1 less each picture's share in its own score."""
    from scipy.linalg import cho_factor, cho_solve, solve_triangular

    share = H.diagonal().copy()
    if not len(P):
        return np.zeros(0), 1.0 - share
    A = (w - 1.0) * H[np.ix_(P, P)]
    A[np.diag_indices_from(A)] += 1.0
    factor, lower = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    targets = w * cho_solve((factor, lower), np.ones(len(P)), check_finite=False)
    solved = solve_triangular(factor, H[P], lower=True, check_finite=False)
    share -= (w - 1.0) * np.einsum("ki,ki->i", solved, solved)
    share[P] *= w
    return targets, 1.0 - share


def _inverse(K: NDArray[np.float32], alpha: float) -> NDArray[np.float64]:
    from scipy.linalg import cho_factor
    from scipy.linalg.lapack import dpotri

    G = K.astype(np.float64, order="F")
    G[np.diag_indices_from(G)] += alpha
    factor, _ = cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
    half, _ = dpotri(factor, lower=1, overwrite_c=1)
    # Only the lower half is filled.
    lower = np.tril(half, -1)
    inverse: NDArray[np.float64] = lower + lower.T
    inverse[np.diag_indices_from(inverse)] = half.diagonal()
    return inverse
