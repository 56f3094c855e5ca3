"""Rankers as a plugin would have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pluggy
from numpy.typing import NDArray

from sightline import plugins
from sightline.registry import RankerEntry

_hook = pluggy.HookimplMarker(plugins.GROUP)
CENTROIDS = RankerEntry(
    "plugin_rankers:Centroids",
    "distance to the mean of a word's pictures",
    grid=({"shrink": 0.5}, {"shrink": 0.9}),
)


class Centroids:
    """Scores a picture by its inner product with the mean of the pictures tagged with a word."""

    def __init__(self, *, shrink: float = 0.5) -> None:
        self.shrink = shrink

    def fit(self, X: Any, y: Any) -> Self:
        tagged = np.asarray(y.todense(), np.float32) > 0
        sums = tagged.T.astype(np.float32) @ np.asarray(X, np.float32)
        means = sums / np.maximum(tagged.sum(axis=0)[:, None], 1)
        self.centroids_ = means - self.shrink * np.asarray(X, np.float32).mean(axis=0)
        return self

    def decision_function(
        self, X: Any, words: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        centroids = self.centroids_ if words is None else self.centroids_[words]
        return np.asarray(np.asarray(X, np.float32) @ centroids.T, np.float32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        return {"centroids": np.asarray(self.centroids_, np.float32)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        ranker = cls()
        ranker.centroids_ = np.asarray(arrays["centroids"])
        return ranker


@_hook
def register_rankers(register: plugins.RegisterRanker) -> None:
    register("centroids", CENTROIDS)
