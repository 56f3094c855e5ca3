"""Collections whose pictures lie near classes of ImageNet, for tests of starting words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.collection import Collection
from sightline.compute.features import fingerprint, load_feature
from sightline.features.deep.classes import class_layer
from sightline.features.deep.network import LITE0
from tests.factories.planted_stores import plant

DEEP = "sightline.features.deep.vector:DeepVector"
CHIHUAHUA, ZEBRA, AIRLINER, PIZZA = 151, 340, 404, 963
CLASSES = (CHIHUAHUA, 207, ZEBRA, AIRLINER, PIZZA)
EACH = 8


def rows_of(classes: Sequence[int], noise: float = 0.5, seed: int = 0) -> NDArray[np.float32]:
    """Return unit vectors near the directions of classes."""
    weights = class_layer(LITE0, 256).weights[list(classes)]
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    away = np.random.default_rng(seed).normal(size=unit.shape) * noise / np.sqrt(unit.shape[1])
    rows = np.asarray(unit + away, np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def collection(
    folder: Path,
    rows: NDArray[np.float32],
    words: Sequence[Sequence[str]] = (),
    feature: str = "",
    **others: NDArray[np.float32],
) -> Collection:
    """Return a collection whose pictures have these rows of the feature `deep`, and others."""
    (folder / "photos").mkdir()
    for i in range(len(rows)):
        (folder / "photos" / f"{i:04d}.jpg").touch()
    deep = feature or fingerprint(load_feature(DEEP), 384)
    plant(folder / "store", words or [[]] * len(rows), {deep: rows, **others}, segments=2)
    return Collection.open(folder / "photos", store=folder / "store", starting_words=True)
