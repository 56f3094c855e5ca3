"""Which row of a file of vectors belongs to which picture: by path, or by the pictures' order."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sightline.errors import DataError
from sightline.pictures.tables import inside_of, roots_of
from sightline.records import shown
from sightline.store.catalogue import VectorsFile
from sightline.store.events import Event


@dataclass(frozen=True, slots=True)
class Matched:
    """The row of each picture that has one, and the rows that have no picture."""

    rows: dict[int, int]
    lost: tuple[int, ...] = ()


def match_paths(
    paths: Sequence[bytes], pictures: Mapping[bytes, int], root: bytes, folder: bytes
) -> Matched:
    """Find the pictures that written paths name.

    A path is taken from the collection, then as absolute, then from the `folder` of the file it is
    written in. What names nothing then is tried by file name alone, where that is unmistakable.
    """
    roots = roots_of(root)
    rows: dict[int, int] = {}
    lost: list[int] = []
    for row, path in enumerate(paths):
        picture = _named(path, pictures, roots, folder)
        if picture is None:
            lost.append(row)
        elif rows.setdefault(picture, row) != row:
            raise DataError(
                f"{shown(paths[rows[picture]])} (row {rows[picture]}) and {shown(path)} "
                f"(row {row}) name the same picture. Keep one of them."
            )
    return _by_name(paths, pictures, rows, lost)


def _named(
    path: bytes, pictures: Mapping[bytes, int], roots: tuple[bytes, ...], folder: bytes
) -> int | None:
    if path in pictures:
        return pictures[path]
    plain = path.strip()
    for written in (plain, os.path.join(folder, plain.replace(b"\\", b"/"))):
        inside = inside_of(written, roots)
        if inside is not None and inside in pictures:
            return pictures[inside]
    return None


def _by_name(
    paths: Sequence[bytes], pictures: Mapping[bytes, int], rows: dict[int, int], lost: list[int]
) -> Matched:
    """Give rows to pictures by file name, if no other picture and no other lost row has it."""
    if not lost:
        return Matched(rows)
    here = Counter(os.path.basename(p) for p in pictures)
    picture_of = {os.path.basename(p): picture for p, picture in pictures.items()}
    names = [_file_name(paths[row]) for row in lost]
    asked = Counter(names)
    left = []
    for row, name in zip(lost, names, strict=True):
        if here[name] == asked[name] == 1 and picture_of[name] not in rows:
            rows[picture_of[name]] = row
        else:
            left.append(row)
    return Matched(rows, tuple(left))


def _file_name(path: bytes) -> bytes:
    return os.path.basename(path.strip().replace(b"\\", b"/"))


def order_of(paths: Iterable[bytes]) -> str:
    """Return a checksum of some paths in sorted order."""
    return hashlib.sha256(b"\0".join(sorted(paths))).hexdigest()


def pictures_then(events: Iterable[Event], file: VectorsFile) -> dict[bytes, int]:
    """Return which picture lay at which path when a file was read in the state it is in.

    The log is replayed. What was read again without a change, or moved, was still read then.
    """
    at: dict[bytes, int] = {}
    path_of: dict[int, bytes] = {}
    then: dict[bytes, int] | None = None
    for e in events:
        if e.kind in ("picture-seen", "picture-gone") and e.picture is not None:
            old = path_of.pop(e.picture, b"")
            if at.get(old) == e.picture:
                del at[old]
            if e.kind == "picture-seen":
                path = str(e.body["path"]).encode("utf-8", "surrogateescape")
                at[path], path_of[e.picture] = e.picture, path
        elif e.kind == "vectors-file" and e.body.get("name") == file.name:
            told = tuple(e.body.get(k) for k in ("fingerprint", "order", "present"))
            same = told == (file.fingerprint, file.order, True)
            then = (then or dict(at)) if same else None
    return then or {}
