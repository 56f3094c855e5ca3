"""Slow, plain twins of what `sightline.annotators` does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ridge(K: NDArray[np.float64], Y: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return the dual coefficients by a plain inverse."""
    return np.asarray(np.linalg.inv(K + alpha * np.eye(len(K))) @ Y)


def ridge_left_out(
    K: NDArray[np.float64], Y: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Fit again without each picture in turn, and score it."""
    rows = []
    for i in range(len(K)):
        kept = np.arange(len(K)) != i
        dual = ridge(K[np.ix_(kept, kept)], Y[kept], alpha)
        rows.append(K[i, kept] @ dual)
    return np.array(rows)


def weighted_ridge(
    K: NDArray[np.float64], y: NDArray[np.float64], alpha: float, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return one word's coefficients where each picture has a weight: (W K + alpha I)^-1 W y."""
    W = np.diag(weights)
    return np.asarray(np.linalg.solve(W @ K + alpha * np.eye(len(K)), W @ y))


def landmark_ridge(
    K_nm: NDArray[np.float64], K_mm: NDArray[np.float64], Y: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """Return coefficients of the landmarks: (K_mn K_nm + alpha K_mm)^-1 K_mn Y."""
    return np.asarray(np.linalg.solve(K_nm.T @ K_nm + alpha * K_mm, K_nm.T @ Y))


def problem(
    n: int = 60, d: int = 6, n_words: int = 5, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return pictures and words that hidden directions decide, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    hidden = X @ rng.normal(size=(d, n_words)) + 0.3 * rng.normal(size=(n, n_words))
    return X, (hidden > np.quantile(hidden, 0.7, axis=0)).astype(np.float32)
