"""Who may write: one indexer at a time, any number of people judging.

Locks are kernel locks on a file, so a process that dies, however it dies, lets go at once. The
file says who holds it, for the message the next one gets.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from pathlib import Path
from types import TracebackType

from sightline.errors import StoreBusy, StoreError
from sightline.store.durable import disk_errors

NETWORK_FILE_SYSTEMS = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "fuse.sshfs",
        "fuse.rclone",
        "davfs",
        "ncpfs",
    ]
)


class Lock:
    """The right to change what is published; one holder at a time.

    Under another `name` it is the right to something else, such as loading an engine.
    """

    def __init__(self, folder: Path, verb: str, wait: float = 0.0, *, name: str = "lock") -> None:
        self.path = folder / name
        with disk_errors(self.path):
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + wait
        while not _try_lock(self._fd, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                holder = self._holder()
                os.close(self._fd)
                raise StoreBusy(
                    f"{folder} is being changed by {holder}. Try again when it is done, "
                    "or use --wait SECONDS."
                )
            time.sleep(0.05)
        self._say({"pid": os.getpid(), "verb": verb, "host": os.uname().nodename})

    def _holder(self) -> str:
        try:
            who = json.loads(os.pread(self._fd, 4096, 0))
            return f"'sightline {who['verb']}' (process {int(who['pid'])} on {who['host']})"
        except (ValueError, KeyError, TypeError):
            return "another process"

    def _say(self, who: dict[str, object]) -> None:
        os.ftruncate(self._fd, 0)
        with contextlib.suppress(OSError):
            # On a full disk the lock holds all the same; only the next one's message is poorer.
            os.pwrite(self._fd, json.dumps(who).encode(), 0)

    def release(self) -> None:
        """Let go; the next one waiting goes on."""
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.release()


class Presence:
    """A writer's sign that it is there; only the last one to leave may seal the store."""

    def __init__(self, folder: Path) -> None:
        with disk_errors(folder / "writers"):
            self._fd = os.open(folder / "writers", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def alone(self) -> bool:
        """Say whether no other writer is there, and keep others out until `leave`."""
        return _try_lock(self._fd, fcntl.LOCK_EX)

    def leave(self) -> None:
        """Take the sign away."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _try_lock(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def refuse_network_file_system(folder: Path) -> None:
    """Refuse a store on a network file system: locks and flushes there do not hold."""
    kind = file_system(folder)
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{folder} lies on a network file system ({kind}), where a crash can lose data. "
            "Name a local folder with --store; the pictures may stay where they are."
        )


def file_system(folder: Path, mounts: str = "/proc/self/mountinfo") -> str:
    """Return the kind of file system a folder lies on, '' where the system does not tell."""
    target = os.path.realpath(os.fsencode(folder))
    best, kind = b"", b""
    try:
        with open(mounts, "rb") as f:
            for line in f:
                left, _, right = line.partition(b" - ")
                point = re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), left.split()[4])
                inside = target == point or target.startswith(point.rstrip(b"/") + b"/")
                if inside and len(point) >= len(best):
                    best, kind = point, right.split()[0]
    except OSError:
        return ""
    return kind.decode("ascii", "replace")
