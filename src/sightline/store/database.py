"""Opening SQLite files, always in the same way.

Write-ahead log, synchronous=FULL (a commit that returned is on the disk), immediate transactions
and a 30 s wait for other writers. Readers also work where nothing can be written (`readonly`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sightline.errors import StoreDamaged, StoreIOError, StoreReadOnly, StoreTooNew
from sightline.store.durable import create_private, disk_errors, full_disk, has_space
from sightline.store.readonly import connect_reading, connect_writing, error_code, open_uri

# Errors of SQLite when it cannot write; on a full disk that is the reason.
_WRITING = frozenset(
    (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC,
     sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMMAP,
     sqlite3.SQLITE_CANTOPEN)
)  # fmt: skip


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a database for reading or writing; the file is created only for writing."""
    with database_errors(path):
        if not write:
            return connect_reading(path)
        with disk_errors(path):
            create_private(path)  # SQLite gives the files beside it the same permissions.
        return connect_writing(path)


def connect_sealed(path: Path) -> sqlite3.Connection:
    """Open a file that nobody is writing; no file beside it is created or changed."""
    with database_errors(path):
        return open_uri(path, "mode=ro&immutable=1")


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run one write transaction: all of it is durable when this returns, or nothing is changed."""
    with database_errors(path):
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into errors of the store, with what to do."""
    try:
        yield
    except sqlite3.OperationalError as e:
        text = str(e)
        if _is_full(e, path):
            raise full_disk(path) from e
        if "readonly" in text or "read-only" in text:
            raise StoreReadOnly(
                f"{path} cannot be written ({text}). Name another folder with --store."
            ) from e
        if "unable to open" in text and not path.exists():
            raise StoreDamaged(f"{path} is missing. Run: sightline store repair") from e
        if "malformed" in text or "no such table" in text:
            raise _damaged(path, text) from e
        raise StoreIOError(f"Cannot use {path}: {text}. Check free space and run again.") from e
    except (sqlite3.DatabaseError, UnicodeDecodeError) as e:
        # SQLite may quote bytes of a damaged file that are not text.
        raise _damaged(path, str(e)) from e


def _is_full(e: sqlite3.OperationalError, path: Path) -> bool:
    code = error_code(e)
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE):
        return True
    if code in _WRITING or (code & 0xFF == sqlite3.SQLITE_READONLY and _is_writable(path)):
        return path.exists() and not has_space(path)
    return False


def _is_writable(path: Path) -> bool:
    return os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)


def _damaged(path: Path, text: str) -> StoreDamaged:
    return StoreDamaged(f"{path} is damaged ({text}). Run: sightline store repair")


def schema_number(db: sqlite3.Connection) -> int:
    """Return the number of the schema a database was written with."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check_schema(path: Path, schema: int, known: int) -> None:
    """Raise `StoreTooNew` for a database of a later schema."""
    if schema > known:
        raise StoreTooNew(
            f"{path} has schema {schema}; this Sightline knows schemas up to {known}. "
            "Upgrade Sightline, or name another store with --store."
        )
