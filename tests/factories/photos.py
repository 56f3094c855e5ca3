"""Small collections for tests."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

WORDS = ("tree, snow", "tree, red barn", "dog", "cat, dog, red", "snow", "people, tree", "sky", "")
COLOURS = {
    "red": (230, 20, 20), "green": (20, 200, 30), "blue": (20, 40, 230), "white": (250, 250, 250),
    "black": (5, 5, 5), "yellow": (240, 230, 20),
}  # fmt: skip
SQUARES = {"red": (225, 25, 25), "green": (25, 190, 40), "blue": (30, 50, 225)}


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


def paint(folder: Path, n: int, worded: bool, seed: int, start: int = 0) -> None:
    """Draw pictures of one colour each, with words if `worded`."""
    rng = np.random.default_rng(seed)
    names = list(COLOURS)
    for i in range(start, start + n):
        name = names[i % len(names)]
        colour = np.clip(np.array(COLOURS[name]) + rng.integers(-20, 21, 3), 0, 255)
        Image.new("RGB", (40, 30), tuple(int(c) for c in colour)).save(folder / f"{i:03d}_x.png")
        if worded:
            warm = "warm" if name in ("red", "yellow") else "cold"
            (folder / f"{i:03d}_x.txt").write_text(f"{name}, {warm}")


def paint_some_with_words(folder: Path) -> Path:
    """Make a folder of 90 pictures of one colour each, with words, and 12 without."""
    folder.mkdir()
    paint(folder, 90, True, 0)
    paint(folder, 12, False, 1, start=90)
    return folder


def paint_squares(folder: Path, n: int, *, seed: int = 0) -> dict[str, tuple[int, int, int]]:
    """Draw grey noise with a square of one colour somewhere, which is the picture's word.

    Every fourth picture has no word. Returns the place of each square: top, left, side.
    """
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    places = {}
    for i in range(n):
        height, width, side = (int(rng.integers(*r)) for r in ((50, 80), (60, 100), (18, 24)))
        rgb = np.full((height, width, 3), 128.0) + rng.normal(size=(height, width, 1)) * 8
        top, left = int(rng.integers(0, height - side)), int(rng.integers(0, width - side))
        word = list(SQUARES)[i % len(SQUARES)]
        rgb[top : top + side, left : left + side] = SQUARES[word]
        Image.fromarray(rgb.clip(0, 255).astype(np.uint8)).save(folder / f"{i:03d}.png")
        if i % 4:
            (folder / f"{i:03d}.txt").write_text(f"{word}, {'warm' if word == 'red' else 'cold'}")
        places[f"{i:03d}.png"] = top, left, side
    return places


def patches(seed: int, height: int = 64, width: int = 96) -> NDArray[np.uint8]:
    """Return a picture of patches, two of three with grain, that depends on the seed alone."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    smooth = np.kron(coarse, np.ones((height // 4 + 1, width // 6 + 1, 1), np.uint8))
    grain = rng.integers(0, 1 + 20 * (seed % 3), (height, width, 3))
    pixels: NDArray[np.uint8] = np.clip(smooth[:height, :width] + grain, 0, 255).astype(np.uint8)
    return pixels


def blobs(seed: int, height: int = 96, width: int = 128) -> NDArray[np.uint8]:
    """Return smooth spots of many sizes and directions, which have keypoints."""
    rng = np.random.default_rng(seed)
    y, x = np.indices((height, width))
    image = np.full((height, width), 120.0)
    for _ in range(height * width // 150):
        cy, cx, turn = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(0, np.pi)
        along, across = rng.uniform(1.5, 7), rng.uniform(1.5, 4)
        v = ((y - cy) * np.cos(turn) - (x - cx) * np.sin(turn)) / along
        u = ((y - cy) * np.sin(turn) + (x - cx) * np.cos(turn)) / across
        image += rng.uniform(-90, 90) * np.exp(-(u * u + v * v) / 2)
    return np.repeat(image.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2)


def fingerprint(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    """Return mode, size, time and content of all files in a folder, to detect changes."""
    out = {}
    for path in sorted([folder, *folder.rglob("*")]):
        s = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        names = ",".join(sorted(os.listdir(path))) if path.is_dir() else ""
        out[str(path)] = (s.st_mode, s.st_size, s.st_mtime_ns, content + names)
    return out
