"""Lists of pictures with relevance, for tests of combiners."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Made = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]


def made_lists(n_lists: int = 20, size: int = 30, d: int = 5, seed: int = 0) -> Made:
    """Return lists whose relevant pictures have the largest weighted sum of components."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_lists * size, d)).astype(np.float32)
    value = X @ np.linspace(-1, 2, d) + random.normal(0, 0.5, len(X))
    y = np.zeros(len(X), dtype=np.int64)
    for i in range(n_lists):
        part = slice(i * size, (i + 1) * size)
        y[part] = value[part] > np.quantile(value[part], 0.8)
    return X, y, np.repeat(np.arange(n_lists), size)
