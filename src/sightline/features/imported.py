"""Vectors somebody else computed (CLIP, DINO, anything): a file of them becomes a feature.

A file has one row for each picture. Which row is whose is said by paths in the file or in a list
beside it; without paths the rows are in the order of the pictures' sorted paths. The feature's
fingerprint covers the content of both, so rows of two states of a file are never mixed.

>>> import pathlib, tempfile
>>> box = tempfile.TemporaryDirectory()
>>> file = pathlib.Path(box.name, "clip.npz")
>>> np.savez(file, vectors=np.eye(2), paths=["a.jpg", "b.jpg"])
>>> v = read_vectors(file)
>>> v.name, v.length, v.paths
('clip', 2, (b'a.jpg', b'b.jpg'))
>>> v.take([1]).tolist()
[[0.0, 1.0]]
>>> box.cleanup()
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError, SightlineError
from sightline.features._vector_files import READERS, Table, named
from sightline.records import shown

MAX_LIST_BYTES = 512 << 20

_BLOCK_BYTES = 4 << 20
_BESIDE = (".paths.txt", ".txt")
_WITH_LIST = frozenset((".npy", ".safetensors"))
_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True, eq=False)
class ImportedVectors:
    """One file of vectors.

    Attributes
    ----------
    name, fingerprint
        The feature's name, and what its rows are kept under.
    length
        Numbers in each vector.
    paths : tuple of bytes, or None
        The path of each row as it was written; None where rows are in the order of the pictures.
    rows
        The numbers as they lie in the file, possibly mapped; `take` gives them as float32.
    sha256
        Checksum of the file, and of the list of paths if that lies beside it.
    source, stamp
        Where the file lies, and its size and time when it was read.
    """

    name: str
    fingerprint: str
    length: int
    paths: tuple[bytes, ...] | None
    rows: NDArray[Any]
    sha256: str
    source: Path
    stamp: str

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return some rows as they go into the store."""
        out = _as_float32(self.rows[np.asarray(rows, np.int64)])
        if not np.isfinite(out).all():
            # They were all finite when the file was read.
            raise DataError(f"{named(self.source)} was changed while it was read. Run again.")
        return out


def read_vectors(path: Path, name: str | None = None) -> ImportedVectors:
    """Read a file of vectors: .npy, .npz, .parquet or .safetensors.

    Parameters
    ----------
    path : Path
        The file. Beside an .npy or .safetensors file, `x.paths.txt` or `x.txt` may list the paths
        of its rows, one on each line.
    name : str, optional
        What to call the feature; by default the file's name without its ending.

    Raises
    ------
    DataError
        The file cannot be read, or holds something else than one finite vector for each path.
    """
    ending = path.suffix.lower()
    if ending not in READERS:
        known = ", ".join(sorted(READERS))
        raise DataError(
            f"{named(path)} has the ending {ending!r}, and vectors are read from {known}. "
            "Save them as one of these."
        )
    if name is not None and not _NAME.fullmatch(name):
        raise ParameterError.of("name", "read_vectors", "letters, digits, '_' and '-'", name)
    stamp = stamp_of(path)
    beside = _list_beside(path)
    table = _read(path, ending)
    sha = _sha256(path)
    if table.paths is None and beside is not None:
        table = Table(table.rows, _listed_paths(beside))
        sha = hashlib.sha256(f"{sha} {_sha256(beside)}".encode()).hexdigest()
    _check_paths(path, table)
    _check_finite(path, table)
    if stamp_of(path) != stamp:
        raise DataError(f"{named(path)} was changed while it was read. Run again.")
    called = name or _safe_name(path)
    length = int(table.rows.shape[1])
    print_of = fingerprint(called, sha, length)
    return ImportedVectors(called, print_of, length, table.paths, table.rows, sha, path, stamp)


def fingerprint(name: str, sha256: str, length: int) -> str:
    """Return the name under which rows of a file are kept: they fit only an equal one."""
    about = json.dumps([name, sha256, length])
    return f"{name}-{hashlib.sha256(about.encode()).hexdigest()[:12]}"


def _safe_name(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-") or "vectors"


def stamp_of(path: Path) -> str:
    """Return size and time of a file and of the lists beside it, as one comparable text."""
    files = [path]
    if path.suffix.lower() in _WITH_LIST:
        files += [path.with_suffix(tail) for tail in _BESIDE]
    return " ".join(_stamp(f) for f in files)


def _stamp(path: Path) -> str:
    try:
        s = os.stat(path)
    except OSError:
        return "missing"
    return f"{s.st_size}:{s.st_mtime_ns}"


def _read(path: Path, ending: str) -> Table:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise DataError(f"{named(path)} is not a file. Name a file of vectors.")
        return READERS[ending](path)
    except SightlineError:
        raise
    except OSError as e:
        raise _unreadable(path, e) from e
    except Exception as e:
        # Whatever a reader stumbles over in a broken file, the file is at fault.
        raise DataError(
            f"{named(path)} is no {ending} file that can be read: {str(e)[:300]}. Save it again."
        ) from e


def _unreadable(path: Path, e: OSError) -> DataError:
    return DataError(
        f"The vectors file {named(path)} cannot be read: {e.strerror or e}. "
        "Check the name and the permissions."
    )


def _sha256(path: Path) -> str:
    try:
        with open(path, "rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    except OSError as e:
        raise _unreadable(path, e) from e


def _list_beside(path: Path) -> Path | None:
    if path.suffix.lower() not in _WITH_LIST:
        return None
    found = (path.with_suffix(tail) for tail in _BESIDE)
    return next((p for p in found if p.is_file()), None)


def _listed_paths(file: Path) -> tuple[bytes, ...]:
    """Return the lines of a list of paths; a path is bytes, whatever its encoding."""
    try:
        size = file.stat().st_size
        if size > MAX_LIST_BYTES:
            raise DataError(
                f"The list {named(file)} has {size} bytes; at most {MAX_LIST_BYTES} are read."
            )
        data = file.read_bytes()
    except OSError as e:
        raise _unreadable(file, e) from e
    lines = data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n").split(b"\n")
    return tuple(line.removesuffix(b"\r") for line in lines)


def _check_paths(path: Path, table: Table) -> None:
    if table.paths is None:
        return
    n, rows = len(table.paths), len(table.rows)
    if n != rows:
        raise DataError(
            f"{named(path)} has {rows} rows and {n} paths. Give one path for each row, in order."
        )
    first: dict[bytes, int] = {}
    for i, p in enumerate(table.paths):
        if not p:
            raise DataError(f"Row {i} of {named(path)} has an empty path. Name its picture.")
        if first.setdefault(p, i) != i:
            raise DataError(
                f"Rows {first[p]} and {i} of {named(path)} have the same path {shown(p)}. "
                "Keep one of them."
            )


def _as_float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(rows, np.float32)


def _check_finite(path: Path, table: Table) -> None:
    step = max(1, _BLOCK_BYTES // (4 * table.rows.shape[1]))
    for start in range(0, len(table.rows), step):
        block = _as_float32(table.rows[start : start + step])
        good = np.isfinite(block)
        if good.all():
            continue
        at, column = (int(i) for i in np.argwhere(~good)[0])
        row = start + at
        whose = f" ({shown(table.paths[row])})" if table.paths is not None else ""
        raise DataError(
            f"Row {row}{whose} of {named(path)} must be finite as 32-bit numbers. "
            f"Got {table.rows[row, column]} in column {column}. Mend it or leave the row out."
        )
