"""Going back to an older version without reading everything again.

The log and the catalogue stay as they are, so after a rollback the rows of some pictures are behind
what is known of them. Both versions are compared row by row. A picture whose row is the same needs
nothing; of every other it is noted which version has the right row, and the next index takes it
from there. Only where that version is no longer kept, or damaged, is the file read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sightline._typing import Ints
from sightline.errors import StoreDamaged, StoreError
from sightline.store.catalogue import UNPUBLISHED, KnownPicture, Outdated
from sightline.store.events import EventLog
from sightline.store.home import Home
from sightline.store.matrices import Matrix, StoredSparseMatrix
from sightline.store.segments import OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.verify import file_problem
from sightline.store.versions import FileEntry, Segment, Version, version_name


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A version one can look at or go back to; `written` is in seconds since 1970.

    `model`, `similar` and `regions` are the models it serves, "" for none.
    """

    number: int
    pictures: int
    finished: bool
    note: str
    written: int
    model: str = ""
    similar: str = ""
    regions: str = ""


@dataclass(frozen=True, slots=True)
class Rollback:
    """An older version is published again, as `version`: that before, and the one gone back to."""

    version: int
    left: KeptVersion
    restored: KeptVersion


def describe_versions(home: Home) -> list[KeptVersion]:
    """Return the versions that are kept, oldest first; the last one is the current one."""
    out = []
    for number in home.versions.numbers():
        path = home.versions.folder / version_name(number)
        try:
            out.append(describe_version(home, number))
        except (StoreDamaged, FileNotFoundError):
            if path.exists():
                raise
            continue  # A publish has removed it since it was listed.
    return out


def describe_version(home: Home, number: int) -> KeptVersion:
    """Return what there is to say of one version that is kept."""
    written = int((home.versions.folder / version_name(number)).stat().st_mtime)
    v = home.versions.read(number)
    models = (v.model, v.similar, v.regions)
    return KeptVersion(v.number, v.live, v.finished, v.note, written, *models)


def outdated_after(
    home: Home, log: EventLog, known: Sequence[KnownPicture], now: Version, old: Version
) -> list[tuple[int, str]]:
    """Return the new stamps of every picture for which publishing `old` after `now` matters.

    A picture whose right row lies in a third version, by an earlier rollback, is compared with
    that one; a picture that is to be read again anyhow stays so.
    """
    target = _Rows(home.shards, old.segments)
    edited = _edited(log)
    out: list[tuple[int, str]] = []
    for version, pictures in _by_source(home, known, now):
        if version is None:
            out += [(k.picture, UNPUBLISHED) for k in pictures]
            continue
        source = _Rows(home.shards, version.segments, lenient=True)
        out += _compared(target, source, version.number, pictures, edited)
    return out


def _by_source(
    home: Home, known: Iterable[KnownPicture], now: Version
) -> Iterator[tuple[Version | None, list[KnownPicture]]]:
    """Yield each version that has right rows, with their pictures; None for rows that are lost."""
    versions: dict[int, Version | None] = {now.number: now}
    groups: dict[int | None, list[KnownPicture]] = {}
    for k in known:
        if k.stamps == UNPUBLISHED:
            continue
        number: int | None = now.number
        if (outdated := k.outdated) is not None:
            number = outdated.version
            if number not in versions:
                versions[number] = _readable(home, number)
            if versions[number] is None:
                # What is published now is right but for words, which the catalogue knows.
                number = None if outdated.part == "row" else now.number
        groups.setdefault(number, []).append(k)
    for number, pictures in groups.items():
        yield (None if number is None else versions[number]), pictures


def _readable(home: Home, number: int) -> Version | None:
    try:
        return home.versions.read(number)
    except StoreError:
        return None  # It is no longer kept, or damaged.


def _edited(log: EventLog) -> set[int] | None:
    """Return the pictures whose content ever changed; None if the log lost some of its events."""
    content: dict[int, object] = {}
    edited: set[int] = set()
    for e in log.read(kinds=["picture-seen", "purged"]):
        if e.kind == "purged" and e.body.get("why"):
            return None
        if e.kind == "picture-seen" and e.picture is not None:
            sha = e.body.get("sha")
            if content.setdefault(e.picture, sha) != sha:
                edited.add(e.picture)
    return edited


class _Rows:
    """The live rows of some segments, found by picture.

    A `lenient` one leaves segments out that cannot be opened.
    """

    def __init__(self, shards: Path, segments: Sequence[Segment], *, lenient: bool = False) -> None:
        self.listed: list[Segment] = []
        self.opened: list[OpenSegment] = []
        for s in segments:
            try:
                segment = _opened(shards, s)
            except StoreError:
                if not lenient:
                    raise
                continue
            self.listed.append(s)
            self.opened.append(segment)
        live = [np.flatnonzero(o.alive()) for o in self.opened]
        ids = [o.ids[rows] for o, rows in zip(self.opened, live, strict=True)]
        which = np.repeat(np.arange(len(live)), [len(rows) for rows in live])
        empty = np.zeros(0, np.int64)
        every = np.concatenate([*ids, empty])
        order = np.argsort(every, kind="stable")
        self._ids = every[order]
        self._which, self._row = which[order], np.concatenate([*live, empty])[order]

    def find(self, pictures: Ints) -> list[tuple[int, int] | None]:
        """Return segment and row of each picture; None where it has no row."""
        if not len(self._ids):
            return [None] * len(pictures)
        at = np.minimum(np.searchsorted(self._ids, pictures), len(self._ids) - 1)
        here = (self._ids[at] == pictures).tolist()
        places = zip(self._which[at].tolist(), self._row[at].tolist(), strict=True)
        return [place if found else None for place, found in zip(places, here, strict=True)]


def _compared(
    target: _Rows, source: _Rows, number: int, pictures: list[KnownPicture], edited: set[int] | None
) -> Iterator[tuple[int, str]]:
    """Yield the stamps of pictures that need others, given the rows to be and the right ones."""
    ids = np.array([k.picture for k in pictures], np.int64)
    shared = {
        (t, s)
        for t, a in enumerate(target.listed)
        for s, b in enumerate(source.listed)
        if (a.base, a.features) == (b.base, b.features)
    }
    for k, to, right in zip(pictures, target.find(ids), source.find(ids), strict=True):
        plain = k.outdated.stamps if k.outdated else k.stamps
        if right is None:
            stamps = k.stamps if to is None else UNPUBLISHED
        elif to is None:
            stamps = str(Outdated(number, "row", plain))
        elif (to[0], right[0]) in shared and to[1] == right[1]:
            stamps = plain
        else:
            was_edited = edited is None or k.picture in edited
            a, b = target.opened[to[0]], source.opened[right[0]]
            part = _difference(a, to[1], b, right[1], was_edited)
            stamps = str(Outdated(number, part, plain)) if part else plain
        if stamps != k.stamps:
            yield k.picture, stamps


def _difference(a: OpenSegment, at: int, b: OpenSegment, right: int, was_edited: bool) -> str:
    """Return what part of a row differs from the right one, "" for nothing that counts."""
    if was_edited and not _same_content(a, at, b, right):
        return "row"
    if not np.array_equal(a.words(at), b.words(right)):
        return "words"
    return "" if set(b.features) <= set(a.features) else "features"


def _same_content(a: OpenSegment, at: int, b: OpenSegment, right: int) -> bool:
    """Return whether all that a row holds of a picture's content is in the other one too."""
    return (
        set(a.features) <= set(b.features)
        and a.thumbnail(at) == b.thumbnail(right)
        and all(_same_numbers(m[at : at + 1], b.features[f][right : right + 1])
                for f, m in a.features.items())
    )  # fmt: skip


def _same_numbers(a: Matrix, b: Matrix) -> bool:
    if isinstance(a, StoredSparseMatrix) and isinstance(b, StoredSparseMatrix):
        pairs = zip(a.entries(), b.entries(), strict=True)
        return all(np.array_equal(x, y) for x, y in pairs)
    if isinstance(a, StoredSparseMatrix) or isinstance(b, StoredSparseMatrix):
        return False
    return np.array_equal(a, b)


def kept_rows(
    home: Home, known: Iterable[KnownPicture], current: Snapshot, live: set[int], features: set[str]
) -> dict[int, Snapshot]:
    """Return where to take the right rows of pictures with outdated ones; no file is read for them.

    `live` are the pictures whose current rows have all features `features`. Pictures whose right
    row is lost, damaged, or without a feature that is wanted are not in the answer.
    """
    out: dict[int, Snapshot] = {}
    elsewhere: dict[int, list[int]] = {}
    for k in known:
        outdated = k.outdated
        if outdated is None:
            continue
        if k.picture not in live or outdated.part == "row":
            elsewhere.setdefault(outdated.version, []).append(k.picture)
        elif outdated.part == "words":
            out[k.picture] = current
    for number, pictures in elsewhere.items():
        ids = np.array(sorted(pictures), np.int64)
        if (version := _readable(home, number)) is not None:
            snapshot = _sound_part(home.shards, version, ids, features)
            held = [s.ids[s.rows_of(ids)] for s in snapshot.segments]
            out.update((i, snapshot) for part in held for i in part.tolist())
    return out


def _sound_part(shards: Path, version: Version, ids: Ints, wanted: set[str]) -> Snapshot:
    """Open those segments of a version that hold some pictures, every byte of them checked."""
    segments = [
        replace(s, scores=None, scored_by="")
        for s in version.segments
        if wanted <= {f.feature for f in s.features} and s.may_hold(ids.tolist())
    ]
    sound = tuple(s for s in segments if _holds(shards, s, ids) and _is_sound(shards, s.files()))
    return Snapshot(shards, Version(version.number, sound))


def _holds(shards: Path, s: Segment, ids: Ints) -> bool:
    try:
        return _is_sound(shards, [s.base]) and bool(len(_opened(shards, s).rows_of(ids)))
    except StoreError:
        return False


def _opened(shards: Path, s: Segment) -> OpenSegment:
    """Map a segment without its scores: another model changes nothing about the pictures."""
    if s.dead is not None and (problem := file_problem(shards, s.dead)) is not None:
        raise StoreDamaged(f"{problem.file} {problem.what}. Run: sightline store repair")
    return OpenSegment.open(shards, replace(s, scores=None, scored_by=""))


def _is_sound(shards: Path, files: Iterable[FileEntry]) -> bool:
    return all(file_problem(shards, f) is None for f in files)
