"""A small set of pictures in the form of MSRC v2, made for tests."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sightline_experiments.datasets.msrc import MSRC, NAME, Counts, load_msrc
from tests.factories.corel5k import unpack

NAMES = ("void", "grass", "horse", "sky", "water", "cow")
COLORS = ((128, 128, 128), (60, 140, 50), (120, 70, 30), (120, 170, 240), (10, 60, 130), (30,) * 3)
# Things of each scene from top to bottom; a cow stands in the middle.
SCENES = ((3, 1, 5), (3, 4))
EACH = 12
COUNTS = Counts(EACH * len(SCENES), len(SCENES), len(NAMES))


def made_files(seed: int = 0) -> dict[str, bytes]:
    """Return the files of the set by name."""
    random = np.random.default_rng(seed)
    files = {
        "README.md": b"made",
        "classes.tsv": "".join(
            f"{i}\t{n}\t{','.join(map(str, c))}\n"
            for i, (n, c) in enumerate(zip(NAMES, COLORS, strict=True))
        ).encode(),
    }
    lines = []
    for s, things in enumerate(SCENES):
        for i in range(EACH):
            labels = _labels(things, random)
            name = f"{s + 1}_{i + 1}_s"
            files[f"images/{name}.jpg"] = _jpeg(labels, random)
            files[f"gt/{name}.png"] = _png(labels)
            names = [NAMES[j] for j in np.unique(labels) if j]
            lines.append(f"{name}\t{s + 1}\t{' '.join(names)}\n")
    files["tags.tsv"] = "".join(lines).encode()
    return files


def _labels(things: tuple[int, ...], random: np.random.Generator) -> NDArray[np.uint8]:
    labels = np.zeros((32, 48), np.uint8)
    middle = int(random.integers(12, 20))
    labels[:middle], labels[middle:] = things[0], things[1]
    labels[middle - 1] = 0
    if len(things) > 2 and random.random() < 0.7:
        left = int(random.integers(4, 30))
        labels[middle : middle + 9, left : left + 12] = things[2]
    return labels


def _jpeg(labels: NDArray[np.uint8], random: np.random.Generator) -> bytes:
    pixels = np.array(COLORS, float)[labels] + random.normal(0, 6, (*labels.shape, 3))
    out = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=95)
    return out.getvalue()


def _png(labels: NDArray[np.uint8]) -> bytes:
    image = Image.fromarray(labels, "L").convert("P")
    image.putdata(labels.ravel().tolist())
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def load_made(folder: Path) -> MSRC:
    """Make the set in a folder and load it."""
    unpack(made_files(), folder / NAME)
    dataset = load_msrc(folder, COUNTS)
    assert dataset is not None
    return dataset
