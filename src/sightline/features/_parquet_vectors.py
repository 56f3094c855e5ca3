"""Vectors in a Parquet table: a column of lists, or a column for each number, and one of paths.

A damaged or hostile table can make the library end the process, or unpack a few bytes to gigabytes.
So it is read in a process of its own, within limits, that writes plain rows to a file without name.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError, MissingExtra, SightlineError
from sightline.features._vector_files import Header, Table, check_matrix, check_size, choose, named

_PATHS = ("path", "file", "filename", "image", "name")
_NO_VECTOR = frozenset(("id", "index", "__index_level_0__"))
_AT_ONCE = 1024
# A page is unpacked whole, and some programs write a file's numbers as one page.
_MEMORY, _MEMORY_GROWTH = 512 << 20, 4
_REFUSED = 3
_QUIET = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}

Rows = NDArray[np.float32]


def read_parquet(path: Path) -> Table:
    """Read a table with one row for each picture."""
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra.of("Reading .parquet files", "parquet")
    with tempfile.TemporaryFile() as rows, tempfile.TemporaryFile() as paths:
        fds = rows.fileno(), paths.fileno()
        ran = subprocess.run(
            # Without -P, Python files lying in the current folder could be imported and run.
            [sys.executable, "-P", "-m", __name__, os.fspath(path), *map(str, fds)],
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **_QUIET},
        )
        if ran.returncode == _REFUSED:
            raise DataError(json.loads(ran.stdout))
        if ran.returncode:
            raise ValueError(f"its reader ended with code {ran.returncode}")
        shape, listed = json.loads(ran.stdout)
        mapped = np.memmap(rows, np.float32, "r", 0, tuple(shape)).view(np.ndarray)
        paths.seek(0)
        return Table(mapped, tuple(paths.read().split(b"\0")) if listed else None)


def main(argv: list[str]) -> int:
    """Run as `FILE ROWS PATHS`, the last two being descriptors to write to."""
    path = Path(argv[0])
    try:
        with os.fdopen(int(argv[1]), "wb") as rows, os.fdopen(int(argv[2]), "wb") as paths:
            said: object = _copy(path, rows, paths)
            code = 0
    except SightlineError as e:
        said, code = str(e), _REFUSED
    except (Exception, MemoryError) as e:
        text = str(e)[:300] or type(e).__name__
        said = f"{named(path)} is no .parquet file that can be read: {text}. Save it again."
        code = _REFUSED
    sys.stdout.write(json.dumps(said))
    return code


def _copy(path: Path, rows: IO[bytes], paths: IO[bytes]) -> tuple[tuple[int, int], bool]:
    """Copy vectors and paths to files; return the shape and whether there are paths."""
    import pyarrow.parquet as pq

    _limit_memory(os.stat(path).st_size)
    with open(path, "rb") as raw:
        schema = pq.read_schema(raw)
        listed, columns = _path_column(path, schema), _vector_columns(path, schema)
        raw.seek(0)
        # As a dictionary, a path that is repeated a million times is held once.
        once = [listed] if listed else []
        file = pq.ParquetFile(raw, read_dictionary=once, pre_buffer=False, buffer_size=1 << 20)
        n, done, length, text = file.metadata.num_rows, 0, 1, 0
        for batch in file.iter_batches(_AT_ONCE, columns=[*columns, *once], use_threads=False):
            part = _numbers(path, batch, columns, done)
            length = length if done else part.shape[1]
            if part.shape[1] != length:
                raise _uneven(path, done, part.shape[1], length)
            check_size(path, 4 * max(n, done + len(part)) * length)
            rows.write(part.tobytes())
            if listed:
                found = _texts(path, batch.column(listed), done)
                text += sum(map(len, found)) + len(found)
                check_size(path, text)
                paths.write((b"\0" if done else b"") + b"\0".join(found))
            done += len(part)
    check_matrix(path, Header((done, length), np.dtype(np.float32)))
    return (done, length), listed is not None


def _limit_memory(size: int) -> None:
    """Allow this process little more than it has; where that is not known, it goes without."""
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    allowed = pages * resource.getpagesize() + _MEMORY + _MEMORY_GROWTH * size
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _path_column(path: Path, schema: Any) -> str | None:
    """Return the column of paths, or None where there is nothing that could be one."""
    import pyarrow.types as kinds

    fields = {f.name.lower(): f for f in schema}
    for name in (n for n in _PATHS if n in fields):
        kind = fields[name].type
        plain = kind.value_type if kinds.is_dictionary(kind) else kind
        if any(is_kind(plain) for is_kind in (
            kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary
        )):  # fmt: skip
            return str(fields[name].name)
    for name in (n for n in _PATHS if n in fields):
        raise DataError(
            f"The column {name!r} of {named(path)} must hold paths as text. "
            f"Got {str(fields[name].type)[:60]}. Write the paths as a column of strings."
        )
    return None


def _vector_columns(path: Path, schema: Any) -> list[str]:
    import pyarrow.types as kinds

    def is_number(kind: Any) -> bool:
        return bool(kinds.is_floating(kind) or kinds.is_integer(kind))

    lists: dict[str, Header] = {}
    single = []
    for f in schema:
        if _is_list(f.type) and is_number(f.type.value_type):
            lists[f.name] = Header((1, 1), np.dtype(np.float32))
        elif is_number(f.type) and f.name.lower() not in _NO_VECTOR:
            single.append(f.name)
    return [choose(path, lists)] if lists or not single else single


def _is_list(kind: Any) -> bool:
    import pyarrow.types as kinds

    return bool(
        kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
    )  # fmt: skip


def _numbers(path: Path, batch: Any, columns: list[str], done: int) -> Rows:
    """Return the vectors of one batch, all of one length; a missing number is not finite."""
    first = batch.column(columns[0])
    if not _is_list(first.type):
        return np.stack([_plain(batch.column(c)) for c in columns], axis=1)
    if first.null_count:
        row = done + _first_missing(first)
        raise DataError(f"Row {row} of {named(path)} has no vector. Leave such rows out.")
    flat = _plain(first.flatten())
    if not hasattr(first, "value_lengths"):
        return flat.reshape(len(first), first.type.list_size)
    lengths = first.value_lengths().to_numpy(zero_copy_only=False)
    odd = np.flatnonzero(lengths != lengths[0])
    if len(odd):
        raise _uneven(path, done + int(odd[0]), int(lengths[odd[0]]), int(lengths[0]))
    return flat.reshape(len(first), int(lengths[0]))


def _plain(column: Any) -> Rows:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(column.to_numpy(zero_copy_only=False), np.float32)


def _first_missing(column: Any) -> int:
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def _uneven(path: Path, row: int, got: int, expected: int) -> DataError:
    return DataError(
        f"Row {row} of {named(path)} has a vector of {got} numbers where others have {expected}. "
        "Give every picture a vector of the same length."
    )


def _texts(path: Path, column: Any, done: int) -> list[bytes]:
    import pyarrow as pa

    if column.null_count:
        row = done + _first_missing(column)
        raise DataError(f"Row {row} of {named(path)} has no path. Leave such rows out.")
    # As bytes, since a file name need not be UTF-8.
    known = column.dictionary.cast(pa.large_binary()).to_pylist()
    strange = next((k for k in known if b"\0" in k), None)
    if strange is not None:
        raise DataError(f"{strange!r:.60} in {named(path)} is no path: it has a zero byte.")
    return [known[i] for i in column.indices.to_pylist()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
