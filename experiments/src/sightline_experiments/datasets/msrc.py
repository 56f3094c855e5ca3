"""MSRC v2: pictures with a label for every pixel, which paper E's method never sees.

Shotton, Winn, Rother and Criminisi, 2006: 591 pictures of 20 categories, about 320×213, in which 23
classes are labelled; a tag is a class that occurs in the picture. The notice of the data advises to
leave out horse and mountain, which are rare, so 21 tags are left. It may not be used for commercial
purposes.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline_experiments.datasets.sources import Source, open_source

TITLE, NAME = "MSRC v2", "msrc_v2"
LEFT_OUT = ("void", "horse", "mountain")
_CLASSES, _TAGS = "classes.tsv", "tags.tsv"
_PICTURE_BYTES, _MOST_PIXELS = 4 << 20, 4 << 20


@dataclass(frozen=True, slots=True)
class Counts:
    """The expected numbers of pictures, scenes, and classes with void."""

    pictures: int = 591
    scenes: int = 20
    classes: int = 24


@dataclass(frozen=True, slots=True, eq=False)
class MSRC:
    """Pictures by number, from 0, in the order of their list.

    Attributes
    ----------
    files : of each picture.
    scenes : the category of each picture, from 0.
    words : the tags.
    tags : (pictures, words), the tags of each picture.
    classes : the word of each value of a label map, or -1.
    """

    files: tuple[str, ...]
    scenes: tuple[int, ...]
    words: tuple[str, ...]
    tags: NDArray[np.bool_]
    classes: NDArray[np.int64]
    source: Source

    def __len__(self) -> int:
        return len(self.files)

    def read(self, picture: int) -> bytes:
        """Return the file of a picture."""
        return self.source.read(self.files[picture], _PICTURE_BYTES)

    def truth(self, picture: int) -> NDArray[np.int64]:
        """Return the word of each pixel, or -1 if it has none: (height, width)."""
        from PIL import Image, UnidentifiedImageError

        name = self.files[picture].replace("images/", "gt/").replace(".jpg", ".png")
        try:
            with Image.open(
                io.BytesIO(self.source.read(name, _PICTURE_BYTES)), formats=["PNG"]
            ) as i:
                if i.mode != "P" or i.width * i.height > _MOST_PIXELS:
                    raise DataError(f"{self.source.where}: {name} is no label map.")
                values = np.asarray(i).astype(np.int64)
        except (UnidentifiedImageError, OSError, SyntaxError) as e:
            raise DataError(f"{self.source.where}: {name} cannot be read: {e}.") from e
        if values.max() >= len(self.classes):
            raise DataError(f"{self.source.where}: {name} has a class {values.max()}.")
        return self.classes[values]

    def checksum(self) -> str:
        """Return the SHA-256 of names and pictures, the same for an archive and for a folder."""
        digest = hashlib.sha256()
        for picture, name in enumerate(self.files):
            content = self.read(picture)
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()


def load_msrc(data: Path, counts: Counts | None = None) -> MSRC | None:
    """Return the dataset in a folder; None if it is missing.

    Raises
    ------
    DataError
        The folder has another dataset, or not all of it; the message says what differs.
    """
    source = open_source(data, NAME, (_CLASSES, _TAGS))
    if source is None:
        return None
    names = [line.split("\t")[1] for line in _lines(source, _CLASSES, 3)]
    words = tuple(n for n in names if n not in LEFT_OUT)
    place = {w: i for i, w in enumerate(words)}
    listed = [line.split("\t") for line in _lines(source, _TAGS, 3)]
    tags = np.zeros((len(listed), len(words)), np.bool_)
    for n, (_, _, said) in enumerate(listed):
        for word in said.split():
            if word not in names:
                raise DataError(f"{source.where}: {_TAGS} has a word {word!r} of no class.")
            if word in place:
                tags[n, place[word]] = True
    categories = sorted({int(s) for _, s, _ in listed})
    scenes = tuple(categories.index(int(s)) for _, s, _ in listed)
    classes = np.array([place.get(n, -1) for n in names], np.int64)
    files = tuple(f"images/{name}.jpg" for name, _, _ in listed)
    dataset = MSRC(files, scenes, words, tags, classes, source)
    _check(dataset, counts or Counts(), len(names), len(categories))
    return dataset


def _lines(source: Source, name: str, columns: int) -> list[str]:
    lines = source.read(name).decode("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        parts = line.split("\t")
        if len(parts) != columns or (name == _TAGS and not parts[1].isdecimal()):
            raise DataError(f"{source.where}: line {number} of {name} cannot be read.")
    return lines


def _check(dataset: MSRC, counts: Counts, classes: int, scenes: int) -> None:
    existing = set(dataset.source.names())
    truths = {f.replace("images/", "gt/").replace(".jpg", ".png") for f in dataset.files}
    numbers = (
        (len(set(dataset.files) & existing), counts.pictures, "pictures"),
        (len(truths & existing), counts.pictures, "label maps"),
        (len(dataset.files), counts.pictures, "listed pictures"),
        (scenes, counts.scenes, "categories"),
        (classes, counts.classes, "classes"),
    )
    wrong = [f"{n:,} {what} instead of {must:,}" for n, must, what in numbers if n != must]
    if wrong:
        raise DataError(f"{dataset.source.where} is not the expected {TITLE}: {'; '.join(wrong)}.")
