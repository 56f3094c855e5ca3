"""A real collection of a data set's pictures, as an owner would have it.

Its features do not depend on its words. So it is indexed without any, in the experiment's cache;
what is measured is a copy of that store, in which a table of words is indexed and models trained.
"""

from __future__ import annotations

import contextlib
import csv
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sightline._typing import Ints
from sightline.collection import Collection
from sightline.collection.index.options import default_features
from sightline.contracts import Compute, Progress
from sightline.errors import DataError
from sightline_experiments.extraction import Pictures
from sightline_experiments.queries.pictures import WordedPictures

# It is renamed once everything is there, so a collection that was interrupted is indexed further.
_PICTURES, _STORE = "pictures", "store"
_MAX_BYTES = 4 << 20


def index_untagged(
    c: Pictures,
    files: Sequence[str],
    folder: Path,
    features: Sequence[str],
    compute: Compute | None,
    progress: Progress,
) -> Path:
    """Index a data set's pictures without words, with features; return where the collection is.

    Parameters
    ----------
    folder : where to keep it; what is there is not computed again.
    features : by default what `train` computes where nobody names any.
    """
    root = folder / _PICTURES
    for name in files:
        target = root / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(c.source.read(name, _MAX_BYTES))
    collection = Collection.open(root, store=folder / _STORE)
    named = list(features) or default_features()
    collection.index(features=named, progress=progress, compute=compute)
    if len(collection) != len(files):
        skipped = [f"{s.path!r}: {s.reason}" for s in collection.pictures.skipped()]
        raise DataError(
            f"The collection has {len(collection):,} of {len(files):,} pictures. "
            f"Skipped: {'; '.join(skipped[:3]) or 'none'}."
        )
    return folder


@contextlib.contextmanager
def tagged_copy(
    base: Path, pictures: WordedPictures, compute: Compute | None, progress: Progress
) -> Iterator[Collection]:
    """Yield a collection with the words of the tagged pictures; it is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="sightline-queries-") as name:
        folder = Path(name)
        shutil.copytree(base / _STORE, folder / _STORE)
        table = folder / "words.csv"
        write_table(table, pictures)
        collection = Collection.open(base / _PICTURES, store=folder / _STORE)
        collection.index(words=[table], progress=progress, compute=compute)
        yield collection


def write_table(file: Path, pictures: WordedPictures) -> None:
    """Write the words of the tagged pictures as a table."""
    with file.open("w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f)
        writer.writerow(["path", "tags"])
        for i in np.flatnonzero(pictures.tagged).tolist():
            writer.writerow([pictures.files[i], "; ".join(pictures.words[i])])


def ids_of(collection: Collection, files: Sequence[str]) -> Ints:
    """Return the id of each file's picture in a collection."""
    with collection.store_folder.reader() as reader:
        known = {k.path: k.picture for k in reader.catalogue.known()}
    return np.array([known[name.encode()] for name in files], np.int64)
