"""A seeded stand-in for Corel5K: as many pictures, visterms, words and queries, none of its data.

A scene has a few words, a picture some of its scene's, and a word its own visterms, of which the
pictures that have it show a few among many that say nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TRAIN, HELD_OUT = 4_000, 1_000
VISTERMS, PER_PICTURE, WORDS = 10_000, 77, 179
_SCENES, _WORDS_PER_SCENE, _OWN, _SHOWN = 80, 10, 120, 5
_LENGTHS, _CHANCES = (1, 2, 3, 4, 5), (0.05, 0.2, 0.5, 0.22, 0.03)


class CorelLike(NamedTuple):
    """Training and held-out pictures: sparse rows of unit length, and tables of their words."""

    X: Any
    y: NDArray[np.int8]
    X_held: Any
    y_held: NDArray[np.int8]


def corel_like(seed: int = 0) -> CorelLike:
    """Return the collection."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    n = TRAIN + HELD_OUT
    rarity = 1 / np.arange(1, WORDS + 1) ** 0.8
    scenes = [_some_words(rng, rarity / rarity.sum()) for _ in range(_SCENES)]
    usual = 1 / np.arange(1, _WORDS_PER_SCENE + 1)
    word_visterms = rng.integers(0, VISTERMS, (WORDS, _OWN))
    y = np.zeros((n, WORDS), dtype=np.int8)
    columns = np.empty((n, PER_PICTURE), dtype=np.int32)
    for picture in range(n):
        scene, length = scenes[rng.integers(_SCENES)], rng.choice(_LENGTHS, p=_CHANCES)
        words = rng.choice(scene, length, replace=False, p=usual / usual.sum())
        y[picture, words] = 1
        hints = word_visterms[words][:, rng.integers(0, _OWN, _SHOWN)].ravel()
        others = rng.permutation(VISTERMS)[: 2 * PER_PICTURE]
        shown = list(dict.fromkeys([*hints.tolist(), *others.tolist()]))[:PER_PICTURE]
        columns[picture] = np.sort(shown)
    values = 1 + rng.poisson(0.6, columns.shape).astype(np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    start = np.arange(0, n * PER_PICTURE + 1, PER_PICTURE)
    X = sp.csr_matrix((values.ravel(), columns.ravel(), start), shape=(n, VISTERMS))
    return CorelLike(X[:TRAIN], y[:TRAIN], X[TRAIN:], y[TRAIN:])


def _some_words(rng: np.random.Generator, chances: NDArray[np.float64]) -> NDArray[np.int64]:
    return rng.choice(WORDS, _WORDS_PER_SCENE, replace=False, p=chances)
