"""Which row of a file of vectors belongs to which picture: by key, or by the pictures' order.

By which column of a file of vectors its rows are assigned to pictures, or that it is by order.

A wrong assignment looks like a right one, so nothing is guessed: of several key columns the one
that matches most pictures is taken, and if two of them contradict one another the file is refused,
as is one without keys, unless the owner says that its rows are in the order of the pictures.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from sightline.errors import DataError
from sightline.features.imported import ImportedVectors
from sightline.pictures.key_columns import Keys, is_path, listed
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
    repeated : dict
        The picture of each further row that names one which has a row already.
    """

    rows: dict[int, int]
    lost: list[int] = field(default_factory=list)
    unclear: list[int] = field(default_factory=list)
    by_name: list[int] = field(default_factory=list)
    by_stem: list[int] = field(default_factory=list)
    repeated: dict[int, int] = field(default_factory=dict)

    def check_double(self, keys: Sequence[bytes]) -> None:
        """Refuse two rows for one picture."""
        if self.repeated:
            b, picture = next(iter(self.repeated.items()))
            a = self.rows[picture]
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
            matched.repeated[row] = picture
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
    pictures_named = Counter(map(name_of_picture, pictures))
    picture_of = {name_of_picture(p): picture for p, picture in pictures.items()}
    unclear = set(matched.unclear)
    names = {row: name_of_key(keys[row]) for row in matched.lost if row not in unclear}
    rows_named = Counter(names.values())
    assigned = set(matched.rows)
    for row, name in names.items():
        if (
            not name
            or not pictures_named[name]
            or (pictures_named[name] == 1 and picture_of[name] in assigned)
        ):
            continue
        if pictures_named[name] == rows_named[name] == 1:
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
    picture_at: dict[bytes, int] = {}
    path_of: dict[int, bytes] = {}
    then: dict[bytes, int] | None = None
    for e in events:
        if e.kind in ("picture-seen", "picture-gone") and e.picture is not None:
            old = path_of.pop(e.picture, b"")
            if picture_at.get(old) == e.picture:
                del picture_at[old]
            if e.kind == "picture-seen":
                path = str(e.body["path"]).encode("utf-8", "surrogateescape")
                picture_at[path], path_of[e.picture] = e.picture, path
        elif e.kind == "vectors-file" and e.body.get("name") == file.name:
            state = tuple(e.body.get(k) for k in ("fingerprint", "order", "present"))
            same = state == (file.fingerprint, file.order, True)
            then = (then or dict(picture_at)) if same else None
    return then or {}


ORDER = "the order of the pictures' sorted paths (as bytes, like LC_ALL=C sort)"


def by_key_or_order(
    vectors: ImportedVectors, pictures: Mapping[bytes, int], root: bytes, by_order: bool
) -> ImportedVectors:
    """Return vectors with the column set that their rows are assigned by.

    Parameters
    ----------
    vectors : ImportedVectors
        What was read, and the pictures by path.
    pictures : mapping
        What was read, and the pictures by path.
    root : bytes
        The collection's folder.
    by_order : bool
        The owner says that rows are in the order of the pictures.

    Raises
    ------
    DataError
        Rows can be assigned in no way, or in more than one.
    """
    if by_order:
        if vectors.candidates:
            raise _contradiction(vectors)
        return vectors
    if not vectors.candidates:
        raise _no_keys(vectors, pictures)
    if len(vectors.candidates) > 1:
        vectors = vectors.by(_best(vectors, pictures, root))
    vectors.check_keys()
    _check_matches(vectors, pictures, root)
    return vectors


def matches(
    vectors: ImportedVectors, keys: Keys, pictures: Mapping[bytes, int], root: bytes
) -> Matched:
    """Return which pictures a column of keys names."""
    folder = os.path.dirname(os.path.abspath(os.fsencode(vectors.source)))
    return match_keys(keys.values, pictures, root, folder)


def in_order(vectors: ImportedVectors, pictures: Mapping[bytes, int]) -> Matched:
    """Give row after row to the pictures in the order of their paths."""
    if len(vectors) != len(pictures):
        raise DataError(
            f"{file_of(vectors)} has {len(vectors)} rows and the collection has {len(pictures)} "
            f"pictures. Without keys, rows are taken in {ORDER}, so both must be equal. "
            "Save the paths too: as 'paths' in an .npz file, or one on each line of x.paths.txt "
            "beside x.npy."
        )
    return Matched({pictures[path]: row for row, path in enumerate(sorted(pictures))})


def no_match(vectors: ImportedVectors, columns: Sequence[Keys], root: bytes) -> DataError:
    """Return that no key names a picture."""
    got = ", ".join(f"{shown(k.values[0])} in {k.column!r:.60}" for k in columns[:4])
    more = f" Other columns of text: {listed(vectors.texts)}." if vectors.texts else ""
    return DataError(
        f"No row of {file_of(vectors)} belongs to a picture here. Its keys must be paths in "
        f"{shown(root)} or names of its files. Got {got or 'none'}.{more} "
        "Name the column that holds such keys with --key-column."
    )


def file_of(vectors: ImportedVectors) -> str:
    """Return the path of a file as text that can be printed."""
    return shown(os.path.abspath(os.fsencode(vectors.source)))


def _best(vectors: ImportedVectors, pictures: Mapping[bytes, int], root: bytes) -> Keys:
    """Return the column that matches most pictures; of equal ones the first by name."""
    matched = [(k, matches(vectors, k, pictures, root)) for k in vectors.candidates]
    good = [(k, m) for k, m in matched if m.rows]
    if not good:
        raise no_match(vectors, vectors.candidates, root)
    for i, (a, of_a) in enumerate(good):
        for b, of_b in good[:i]:
            _check_conflict(vectors, pictures, (b, of_b), (a, of_a))
    return max(good, key=lambda one: len(one[1].rows))[0]


def _check_conflict(
    vectors: ImportedVectors,
    pictures: Mapping[bytes, int],
    a: tuple[Keys, Matched],
    b: tuple[Keys, Matched],
) -> None:
    picture_a = {row: picture for picture, row in a[1].rows.items()}
    picture_b = {row: picture for picture, row in b[1].rows.items()}
    both = sorted(picture_a.keys() & picture_b.keys())
    row = next((r for r in both if picture_a[r] != picture_b[r]), None)
    if row is None:
        return
    paths = {picture: path for path, picture in pictures.items()}
    raise DataError(
        f"{file_of(vectors)} has two key columns that contradict one another: row {row} belongs to "
        f"{shown(paths[picture_a[row]])} by {a[0].column!r:.60} and to "
        f"{shown(paths[picture_b[row]])} by {b[0].column!r:.60}. "
        "Name the one that is meant with --key-column."
    )


def _check_matches(vectors: ImportedVectors, pictures: Mapping[bytes, int], root: bytes) -> None:
    """Refuse ids that may fit file names by chance while a column not known has the paths."""
    keys = vectors.keys
    if keys is None or vectors.key_column or not vectors.texts or is_path(keys.column):
        return
    matched = matches(vectors, keys, pictures, root)
    if matched.rows and len(matched.by_stem) == len(matched.rows):
        raise DataError(
            f"Keys in {keys.column!r:.60} of {file_of(vectors)} fit pictures only by file names "
            f"without their endings, and there are other columns of text: {listed(vectors.texts)}. "
            "Name the one that holds the keys with --key-column."
        )


def _contradiction(vectors: ImportedVectors) -> DataError:
    first = vectors.candidates[0]
    return DataError(
        f"{file_of(vectors)} has the key column {first.column!r:.60} (row 0: "
        f"{shown(first.values[0]) if first.values else 'none'}), so --by-order contradicts it. "
        "Leave out --by-order to assign rows by key, or save the file without that column."
    )


def _no_keys(vectors: ImportedVectors, pictures: Mapping[bytes, int]) -> DataError:
    first = f", of which {shown(min(pictures))} is the first" if pictures else ""
    columns = "no key column"
    remedy = (
        "save the paths too: as 'paths' in an .npz file, as a column 'path' of a .parquet file, "
        "or one on each line of x.paths.txt beside x.npy"
    )
    if vectors.texts:
        columns = f"columns of text that are not known as keys: {listed(vectors.texts)}"
        remedy = "name the one that holds paths with --key-column NAME, or rename it to 'path'"
    return DataError(
        f"{file_of(vectors)} has {len(vectors)} rows and {columns}; the collection has "
        f"{len(pictures)} pictures. Nothing says which row belongs to which picture: {remedy}. "
        f"Only if the rows are in {ORDER}{first}, pass --by-order (by_order=True in Python)."
    )
