"""The seal: checksums of the two databases, written when the last writer leaves.

A database changes in place, so its checksum is valid only while nobody writes. The first writer to
come removes the seal before it changes anything; the last to leave folds in the logs and seals
again. After a crash there is no seal; then only the log's own checksums can be checked.
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
    """Whether a store is sealed, and whether its databases match.

    Attributes
    ----------
    sealed : bool
        Whether there is a seal.
    problems : tuple of str
        Differences from the seal.
    content : bytes
        The seal that was compared.
    """

    sealed: bool
    problems: tuple[str, ...] = ()
    content: bytes = b""


def break_seal(folder: Path) -> None:
    """Remove the seal: the databases may change from now on."""
    with contextlib.suppress(FileNotFoundError):
        (folder / _NAME).unlink()
        sync_folder(folder)


def fold_logs(folder: Path) -> None:
    """Fold in the write-ahead logs of both databases, as far as readers allow."""
    for name in DATABASES:
        if (folder / name).exists():
            db = sqlite3.connect(folder / name, timeout=1.0)
            try:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error:
                continue  # The store is not sealed then, and `verify` checks every row.
            finally:
                db.close()


def has_open_logs(folder: Path) -> bool:
    """Return whether a write-ahead log is not folded in yet; the store must not be sealed then."""
    return any(_size(folder / f"{name}-wal") for name in DATABASES)


def _size(path: Path) -> int:
    """Return the size of a file; 0 if the last reader to close removed it meanwhile."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def write_seal(folder: Path) -> None:
    """Write checksums of the databases; only the last writer, with all closed, may call this."""
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
            raise ValueError("it is not what was written")
    except (ValueError, KeyError, TypeError, OSError) as e:
        return SealState(True, (f"{_NAME} is damaged: {e}",), raw)
    return SealState(True, tuple(_differences(folder, files)), raw)


def seal_bytes(folder: Path) -> bytes:
    """Return the content of the seal now; empty if there is none."""
    try:
        return (folder / _NAME).read_bytes()
    except FileNotFoundError:
        return b""


def _differences(folder: Path, files: dict[str, str]) -> list[str]:
    differences = []
    for name, sha in files.items():
        path = folder / name
        if not path.exists():
            differences.append(f"{name} is missing")
        elif file_sha256(path) != sha:
            differences.append(f"{name} is not what was last written")
    return differences


def _check(files: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
