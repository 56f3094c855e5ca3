"""Files of vectors for tests, and the vectors that a collection imported from them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline.collection import Collection
from sightline.collection.index.vectors import ImportReport, import_vectors, refresh_vectors
from sightline.compute.inline import InlineCompute
from sightline.features.imported import read_vectors
from sightline.progress import NoProgress
from sightline.records import FeatureRows
from sightline.store.writer import Writer
from tests.factories.photos import make_photo, make_photos

QUIET = NoProgress()


def make_collection(folder: Path) -> Collection:
    """Make and index a folder of eight pictures, some with odd names."""
    photos = make_photos(folder / "photos", 6)
    make_photo(photos / "sub" / "000.jpg", 40)
    make_photo(photos / os.fsdecode(b"caf\xe9 \xff.jpg"), 41)
    collection = Collection.open(photos, store=folder / "store")
    collection.index(compute=InlineCompute())
    return collection


def writer(c: Collection) -> Writer:
    return Writer(c.store_folder, "test")


def add(c: Collection, file: Path, name: str | None = None) -> ImportReport:
    """Import a file; arrays without keys are in the order of the pictures."""
    with writer(c) as w:
        by_order = file.suffix == ".npy"
        return import_vectors(w, c.root, read_vectors(file, name), QUIET, by_order)


def refresh(c: Collection) -> list[str]:
    with writer(c) as w:
        return refresh_vectors(w, c.root, QUIET)


def index(c: Collection) -> None:
    """Index, and refresh vectors as `index` does at its end."""
    c.index(compute=InlineCompute())
    refresh(c)


def version(c: Collection) -> int:
    with c.store_folder.reader() as reader:
        return reader.snapshot.version


def all_paths(c: Collection) -> list[bytes]:
    with c.store_folder.reader() as reader:
        return sorted(k.path for k in reader.catalogue.known())


def vectors_of(c: Collection, fingerprint: str) -> dict[bytes, list[float]]:
    """Return the rows of a feature by path."""
    out: dict[bytes, list[float]] = {}
    with c.store_folder.reader() as reader:
        for features, ids in reader.snapshot.by_features(reader.snapshot.ids()):
            if fingerprint in features:
                rows = reader.snapshot.rows(fingerprint, ids)
                assert isinstance(rows, FeatureRows)
                facts = reader.catalogue.facts(ids.tolist())
                out |= {facts[i].path: r.tolist() for i, r in zip(ids, rows.rows, strict=True)}
    return out


def features_of(c: Collection) -> set[str]:
    with c.store_folder.reader() as reader:
        return {f for s in reader.snapshot.segments for f in s.features}


def checksum(c: Collection) -> str:
    """Return a checksum of a store: log, catalogue, settings, versions and arrays."""
    out = hashlib.sha256()
    for file in sorted(c.store_folder.path.rglob("*")):
        # Locks, shared memory of SQLite and the log of commands are no content.
        other = file.name in ("lock", "writers") or file.name.endswith("-shm")
        if file.is_file() and not other and file.parent.name != "log":
            out.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}".encode())
    return out.hexdigest()


def as_text(paths: Sequence[bytes]) -> NDArray[np.str_]:
    return np.array([os.fsdecode(p) for p in paths])


def save(file: Path, paths: Sequence[bytes], seed: float = 0) -> dict[bytes, list[float]]:
    """Write vectors that identify their path; return the vector of each path."""
    rows = np.array([[i, seed] for i, _ in enumerate(paths)], np.float32)
    if file.suffix == ".npy":
        np.save(file, rows)
    else:
        np.savez(file, vectors=rows, paths=as_text(paths))
    return dict(zip(paths, rows.tolist(), strict=True))
