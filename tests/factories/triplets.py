"""Pictures whose words are correlated with their features, and triplets drawn from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.records import QuerySet
from sightline.solvers.targets import Targets
from sightline.solvers.triplets import TripletSampler

Matrix = NDArray[np.float64]


def collection(seed: int = 0, n: int = 60, n_features: int = 25) -> tuple[Matrix, Any]:
    """Return sparse pictures, and words that are correlated with their features."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, 5)) < 0.3).astype(int)
    hints = rng.random((5, n_features)) * (rng.random((5, n_features)) < 0.3)
    X = (y @ hints + 0.3 * rng.random((n, n_features))) * (rng.random((n, n_features)) < 0.7)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9), y


def query_matrix(queries: QuerySet, n_words: int) -> Matrix:
    """Return query vectors, (queries, words)."""
    Q = np.zeros((len(queries), n_words))
    for i in range(len(queries)):
        Q[i, queries.terms_of(i)] = queries.weight[queries.start[i] : queries.start[i + 1]]
    return Q


def drawn(targets: Targets, n: int, **how: Any) -> list[tuple[int, int, int]]:
    """Return the first n triplets that a sampler draws."""
    parts = zip(*TripletSampler(targets, **how).portions(n), strict=True)
    query, plus, minus = (np.concatenate(p).tolist() for p in parts)
    return list(zip(query, plus, minus, strict=True))
