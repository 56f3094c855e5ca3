"""A small set of pictures in the form of Corel5K, made for tests."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from sightline_experiments.datasets.corel5k import Corel5K, Counts, load_corel5k

WORDS = ("sky", "sea", "tree", "sand", "rose", "fog")
COLORS = ((60, 120, 250), (10, 60, 130), (20, 130, 40), (230, 200, 130), (220, 30, 70), (180,) * 3)
N_DEVELOPMENT, N_TEST = 80, 20
# One test picture is listed twice, and one picture is in neither list.
COUNTS = Counts(N_DEVELOPMENT, N_TEST + 1, N_TEST, len(WORDS), N_DEVELOPMENT + N_TEST + 1, 23)


def made_files(seed: int = 0) -> dict[str, bytes]:
    """Return the files of the set by name: each word of a picture is a stripe of its colour."""
    rng = np.random.default_rng(seed)
    files = {"labels/words": "\n".join(WORDS).encode() + b"\n"}
    rows = []
    for number in range(N_DEVELOPMENT + N_TEST + 1):
        words = np.sort(rng.choice(len(WORDS), 1 + number % 3, replace=False))
        rows.append(f"{1000 + number} " + " ".join(str(w + 1) for w in words))
        name = f"images/{1000 + number % 2}/{1000 + number}.jpeg"
        files[name] = _jpeg(words.tolist(), rng, tall=number % 4 == 0)
    development, test = rows[:N_DEVELOPMENT], rows[N_DEVELOPMENT:-1]
    test = [*test, test[3]]
    files["labels/training_label"] = "\n".join(development).encode() + b"\n"
    files["labels/test_label"] = "\n".join(test).encode() + b"\n"
    return files


def _jpeg(words: list[int], rng: np.random.Generator, tall: bool) -> bytes:
    stripes = [np.full((32, 48 // len(words), 3), COLORS[w], np.float64) for w in words]
    pixels = np.concatenate(stripes, axis=1) + rng.normal(0, 12, (32, 48, 3))
    if tall:
        pixels = pixels.transpose(1, 0, 2)
    out = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=92)
    return out.getvalue()


def unpack(files: dict[str, bytes], folder: Path) -> Path:
    """Write files into a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def pack(files: dict[str, bytes], archive: Path, prefix: str = "") -> Path:
    """Write files into a zip archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files.items():
            z.writestr(prefix + name, content)
    return archive


def load_made(folder: Path) -> Corel5K:
    """Make the set in a folder and load it."""
    dataset = load_corel5k(unpack(made_files(), folder), COUNTS)
    assert dataset is not None
    return dataset
