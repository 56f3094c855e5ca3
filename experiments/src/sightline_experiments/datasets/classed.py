"""Datasets of pictures with one class each, the name of their folder, for papers B and D.

Caltech-101 (Fei-Fei, Fergus and Perona, 2004) without its background class: 8,677 pictures of 101
classes with 31 to 800 each. Corel: the 50 discs of Corel5K, 100 pictures each; here all 5,000
count, also the one without words.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import DataError
from sightline_experiments.datasets.sources import Source, open_source

_PICTURE_BYTES = 4 << 20
_KINDS = (".jpg", ".jpeg")


@dataclass(frozen=True, slots=True)
class Kind:
    """A dataset: its title, its file or folder, and its expected size.

    `mark` is a file without which it is not this dataset. It lists classes with their counts, or
    else pictures with their classes (`by_picture`).
    """

    title: str
    name: str
    mark: str
    pictures: int
    classes: int
    by_picture: bool = False


CALTECH = Kind("Caltech-101", "caltech101", "classes.tsv", 8677, 101)
COREL = Kind("Corel", "corel5k", "classes.txt", 5000, 50, by_picture=True)


@dataclass(frozen=True, slots=True, eq=False)
class Classed:
    """Pictures by number, from 0, in the order of their names.

    Attributes
    ----------
    kind : which dataset it is.
    files : of each picture.
    labels : the class of each picture, a position in `classes`.
    classes : the names of the classes, sorted.
    """

    kind: Kind
    files: tuple[str, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...]
    source: Source

    def __len__(self) -> int:
        return len(self.files)

    def read(self, picture: int) -> bytes:
        """Return the file of a picture."""
        return self.source.read(self.files[picture], _PICTURE_BYTES)

    def checksum(self) -> str:
        """Return the SHA-256 of names and pictures, the same for an archive and for a folder."""
        digest = hashlib.sha256()
        for picture, name in enumerate(self.files):
            content = self.read(picture)
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()


def load_classed(data: Path, kind: Kind) -> Classed | None:
    """Return the dataset in a folder; None if it is missing.

    Raises
    ------
    DataError
        The folder has another dataset, or not all of it; the message says what differs.
    """
    source = open_source(data, kind.name, (kind.mark,))
    if source is None:
        return None
    files = tuple(n for n in source.names() if _is_picture(n))
    by_name = [f.split("/")[1] for f in files]
    classes = tuple(sorted(set(by_name)))
    place = {name: i for i, name in enumerate(classes)}
    dataset = Classed(kind, files, tuple(place[n] for n in by_name), classes, source)
    wrong = _differences(dataset, _listed(source, kind))
    if wrong:
        raise DataError(f"{source.where} is not the expected {kind.title}: {'; '.join(wrong)}.")
    return dataset


def _is_picture(name: str) -> bool:
    return name.startswith("images/") and name.count("/") == 2 and name.lower().endswith(_KINDS)


def _differences(dataset: Classed, listed: Mapping[str, int]) -> list[str]:
    totals = ((len(dataset), dataset.kind.pictures, "pictures"),
              (len(dataset.classes), dataset.kind.classes, "classes"))  # fmt: skip
    wrong = [f"{n:,} {what} instead of {must:,}" for n, must, what in totals if n != must]
    counts = Counter(dataset.classes[i] for i in dataset.labels)
    differ = sorted(c for c in counts.keys() | listed.keys() if counts[c] != listed.get(c, 0))
    if differ:
        first = f"{counts[differ[0]]:,} of {differ[0]!r} instead of {listed.get(differ[0], 0):,}"
        wrong.append(f"{len(differ):,} classes differ from {dataset.kind.mark}, such as {first}")
    return wrong


def _listed(source: Source, kind: Kind) -> dict[str, int]:
    """Return the number of pictures of each class in the dataset's own list."""
    counts: Counter[str] = Counter()
    for number, line in enumerate(source.read(kind.mark).decode("utf-8").splitlines(), 1):
        parts = line.split()
        if kind.by_picture and len(parts) == 2:
            counts[parts[1]] += 1
        elif not kind.by_picture and len(parts) == 2 and parts[1].isdecimal():
            counts[parts[0]] += int(parts[1])
        elif parts and number > 1:
            raise DataError(f"{source.where}: line {number} of {kind.mark} cannot be read.")
    return dict(counts)
