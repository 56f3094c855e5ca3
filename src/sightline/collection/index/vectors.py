"""The user's own vectors: a file of them is remembered, and its rows are kept with the pictures.

The log says which files there are; a file is remembered once its rows are known to fit. Every index
brings the rows up to date: pictures that are new or were read again get theirs, a file that changed
replaces its rows, one that is gone leaves them. A file that was assigned by order stays so until
the owner names it again. Rows are published in batches, each complete in itself, so a killed run
goes on where it was.

Rows of vectors on their way into the store, beside all else that pictures have there.

A picture's rows are immutable, so one that gets a vector is published anew: with the words, the
thumbnail and the other features it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sightline import plugins
from sightline._typing import Ints
from sightline.collection.index.assignment import (
    Matched,
    by_key_or_order,
    in_order,
    matches,
    no_match,
    order_of,
    pictures_then,
)
from sightline.contracts import Json, Progress
from sightline.errors import DataError, MissingExtra, ParameterError, UsageError
from sightline.features.imported import ImportedVectors, read_vectors, stamp_of
from sightline.records import Batch, FeatureRows, shown
from sightline.registry import FEATURE_SETS
from sightline.store.catalogue import Catalogue, VectorsFile, vectors_text
from sightline.store.events import NewEvent
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer
from sightline.vectors import Fingerprint

_NAMED = 20
# By which rules rows were assigned; a file that was read by older ones is looked at again.
_RULES = "keys"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of a file: pictures with a vector, rows without a picture, and the reverse.

    `key_column` is the column rows were assigned by, None where that was by order. `unmatched`,
    `without`, `unclear` and `by_name` name only the first few; the counts are of all. `unclear`
    are unmatched rows whose file name fits several pictures or rows; `by_name` are rows that were
    matched by the file name alone.
    """

    file: str
    fingerprint: str
    rows: int
    matched: int
    unmatched: tuple[bytes, ...]
    n_unmatched: int
    without: tuple[bytes, ...]
    n_without: int
    key_column: str | None = None
    unclear: tuple[bytes, ...] = ()
    n_unclear: int = 0
    by_name: tuple[bytes, ...] = ()
    n_by_name: int = 0

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {
            "file": self.file, "key_column": self.key_column, "rows": self.rows,
            "matched": self.matched, "by_name": self.n_by_name, "unmatched": self.n_unmatched,
            "unclear": self.n_unclear, "without": self.n_without,
        }  # fmt: skip

    def summary(self) -> str:
        """Say how many pictures have a vector, and how rows were assigned."""
        how = "by order" if self.key_column is None else f"by {self.key_column!r:.60}"
        n = self.matched + self.n_without
        return f"{self.file}: {self.matched} of {n} pictures have a vector, assigned {how}"

    def problems(self) -> list[str]:
        """Say what did not fit, one sentence each."""
        problems = []
        if self.n_unmatched:
            count = f"{self.n_unmatched} of {self.rows} rows, the first {shown(self.unmatched[0])}"
            problems.append(f"{self.file}: no picture here for {count}")
        if self.n_unclear:
            problems.append(
                f"{self.file}: {self.n_unclear} of these rows have a file name that fits several "
                f"pictures or rows, the first {shown(self.unclear[0])}"
            )
        if self.n_by_name:
            problems.append(
                f"{self.file}: {self.n_by_name} of {self.rows} rows were matched by file name "
                f"alone, the first {shown(self.by_name[0])}"
            )
        if self.n_without:
            n = self.matched + self.n_without
            count = f"{self.n_without} of {n} pictures, the first {shown(self.without[0])}"
            problems.append(f"{self.file}: no vector for {count}")
        return problems


def open_vectors(named: str | os.PathLike[str], key_column: str = "") -> ImportedVectors:
    """Read a file of vectors as people name it: FILE, or NAME=FILE to call the feature NAME."""
    text = os.fspath(named)
    name, equals, rest = text.partition("=")
    if not equals or "/" in name or os.path.exists(text):
        name, rest = "", text
    path = Path(rest).expanduser()
    try:
        return read_vectors(path, name or None, key_column)
    except (DataError, ParameterError) as e:
        raise UsageError(f"{_shown(str(path))} cannot be used as a file of vectors: {e}") from e


def remembered_vectors(catalogue: Catalogue) -> list[VectorsFile]:
    """Return the files of vectors that every index run reads."""
    return [f for f in catalogue.vectors_files() if f.present]


def same_as_before(
    vectors: ImportedVectors, remembered: VectorsFile | None, by_order: bool
) -> ImportedVectors | None:
    """Return vectors as they were assigned before, if they are remembered in the same state."""
    if (
        remembered is None
        or bool(remembered.order) != by_order
        or (by_order and vectors.candidates)
    ):
        return None
    ways = [vectors] if by_order else [vectors.by(k) for k in vectors.candidates]
    return next((v for v in ways if v.fingerprint == remembered.fingerprint), None)


def import_vectors(
    writer: Writer,
    root: bytes,
    vectors: ImportedVectors,
    progress: Progress,
    by_order: bool = False,
) -> ImportReport:
    """Publish the rows of a file with the pictures they belong to, and remember it.

    A file that was remembered under the same name is replaced by it. `by_order` says that rows are
    in the order of the pictures' sorted paths.

    Raises
    ------
    DataError
        It is not clear which row belongs to which picture, or no row belongs to any; the file is
        not remembered then.
    UsageError
        A feature that is computed has that name.
    """
    check_name_free(vectors.name)
    # Rows a killed run has not removed yet must not be taken for rows of this file.
    _drop_forgotten(writer, progress)
    current = CurrentPictures(writer)
    chosen = same_as_before(vectors, _known(writer, vectors.name), by_order)
    chosen = chosen or by_key_or_order(vectors, current.pictures, root, by_order)
    return _attach(writer, root, chosen, current, progress)


def refresh_vectors(writer: Writer, root: bytes, progress: Progress) -> list[str]:
    """Bring the rows of all remembered files up to date; return what is wrong, if anything."""
    _drop_forgotten(writer, progress)
    problems: list[str] = []
    for file in remembered_vectors(writer.catalogue):
        try:
            problems += _refresh(writer, root, file, progress)
        except (DataError, MissingExtra) as e:
            stays = "The vectors it gave before stay" if file.fingerprint else "It gave no vectors"
            problems.append(
                f"{e} {stays}; to forget the file: "
                f"sightline index --forget-vectors {_shown(file.path)}"
            )
    return problems


def forget_vectors(
    writer: Writer, which: str | os.PathLike[str], progress: Progress
) -> tuple[str, ...]:
    """Forget a file, by its path or its feature's name, and remove its rows.

    Returns
    -------
    tuple of str
        The names of the features that are gone; none where no such file is remembered.
    """
    text = os.fspath(which)
    files = remembered_vectors(writer.catalogue)
    forgotten = [f for f in files if f.name == text or f.path == _place(Path(text))]
    for f in forgotten:
        _log(writer, replace(f, present=False))
    _drop_forgotten(writer, progress)
    return tuple(f.name for f in forgotten)


# -- what the log and the catalogue know ---------------------------------------------------------


def _place(path: Path) -> str:
    # Links are not resolved: the list of paths lies beside the link.
    return os.path.abspath(path)


def _shown(path: str) -> str:
    return shown(path.encode("utf-8", "surrogateescape"))


def _known(writer: Writer, name: str) -> VectorsFile | None:
    files = remembered_vectors(writer.catalogue)
    return next((f for f in files if f.name == name), None)


def _log(writer: Writer, file: VectorsFile) -> None:
    events = writer.append([NewEvent("vectors-file", body=file.as_json())])
    writer.note(Change(events=events))


def check_name_free(name: str) -> None:
    """Refuse the name of a feature that is computed."""
    if name in FEATURE_SETS or name in plugins.names("features"):
        raise UsageError(
            f"{name!r} is the name of a feature that is computed from pictures. "
            "Give the vectors another one: --vectors NAME=FILE"
        )


def _state_key(name: str) -> str:
    return f"vectors:{name}"


def _state(stamp: str, fingerprint: str, without: Sequence[bytes]) -> str:
    """Return what decides whether a file has to be looked at again, as one comparable text."""
    return f"{_RULES} {stamp} {fingerprint} {order_of(without)}"


# -- bringing rows up to date --------------------------------------------------------------------


def _refresh(writer: Writer, root: bytes, file: VectorsFile, progress: Progress) -> list[str]:
    current = CurrentPictures(writer)
    without = current.without(current.having(file.fingerprint))
    state = _state(stamp_of(Path(file.path)), file.fingerprint, without)
    if state == writer.catalogue.meta(_state_key(file.name)):
        return []
    vectors = read_vectors(Path(file.path), file.name, file.key_column)
    if file.order:
        _check_not_displaced(writer, root, file, vectors, current)
        vectors = replace(vectors, keys=None, candidates=())
    by_order = bool(file.order)
    chosen = same_as_before(vectors, file, by_order)
    chosen = chosen or by_key_or_order(vectors, current.pictures, root, by_order)
    return _attach(writer, root, chosen, current, progress).problems()


def _check_not_displaced(
    writer: Writer,
    root: bytes,
    file: VectorsFile,
    vectors: ImportedVectors,
    current: CurrentPictures,
) -> None:
    """Raise if a file is assigned by order and its keys name other pictures.

    Before all names of key columns were known, such files were assigned by order.
    """
    unchanged = vectors.by(None).fingerprint == file.fingerprint
    then = pictures_then(writer.log.read(), file) if vectors.candidates else {}
    for keys in vectors.candidates:
        rows = matches(vectors, keys, current.as_then(then), root).rows
        n, path = _displaced(current, file, vectors, rows)
        if not rows or (unchanged and not n):
            continue
        column = f"{keys.column!r:.60}"
        problem = f"it now has the key column {column}"
        if unchanged:
            problem = (
                f"by its key column {column} {n} of {len(rows)} pictures have the vector of "
                f"another one, the first {shown(path)}"
            )
        raise DataError(
            f"The rows of {_shown(file.path)} were assigned in the order of the pictures, but "
            f"{problem}. To assign them by key: "
            f"sightline index --vectors {file.name}={_shown(file.path)}."
        )


def _displaced(
    current: CurrentPictures, file: VectorsFile, vectors: ImportedVectors, rows: dict[int, int]
) -> tuple[int, bytes]:
    """Count the pictures whose stored row differs from the expected one; return the first path."""
    ids = np.array(sorted(current.having(file.fingerprint) & rows.keys()), np.int64)
    wrong: set[int] = set()
    for start in range(0, len(ids), BATCH):
        part = ids[start : start + BATCH]
        stored = current.snapshot.rows(file.fingerprint, part)
        expected = vectors.take([rows[i] for i in part.tolist()])
        if not isinstance(stored, FeatureRows) or stored.rows.shape != expected.shape:
            wrong.update(part.tolist())
        else:
            wrong.update(part[(stored.rows != expected).any(axis=1)].tolist())
    return len(wrong), min((p for p, i in current.pictures.items() if i in wrong), default=b"")


def _attach(
    writer: Writer,
    root: bytes,
    vectors: ImportedVectors,
    current: CurrentPictures,
    progress: Progress,
) -> ImportReport:
    """Give every picture its row of a file, unless it has it, and take older rows away."""
    has = current.having(vectors.fingerprint)
    file, matched = _matched(writer, root, vectors, current, has)
    new = {p: row for p, row in matched.rows.items() if p not in has}
    if not new and not has:
        raise no_match(vectors, [vectors.keys] if vectors.keys else [], root)
    if file != _known(writer, file.name):
        _log(writer, file)
    stale = current.stale(file.name, file.fingerprint)
    publish_rows(writer, current.snapshot, file.name, stale, new, vectors, progress)
    without = current.without(has | new.keys())
    state = _state(vectors.stamp, file.fingerprint, without)
    writer.note(Change(meta=[(_state_key(file.name), state)]))
    paths = vectors.paths or ()

    def first(rows: list[int]) -> tuple[bytes, ...]:
        return tuple(paths[row] for row in rows[:_NAMED])

    return ImportReport(
        file=shown(os.path.basename(os.fsencode(file.path))),
        fingerprint=file.fingerprint,
        rows=len(vectors),
        matched=len(has | new.keys()),
        unmatched=first(matched.lost),
        n_unmatched=len(matched.lost),
        without=tuple(without[:_NAMED]),
        n_without=len(without),
        key_column=vectors.keys.column if vectors.keys else None,
        unclear=first(matched.unclear),
        n_unclear=len(matched.unclear),
        by_name=first(matched.by_name),
        n_by_name=len(matched.by_name),
    )


def _matched(
    writer: Writer, root: bytes, vectors: ImportedVectors, current: CurrentPictures, has: set[int]
) -> tuple[VectorsFile, Matched]:
    """Return a file as it is to be remembered, and whose its rows are.

    A file that is as it was describes the pictures there were when it was first read: they keep
    their rows wherever they have moved since.
    """
    place, column = _place(vectors.source), vectors.key_column
    file = VectorsFile(vectors.name, place, vectors.fingerprint, key_column=column)
    remembered = _known(writer, vectors.name)
    then: dict[bytes, int] = {}
    unchanged = remembered is not None and remembered.fingerprint == vectors.fingerprint
    if remembered is not None and unchanged and current.without(has):
        then = pictures_then(writer.log.read(), remembered)
    if vectors.keys is not None:
        matched = matches(vectors, vectors.keys, current.as_then(then), root)
        matched.check_double(vectors.keys.values)
        return file, matched
    order = order_of(current.pictures)
    if remembered is None or not unchanged or remembered.order == order != order_of(then):
        return replace(file, order=order), in_order(vectors, current.pictures)
    file = replace(file, order=remembered.order)
    if current.without(has) and order_of(then) != remembered.order:
        raise DataError(
            f"{_shown(file.path)} has its rows in the order of the pictures, which are others "
            "now. Save it anew for the pictures there are, or with their paths."
        )
    rows = {then[path]: row for row, path in enumerate(sorted(then))}
    return file, Matched({p: row for p, row in rows.items() if p in current.live})


def _drop_forgotten(writer: Writer, progress: Progress) -> None:
    """Remove the rows of files that were forgotten, also of ones a crash left half removed."""
    for file in writer.catalogue.vectors_files():
        if not file.present:
            current = CurrentPictures(writer)
            publish_rows(
                writer, current.snapshot, file.name, current.stale(file.name), {}, None, progress
            )
            others = [f for f in writer.catalogue.vectors_files() if f != file]
            meta = [("vectors_files", vectors_text(others)), (_state_key(file.name), "")]
            writer.note(Change(meta=meta))


BATCH = 1024


class CurrentPictures:
    """The pictures of the current version, by path, and which rows they have."""

    def __init__(self, writer: Writer) -> None:
        self.snapshot = Snapshot(writer.store_folder.shards, writer.version)
        rows = set(self.snapshot.ids().tolist())
        known = writer.catalogue.known()
        self.pictures = {k.path: k.picture for k in known if k.picture in rows}
        self.live = set(self.pictures.values())

    def having(self, fingerprint: str) -> set[int]:
        """Return the pictures that have rows of a fingerprint."""
        return self._with(lambda features: fingerprint in features)

    def stale(self, name: str, fingerprint: str = "") -> set[int]:
        """Return the pictures that have rows of a feature under another fingerprint."""
        return self._with(
            lambda fs: any(Fingerprint.parse(f).name == name and f != fingerprint for f in fs)
        )

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
    pictures: Ints,
    name: str,
    new: Mapping[int, int],
    vectors: ImportedVectors | None,
) -> Iterator[Batch]:
    for features, ids in snapshot.by_features(pictures):
        features_kept = [f for f in features if Fingerprint.parse(f).name != name]
        has_row = np.array([i in new for i in ids.tolist()], bool)
        if vectors is not None and has_row.any():
            rows = vectors.take([new[i] for i in ids[has_row].tolist()])
            stored = snapshot.batch(ids[has_row], features_kept)
            new_rows = FeatureRows(vectors.fingerprint, rows)
            yield replace(stored, features=(*stored.features, new_rows))
        if not has_row.all():
            yield snapshot.batch(ids[~has_row], features_kept)
