"""Small collections for tests."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
from PIL import Image

WORDS = ("tree, snow", "tree, red barn", "dog", "cat, dog, red", "snow", "people, tree", "sky", "")


def make_photo(path: Path, seed: int = 0, size: tuple[int, int] = (24, 18)) -> None:
    """Write a small JPEG whose content depends on the seed alone."""
    rng = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, "JPEG")


def make_photos(folder: Path, n: int = 8) -> Path:
    """Make a folder of n pictures, most of them with words in a text file beside them."""
    for i in range(n):
        make_photo(folder / f"{i:03d}.jpg", i)
        words = WORDS[i % len(WORDS)]
        if words:
            (folder / f"{i:03d}.txt").write_text(words, encoding="utf-8")
    return folder


def fingerprint(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    """Return mode, size, time and content of everything in a folder, to see whether it changed."""
    out = {}
    for path in sorted([folder, *folder.rglob("*")]):
        s = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        names = ",".join(sorted(os.listdir(path))) if path.is_dir() else ""
        out[str(path)] = (s.st_mode, s.st_size, s.st_mtime_ns, content + names)
    return out
