"""Vectors computed by other programs (CLIP, DINO, any): a file of them becomes a feature.

A file has one row for each picture. Rows are assigned to pictures by a key column in the file, by a
list beside it, or by the metadata that clip-retrieval writes; `pictures.key_columns` has the names
of columns. There may be several such columns: the caller, who knows the pictures, chooses. The
feature's fingerprint covers the content and the column, so rows of two states of a file, or of one
file assigned in two ways, are never mixed.

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError, SightlineError
from sightline.features._vector_files import READERS, Table, named
from sightline.pictures.key_columns import Keys
from sightline.records import shown
from sightline.vectors import Fingerprint

MAX_LIST_BYTES = 512 << 20

_BLOCK_BYTES = 4 << 20
_BESIDE = (".paths.txt", ".txt")
_WITH_LIST = frozenset((".npy", ".safetensors"))
_NAME = re.compile(r"[A-Za-z0-9_-]+")
# clip-retrieval keeps the paths of img_emb/img_emb_0.npy in metadata/metadata_0.parquet.
_SHARD = re.compile(r"img_emb_([0-9]+)\.npy")


@dataclass(frozen=True, slots=True, eq=False)
class ImportedVectors:
    """One file of vectors.

    Attributes
    ----------
    name, fingerprint : str
        The feature's name, and the fingerprint of its rows.
    length : int
        Numbers in each vector.
    keys : Keys or None
        The column rows are assigned by; None where rows are in the order of the pictures.
    candidates : tuple of Keys
        The columns rows could be assigned by, the best first.
    texts : tuple of str
        The other columns that have a text for each row.
    rows : ndarray
        The numbers as in the file, possibly memory-mapped; `take` gives them as float32.
    file_sha256 : str
        Checksum of the file.
    source : Path
        Path of the file.
    stamp : str
        Its size and time when it was read.
    key_column : str
        The key column the user named, if any.
    """

    name: str
    length: int
    keys: Keys | None
    candidates: tuple[Keys, ...]
    texts: tuple[str, ...]
    rows: NDArray[Any]
    file_sha256: str
    source: Path
    stamp: str
    key_column: str = ""

    @property
    def paths(self) -> tuple[bytes, ...] | None:
        """The key of each row as it was written; None where rows are in the pictures' order."""
        return self.keys.values if self.keys else None

    @property
    def sha256(self) -> str:
        """Checksum of the file, and of the file with the keys if that is another."""
        if self.keys is None or not self.keys.digest:
            return self.file_sha256
        return hashlib.sha256(f"{self.file_sha256} {self.keys.digest}".encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """The fingerprint that rows are stored with."""
        column = "" if self.keys is None or self.keys.implied else self.keys.column
        return fingerprint(self.name, self.sha256, self.length, column)

    def by(self, keys: Keys | None) -> ImportedVectors:
        """Return the same vectors, assigned by another column, or by order."""
        return replace(self, keys=keys)

    def check_keys(self) -> None:
        """Raise DataError for keys that are missing, or the same on two rows."""
        if self.keys is not None:
            _check_keys(self.source, self.keys)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
        """Return some rows as they are stored."""
        out = _as_float32(self.rows[np.asarray(rows, np.int64)])
        if not np.isfinite(out).all():
            # They were all finite when the file was read.
            raise DataError(f"{named(self.source)} was changed while it was read. Run again.")
        return out


def read_vectors(path: Path, name: str | None = None, key_column: str = "") -> ImportedVectors:
    """Read a file of vectors: .npy, .npz, .parquet or .safetensors.

    Of several key columns the best by name is set; the others are among the `candidates`. Missing
    or repeated keys are checked of the chosen column only, by `check_keys`.

    Parameters
    ----------
    path : Path
        Path The file. Beside an .npy or .safetensors file, `x.paths.txt` or `x.txt` may list the
        paths of its rows, one on each line.
    name : str, optional
        The name of the feature; by default the file's name without its ending.
    key_column : str, optional
        The column or array of keys, where its name is unknown or there are several.

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
    table = _read(path, ending, key_column)
    sha = _sha256(path)
    candidates = _fitting(path, table)
    keys = candidates[0] if candidates else None
    called = name or _safe_name(path)
    length = int(table.rows.shape[1])
    read = ImportedVectors(
        called, length, keys, candidates, table.texts, table.rows, sha, path, stamp, key_column
    )
    _check_finite(read)
    if stamp_of(path) != stamp:
        raise DataError(f"{named(path)} was changed while it was read. Run again.")
    return read


def _fitting(path: Path, table: Table) -> tuple[Keys, ...]:
    """Return the key columns that have a key for each row."""
    rows = len(table.rows)
    fit = tuple(k for k in table.keys if len(k.values) == rows)
    if table.keys and not fit:
        first = table.keys[0]
        raise DataError(
            f"{named(path)} has {rows} rows and {len(first.values)} paths in {first.column!r:.60}. "
            "Give one path for each row, in order."
        )
    return fit


def fingerprint(name: str, sha256: str, length: int, column: str = "") -> str:
    """Return the fingerprint of rows of a file, which only an equal file has."""
    about = json.dumps([name, sha256, length, *([column] if column else [])])
    return str(Fingerprint(name, hashlib.sha256(about.encode()).hexdigest()[:12]))


def _safe_name(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-") or "vectors"


def stamp_of(path: Path) -> str:
    """Return size and time of a file and of what may lie beside it, as one comparable text."""
    files = [path]
    if path.suffix.lower() in _WITH_LIST:
        files += [path.with_suffix(tail) for tail in _BESIDE]
    metadata = _metadata_of(path)
    return " ".join(_stamp(f) for f in [*files, *([metadata] if metadata else [])])


def _stamp(path: Path) -> str:
    try:
        s = os.stat(path)
    except OSError:
        return "missing"
    return f"{s.st_size}:{s.st_mtime_ns}"


def _read(path: Path, ending: str, key_column: str) -> Table:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise DataError(f"{named(path)} is not a file. Name a file of vectors.")
        beside = _keys_beside(path, key_column)
        if beside is None:
            return READERS[ending](path, key_column)
        table = READERS[ending](path, "")
        return Table(table.rows, (*table.keys, *beside.keys), (*table.texts, *beside.texts))
    except SightlineError:
        raise
    except OSError as e:
        raise _unreadable(path, e) from e
    except Exception as e:
        # Any error of a reader is the fault of the file.
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


def _metadata_of(path: Path) -> Path | None:
    shard = _SHARD.fullmatch(path.name)
    folder = path.parent.parent / "metadata"
    return folder / f"metadata_{shard[1]}.parquet" if shard else None


def _keys_beside(path: Path, key_column: str) -> Table | None:
    """Return the keys that lie beside a file which holds arrays alone."""
    if path.suffix.lower() not in _WITH_LIST:
        return None
    lists = (path.with_suffix(tail) for tail in _BESIDE)
    file = next((p for p in lists if p.is_file()), None)
    if file is not None and not key_column:
        return Table(np.empty((0, 0)), (Keys(file.name, _listed_paths(file), True, _sha256(file)),))
    metadata = _metadata_of(path)
    if metadata is not None and metadata.is_file():
        from sightline.features._parquet_vectors import read_parquet_keys

        found, texts = read_parquet_keys(metadata, key_column)
        digest = _sha256(metadata)
        keys = tuple(replace(k, implied=False, digest=digest) for k in found)
        return Table(np.empty((0, 0)), keys, texts)
    return None


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


def _check_keys(path: Path, keys: Keys) -> None:
    first: dict[bytes, int] = {}
    for i, p in enumerate(keys.values):
        if not p:
            raise DataError(
                f"Row {i} of {named(path)} has an empty path in {keys.column!r:.60}. "
                "Name its picture, or leave the row out."
            )
        if first.setdefault(p, i) != i:
            raise DataError(
                f"Rows {first[p]} and {i} of {named(path)} have the same path {shown(p)} in "
                f"{keys.column!r:.60}. Keep one of them."
            )


def _as_float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(rows, np.float32)


def _check_finite(v: ImportedVectors) -> None:
    step = max(1, _BLOCK_BYTES // (4 * v.length))
    for start in range(0, len(v), step):
        block = _as_float32(v.rows[start : start + step])
        good = np.isfinite(block)
        if good.all():
            continue
        at, column = (int(i) for i in np.argwhere(~good)[0])
        row = start + at
        whose = f" ({shown(v.paths[row])})" if v.paths is not None else ""
        raise DataError(
            f"Row {row}{whose} of {named(v.source)} must be finite as 32-bit numbers. "
            f"Got {v.rows[row, column]} in column {column}. Mend it or leave the row out."
        )
