"""Which column of a table or a file of vectors holds the key, which names the picture of each row.

Programs call it by many names: clip-retrieval `image_path`, rclip and FiftyOne `filepath`, Hugging
Face `file_name`, img2dataset `url` and `key`, webdataset `__key__`. Case, `_`, `-`, `.` and a
plural `s` do not count. The order of `NAMES` is that of preference among equally good columns.

>>> is_key("Image_Paths"), is_key("__key__"), is_key("caption")
(True, True, False)
>>> sorted(["id", "fileName", "image_path"], key=preference)
['image_path', 'fileName', 'id']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sightline.errors import DataError

PATH_NAMES = (
    "path", "imagepath", "filepath", "imgpath", "picturepath", "photopath", "fullpath",
    "absolutepath", "abspath", "relativepath", "relpath", "localpath", "originalpath",
    "file", "filename", "imagefile", "imagefilename", "originalfilename", "imagename", "imgname",
)  # fmt: skip
NAMES = (
    *PATH_NAMES, "image", "img", "picture", "photo", "name",
    "url", "imageurl", "imgurl", "fileurl", "uri", "imageuri", "fileuri",
    "key", "imagekey", "id", "imageid", "imgid", "pictureid", "photoid", "assetid", "sampleid",
    "docid", "uid", "uuid", "index", "indexlevel0",
)  # fmt: skip

_RANK = {name: rank for rank, name in enumerate(NAMES)}
_NO_LETTERS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Keys:
    """One column of keys.

    Attributes
    ----------
    column : str
        Its name in the file, or the name of the list beside it.
    values : tuple of bytes
        The key of each row as it was written; empty where a row has none.
    implied : bool
        Rows assigned by it have the fingerprint of the file alone. That is so for the column that
        older releases read, so that rows in existing stores stay valid.
    digest : str
        Checksum of the file with the keys, if it is not the one with the vectors.
    """

    column: str
    values: tuple[bytes, ...]
    implied: bool = False
    digest: str = ""


def is_key(column: str) -> bool:
    """Return whether a column of text with this name is taken for keys."""
    return _plain(column) in _RANK


def is_path(column: str) -> bool:
    """Return whether a column with this name must hold paths or file names."""
    return _plain(column) in PATH_NAMES


def preference(column: str) -> tuple[int, str]:
    """Return the sort key of columns of keys, the best first."""
    return _RANK.get(_plain(column), len(_RANK)), column


def key_columns(file: str, texts: Sequence[str], name: str) -> tuple[list[str], list[str]]:
    """Split columns of text into those that hold keys, the best first, and all others.

    `name` is the one column that holds keys, if the user named it.

    Raises
    ------
    DataError
        There is no column of that name.
    """
    if name:
        same = [t for t in texts if t == name]
        keys = same or [t for t in texts if t.lower() == name.lower()]
        if len(keys) != 1:
            has = listed(sorted(texts)) or "none"
            raise DataError(f"{file} has no key column {name!r:.60}. Its columns of text: {has}.")
    else:
        keys = sorted((t for t in texts if is_key(t)), key=preference)
    return keys, [t for t in texts if t not in keys]


def listed(columns: Iterable[str]) -> str:
    """Return names of columns for a message, at most eight."""
    names = [f"{c!r:.60}" for c in columns]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _plain(column: str) -> str:
    name = _NO_LETTERS.sub("", column.lower())
    return name if name in _RANK or not name.endswith("s") else name[:-1]
