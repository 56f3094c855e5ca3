"""Temporary files on a machine of the cluster.

They are the files of a batch while it runs, files of fitted features for a day, and everything that
a local cluster writes while it runs.

All files of a user are in one folder that nobody else can open. Each process locks its own folder
in it; the kernel releases the lock when the process ends, in whatever way, so that the next process
can tell which folders were left behind, and removes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# Files that were not used for this long are removed.
_CACHE_SECONDS = 24 * 3600.0


def user_folder() -> Path:
    """Return this user's folder on this machine; it is created if necessary."""
    path = Path(tempfile.gettempdir(), f"sightline-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise RuntimeError(f"{path} belongs to somebody else. Remove it.")
    if stat.S_IMODE(status.st_mode) != 0o700:
        path.chmod(0o700)
    return path


class LockedFolder:
    """An empty folder, locked until it is removed; that of a killed process is swept later."""

    def __init__(self) -> None:
        self.name, self._lock = _locked_folder(user_folder())

    def cleanup(self) -> None:
        """Remove it; further calls do nothing."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        try:
            shutil.rmtree(self.name, ignore_errors=True)
        finally:
            os.close(lock)


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """Give an empty folder for the files of a batch, and remove it afterwards."""
    locked = LockedFolder()
    try:
        yield locked.name
    finally:
        locked.cleanup()


def sweep() -> int:
    """Remove folders of dead processes and old files; return how many folders are in use."""
    in_use, oldest = 0, time.time() - _CACHE_SECONDS
    with os.scandir(user_folder()) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    in_use += not _remove_unlocked(entry.path)
                elif entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)
    return in_use


def cached(data: bytes) -> str:
    """Return the path of a file with this content; it is written if it is missing or damaged."""
    path = user_folder() / f"{hashlib.sha256(data).hexdigest()}.safetensors"
    try:
        # Before it is read, so that nobody removes it as old meanwhile.
        os.utime(path)
        if path.read_bytes() == data:
            return str(path)
    except FileNotFoundError:
        pass
    aside = path.with_suffix(f".{os.getpid()}.part")
    aside.write_bytes(data)
    os.replace(aside, path)
    return str(path)


def _locked_folder(parent: Path) -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent)
        # Another process may sweep before it is locked, and remove it as left behind.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(path):
                return path, lock
            os.close(lock)


def _remove_unlocked(path: str) -> bool:
    """Remove a folder unless a process has locked it; return whether it was removed."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        shutil.rmtree(path, ignore_errors=True)
        return True
    finally:
        os.close(lock)
