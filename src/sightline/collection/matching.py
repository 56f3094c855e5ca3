"""Which row of a file of vectors belongs to which picture: by key, or by the pictures' order."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from sightline.errors import DataError
from sightline.pictures.tables import inside_of, roots_of
from sightline.records import shown
from sightline.store.catalogue import VectorsFile
from sightline.store.events import Event

_URL = re.compile(rb"([A-Za-z][A-Za-z0-9+.-]*)://[^/?#]*([^?#]*)")


@dataclass(slots=True)
class Matched:
    """The row of each picture that has one, and what is to be known of the other rows.

    Attributes
    ----------
    rows : dict
        The row of each picture.
    lost : list of int
        Rows that were not assigned, ascending.
    unclear : list of int
        Those of them whose file name fits, but fits several pictures or several rows.
    by_name, by_stem : list of int
        Rows that were assigned by the file name alone, and those of them whose key has no ending.
    double : tuple of int, or None
        Two rows that name one picture.
    """

    rows: dict[int, int]
    lost: list[int] = field(default_factory=list)
    unclear: list[int] = field(default_factory=list)
    by_name: list[int] = field(default_factory=list)
    by_stem: list[int] = field(default_factory=list)
    double: tuple[int, int] | None = None

    def check_double(self, keys: Sequence[bytes]) -> None:
        """Refuse two rows for one picture."""
        if self.double is not None:
            a, b = self.double
            raise DataError(
                f"{shown(keys[a])} (row {a}) and {shown(keys[b])} (row {b}) name the same "
                "picture. Keep one of them."
            )


def match_keys(
    keys: Sequence[bytes], pictures: Mapping[bytes, int], root: bytes, folder: bytes
) -> Matched:
    """Find the pictures that keys name.

    A key is a path from the collection, then an absolute one, then one from the `folder` of the
    file it is written in. What names nothing then, and every URL, is tried by file name alone, and
    then by file name without its ending, where that is unmistakable.
    """
    roots = roots_of(root)
    matched = Matched({})
    for row, key in enumerate(keys):
        picture = _named(key, pictures, roots, folder)
        if picture is None:
            matched.lost.append(row)
        elif matched.rows.setdefault(picture, row) != row:
            matched.double = matched.double or (matched.rows[picture], row)
    _by_name(matched, keys, pictures, os.path.basename, _file_name)
    with_ending = len(matched.by_name)
    _by_name(matched, keys, pictures, _stem, _bare_name)
    matched.by_stem = matched.by_name[with_ending:]
    return matched


def _named(
    key: bytes, pictures: Mapping[bytes, int], roots: tuple[bytes, ...], folder: bytes
) -> int | None:
    if key in pictures:
        return pictures[key]
    plain = key.strip()
    if url := _URL.match(plain):
        if url[1].lower() != b"file":
            return None
        plain = unquote_to_bytes(url[2])
    for written in (plain, os.path.join(folder, plain.replace(b"\\", b"/"))):
        inside = inside_of(written, roots)
        if inside is not None and inside in pictures:
            return pictures[inside]
    return None


def _by_name(
    matched: Matched,
    keys: Sequence[bytes],
    pictures: Mapping[bytes, int],
    name_of_picture: Callable[[bytes], bytes],
    name_of_key: Callable[[bytes], bytes],
) -> None:
    """Give lost rows to pictures by name, if no other picture and no other lost row has it."""
    if not matched.lost:
        return
    here = Counter(map(name_of_picture, pictures))
    picture_of = {name_of_picture(p): picture for p, picture in pictures.items()}
    unclear = set(matched.unclear)
    names = {row: name_of_key(keys[row]) for row in matched.lost if row not in unclear}
    asked = Counter(names.values())
    assigned = set(matched.rows)
    for row, name in names.items():
        if not name or not here[name] or (here[name] == 1 and picture_of[name] in assigned):
            continue
        if here[name] == asked[name] == 1:
            matched.rows[picture_of[name]] = row
            matched.by_name.append(row)
        else:
            unclear.add(row)
    done = set(matched.by_name)
    matched.lost = [row for row in matched.lost if row not in done]
    matched.unclear = sorted(unclear)


def _file_name(key: bytes) -> bytes:
    plain = key.strip()
    url = _URL.match(plain)
    return os.path.basename(unquote_to_bytes(url[2]) if url else plain.replace(b"\\", b"/"))


def _stem(path: bytes) -> bytes:
    return os.path.splitext(os.path.basename(path))[0]


def _bare_name(key: bytes) -> bytes:
    """Return a key as the name of a file without ending, as webdataset has it; none of a URL."""
    return b"" if _URL.match(key.strip()) else _file_name(key)


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
