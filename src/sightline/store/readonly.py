"""Reading a database where nothing can be written: on a full disk, or in a read-only folder.

A reader of a write-ahead log needs an index of it, which SQLite keeps in a file beside the database
(-shm, 32 KB). Where that file cannot be created or filled, SQLite can keep the index in its own
memory (`readonly_shm`): it then reads the whole log, sees everything that was committed, and takes
the usual locks, so that a concurrent writer and the reader do not disturb each other. This needs a
-shm file to exist, but it may be empty, which takes no space.

Where not even an empty file can be created, nobody else has the database open, or the file would
exist. Without a log the database is then read as it is; with one, a copy of both is read.

All connections of a process share one index, so one that reads without the file keeps others of
its process from writing. Writers wait until there is none, and new readers wait for writers.
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
# How long a reader waits for writers that wait for readers; if its thread has another connection
# open, they may be waiting for that one.
_READER_WAITS = 1.0
# A failing attempt of another process to open the file blocks us for a moment. Missing files may
# have been removed by whoever closed the database last, so that is retried too.
_TRIES, _PAUSE_SECONDS = 5, 0.01
_TEMPORARY = frozenset(
    (sqlite3.SQLITE_READONLY_RECOVERY, sqlite3.SQLITE_READONLY_CANTINIT,
     sqlite3.SQLITE_READONLY_CANTLOCK, sqlite3.SQLITE_IOERR_SHMSIZE)
)  # fmt: skip
# Errors of SQLite when it cannot create or fill a file beside the database.
_NO_ROOM = frozenset(
    (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE,
     sqlite3.SQLITE_IOERR_SHMMAP, sqlite3.SQLITE_IOERR_WRITE)
)  # fmt: skip


class _Changed(Exception):
    """A database was changed while it was copied."""


class _WithoutIndex(sqlite3.Connection):
    """A connection that reads without an index file."""

    def close(self) -> None:
        """Close it, and let waiting writers go on."""
        super().close()
        with _gate:
            for connections in _without_index.values():
                connections.discard(self)
            _gate.notify_all()


# Databases are opened one at a time: an attempt that fails for lack of space would make others of
# this process fail that share its index.
_gate = threading.Condition()
_without_index: dict[Path, weakref.WeakSet[_WithoutIndex]] = {}
_waiting_writers: Counter[Path] = Counter()


def _renew_gate() -> None:
    """Replace the lock in a child process, where the thread that held it does not exist."""
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
            return _with_pragmas(open_uri(path, "mode=rwc"), "synchronous=FULL", "journal_mode=WAL")
        finally:
            _waiting_writers[path] -= 1
            _gate.notify_all()


def connect_reading(path: Path) -> sqlite3.Connection:
    """Open a database for reading, whether or not anything can be written beside it."""
    deadline, tries = time.monotonic() + WAIT_SECONDS, 0
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
                is_temporary = error_code(e) in _TEMPORARY or tries < _TRIES
                if not path.exists() or not _is_refused(e) or not is_temporary:
                    raise
                if time.monotonic() > deadline:
                    raise
            except _Changed as e:
                if tries >= _TRIES:
                    raise StoreBusy(f"{path} is being changed by others. Try again.") from e
            _gate.wait(random.uniform(0, _PAUSE_SECONDS))


def _has_room(path: Path) -> bool:
    """Return whether an ordinary open can succeed; a failing one blocks other processes."""
    if _without_index.get(path) or not os.access(path.parent, os.W_OK):
        return False
    return has_space(path) or not all(os.path.exists(f"{path}{t}") for t in ("-wal", "-shm"))


def _opened(
    path: Path, query: str, kind: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    # Whoever closes a database last folds its log in, which must be durable. Sorting must not need
    # a file either.
    pragmas = ("synchronous=FULL", "query_only=1", "temp_store=MEMORY", "schema_version")
    return _with_pragmas(open_uri(path, query, kind), *pragmas)


def _with_pragmas(db: sqlite3.Connection, *pragmas: str) -> sqlite3.Connection:
    """Run pragmas; SQLite reports a file that it cannot use only at the first statement."""
    try:
        for pragma in pragmas:
            db.execute(f"PRAGMA {pragma}").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _is_refused(e: sqlite3.OperationalError) -> bool:
    """Return whether a file beside the database could not be created or filled."""
    code = error_code(e)
    return code in _NO_ROOM or code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def error_code(e: sqlite3.Error) -> int:
    """Return SQLite's number of an error; 0 for an error that is not SQLite's."""
    return getattr(e, "sqlite_errorcode", 0)


def _connect_unwritable(path: Path) -> sqlite3.Connection:
    # SQLite created as many of these as it could, with the database's owner and permissions.
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
        # Copying the file would drop all locks of this process on it, which may be writing it.
        raise full_disk(f"{path}-shm")
    before = _stamp(path), _stamp(log)
    with scratch_folder(before[0][1] + before[1][1]) as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        if (_stamp(path), _stamp(log)) != before or os.path.exists(f"{path}-shm"):
            raise _Changed
        # The folder is removed at once; its files stay readable until they are closed.
        return _opened(copy, "mode=rw")


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        s = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    return s.st_ino, s.st_size, s.st_mtime_ns
