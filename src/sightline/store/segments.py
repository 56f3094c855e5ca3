"""Segments: immutable groups of pictures, written once and merged later.

The base file of a segment holds, for its pictures in ascending order of id,
  ids                            int64
  word_start, word               the words of each picture, as positions in `terms`
  terms, term_start, term_row    the same turned round: for each term the rows that carry it
  thumb_start, thumb             small JPEG pictures, one after another
and each feature has a file of its own with one float32 matrix, `rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.records import Batch
from sightline.store.shards import Rows, open_arrays, write_arrays
from sightline.store.versions import FeatureFile, FileEntry, Segment

MERGED_ROWS = 32_768
_FEW = 4
_DEAD_SHARE = 0.25

Int = NDArray[np.int64]


def write_segment(folder: Path, batch: Batch) -> Segment:
    """Write the pictures of a batch; `batch.ids` must be ascending."""
    start = _starts([len(t) for t in batch.terms])
    word = np.fromiter((t for ts in batch.terms for t in ts), np.int64, int(start[-1]))
    thumb_start = _starts([len(t) for t in batch.thumbnails])
    thumb = np.frombuffer(b"".join(batch.thumbnails), np.uint8)
    base = _write_base(folder, batch.ids, start, word, thumb_start, [thumb])
    features = tuple(
        FeatureFile(f.name, FileEntry.of(write_arrays(folder, "feature", {"rows": f.rows})))
        for f in batch.features
    )
    return Segment(len(batch.ids), base, features)


def _starts(lengths: Sequence[int]) -> Int:
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def _write_base(
    folder: Path, ids: Int, start: Int, word: Int, thumb_start: Int, thumbs: Any
) -> FileEntry:
    terms, position = np.unique(word, return_inverse=True)
    row = np.repeat(np.arange(len(ids), dtype=np.int32), np.diff(start))
    order = np.argsort(position, kind="stable")
    counts = np.bincount(position, minlength=len(terms)) if len(word) else np.zeros(0, np.int64)
    arrays: dict[str, NDArray[Any] | Rows] = {
        "ids": ids,
        "word_start": start,
        "word": position.astype(np.int32),
        "terms": terms,
        "term_start": _starts(counts.tolist()),
        "term_row": row[order],
        "thumb_start": thumb_start,
        "thumb": Rows(thumbs, (int(thumb_start[-1]),), np.uint8),
    }
    return FileEntry.of(write_arrays(folder, "pictures", arrays))


@dataclass(frozen=True, slots=True)
class OpenSegment:
    """A segment mapped into memory."""

    base: dict[str, NDArray[Any]]
    features: dict[str, NDArray[np.float32]]
    dead: Int

    @classmethod
    def open(cls, folder: Path, s: Segment) -> OpenSegment:
        """Map the files of a segment; headers and lengths are checked."""
        base = open_arrays(folder / s.base.name)
        features = {f.feature: open_arrays(folder / f.file.name)["rows"] for f in s.features}
        dead = np.zeros(0, np.int64)
        if s.dead is not None:
            dead = np.asarray(open_arrays(folder / s.dead.name)["rows"])
        return cls(base, features, dead)

    @property
    def ids(self) -> Int:
        return np.asarray(self.base["ids"])

    def alive(self) -> NDArray[np.bool_]:
        """Return which rows count."""
        out = np.ones(len(self.base["ids"]), bool)
        out[self.dead] = False
        return out

    def rows_of(self, ids: Int) -> Int:
        """Return the live rows of those ids that are here."""
        mine = self.ids
        at = np.minimum(np.searchsorted(mine, ids), len(mine) - 1)
        rows = at[mine[at] == ids] if len(mine) else at[:0]
        return np.setdiff1d(rows, self.dead) if len(self.dead) else np.unique(rows)

    def carriers(self, term: int) -> NDArray[np.int32]:
        """Return the rows, dead ones included, whose picture carries a term."""
        terms = self.base["terms"]
        i = int(np.searchsorted(terms, term))
        if i == len(terms) or terms[i] != term:
            return np.zeros(0, np.int32)
        start = self.base["term_start"]
        return np.asarray(self.base["term_row"][start[i] : start[i + 1]])

    def words(self, row: int) -> Int:
        """Return the term ids a picture carries."""
        start = self.base["word_start"]
        return np.asarray(self.base["terms"][self.base["word"][start[row] : start[row + 1]]])

    def thumbnail(self, row: int) -> bytes:
        """Return a picture's thumbnail as JPEG bytes."""
        start = self.base["thumb_start"]
        return bytes(self.base["thumb"][start[row] : start[row + 1]].tobytes())


def with_dead(folder: Path, s: Segment, rows: Int) -> Segment:
    """Return a segment in which further rows no longer count."""
    old = OpenSegment.open(folder, s).dead
    dead = np.union1d(old, rows).astype(np.int64)
    if len(dead) == len(old):
        return s
    file = FileEntry.of(write_arrays(folder, "dead", {"rows": dead}))
    return Segment(s.rows, s.base, s.features, file, len(dead))


def wants_merging(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments worth merging: many small ones, or ones with many dead rows."""
    small = [s for s in segments if s.live < MERGED_ROWS // 2]
    wasteful = [s for s in segments if s.dead_rows > _DEAD_SHARE * s.rows]
    if len(small) > _FEW or wasteful:
        return [s for s in segments if s in small or s in wasteful]
    return []


def merge(folder: Path, segments: Sequence[Segment]) -> list[Segment]:
    """Write the live rows of some segments into as few new ones as the row limit allows."""
    parts = [OpenSegment.open(folder, s) for s in segments]
    ids = np.concatenate([p.ids for p in parts])
    which = np.repeat(np.arange(len(parts)), [len(p.ids) for p in parts])
    row = np.concatenate([np.arange(len(p.ids)) for p in parts])
    alive = np.concatenate([p.alive() for p in parts])
    order = np.argsort(ids, kind="stable")
    order = order[alive[order]]
    chunks = [order[i : i + MERGED_ROWS] for i in range(0, len(order), MERGED_ROWS)]
    return [_merged(folder, parts, ids[c], which[c], row[c]) for c in chunks]


def _merged(folder: Path, parts: list[OpenSegment], ids: Int, which: Int, row: Int) -> Segment:
    where = list(zip(which.tolist(), row.tolist(), strict=True))
    words = [parts[w].words(r) for w, r in where]
    start = _starts([len(w) for w in words])
    word = np.concatenate(words) if words else np.zeros(0, np.int64)
    thumb_start = _starts([_thumb_size(parts[w], r) for w, r in where])
    thumbs = (np.frombuffer(parts[w].thumbnail(r), np.uint8) for w, r in where)
    base = _write_base(folder, ids, start, word, thumb_start, thumbs)
    shared = set.intersection(*(set(p.features) for p in parts))
    features = tuple(_merge_feature(folder, parts, f, where) for f in sorted(shared))
    return Segment(len(ids), base, features)


def _thumb_size(part: OpenSegment, row: int) -> int:
    start = part.base["thumb_start"]
    return int(start[row + 1] - start[row])


def _merge_feature(
    folder: Path, parts: list[OpenSegment], feature: str, where: list[tuple[int, int]]
) -> FeatureFile:
    length = parts[0].features[feature].shape[1]
    blocks = _feature_rows(parts, feature, where)
    rows = Rows(blocks, (len(where), length), np.float32)
    return FeatureFile(feature, FileEntry.of(write_arrays(folder, "feature", {"rows": rows})))


def _feature_rows(
    parts: list[OpenSegment], feature: str, where: list[tuple[int, int]]
) -> Iterator[NDArray[np.float32]]:
    for w, r in where:
        yield parts[w].features[feature][r]
