"""The seal: checksums of the two databases, laid down when the last writer leaves.

A database changes in place, so its checksum means something only while nobody writes. The first
writer to come breaks the seal before it changes anything; the last to leave folds the logs in and
seals again. After a crash there is no seal, and the log's own checksums are what is left to check.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sightline.store.durable import file_sha256, sync_folder, write_file

DATABASES = ("events.sqlite3", "catalogue.sqlite3")
_NAME = "seal.json"


@dataclass(frozen=True, slots=True)
class SealState:
    """Whether a store is sealed, and what does not fit its seal."""

    sealed: bool
    problems: tuple[str, ...] = ()
    seen: bytes = b""


def break_seal(folder: Path) -> None:
    """Say that the databases may change from now on."""
    with contextlib.suppress(FileNotFoundError):
        (folder / _NAME).unlink()
        sync_folder(folder)


def fold_logs(folder: Path) -> None:
    """Fold the write-ahead logs of both databases in, as far as readers let us."""
    for name in DATABASES:
        if (folder / name).exists():
            db = sqlite3.connect(folder / name, timeout=1.0)
            try:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error:
                continue  # Then it is not sealed, and `verify` looks at every row.
            finally:
                db.close()


def has_open_logs(folder: Path) -> bool:
    """Return whether anything is still to be folded in; such a store must not be sealed."""
    return any(_size(folder / f"{name}-wal") for name in DATABASES)


def _size(path: Path) -> int:
    """Return the bytes of a file, which the last reader to close may remove meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def lay_seal(folder: Path) -> None:
    """Record what the databases are; only the last writer, with nothing open, may call this."""
    body = {n: file_sha256(folder / n) for n in DATABASES if (folder / n).exists()}
    text = json.dumps({"files": body, "check": _check(body)}, sort_keys=True)
    write_file(folder, _NAME, [text.encode()])


def inspect_seal(folder: Path) -> SealState:
    """Compare the databases with their seal."""
    raw = seal_bytes(folder)
    if not raw and not (folder / _NAME).exists():
        return SealState(False)
    try:
        seal = json.loads(raw)
        files = dict(seal["files"])
        if seal["check"] != _check(files) or set(seal) != {"files", "check"}:
            raise ValueError("its own checksum is wrong")
        if json.dumps(seal, sort_keys=True).encode() != raw:
            raise ValueError("it is not as it was written")
    except (ValueError, KeyError, TypeError, OSError) as e:
        return SealState(True, (f"{_NAME} is damaged: {e}",), raw)
    return SealState(True, tuple(_broken(folder, files)), raw)


def seal_bytes(folder: Path) -> bytes:
    """Return the seal as it lies there now, nothing if there is none."""
    try:
        return (folder / _NAME).read_bytes()
    except FileNotFoundError:
        return b""


def _broken(folder: Path, files: dict[str, str]) -> list[str]:
    broken = []
    for name, sha in files.items():
        path = folder / name
        if not path.exists():
            broken.append(f"{name} is missing")
        elif file_sha256(path) != sha:
            broken.append(f"{name} is not what was last written")
    return broken


def _check(files: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
