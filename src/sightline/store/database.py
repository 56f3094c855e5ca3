"""Opening SQLite files the one way this store does.

Write-ahead log, synchronous=FULL (a commit that returned is on the disk), immediate transactions
and a 30 s wait for other writers. A read-only place is opened without a log, and only when no
unfinished log lies beside the file, because reading past it would show an old state.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from sightline.errors import StoreDamaged, StoreIOError, StoreReadOnly, StoreTooNew

WAIT_SECONDS = 30.0


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a database for reading or writing; the file is created only for writing."""
    with database_errors(path):
        if not write and not os.access(path.parent, os.W_OK):
            return _connect_frozen(path)
        mode = "rwc" if write else "rw"
        db = sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?mode={mode}",
            uri=True,
            timeout=WAIT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        db.execute("PRAGMA synchronous=FULL")
        if write:
            db.execute("PRAGMA journal_mode=WAL")
        else:
            db.execute("PRAGMA query_only=1")
        return db


def _connect_frozen(path: Path) -> sqlite3.Connection:
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size > 0:
        raise StoreReadOnly(
            f"{path} has an unfinished log ({log.name}) and its folder is read-only, so its last "
            "changes cannot be read. Make the folder writable once, or copy the store elsewhere."
        )
    return connect_sealed(path)


def connect_sealed(path: Path) -> sqlite3.Connection:
    """Open a file that nobody is writing, touching nothing beside it."""
    uri = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
    with database_errors(path):
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def transaction(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Run one write transaction: all of it is durable when this returns, or none of it is there."""
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
    """Say what SQLite's refusals mean for the user."""
    try:
        yield
    except sqlite3.OperationalError as e:
        text = str(e)
        if "readonly" in text or "read-only" in text:
            raise StoreReadOnly(f"{path} cannot be written ({text}). Use --store DIR.") from e
        if "unable to open" in text and not path.exists():
            raise StoreDamaged(f"{path} is missing. Run: sightline store repair") from e
        if "malformed" in text or "no such table" in text:
            raise _damaged(path, text) from e
        raise StoreIOError(f"Cannot use {path}: {text}. Check free space and run again.") from e
    except (sqlite3.DatabaseError, UnicodeDecodeError) as e:
        # A damaged file can make SQLite quote bytes in its message that are no text.
        raise _damaged(path, str(e)) from e


def _damaged(path: Path, text: str) -> StoreDamaged:
    return StoreDamaged(f"{path} is damaged ({text}). Run: sightline store repair")


def schema_number(db: sqlite3.Connection) -> int:
    """Return the number of the schema a database was written with."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(path: Path, found: int, known: int) -> None:
    """Refuse a database of a later schema, rather than guess at it."""
    if found > known:
        raise StoreTooNew(
            f"{path} has schema {found}; this Sightline knows schemas up to {known}. "
            "Upgrade Sightline, or name another store with --store."
        )
