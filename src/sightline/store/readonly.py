"""Reading a database where nothing can be written: on a full disk, or in a read-only folder.

A reader of a write-ahead log needs an index of it, which SQLite keeps in a file that it makes
beside the database (-shm, 32 KB). Where that file cannot be made or filled, SQLite can keep the
index in its own memory (`readonly_shm`): it then reads the whole log, sees everything that was
committed, and locks as ever, so that a writer that comes meanwhile neither disturbs nor is
disturbed. For that a -shm file must be there, but it may be empty, which takes no space.

Where not even an empty file can be made, nobody else has the database open: whoever has, made the
file. Without a log the database is then read as it lies, and with one a copy of both is read.

All connections of a process share one index, so one that reads without the file keeps others of
its process from writing. Writers wait until there is none, and new readers wait for them.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import threading
import time
import weakref
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from sightline.errors import StoreBusy
from sightline.store.durable import full_disk, has_space, scratch_folder

WAIT_SECONDS = 30.0
# So long a reader waits for writers that wait for readers; one that has another open may be what
# they wait for.
_READER_WAITS = 1.0
# An opening by another process that is about to fail is in the way for a moment. Files that are
# not there may have been removed by whoever closed last, so that is tried again too.
_TRIES, _PAUSE_SECONDS = 5, 0.01
_PASSING = frozenset(
    (sqlite3.SQLITE_READONLY_RECOVERY, sqlite3.SQLITE_READONLY_CANTINIT,
     sqlite3.SQLITE_READONLY_CANTLOCK, sqlite3.SQLITE_IOERR_SHMSIZE)
)  # fmt: skip
# What SQLite answers where it cannot make or fill a file beside the database.
_NO_ROOM = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE,
     sqlite3.SQLITE_IOERR_SHMMAP, sqlite3.SQLITE_IOERR_WRITE)
)  # fmt: skip


class _Changed(Exception):
    """A database was changed while it was copied."""


class _WithoutIndex(sqlite3.Connection):
    """A connection that reads without an index file."""

    def close(self) -> None:
        super().close()
        with _gate:
            for found in _without_index.values():
                found.discard(self)
            _gate.notify_all()


# Databases are opened one at a time: an opening that is about to fail for want of space would have
# others of this process fail that share its index.
_gate = threading.Condition()
_without_index: dict[Path, weakref.WeakSet[_WithoutIndex]] = {}
_waiting_writers: Counter[Path] = Counter()


def _renew_gate() -> None:
    """Begin anew in a child process, where nobody will open the gate that a thread had closed."""
    global _gate
    _gate = threading.Condition()
    _waiting_writers.clear()


os.register_at_fork(after_in_child=_renew_gate)


def open_uri(
    path: Path, query: str, kind: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    """Open a database; `query` is the query of a SQLite URI, such as mode=ro."""
    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?{query}",
        uri=True,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=kind,
    )


def connect_writing(path: Path) -> sqlite3.Connection:
    """Open a database for writing, once nobody in this process reads it without an index."""
    with _gate:
        _waiting_writers[path] += 1
        try:
            _gate.wait_for(lambda: not _without_index.get(path), WAIT_SECONDS)
            return _looked_into(open_uri(path, "mode=rwc"), "synchronous=FULL", "journal_mode=WAL")
        finally:
            _waiting_writers[path] -= 1
            _gate.notify_all()


def connect_reading(path: Path) -> sqlite3.Connection:
    """Open a database for reading, whether or not anything can be written beside it."""
    latest, tries = time.monotonic() + WAIT_SECONDS, 0
    with _gate:
        _gate.wait_for(lambda: not _waiting_writers[path], _READER_WAITS)
        while True:
            if _has_room(path):
                try:
                    return _opened(path, "mode=rw")
                except sqlite3.OperationalError as e:
                    if not path.exists() or not _is_refused(e):
                        raise
            tries += 1
            try:
                return _connect_unwritable(path)
            except sqlite3.OperationalError as e:
                passes = error_code(e) in _PASSING or tries < _TRIES
                if not path.exists() or not _is_refused(e) or not passes:
                    raise
                if time.monotonic() > latest:
                    raise
            except _Changed as e:
                if tries >= _TRIES:
                    raise StoreBusy(f"{path} is being changed by others. Try again.") from e
            _gate.wait(random.uniform(0, _PAUSE_SECONDS))


def _has_room(path: Path) -> bool:
    """Return whether an ordinary open can succeed; a failed one blocks other processes."""
    if _without_index.get(path) or not os.access(path.parent, os.W_OK):
        return False
    return has_space(path) or not all(os.path.exists(f"{path}{t}") for t in ("-wal", "-shm"))


def _opened(
    path: Path, query: str, kind: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    # Whoever closes a database last folds its log in, and that must be durable. Sorting must not
    # need a file either.
    how = ("synchronous=FULL", "query_only=1", "temp_store=MEMORY", "schema_version")
    return _looked_into(open_uri(path, query, kind), *how)


def _looked_into(db: sqlite3.Connection, *pragmas: str) -> sqlite3.Connection:
    """Return a database that can be read; SQLite refuses only when it is first looked into."""
    try:
        for pragma in pragmas:
            db.execute(f"PRAGMA {pragma}").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _is_refused(e: sqlite3.OperationalError) -> bool:
    """Return whether an error is that a file beside the database could not be made or filled."""
    code = error_code(e)
    return code in _NO_ROOM or code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def error_code(e: sqlite3.Error) -> int:
    """Return SQLite's own number of an error, 0 for one that it did not give."""
    return getattr(e, "sqlite_errorcode", 0)


def _connect_unwritable(path: Path) -> sqlite3.Connection:
    # SQLite made what it could of these, with the owner and the permissions of the database.
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if log.exists() and index.exists():
        db = _opened(path, "mode=ro&readonly_shm=1", _WithoutIndex)
        assert isinstance(db, _WithoutIndex)
        _without_index.setdefault(path, weakref.WeakSet()).add(db)
        return db
    return _copied(path, log) if _stamp(log)[1] else _opened(path, "mode=ro&immutable=1")


def _copied(path: Path, log: Path) -> sqlite3.Connection:
    """Open a copy of a database and its log, which nobody has open."""
    if os.access(path.parent, os.W_OK):
        # Reading a file here drops all locks that this process has on it, and it may write.
        raise full_disk(f"{path}-shm")
    before = _stamp(path), _stamp(log)
    with scratch_folder(before[0][1] + before[1][1]) as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        if (_stamp(path), _stamp(log)) != before or os.path.exists(f"{path}-shm"):
            raise _Changed
        # The folder goes at once; the files stay until they are closed.
        return _opened(copy, "mode=rw")


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        s = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return s.st_ino, s.st_size, s.st_mtime_ns
