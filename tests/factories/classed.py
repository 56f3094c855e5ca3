"""A small set of pictures with one class each, in the form of Caltech-101, made for tests."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from sightline_experiments.datasets.classed import Classed, Kind, load_classed
from tests.factories.corel5k import unpack

CLASSES = ("brick", "cloud", "grass", "wheel")
EACH = 20
KIND = Kind("Made", "made", "classes.tsv", len(CLASSES) * EACH, len(CLASSES))
_COLORS = ((170, 70, 50), (200, 210, 230), (60, 140, 50), (90, 90, 95))


def made_files(seed: int = 0) -> dict[str, bytes]:
    """Return the files of the set by name: a class has a colour and stripes of a width."""
    rng = np.random.default_rng(seed)
    files = {"classes.tsv": "".join(f"{c}\t{EACH}\n" for c in CLASSES).encode()}
    for k, name in enumerate(CLASSES):
        for i in range(EACH):
            files[f"images/{name}/image_{i + 1:04}.jpg"] = _jpeg(k, rng)
    return files


def _jpeg(k: int, rng: np.random.Generator) -> bytes:
    across = np.arange(48)[None, :, None] + rng.integers(20)
    stripes = 40.0 * np.sign(np.sin(across * np.pi / (2 + 2 * k)))
    pixels = np.array(_COLORS[k]) + stripes + rng.normal(0, 25, (32, 48, 3)) + rng.normal(0, 30, 3)
    out = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=92)
    return out.getvalue()


def load_made(folder: Path) -> Classed:
    """Make the set in a folder and load it."""
    unpack(made_files(), folder / KIND.name)
    dataset = load_classed(folder, KIND)
    assert dataset is not None
    return dataset
