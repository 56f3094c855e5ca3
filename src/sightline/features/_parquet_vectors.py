"""Vectors in a Parquet table: a column of lists, or a column for each number, and one of keys.

A damaged or hostile table can make the library end the process, or unpack a few bytes to gigabytes.
So it is read in a process of its own, with limits, that writes plain rows to an unnamed file.
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

from sightline._typing import Floats
from sightline.errors import DataError, MissingExtra, SightlineError
from sightline.features._vector_files import Header, Table, check_matrix, check_size, choose, named
from sightline.pictures.key_columns import Keys, is_path, key_columns

# Names of key columns in older releases; see `Keys.implied`.
_IMPLIED = ("path", "file", "filename", "image", "name")
# No key is longer; longer values are the pictures themselves.
_LONGEST = 1 << 16
_NO_VECTOR = frozenset(("id", "index", "__index_level_0__"))
_AT_ONCE = 1024
# A page is unpacked whole, and some programs write a file's numbers as one page.
_MEMORY, _MEMORY_GROWTH = 512 << 20, 4
_REFUSED = 3
_QUIET = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}


def read_parquet(path: Path, key_column: str) -> Table:
    """Read a table with one row for each picture."""
    with tempfile.TemporaryFile() as rows:
        shape, keys, texts = _run(path, rows, key_column)
        mapped = np.memmap(rows, np.float32, "r", 0, shape).view(np.ndarray)
        return Table(mapped, keys, texts)


def read_parquet_keys(path: Path, key_column: str) -> tuple[tuple[Keys, ...], tuple[str, ...]]:
    """Read the columns of keys alone, and the names of other columns of text."""
    _, keys, texts = _run(path, None, key_column)
    return keys, texts


def _run(
    path: Path, rows: IO[bytes] | None, key_column: str
) -> tuple[tuple[int, int], tuple[Keys, ...], tuple[str, ...]]:
    if importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra.of("Reading .parquet files", "parquet")
    with tempfile.TemporaryFile() as keys:
        fds = (*((rows.fileno(),) if rows else ()), keys.fileno())
        arguments = [os.fspath(path), key_column, *map(str, reversed(fds))]
        process = subprocess.run(
            # Without -P, Python files lying in the current folder could be imported and run.
            [sys.executable, "-P", "-m", __name__, *arguments],
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **_QUIET},
        )
        if process.returncode == _REFUSED:
            raise DataError(json.loads(process.stdout))
        if process.returncode:
            raise ValueError(f"its reader ended with code {process.returncode}")
        (n, length), columns, texts = json.loads(process.stdout)
        keys.seek(0)
        values = tuple(keys.read().split(b"\0"))
        key_columns = tuple(
            Keys(column, values[i * n : (i + 1) * n], implied)
            for i, (column, implied) in enumerate(columns)
        )
        return (n, length), key_columns, tuple(texts)


def main(argv: list[str]) -> int:
    """Run as `FILE COLUMN KEYS [ROWS]`, the last two being descriptors to write to."""
    path = Path(argv[0])
    try:
        with os.fdopen(int(argv[2]), "wb") as keys:
            if len(argv) == 3:
                answer: object = _copy(path, argv[1], keys, None)
            else:
                with os.fdopen(int(argv[3]), "wb") as rows:
                    answer = _copy(path, argv[1], keys, rows)
            code = 0
    except SightlineError as e:
        answer, code = str(e), _REFUSED
    except (Exception, MemoryError) as e:
        text = str(e)[:300] or type(e).__name__
        answer = f"{named(path)} is no .parquet file that can be read: {text}. Save it again."
        code = _REFUSED
    sys.stdout.write(json.dumps(answer))
    return code


def _copy(path: Path, key_column: str, keys: IO[bytes], rows: IO[bytes] | None) -> object:
    """Copy vectors and keys to files; return the shape, the key columns and other texts."""
    import pyarrow.parquet as pq

    _limit_memory(os.stat(path).st_size)
    with open(path, "rb") as raw:
        schema = pq.read_schema(raw)
        columns, texts = _text_columns(path, schema, key_column)
        vectors = _vector_columns(path, schema) if rows else []
        raw.seek(0)
        # As a dictionary, a path that is repeated a million times is held once.
        file = pq.ParquetFile(raw, read_dictionary=columns, pre_buffer=False, buffer_size=1 << 20)
        shape = _copy_rows(path, file, vectors, rows) if rows else (file.metadata.num_rows, 0)
        copied = _copy_keys(path, file, columns, shape[0], keys)
    implied = _implied([*columns, *texts])
    return shape, [(c, c == implied) for c in copied], texts


def _copy_rows(path: Path, file: Any, columns: list[str], rows: IO[bytes]) -> tuple[int, int]:
    n, done, length = file.metadata.num_rows, 0, 1
    for batch in file.iter_batches(_AT_ONCE, columns=columns, use_threads=False):
        part = _numbers(path, batch, columns, done)
        length = length if done else part.shape[1]
        if part.shape[1] != length:
            raise _uneven(path, done, part.shape[1], length)
        check_size(path, 4 * max(n, done + len(part)) * length)
        rows.write(part.tobytes())
        done += len(part)
    check_matrix(path, Header((done, length), np.dtype(np.float32)))
    return done, length


def _copy_keys(path: Path, file: Any, columns: list[str], n: int, keys: IO[bytes]) -> list[str]:
    """Copy columns of `n` keys one after the other; return those that can hold keys."""
    copied: list[str] = []
    size, wrong = 0, ""
    for column in columns:
        begin, done, wrong = keys.tell(), 0, ""
        for batch in file.iter_batches(_AT_ONCE, columns=[column], use_threads=False):
            texts, wrong = _texts(batch.column(column))
            if wrong:
                break
            size += sum(map(len, texts)) + len(texts)
            check_size(path, size)
            keys.write((b"\0" if copied or done else b"") + b"\0".join(texts))
            done += len(texts)
        if wrong:
            # Columns of this name may hold the pictures themselves.
            keys.seek(begin)
            keys.truncate()
        elif done != n:
            raise DataError(f"The column {column!r} of {named(path)} has {done} of {n} rows.")
        else:
            copied.append(column)
    if columns and not copied:
        raise DataError(
            f"{wrong} in the column {columns[-1]!r} of {named(path)} is no path: it has a zero "
            f"byte or more than {_LONGEST} bytes. Name the key column with --key-column."
        )
    return copied


def _limit_memory(size: int) -> None:
    """Limit this process to little more memory than it has; without /proc there is no limit."""
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    allowed = pages * resource.getpagesize() + _MEMORY + _MEMORY_GROWTH * size
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _text_columns(path: Path, schema: Any, key_column: str) -> tuple[list[str], list[str]]:
    """Return the columns of keys, the best first, and the other columns of text."""
    import pyarrow.types as kinds

    texts, others = [], []
    for f in schema:
        plain = f.type.value_type if kinds.is_dictionary(f.type) else f.type
        binary = kinds.is_binary(plain) or kinds.is_large_binary(plain)
        if binary or kinds.is_string(plain) or kinds.is_large_string(plain):
            texts.append(f.name)
        else:
            others.append(f)
    columns, more = key_columns(named(path), texts, key_column)
    wrong = [f for f in others if is_path(f.name) or f.name.lower() in _IMPLIED]
    if wrong and not columns:
        raise DataError(
            f"The column {wrong[0].name!r} of {named(path)} must hold paths as text. "
            f"Got {str(wrong[0].type)[:60]}. Write the paths as a column of strings."
        )
    return columns, more


def _implied(texts: list[str]) -> str | None:
    fields = {t.lower(): t for t in texts}
    return next((fields[n] for n in _IMPLIED if n in fields), None)


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


def _numbers(path: Path, batch: Any, columns: list[str], done: int) -> Floats:
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


def _plain(column: Any) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(column.to_numpy(zero_copy_only=False), np.float32)


def _first_missing(column: Any) -> int:
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def _uneven(path: Path, row: int, got: int, expected: int) -> DataError:
    return DataError(
        f"Row {row} of {named(path)} has a vector of {got} numbers where others have {expected}. "
        "Give every picture a vector of the same length."
    )


def _texts(column: Any) -> tuple[list[bytes], str]:
    """Return the keys of a batch, empty where they are missing, and one that cannot be a key."""
    import pyarrow as pa

    # As bytes, since a file name need not be UTF-8.
    distinct = column.dictionary.cast(pa.large_binary()).to_pylist()
    strange = next((k for k in distinct if k and (b"\0" in k or len(k) > _LONGEST)), None)
    if strange is not None:
        return [], f"{strange!r:.60}"
    indices = column.indices.to_pylist()
    return [b"" if i is None else distinct[i] or b"" for i in indices], ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
