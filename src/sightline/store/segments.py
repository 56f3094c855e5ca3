"""Segments: immutable groups of pictures, written once and merged later.

The base file of a segment holds, for its pictures in ascending order of id,
  ids                            int64
  word_start, word               the words of each picture, as positions in `terms`
  terms, term_start, term_row    the inverted index: for each term the rows that have it
  thumb_start, thumb             thumbnails, one after another
Each feature has a file of its own (see matrices), and so have the scores of a model (see scores).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.errors import StoreError
from sightline.records import Batch
from sightline.store.matrices import Matrix, joined, open_matrix, spans, starts, to_arrays
from sightline.store.scores import Scores, open_scores, with_joined_scores
from sightline.store.shards import Rows, open_arrays, write_arrays
from sightline.store.versions import (
    SCORING_KINDS,
    FeatureFile,
    FileEntry,
    ScoringKind,
    Segment,
)

MERGED_ROWS = 32_768
_MAX_SMALL = 4
_DEAD_SHARE = 0.25
_MAX_RUNS = 256


def write_segment(folder: Path, batch: Batch) -> Segment:
    """Write the pictures of a batch; `batch.ids` must be ascending."""
    if len(batch.ids) > 1 and not (np.diff(batch.ids) > 0).all():
        raise StoreError("The ids of a batch must be ascending and distinct.")
    start = starts([len(t) for t in batch.terms])
    word = np.fromiter((t for ts in batch.terms for t in ts), np.int64, int(start[-1]))
    thumb_start = starts([len(t) for t in batch.thumbnails])
    thumb = np.frombuffer(b"".join(batch.thumbnails), np.uint8)
    base = _write_base(folder, batch.ids, start, word, thumb_start, [thumb])
    features = tuple(
        FeatureFile(f.name, FileEntry.of(write_arrays(folder, "feature", to_arrays(f))))
        for f in batch.features
    )
    return _segment(batch.ids, base, features)


def _segment(ids: Ints, base: FileEntry, features: tuple[FeatureFile, ...]) -> Segment:
    return Segment(len(ids), base, features, first=int(ids[0]), last=int(ids[-1]))


def _write_base(
    folder: Path, ids: Ints, start: Ints, word: Ints, thumb_start: Ints, thumbs: Any
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
        "term_start": starts(counts),
        "term_row": row[order],
        "thumb_start": thumb_start,
        "thumb": Rows(thumbs, (int(thumb_start[-1]),), np.uint8),
    }
    return FileEntry.of(write_arrays(folder, "pictures", arrays))


@dataclass(frozen=True, slots=True, eq=False)
class OpenSegment:
    """A segment mapped into memory.

    Attributes
    ----------
    base : dict of str to ndarray
        The arrays of the base file.
    features : dict of str to Matrix
        The rows of each feature.
    dead : ndarray of int64
        The rows that no longer count, ascending.
    scores : Scores or None
        What a word model published for its pictures.
    text_scores : Scores or None
        What a text model published for its pictures.
    """

    base: dict[str, NDArray[Any]]
    features: dict[str, Matrix]
    dead: Ints
    scores: Scores | None = None
    text_scores: Scores | None = None

    @classmethod
    def open(cls, folder: Path, s: Segment) -> OpenSegment:
        """Map the files of a segment; headers and lengths are checked."""
        base = open_arrays(folder / s.base.name)
        features = {
            f.feature: open_matrix(open_arrays(folder / f.file.name), f.file.name)
            for f in s.features
        }
        dead = np.zeros(0, np.int64)
        if s.dead is not None:
            dead = np.asarray(open_arrays(folder / s.dead.name)["rows"])
        published = (open_scores(folder, s, kind) for kind in SCORING_KINDS)
        return cls(base, features, dead, *published)

    @property
    def ids(self) -> Ints:
        """The ids of its pictures, dead ones too, ascending."""
        return np.asarray(self.base["ids"])

    def matrix(self, feature: str) -> Matrix | None:
        """Return the rows of a feature, or a model's points of that name; None if neither."""
        if feature in self.features:
            return self.features[feature]
        named = (s.named(feature) for s in (self.scores, self.text_scores) if s is not None)
        return next((points for points in named if points is not None), None)

    def published(self, kind: ScoringKind) -> Scores | None:
        """Return what a model of a kind published for its pictures; None if there is nothing."""
        return self.scores if kind == "words" else self.text_scores

    def alive(self) -> NDArray[np.bool_]:
        """Return for each row whether it counts."""
        alive = np.ones(len(self.base["ids"]), bool)
        alive[self.dead] = False
        return alive

    def rows_of(self, ids: Ints) -> Ints:
        """Return the live rows of those ids that the segment has; `ids` must be ascending."""
        segment_ids = self.ids
        if not len(segment_ids):
            return np.zeros(0, np.int64)
        # Only ids between the first and the last of the segment need a look-up.
        low, high = ids.searchsorted((segment_ids[0], segment_ids[-1] + 1))
        near = ids[low:high]
        if not len(near):
            return np.zeros(0, np.int64)
        at = np.searchsorted(segment_ids, near)
        return self.living(at[segment_ids[at] == near])

    def living(self, rows: Ints) -> Ints:
        """Return those of some rows that count."""
        return rows[self.alive()[rows]] if len(self.dead) else rows

    def term_counts(self) -> Ints:
        """Return for each term how many live pictures have it."""
        counts: Ints = np.diff(self.base["term_start"])
        if len(self.dead):
            lost = self.base["word"][spans(self.base["word_start"], self.dead)]
            counts = counts - np.bincount(lost, minlength=len(counts))
        return counts

    def postings(self, term: int) -> NDArray[np.int32]:
        """Return the rows, dead ones included, whose picture has a term."""
        terms = self.base["terms"]
        i = int(np.searchsorted(terms, term))
        if i == len(terms) or terms[i] != term:
            return np.zeros(0, np.int32)
        start = self.base["term_start"]
        return np.asarray(self.base["term_row"][start[i] : start[i + 1]])

    def postings_of(self, terms: Ints) -> NDArray[np.int32]:
        """Return the rows, dead ones included, whose picture has any of some terms, ascending."""
        if len(terms) == 1:
            return self.postings(int(terms[0]))
        return np.flatnonzero(self.have_any(terms)).astype(np.int32)

    def have_any(self, terms: Ints) -> NDArray[np.bool_]:
        """Return for each row, dead ones included, whether its picture has any of some terms."""
        # Marking rows is ten times faster than a union of lists of them.
        marked = np.zeros(len(self.base["ids"]), bool)
        for term in terms.tolist():
            marked[self.postings(term)] = True
        return marked

    def words(self, row: int) -> Ints:
        """Return the term ids a picture has."""
        start = self.base["word_start"]
        return np.asarray(self.base["terms"][self.base["word"][start[row] : start[row + 1]]])

    def thumbnail(self, row: int) -> bytes:
        """Return a picture's thumbnail, a WebP or (of earlier versions) JPEG file."""
        start = self.base["thumb_start"]
        return bytes(self.base["thumb"][start[row] : start[row + 1]].tobytes())


def with_dead(folder: Path, s: Segment, rows: Ints) -> Segment:
    """Return a segment in which further rows no longer count."""
    old = OpenSegment.open(folder, s).dead
    dead = np.union1d(old, rows).astype(np.int64)
    if len(dead) == len(old):
        return s
    file = FileEntry.of(write_arrays(folder, "dead", {"rows": dead}))
    return replace(s, dead=file, dead_rows=len(dead))


def worth_merging(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments worth merging: many small ones, or ones with many dead rows."""
    small = [s for s in segments if s.live < MERGED_ROWS // 2]
    wasteful = [s for s in segments if s.dead_rows > _DEAD_SHARE * s.rows]
    if len(small) > _MAX_SMALL or wasteful:
        return [s for s in segments if s in small or s in wasteful]
    return []


def merge(folder: Path, segments: Sequence[Segment]) -> list[Segment]:
    """Write the live rows of some segments into as few new ones as the row limit allows.

    Only segments with the same features are merged, so that no feature's rows are lost.
    """
    groups: dict[frozenset[str], list[Segment]] = {}
    for s in segments:
        groups.setdefault(frozenset(f.feature for f in s.features), []).append(s)
    return [new for group in groups.values() for new in _merge_group(folder, group)]


def _merge_group(folder: Path, segments: Sequence[Segment]) -> list[Segment]:
    parts = [OpenSegment.open(folder, s) for s in segments]
    ids = np.concatenate([p.ids for p in parts])
    part = np.repeat(np.arange(len(parts)), [len(p.ids) for p in parts])
    row = np.concatenate([np.arange(len(p.ids)) for p in parts])
    alive = np.concatenate([p.alive() for p in parts])
    order = np.argsort(ids, kind="stable")
    order = order[alive[order]]
    chunks = [order[i : i + MERGED_ROWS] for i in range(0, len(order), MERGED_ROWS)]
    return [_merge_rows(folder, parts, ids[c], part[c], row[c]) for c in chunks]


def _merge_rows(
    folder: Path, parts: list[OpenSegment], ids: Ints, part: Ints, row: Ints
) -> Segment:
    runs = _runs(parts, part, row)
    start = starts(_lengths(runs, "word_start"))
    words = [p.base["terms"][_between(p, "word", first, last)] for p, first, last in runs]
    word = np.concatenate([*words, np.zeros(0, np.int64)])
    thumb_start = starts(_lengths(runs, "thumb_start"))
    thumbs = (_between(p, "thumb", first, last) for p, first, last in runs)
    base = _write_base(folder, ids, start, word, thumb_start, thumbs)
    features = tuple(_merge_feature(folder, runs, f) for f in sorted(parts[0].features))
    return _merge_scores(folder, runs, _segment(ids, base, features))


Run = tuple[OpenSegment, int, int]


def _runs(parts: list[OpenSegment], part: Ints, row: Ints) -> list[Run]:
    """Group rows that are consecutive in the same part, as (part, first, last + 1)."""
    cuts = np.flatnonzero((np.diff(part) != 0) | (np.diff(row) != 1)) + 1
    first = np.concatenate([[0], cuts])
    last = np.concatenate([cuts, [len(row)]]) - 1
    ranges = zip(part[first].tolist(), row[first].tolist(), row[last].tolist(), strict=True)
    return [(parts[w], r, s + 1) for w, r, s in ranges]


def _lengths(runs: list[Run], name: str) -> Ints:
    return np.concatenate([np.diff(p.base[name][first : last + 1]) for p, first, last in runs])


def _between(part: OpenSegment, name: str, first: int, last: int) -> NDArray[Any]:
    start = part.base[f"{name}_start"]
    return part.base[name][start[first] : start[last]]


def _merge_feature(folder: Path, runs: list[Run], feature: str) -> FeatureFile:
    parts = [p.features[feature][first:last] for p, first, last in runs]
    return FeatureFile(feature, FileEntry.of(write_arrays(folder, "feature", joined(parts))))


def _merge_scores(folder: Path, runs: list[Run], merged: Segment) -> Segment:
    """Join the scores of runs, if one model gave them all, for the same words."""
    if len(runs) > _MAX_RUNS:
        return merged  # Scoring again is faster than joining so many pieces.
    for kind in SCORING_KINDS:
        parts = [(p.published(kind), first, last) for p, first, last in runs]
        merged = with_joined_scores(folder, merged, parts, kind)
    return merged
