"""Rows of vectors on their way into the store, beside all else that pictures have there.

A picture's rows are immutable, so one that gets a vector is published anew: with the words, the
thumbnail and the other features it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Progress
from sightline.features.imported import ImportedVectors
from sightline.records import Batch, FeatureRows
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer

BATCH = 1024

Int = NDArray[np.int64]


class Here:
    """The pictures of the current version, by path, and which rows they have."""

    def __init__(self, writer: Writer) -> None:
        self.snapshot = Snapshot(writer.home.shards, writer.version)
        rows = set(self.snapshot.ids().tolist())
        known = writer.catalogue.known()
        self.pictures = {k.path: k.picture for k in known if k.picture in rows}
        self.live = set(self.pictures.values())

    def having(self, fingerprint: str) -> set[int]:
        """Return the pictures that have rows of a fingerprint."""
        return self._with(lambda features: fingerprint in features)

    def stale(self, name: str, fingerprint: str = "") -> set[int]:
        """Return the pictures that have rows of a feature under another fingerprint."""
        return self._with(lambda fs: any(_name_of(f) == name and f != fingerprint for f in fs))

    def without(self, having: set[int]) -> list[bytes]:
        """Return the paths of the other pictures, sorted."""
        return sorted(path for path, picture in self.pictures.items() if picture not in having)

    def as_then(self, then: Mapping[bytes, int]) -> dict[bytes, int]:
        """Return the pictures by path, those that had one `then` by that one."""
        known = {path: picture for path, picture in then.items() if picture in self.live}
        moved = set(known.values())
        now = {path: picture for path, picture in self.pictures.items() if picture not in moved}
        return now | known

    def _with(self, wanted: Callable[[Iterable[str]], bool]) -> set[int]:
        parts = (s.ids[s.alive()] for s in self.snapshot.segments if wanted(s.features))
        return {i for ids in parts for i in ids.tolist()}


def _name_of(fingerprint: str) -> str:
    return fingerprint.rpartition("-")[0]


def publish_rows(
    writer: Writer,
    snapshot: Snapshot,
    name: str,
    stale: set[int],
    new: Mapping[int, int],
    vectors: ImportedVectors | None,
    progress: Progress,
) -> None:
    """Publish pictures with new rows of a feature, or none, in place of those they have."""
    todo = np.array(sorted(stale | new.keys()), np.int64)
    if not len(todo):
        return
    progress.start("vectors", len(todo))
    try:
        for start in range(0, len(todo), BATCH):
            part = todo[start : start + BATCH]
            batches = list(_batches(snapshot, part, name, new, vectors))
            writer.publish(Change(batches=batches), finished=False)
            progress.advance(len(part))
    finally:
        progress.finish()


def _batches(
    snapshot: Snapshot,
    pictures: Int,
    name: str,
    new: Mapping[int, int],
    vectors: ImportedVectors | None,
) -> Iterator[Batch]:
    for features, ids in snapshot.by_features(pictures):
        kept = [f for f in features if _name_of(f) != name]
        given = np.array([i in new for i in ids.tolist()], bool)
        if vectors is not None and given.any():
            rows = vectors.take([new[i] for i in ids[given].tolist()])
            yield _carried(snapshot, ids[given], kept, [FeatureRows(vectors.fingerprint, rows)])
        if not given.all():
            yield _carried(snapshot, ids[~given], kept, [])


def _carried(
    snapshot: Snapshot, ids: Int, kept: Sequence[str], more: Sequence[FeatureRows]
) -> Batch:
    """Return pictures as they are, with some of their features and some more."""
    terms: dict[int, tuple[int, ...]] = {}
    thumbnails: dict[int, bytes] = {}
    for s in snapshot.segments:
        for row in s.rows_of(ids).tolist():
            picture = int(s.ids[row])
            terms[picture] = tuple(s.words(row).tolist())
            thumbnails[picture] = s.thumbnail(row)
    order = ids.tolist()
    return Batch(
        ids=ids,
        terms=tuple(terms[i] for i in order),
        thumbnails=tuple(thumbnails[i] for i in order),
        features=(*(snapshot.rows(f, ids) for f in kept), *more),
    )
