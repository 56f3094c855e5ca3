"""Collections for tests of regions: painted scenes whose parts have the colours of their words."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute

COLORS = {"sky": (90, 150, 230), "dusk": (80, 50, 110), "grass": (60, 160, 60),
          "sand": (220, 200, 140), "cow": (110, 60, 30), "boat": (200, 40, 40),
          "rock": (128, 128, 128)}  # fmt: skip
SCENES = (("grass", "cow"), ("sand", "boat"))
N = 200
UNTAGGED = 20
# Pictures whose words are wrong: one has a word too many, one lacks a word.
TOO_MUCH, TOO_LITTLE = 41, 42


def words_of(i: int) -> list[str]:
    """Return the words of picture i: above, below, and of every second one a thing.

    The others show an untagged rock, so that a thing cannot be predicted by the shape of the ground
    alone.
    """
    below, thing = SCENES[i % 2]
    return ["sky" if i % 3 else "dusk", below, *[thing] * (i % 4 < 2)]


def painted(i: int, height: int = 48, width: int = 64) -> NDArray[np.uint8]:
    """Return picture i."""
    rng = np.random.default_rng(i)
    above, below, *thing = words_of(i)
    rgb = np.empty((height, width, 3))
    line = height // 2 + int(rng.integers(-6, 7))
    rgb[:line], rgb[line:] = COLORS[above], COLORS[below]
    high, wide = (int(n) for n in rng.integers(10, 20, 2))
    top, left = line - int(rng.integers(0, high)), int(rng.integers(0, width - wide))
    rgb[top : top + high, left : left + wide] = COLORS[thing[0] if thing else "rock"]
    return np.clip(rgb + rng.normal(0, 4, rgb.shape), 0, 255).astype(np.uint8)


def painted_collection(folder: Path, n: int = N) -> Collection:
    """Return a collection of painted pictures, the last of which have no words."""
    photos = folder / "photos"
    photos.mkdir(parents=True)
    for i in range(n):
        Image.fromarray(painted(i)).save(photos / f"{i:03d}.png")
        if i >= n - UNTAGGED:
            continue
        words = words_of(i)
        if i == TOO_MUCH:
            words = [*words, "cow"]
        if i == TOO_LITTLE:
            words = words[1:]
        (photos / f"{i:03d}.txt").write_text(", ".join(words))
    c = Collection.open(photos, store=folder / "store", workers=1)
    c.index(compute=InlineCompute())
    return c


def copied(made: Path, folder: Path) -> Collection:
    """Return a collection with a copied store, which a test may change; pictures are shared."""
    shutil.copytree(made / "store", folder / "store")
    return Collection.open(made / "photos", store=folder / "store", workers=1)
