"""The user's own vectors: a file of them is remembered, and its rows are kept with the pictures.

The log says which files there are. Every index brings the rows up to date: pictures that are new or
were read again get theirs, a file that changed replaces its rows, one that is gone leaves them.
Rows are published in batches, each complete in itself, so a killed run goes on where it was.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sightline import plugins
from sightline.collection.attaching import Here, publish_rows
from sightline.collection.matching import Matched, match_paths, order_of, pictures_then
from sightline.contracts import Progress
from sightline.errors import DataError, MissingExtra, ParameterError, UsageError
from sightline.features.imported import ImportedVectors, read_vectors, stamp_of
from sightline.records import shown
from sightline.store.catalogue import Catalogue, VectorsFile, vectors_text
from sightline.store.events import NewEvent
from sightline.store.writer import Change, Writer

_NAMED = 20


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of a file: pictures with a vector, rows without a picture, and the reverse.

    `unmatched` and `without` name only the first few; the counts are of all.
    """

    file: str
    fingerprint: str
    rows: int
    matched: int
    unmatched: tuple[bytes, ...]
    n_unmatched: int
    without: tuple[bytes, ...]
    n_without: int

    def problems(self) -> list[str]:
        """Say what did not fit, one sentence each."""
        out = []
        if self.n_unmatched:
            of = f"{self.n_unmatched} of {self.rows} rows, the first {shown(self.unmatched[0])}"
            out.append(f"{self.file}: no picture here for {of}")
        if self.n_without:
            n = self.matched + self.n_without
            of = f"{self.n_without} of {n} pictures, the first {shown(self.without[0])}"
            out.append(f"{self.file}: no vector for {of}")
        return out


def open_vectors(given: str | os.PathLike[str]) -> ImportedVectors:
    """Read a file of vectors as people name it: FILE, or NAME=FILE to call the feature NAME."""
    text = os.fspath(given)
    name, equals, rest = text.partition("=")
    if not equals or "/" in name or os.path.exists(text):
        name, rest = "", text
    path = Path(rest).expanduser()
    try:
        return read_vectors(path, name or None)
    except (DataError, ParameterError) as e:
        raise UsageError(f"{_shown(str(path))} cannot be used as a file of vectors: {e}") from e


def remembered_vectors(catalogue: Catalogue) -> list[VectorsFile]:
    """Return the files of vectors every index looks at."""
    return [f for f in catalogue.vectors_files() if f.present]


def remember_vectors(writer: Writer, vectors: ImportedVectors, progress: Progress) -> None:
    """Have every index look at a file from now on; its rows come with the next refresh.

    A file that was remembered under the same name is replaced by it.
    """
    _refuse_taken(vectors.name)
    _drop_forgotten(writer, progress)
    place = _place(vectors.source)
    known = _known(writer, vectors.name)
    if known is None:
        _log(writer, VectorsFile(vectors.name, place))
    elif known.path != place:
        # What is known of its rows still holds: the file may have been moved.
        _log(writer, replace(known, path=place))


def import_vectors(
    writer: Writer, root: bytes, vectors: ImportedVectors, progress: Progress
) -> ImportReport:
    """Remember a file of vectors and publish its rows with the pictures they belong to.

    Raises
    ------
    DataError
        No row belongs to any picture, or rows without paths are not as many as the pictures.
    UsageError
        A feature that is computed has that name.
    """
    _refuse_taken(vectors.name)
    # Rows a killed run has not removed yet must not be taken for rows of this file.
    _drop_forgotten(writer, progress)
    return _attach(writer, root, vectors, progress)


def refresh_vectors(
    writer: Writer, root: bytes, progress: Progress, given: Sequence[ImportedVectors] = ()
) -> list[str]:
    """Bring the rows of all remembered files up to date; return what is wrong, if anything.

    `given` are files that were read just now, so that they are not read twice.
    """
    _drop_forgotten(writer, progress)
    read = {(v.name, _place(v.source)): v for v in given}
    problems: list[str] = []
    for file in remembered_vectors(writer.catalogue):
        try:
            problems += _refresh(writer, root, file, read.get((file.name, file.path)), progress)
        except (DataError, MissingExtra) as e:
            problems.append(
                f"{e} The vectors it gave before stay; "
                f"to drop them: sightline index --forget-vectors {_shown(file.path)}"
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
    found = [f for f in files if f.name == text or f.path == _place(Path(text))]
    for f in found:
        _log(writer, replace(f, present=False))
    _drop_forgotten(writer, progress)
    return tuple(f.name for f in found)


# -- what the log and the catalogue know ---------------------------------------------------------


def _place(path: Path) -> str:
    # Not what a link leads to: the list of paths lies beside the name that was given.
    return os.path.abspath(path)


def _shown(path: str) -> str:
    return shown(path.encode("utf-8", "surrogateescape"))


def _known(writer: Writer, name: str) -> VectorsFile | None:
    files = remembered_vectors(writer.catalogue)
    return next((f for f in files if f.name == name), None)


def _log(writer: Writer, file: VectorsFile) -> None:
    events = writer.append([NewEvent("vectors-file", body=asdict(file))])
    writer.note(Change(events=events))


def _refuse_taken(name: str) -> None:
    if name in plugins.SETS or name in plugins.names("features"):
        raise UsageError(
            f"{name!r} is the name of a feature that is computed from pictures. "
            "Give the vectors another one: --vectors NAME=FILE"
        )


def _state_key(name: str) -> str:
    return f"vectors:{name}"


def _state(stamp: str, fingerprint: str, without: Sequence[bytes]) -> str:
    """Return what decides whether a file has to be looked at again, as one comparable text."""
    return f"{stamp} {fingerprint} {order_of(without)}"


# -- bringing rows up to date --------------------------------------------------------------------


def _refresh(
    writer: Writer,
    root: bytes,
    file: VectorsFile,
    given: ImportedVectors | None,
    progress: Progress,
) -> list[str]:
    here = Here(writer)
    without = here.without(here.having(file.fingerprint))
    state = _state(stamp_of(Path(file.path)), file.fingerprint, without)
    if state == writer.catalogue.meta(_state_key(file.name)):
        return []
    vectors = given or read_vectors(Path(file.path), file.name)
    return _attach(writer, root, vectors, progress).problems()


def _attach(
    writer: Writer, root: bytes, vectors: ImportedVectors, progress: Progress
) -> ImportReport:
    """Give every picture its row of a file, unless it has it, and take older rows away."""
    here = Here(writer)
    has = here.having(vectors.fingerprint)
    file, matched = _matched(writer, root, vectors, here, has)
    new = {p: row for p, row in matched.rows.items() if p not in has}
    if not new and not has:
        raise DataError(
            f"No row of {_shown(file.path)} belongs to a picture here. Its paths must lie in "
            f"{shown(root)} or name its files" + _first(vectors, matched)
        )
    if file != _known(writer, file.name):
        _log(writer, file)
    stale = here.stale(file.name, file.fingerprint)
    publish_rows(writer, here.snapshot, file.name, stale, new, vectors, progress)
    without = here.without(has | new.keys())
    state = _state(vectors.stamp, file.fingerprint, without)
    writer.note(Change(meta=[(_state_key(file.name), state)]))
    paths = vectors.paths or ()
    return ImportReport(
        file=shown(os.path.basename(os.fsencode(file.path))),
        fingerprint=file.fingerprint,
        rows=len(vectors),
        matched=len(has | new.keys()),
        unmatched=tuple(paths[row] for row in matched.lost[:_NAMED]),
        n_unmatched=len(matched.lost),
        without=tuple(without[:_NAMED]),
        n_without=len(without),
    )


def _first(vectors: ImportedVectors, matched: Matched) -> str:
    if vectors.paths is None or not matched.lost:
        return "."
    return f". Got {shown(vectors.paths[matched.lost[0]])}."


def _matched(
    writer: Writer, root: bytes, vectors: ImportedVectors, here: Here, has: set[int]
) -> tuple[VectorsFile, Matched]:
    """Return a file as it is to be remembered, and whose its rows are.

    A file that is as it was describes the pictures there were when it was first read: they keep
    their rows wherever they have moved since.
    """
    file = VectorsFile(vectors.name, _place(vectors.source), vectors.fingerprint)
    known = _known(writer, vectors.name)
    then: dict[bytes, int] = {}
    unchanged = known is not None and known.fingerprint == vectors.fingerprint
    if known is not None and unchanged and here.without(has):
        then = pictures_then(writer.log.read(), known)
    if vectors.paths is not None:
        folder = os.path.dirname(os.fsencode(file.path))
        return file, match_paths(vectors.paths, here.as_then(then), root, folder)
    order = order_of(here.pictures)
    if known is None or not unchanged or known.order == order != order_of(then):
        return replace(file, order=order), _in_order(file, len(vectors), here)
    file = replace(file, order=known.order)
    if here.without(has) and order_of(then) != known.order:
        raise DataError(
            f"{_shown(file.path)} has its rows in the order of the pictures, which are others "
            "now. Save it anew for the pictures there are, or with their paths."
        )
    rows = {then[path]: row for row, path in enumerate(sorted(then))}
    return file, Matched({p: row for p, row in rows.items() if p in here.live})


def _in_order(file: VectorsFile, n_rows: int, here: Here) -> Matched:
    if n_rows != len(here.pictures):
        raise DataError(
            f"{_shown(file.path)} has {n_rows} rows and the collection has "
            f"{len(here.pictures)} pictures. Without paths, rows are taken in the order of the "
            "pictures' sorted paths, so both must be equal. Save the paths too: as 'paths' in an "
            ".npz file, or one on each line of x.paths.txt beside x.npy."
        )
    return Matched({here.pictures[path]: row for row, path in enumerate(sorted(here.pictures))})


def _drop_forgotten(writer: Writer, progress: Progress) -> None:
    """Remove the rows of files that were forgotten, also of ones a crash left half removed."""
    for file in writer.catalogue.vectors_files():
        if not file.present:
            here = Here(writer)
            publish_rows(
                writer, here.snapshot, file.name, here.stale(file.name), {}, None, progress
            )
            left = [f for f in writer.catalogue.vectors_files() if f != file]
            meta = [("vectors_files", vectors_text(left)), (_state_key(file.name), "")]
            writer.note(Change(meta=meta))
