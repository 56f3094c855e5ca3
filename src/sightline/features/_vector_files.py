"""File formats of vectors, each read without running or trusting its content.

Nothing is unpickled. The size in a header is compared with that of the file before memory is
allocated, since a megabyte of zip can declare a gigabyte of zeros.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError
from sightline.pictures.key_columns import Keys, is_path, key_columns
from sightline.records import shown

# A packed file may grow this much when read: vectors hardly shrink, so more of it is an attack.
MAX_GROWTH = 20
SMALL_BYTES = 64 << 20
MAX_BYTES = 8 << 30

VECTORS = ("vectors", "embeddings", "vector", "embedding")

# Names of key columns in older releases; see `Keys.implied`.
_IMPLIED = ("paths", "names", "files", "ids")
_HEAD = 64 << 10
_DIRECTORY = 1 << 20
_CHUNK = 1 << 20
_SAFETENSORS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
    "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The content of a file: rows as they are, possibly memory-mapped, and keys if it has any.

    `keys` are the columns of keys, the best first; `texts` names other columns with a text for each
    row.
    """

    rows: NDArray[Any]
    keys: tuple[Keys, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """The header of an array that was not read yet: shape, type and position."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int = 0
    fortran: bool = False

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def numeric(self) -> bool:
        return self.dtype.kind in "fiu"


def allowed_bytes(path: Path) -> int:
    """Return how large the content of a packed file may be."""
    return min(MAX_BYTES, max(SMALL_BYTES, MAX_GROWTH * os.stat(path).st_size))


def check_size(path: Path, n_bytes: int) -> None:
    """Raise DataError for content that is far larger than its file."""
    allowed = allowed_bytes(path)
    if n_bytes > allowed:
        raise DataError(
            f"The vectors file {named(path)} would take {n_bytes} bytes of memory, and a file of "
            f"its size may take {allowed}. Save the vectors as .npy, which is read in place."
        )


def check_matrix(path: Path, header: Header) -> None:
    """Raise DataError unless it is a matrix of numbers with at least one row and one column."""
    if header.dtype.hasobject:
        raise DataError(
            f"The vectors file {named(path)} holds Python objects, which are never read because "
            "they can run code. Save numbers: np.save(file, array.astype(np.float32))."
        )
    if not header.numeric:
        raise DataError(
            f"Vectors must be numbers. Got {header.dtype} in {named(path)}. "
            "Save them as float32, float16, float64 or integers."
        )
    if len(header.shape) != 2:
        raise DataError(
            f"Vectors must be an array of two dimensions, one row for each picture. "
            f"Got {_dimensions(header.shape)} in {named(path)}. Reshape it and save it again."
        )
    rows, columns = header.shape
    if rows < 1 or columns < 1:
        what = "rows" if rows < 1 else "columns"
        raise DataError(
            f"The vectors file {named(path)} has no {what}: its shape is {header.shape}. "
            "Save one row for each picture."
        )


def _dimensions(shape: tuple[int, ...]) -> str:
    return f"{len(shape)} (shape {shape})"


def named(path: Path) -> str:
    """Return a file's path as text that can be printed."""
    return shown(os.fsencode(path))


def choose(path: Path, arrays: Mapping[str, Header]) -> str:
    """Return the name of the array that holds the vectors."""
    candidates = [n for n in arrays if n.lower() in VECTORS]
    candidates = candidates or [n for n, h in arrays.items() if h.numeric and len(h.shape) == 2]
    candidates = candidates or (list(arrays) if len(arrays) == 1 else [])
    if len(candidates) == 1:
        return candidates[0]
    has = ", ".join(f"{n!r:.40} {h.dtype} {h.shape}" for n, h in list(arrays.items())[:8])
    raise DataError(
        f"{'More than one' if candidates else 'None'} of the arrays in {named(path)} can be the "
        f"vectors. It has: {has or 'none'}. Name the one that is meant 'vectors'."
    )


# -- .npy ------------------------------------------------------------------------------------------


def read_npy(path: Path, key_column: str) -> Table:
    """Map an array file into memory; it has no columns of text."""
    key_columns(named(path), (), key_column)
    with open(path, "rb") as f:
        header = _array_header(f)
        size = os.fstat(f.fileno()).st_size
    check_matrix(path, header)
    if size < header.offset + header.n_bytes:
        raise DataError(
            f"The vectors file {named(path)} is cut off: {header.shape} numbers take "
            f"{header.n_bytes} bytes, {size - header.offset} are there. Save it again."
        )
    order = "F" if header.fortran else "C"
    rows = np.memmap(path, header.dtype, "r", header.offset, header.shape, order)  # type: ignore[call-overload]
    return Table(rows.view(np.ndarray))


def _array_header(f: IO[bytes]) -> Header:
    # A longer header is read up to this size only, and so fails as truncated.
    head = io.BytesIO(f.read(_HEAD))
    version = np.lib.format.read_magic(head)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(head)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(head)
    else:
        raise ValueError(f"version {version} of the array format is not known")
    return Header(shape, dtype, head.tell(), fortran)


# -- .npz ------------------------------------------------------------------------------------------


class _Guarded(io.FileIO):
    """A zip file whose list of contents, which is read at once, is limited in size."""

    def read(self, size: int | None = -1) -> Any:
        if size is not None and size > _DIRECTORY:
            raise ValueError(f"it asks for {size} bytes at once, and at most {_DIRECTORY} are read")
        # Without a size zipfile reads the last few kilobytes.
        return super().read(_DIRECTORY if size is None or size < 0 else size)


def read_npz(path: Path, key_column: str) -> Table:
    """Read the vectors, and the keys if there are any, of several arrays in one file."""
    with _Guarded(path) as raw, zipfile.ZipFile(raw) as z:
        every = z.infolist()
        check_size(path, sum(i.file_size for i in every))
        members = {i.filename[:-4]: i for i in every if i.filename.endswith(".npy")}
        headers = {n: _member_header(z, i) for n, i in members.items()}
        name = choose(path, headers)
        check_matrix(path, headers[name])
        others = {n: h for n, h in headers.items() if n != name}
        columns, more = _text_arrays(path, others, headers[name].shape[0], key_column)
        implied = next((n for n in _IMPLIED if n in others and others[n].dtype.kind in "US"), None)
        keys = tuple(
            Keys(n, as_paths(_read_member(z, members[n], headers[n])), n == implied)
            for n in columns
        )
        return Table(_read_member(z, members[name], headers[name]), keys, more)


def _text_arrays(
    path: Path, arrays: Mapping[str, Header], rows: int, key_column: str
) -> tuple[list[str], tuple[str, ...]]:
    """Return the arrays of keys, the best first, and the other arrays of a text for each row."""
    fit = [n for n, h in arrays.items() if h.shape == (rows,)]
    # Objects may be texts: that they are not read does not make the file one without keys.
    texts = [n for n in fit if arrays[n].dtype.kind in "US" or arrays[n].dtype.hasobject]
    columns, more = key_columns(named(path), texts, key_column)
    readable = [n for n in columns if arrays[n].dtype.kind in "US"]
    if not readable:
        wrong = columns or [n for n in arrays if _must_be_keys(n, arrays[n])]
        readable = [n for n in wrong if arrays[n].dtype.kind in "US"]
        if wrong and not readable:
            raise DataError(
                f"The array {wrong[0]!r} in {named(path)} must hold paths as text. "
                f"Got {arrays[wrong[0]].dtype}. Save it as np.array(paths, dtype=str)."
            )
    return readable, tuple(more)


def _must_be_keys(name: str, header: Header) -> bool:
    """Return whether an unusable array was certainly meant to be keys."""
    return bool(header.shape) and (is_path(name) or name in _IMPLIED[:3])


def _member_header(z: zipfile.ZipFile, member: zipfile.ZipInfo) -> Header:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is packed in a way that np.savez does not use")
    with z.open(member) as f:
        header = _array_header(f)
    if member.file_size != header.offset + header.n_bytes and not header.dtype.hasobject:
        raise ValueError(
            f"{member.filename!r:.40} has {member.file_size} bytes where its header promises "
            f"{header.offset + header.n_bytes}"
        )
    return header


def _read_member(z: zipfile.ZipFile, member: zipfile.ZipInfo, header: Header) -> NDArray[Any]:
    data = np.empty(header.n_bytes, np.uint8)
    done = 0
    with z.open(member) as f:
        f.read(header.offset)
        while part := f.read(_CHUNK):
            if done + len(part) > len(data):
                raise ValueError(f"{member.filename!r:.40} holds more than it promises")
            data[done : done + len(part)] = np.frombuffer(part, np.uint8)
            done += len(part)
    if done != len(data):
        raise ValueError(f"{member.filename!r:.40} ends after {done} of {len(data)} bytes")
    return data.view(header.dtype).reshape(header.shape, order="F" if header.fortran else "C")


def as_paths(array: NDArray[Any]) -> tuple[bytes, ...]:
    """Return an array of text as paths."""
    if array.ndim != 1:
        raise DataError(f"Paths must be an array of one dimension. Got shape {array.shape}.")
    values = array.tolist()
    return tuple(
        p if isinstance(p, bytes) else p.encode("utf-8", "surrogateescape") for p in values
    )


# -- .safetensors ----------------------------------------------------------------------------------


def read_safetensors(path: Path, key_column: str) -> Table:
    """Map a tensor into memory; keys may be in the metadata, as a JSON list."""
    from safetensors import safe_open

    # The library raises for malformed files; since it copies tensors, they are mapped here.
    with safe_open(os.fspath(path), framework="numpy") as f:
        metadata = f.metadata() or {}
    with open(path, "rb") as raw:
        size = int.from_bytes(raw.read(8), "little")
        tensors = json.loads(raw.read(size))
    tensors.pop("__metadata__", None)
    headers = {n: _tensor_header(t, 8 + size) for n, t in tensors.items()}
    name = choose(path, headers)
    header = headers[name]
    check_matrix(path, header)
    rows = np.memmap(path, header.dtype, "r", header.offset, header.shape).view(np.ndarray)
    if tensors[name]["dtype"] == "BF16":
        # The upper half of a float32.
        rows = (rows.astype(np.uint32) << 16).view(np.float32)
    return Table(rows, *_metadata_keys(path, metadata, len(rows), key_column))


def _metadata_keys(
    path: Path, metadata: Mapping[str, str], rows: int, key_column: str
) -> tuple[tuple[Keys, ...], tuple[str, ...]]:
    lists = {n: v for n, t in metadata.items() if (v := _listed(t)) is not None}
    if "paths" in metadata and "paths" not in lists:
        got = metadata["paths"]
        raise DataError(f"The metadata 'paths' must be a JSON list of strings. Got {got!r:.60}.")
    texts = [n for n, v in lists.items() if len(v) == rows or n == "paths"]
    columns, more = key_columns(named(path), texts, key_column)
    return tuple(Keys(n, lists[n], n == "paths") for n in columns), tuple(more)


def _tensor_header(tensor: dict[str, Any], start: int) -> Header:
    dtype = np.dtype(_SAFETENSORS.get(tensor["dtype"], "V1"))
    return Header(tuple(tensor["shape"]), dtype, start + tensor["data_offsets"][0])


def _listed(text: str) -> tuple[bytes, ...] | None:
    """Return a JSON list of strings; None where a text is something else."""
    try:
        values = json.loads(text)
        if isinstance(values, list) and all(isinstance(p, str) for p in values):
            return tuple(p.encode("utf-8", "surrogateescape") for p in values)
    except (ValueError, RecursionError):
        pass
    return None


def _read_parquet(path: Path, key_column: str) -> Table:
    from sightline.features._parquet_vectors import read_parquet

    return read_parquet(path, key_column)


READERS: Mapping[str, Callable[[Path, str], Table]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".parquet": _read_parquet,
    ".safetensors": read_safetensors,
}
