"""Collections for tests of similarity: pictures of stripes, and features planted in a store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.store.folder import StoreFolder
from tests.factories.planted_stores import noise_like, plant

KINDS = ("across", "down", "rising", "falling")


def stripes(kind: str, seed: int, size: tuple[int, int] = (64, 48)) -> Image.Image:
    """Return a picture of stripes in one direction; the colours depend on the seed alone."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0 : size[1], 0 : size[0]]
    along = {"across": y, "down": x, "rising": x + y, "falling": x - y}[kind]
    wave = (np.sin(along * (0.5 + 0.1 * rng.random()) + rng.random()) + 1)[..., None] / 2
    light, dark = rng.integers(120, 255, 3), rng.integers(0, 120, 3)
    return Image.fromarray((dark + wave * (light - dark)).astype(np.uint8))


def draw_stripes(folder: Path, n: int = 40) -> Path:
    """Draw pictures of stripes; each kind is a folder, and every picture but the last has words."""
    for i in range(n):
        kind = KINDS[i % len(KINDS)]
        (folder / kind).mkdir(parents=True, exist_ok=True)
        stripes(kind, i).save(folder / kind / f"{i:03d}.png")
        if i < n - len(KINDS):
            (folder / kind / f"{i:03d}.txt").write_text(kind)
    return folder


def plant_similar(
    folder: Path, n: int = 240, kinds: int = 6, seed: int = 0, noises: int = 3
) -> tuple[StoreFolder, NDArray[np.float32]]:
    """Plant pictures of some kinds, a word each, with one feature that separates them."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(kinds, 8))
    rows = (centres[np.arange(n) % kinds] + 0.8 * rng.normal(size=(n, 8))).astype(np.float32)
    noise = {f"noise{i}": noise_like(rows, seed=10 + i) for i in range(noises)}
    words = [[f"kind{i % kinds}"] for i in range(n)]
    return plant(folder, words, {"signal": rows, **noise}), rows
