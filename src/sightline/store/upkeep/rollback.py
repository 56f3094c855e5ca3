"""Going back to an older version without reading all files again.

The log and the catalogue stay as they are, so after a rollback the rows of some pictures are out of
date. Both versions are compared row by row. A picture whose row is the same needs nothing; for all
others the catalogue notes which version has the right row, and the next index copies it from there.
Only if that version is no longer kept, or damaged, is the file read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightline._typing import Ints
from sightline.errors import StoreDamaged, StoreError
from sightline.store.catalogue import UNPUBLISHED, KnownPicture, Outdated
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from sightline.store.matrices import Matrix, StoredSparseMatrix
from sightline.store.segments import OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.verify import file_problem
from sightline.store.versions import FileEntry, Segment, Version, version_name


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A version that is kept, so that one can roll back to it.

    Attributes
    ----------
    number : int
        Its number.
    pictures : int
        How many pictures it has.
    finished : bool
        Whether the index run that made it came to its end.
    note : str
        What made it, for people.
    written : int
        When, in seconds since 1970.
    model, similar, regions, text : str
        The word, similarity, region and text models it serves, "" for none.
    """

    number: int
    pictures: int
    finished: bool
    note: str
    written: int
    model: str = ""
    similar: str = ""
    regions: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Rollback:
    """What a rollback did.

    Attributes
    ----------
    version : int
        The number of the new version, which equals the restored one.
    left : KeptVersion
        The version before the rollback.
    restored : KeptVersion
        The older version that was published again.
    """

    version: int
    left: KeptVersion
    restored: KeptVersion


def describe_versions(store_folder: StoreFolder) -> list[KeptVersion]:
    """Return the versions that are kept, oldest first; the last one is the current one."""
    versions = []
    for number in store_folder.versions.numbers():
        path = store_folder.versions.folder / version_name(number)
        try:
            versions.append(describe_version(store_folder, number))
        except (StoreDamaged, FileNotFoundError):
            if path.exists():
                raise
            continue  # A publish removed it after it was listed.
    return versions


def describe_version(store_folder: StoreFolder, number: int) -> KeptVersion:
    """Return the description of one version."""
    written = int((store_folder.versions.folder / version_name(number)).stat().st_mtime)
    v = store_folder.versions.read(number)
    models = (v.model, v.similar, v.regions, v.text)
    return KeptVersion(v.number, v.live, v.finished, v.note, written, *models)


def outdated_after(
    store_folder: StoreFolder,
    log: EventLog,
    pictures: Sequence[KnownPicture],
    now: Version,
    old: Version,
) -> list[tuple[int, str]]:
    """Return the pictures whose stamps change when `old` is published after `now`, and the stamps.

    A picture whose right row is in a third version, because of an earlier rollback, is compared
    with that one; a picture that is to be read again anyway stays so.
    """
    target = _Rows(store_folder.shards, old.segments)
    edited = _edited(log)
    stamps: list[tuple[int, str]] = []
    for version, group in _by_source(store_folder, pictures, now):
        if version is None:
            stamps += [(k.picture, UNPUBLISHED) for k in group]
            continue
        source = _Rows(store_folder.shards, version.segments, lenient=True)
        stamps += _changed_stamps(target, source, version.number, group, edited)
    return stamps


def _by_source(
    store_folder: StoreFolder, pictures: Iterable[KnownPicture], now: Version
) -> Iterator[tuple[Version | None, list[KnownPicture]]]:
    """Yield each version that has the right rows of pictures; None for rows that are lost."""
    versions: dict[int, Version | None] = {now.number: now}
    groups: dict[int | None, list[KnownPicture]] = {}
    for k in pictures:
        if k.stamps == UNPUBLISHED:
            continue
        number: int | None = now.number
        if (outdated := k.outdated) is not None:
            number = outdated.version
            if number not in versions:
                versions[number] = _readable(store_folder, number)
            if versions[number] is None:
                # The current row is right except for its words, which are in the catalogue.
                number = None if outdated.part == "row" else now.number
        groups.setdefault(number, []).append(k)
    for number, group in groups.items():
        yield (None if number is None else versions[number]), group


def _readable(store_folder: StoreFolder, number: int) -> Version | None:
    try:
        return store_folder.versions.read(number)
    except StoreError:
        return None  # It is no longer kept, or damaged.


def _edited(log: EventLog) -> set[int] | None:
    """Return the pictures whose content ever changed; None if the log lost events."""
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
    """The live rows of some segments, by picture.

    Parameters
    ----------
    shards : Path
        The folder of array files.
    segments : sequence of Segment
        The segments.
    lenient : bool, default=False
        Whether to leave out segments that cannot be opened.
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
        segment_of = np.repeat(np.arange(len(live)), [len(rows) for rows in live])
        empty = np.zeros(0, np.int64)
        all_ids = np.concatenate([*ids, empty])
        order = np.argsort(all_ids, kind="stable")
        self._ids = all_ids[order]
        self._segment, self._row = segment_of[order], np.concatenate([*live, empty])[order]

    def find(self, pictures: Ints) -> list[tuple[int, int] | None]:
        """Return segment and row of each picture; None where it has no row."""
        if not len(self._ids):
            return [None] * len(pictures)
        at = np.minimum(np.searchsorted(self._ids, pictures), len(self._ids) - 1)
        exists = (self._ids[at] == pictures).tolist()
        places = zip(self._segment[at].tolist(), self._row[at].tolist(), strict=True)
        return [place if e else None for place, e in zip(places, exists, strict=True)]


def _changed_stamps(
    target: _Rows, source: _Rows, number: int, pictures: list[KnownPicture], edited: set[int] | None
) -> Iterator[tuple[int, str]]:
    """Yield pictures whose stamps change, given the rows to be published and the right ones."""
    ids = np.array([k.picture for k in pictures], np.int64)
    shared = {
        (t, s)
        for t, a in enumerate(target.listed)
        for s, b in enumerate(source.listed)
        if (a.base, a.features) == (b.base, b.features)
    }
    for k, new, right in zip(pictures, target.find(ids), source.find(ids), strict=True):
        plain = k.plain_stamps
        if right is None:
            stamps = k.stamps if new is None else UNPUBLISHED
        elif new is None:
            stamps = str(Outdated(number, "row", plain))
        elif (new[0], right[0]) in shared and new[1] == right[1]:
            stamps = plain
        else:
            was_edited = edited is None or k.picture in edited
            a, b = target.opened[new[0]], source.opened[right[0]]
            part = _difference(a, new[1], b, right[1], was_edited)
            stamps = str(Outdated(number, part, plain)) if part else plain
        if stamps != k.stamps:
            yield k.picture, stamps


def _difference(a: OpenSegment, at: int, b: OpenSegment, right: int, was_edited: bool) -> str:
    """Return which part of a row differs from the right one; "" for none that matters."""
    if was_edited and not _same_content(a, at, b, right):
        return "row"
    if not np.array_equal(a.words(at), b.words(right)):
        return "words"
    return "" if set(b.features) <= set(a.features) else "features"


def _same_content(a: OpenSegment, at: int, b: OpenSegment, right: int) -> bool:
    """Return whether a row's thumbnail and features are the same in another row."""
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


def reusable_rows(
    store_folder: StoreFolder,
    pictures: Iterable[KnownPicture],
    current: Snapshot,
    live: set[int],
    features: set[str],
) -> dict[int, Snapshot]:
    """Return for pictures with outdated rows the snapshot that has the right ones.

    Parameters
    ----------
    store_folder : StoreFolder
        The store.
    pictures : iterable of KnownPicture
        The pictures of the catalogue.
    current : Snapshot
        The current version.
    live : set of int
        Pictures whose current rows have all required features.
    features : set of str
        The required features.

    Returns
    -------
    dict of int to Snapshot
        Without pictures whose right row is lost, damaged or lacks a required feature: their files
        have to be read.
    """
    sources: dict[int, Snapshot] = {}
    by_version: dict[int, list[int]] = {}
    for k in pictures:
        outdated = k.outdated
        if outdated is None:
            continue
        if k.picture not in live or outdated.part == "row":
            by_version.setdefault(outdated.version, []).append(k.picture)
        elif outdated.part == "words":
            sources[k.picture] = current
    for number, picture_ids in by_version.items():
        ids = np.array(sorted(picture_ids), np.int64)
        if (version := _readable(store_folder, number)) is not None:
            snapshot = _sound_part(store_folder.shards, version, ids, features)
            held = [s.ids[s.rows_of(ids)] for s in snapshot.segments]
            sources.update((i, snapshot) for part in held for i in part.tolist())
    return sources


def _sound_part(shards: Path, version: Version, ids: Ints, features: set[str]) -> Snapshot:
    """Open the segments of a version that have some pictures; damaged ones are left out."""
    segments = [
        s.unscored()
        for s in version.segments
        if features <= {f.feature for f in s.features} and s.may_hold(ids.tolist())
    ]
    sound = tuple(s for s in segments if _holds(shards, s, ids) and _is_sound(shards, s.files()))
    return Snapshot(shards, Version(version.number, sound))


def _holds(shards: Path, s: Segment, ids: Ints) -> bool:
    try:
        return _is_sound(shards, [s.base]) and bool(len(_opened(shards, s).rows_of(ids)))
    except StoreError:
        return False


def _opened(shards: Path, s: Segment) -> OpenSegment:
    """Map a segment without its scores, which do not depend on the pictures alone."""
    if s.dead is not None and (problem := file_problem(shards, s.dead)) is not None:
        raise StoreDamaged(f"{problem.file} {problem.what}. Run: sightline store repair")
    return OpenSegment.open(shards, s.unscored())


def _is_sound(shards: Path, files: Iterable[FileEntry]) -> bool:
    return all(file_problem(shards, f) is None for f in files)
