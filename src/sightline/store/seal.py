"""The seal: checksums of the two databases, laid down when the last writer leaves.

A database changes in place, so its checksum means something only while nobody writes. The first
writer to come breaks the seal before it changes anything; the last to leave folds the logs in and
seals again. After a crash there is no seal, and the log's own checksums are what is left to check.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
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


def break_seal(folder: Path) -> None:
    """Say that the databases may change from now on."""
    with contextlib.suppress(FileNotFoundError):
        (folder / _NAME).unlink()
        sync_folder(folder)


def lay_seal(folder: Path) -> None:
    """Record what the databases are; only the last writer, with nothing open, may call this."""
    body = {n: file_sha256(folder / n) for n in DATABASES if (folder / n).exists()}
    text = json.dumps({"files": body, "check": _check(body)}, sort_keys=True)
    write_file(folder, _NAME, [text.encode()])


def inspect_seal(folder: Path) -> SealState:
    """Compare the databases with their seal."""
    path = folder / _NAME
    if not path.exists():
        return SealState(False)
    try:
        seal = json.loads(path.read_bytes())
        files = dict(seal["files"])
        if seal["check"] != _check(files) or set(seal) != {"files", "check"}:
            raise ValueError("its own checksum is wrong")
        if json.dumps(seal, sort_keys=True).encode() != path.read_bytes():
            raise ValueError("it is not as it was written")
    except (ValueError, KeyError, TypeError, OSError) as e:
        return SealState(True, (f"{_NAME} is damaged: {e}",))
    return SealState(True, tuple(_broken(folder, files)))


def _broken(folder: Path, files: dict[str, str]) -> list[str]:
    found = []
    for name, sha in files.items():
        path = folder / name
        if not path.exists():
            found.append(f"{name} is missing")
        elif file_sha256(path) != sha:
            found.append(f"{name} is not what was last written")
    return found


def _check(files: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
