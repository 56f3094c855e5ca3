"""Temporary files on a machine of the cluster.

They are the files of a batch while it runs, codebooks for a day, and all that a local cluster
writes while it runs.

All of a user's lie in one folder that nobody else can open. Each locks its own; the kernel lets go
of the lock when the process ends, however it does, so that whoever comes next can tell what was
left behind, and removes it.
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

# What was not used for so long is removed.
_KEPT_SECONDS = 24 * 3600.0


def room() -> Path:
    """Return the folder of this user on this machine, which is made if need be."""
    path = Path(tempfile.gettempdir(), f"sightline-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise RuntimeError(f"{path} belongs to somebody else. Remove it.")
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)
    return path


class LockedFolder:
    """An empty folder, locked until it is removed; what a killed process left is swept later."""

    def __init__(self) -> None:
        self.name, self._lock = _locked_folder(room())

    def cleanup(self) -> None:
        """Remove it, once."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        try:
            shutil.rmtree(self.name, ignore_errors=True)
        finally:
            os.close(lock)


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """Give an empty folder for the files of a batch; it is gone after, or swept by the next one."""
    locked = LockedFolder()
    try:
        yield locked.name
    finally:
        locked.cleanup()


def sweep() -> int:
    """Remove what dead processes left, and what nobody uses; return how many folders are in use."""
    in_use, oldest = 0, time.time() - _KEPT_SECONDS
    with os.scandir(room()) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    in_use += not _removed(entry.path)
                elif entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry.path)
    return in_use


def kept(data: bytes) -> str:
    """Return where a file lies on this machine, writing it where it is missing or another."""
    path = room() / f"{hashlib.sha256(data).hexdigest()}.safetensors"
    try:
        # Before it is looked at, so that nobody finds it old meanwhile.
        os.utime(path)
        if path.read_bytes() == data:
            return str(path)
    except FileNotFoundError:
        pass
    aside = path.with_suffix(f".{os.getpid()}.part")
    aside.write_bytes(data)
    os.replace(aside, path)
    return str(path)


def _locked_folder(where: Path) -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=where)
        # Somebody who sweeps may come in between, and take it for one that was left.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(path):
                return path, lock
            os.close(lock)


def _removed(path: str) -> bool:
    """Remove a folder that no process holds; say whether it was one."""
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
