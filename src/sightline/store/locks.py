"""Who may write: one indexer at a time, any number of people judging.

Locks are kernel locks on a file, so a process that dies, however it dies, lets go at once. The
file says which command holds it, for the message the next one gets. A command that holds no lock
most of its time, as a training, says so by a locked file of its own in `running/`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from sightline.errors import StoreBusy, StoreError, StoreReadOnly
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


RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Running:
    """A command at work on a store; `by` is the program that started it, if one did.

    `since` is in seconds since 1970, 0 where nobody knows.
    """

    command: str
    pid: int
    host: str
    since: float
    by: str = ""

    def __str__(self) -> str:
        begun, today = time.localtime(self.since), time.localtime()
        form = "%H:%M" if begun[:3] == today[:3] else "%Y-%m-%d %H:%M"
        by = f", started by '{self.by}'" if self.by else ""
        since = f", since {time.strftime(form, begun)}" if self.since else ""
        return f"'sightline {self.command}'{by} (process {self.pid} on {self.host}{since})"


# The command that is at work here, and whether others can see that.
_current: ContextVar[tuple[Running, bool] | None] = ContextVar("current", default=None)
_program = ""


def works_for(program: str) -> None:
    """Have what this process does from now on named as done for a program, such as a server."""
    global _program
    _program = program


def _running(command: str) -> Running:
    current = _current.get()
    if current is not None:
        return current[0]
    return Running(command, os.getpid(), os.uname().nodename, time.time(), _program)


@contextlib.contextmanager
def running(folder: Path, command: str) -> Iterator[None]:
    """Show that a command is at work on a store, from its beginning to its end.

    What it calls, such as the index of a training, counts as part of it.
    """
    if _current.get() is not None:
        yield
        return
    who = _running(command)
    sign = _Sign(folder, who)
    token = _current.set((who, sign.is_there))
    try:
        yield
    finally:
        sign.remove()
        _current.reset(token)


def commands(folder: Path) -> list[Running]:
    """Return the commands that are at work on a store now, the oldest first."""
    found = (_of_living(path) for path in _signs(folder))
    return sorted((r for r in found if r is not None), key=lambda r: r.since)


def _signs(folder: Path) -> list[Path]:
    try:
        return sorted((folder / RUNNING).glob("*.json"))
    except OSError:
        return []


def _of_living(path: Path) -> Running | None:
    """Return what a sign says; None where the process that made it is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return None if _try_lock(fd, fcntl.LOCK_SH) else _read(fd)
    finally:
        os.close(fd)


def _read(fd: int) -> Running | None:
    try:
        who = json.loads(os.pread(fd, 4096, 0))
        # The key of the command is that of older releases.
        about = (str(who["verb"]), int(who["pid"]), str(who["host"]))
        return Running(*about, float(who.get("since", 0.0)), str(who.get("by", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _written(who: Running) -> bytes:
    said = asdict(who)
    return json.dumps({"verb": said.pop("command"), **said}).encode()


class _Sign:
    """A file that says of a running command that it runs; without a place for it there is none."""

    def __init__(self, folder: Path, who: Running) -> None:
        self._fd, self._path = -1, folder / RUNNING / f"{secrets.token_hex(8)}.json"
        # Nothing but what others are told depends on it.
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._path.parent, mode=0o700)
            self._remove_dead(folder)
            self._make(who)

    @property
    def is_there(self) -> bool:
        return self._fd >= 0

    def _remove_dead(self, folder: Path) -> None:
        for path in _signs(folder):
            if _of_living(path) is None:
                path.unlink(missing_ok=True)

    def _make(self, who: Running) -> None:
        # It gets its name once it is locked, or others could take it for one of a dead process.
        aside = self._path.with_suffix(".part")
        self._fd = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        os.pwrite(self._fd, _written(who), 0)
        os.rename(aside, self._path)

    def remove(self) -> None:
        """Take it away; the command has ended."""
        if self.is_there:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


class Lock:
    """The right to change what is published; one holder at a time.

    Under another `name` it is the right to something else, such as loading an engine.
    """

    def __init__(self, folder: Path, verb: str, wait: float = 0.0, *, name: str = "lock") -> None:
        self.path = folder / name
        self._fd = _open_for_writing(self.path)
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
        who, current = _running(verb), _current.get()
        self._sign = None if current is not None and current[1] else _Sign(folder, who)
        self._say(who)

    def _holder(self) -> str:
        return str(_read(self._fd) or "another process")

    def _say(self, who: Running) -> None:
        os.ftruncate(self._fd, 0)
        with contextlib.suppress(OSError):
            # On a full disk the lock holds all the same; only the next one's message is poorer.
            os.pwrite(self._fd, _written(who), 0)

    def release(self) -> None:
        """Let go; the next one waiting goes on."""
        if self._fd >= 0:
            if self._sign is not None:
                self._sign.remove()
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
        self._fd = _open_for_writing(folder / "writers")
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def alone(self) -> bool:
        """Return whether no other writer is there, and keep others out until `leave`."""
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


def require_writable(folder: Path) -> None:
    """Refuse at once what would change a store that cannot be written."""
    place = folder
    while not place.exists():
        place = place.parent
    own = os.access in os.supports_effective_ids
    if not os.access(place, os.W_OK | os.X_OK, effective_ids=own):
        mounted = os.statvfs(place).f_flag & os.ST_RDONLY
        raise _read_only(folder, errno.EROFS if mounted else errno.EACCES)


def _open_for_writing(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as e:
        if e.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise _read_only(path.parent, e.errno) from e
        with disk_errors(path):
            raise


def _read_only(folder: Path, why: int) -> StoreReadOnly:
    reason = f"this user may not write there ({os.strerror(why)})"
    remedy = "Give this user the right to write there"
    if why == errno.EROFS:
        reason, remedy = "its file system is mounted read-only", "Mount it for writing"
    return StoreReadOnly(
        f"{folder} is read-only: {reason}. It can be searched, but nothing can be "
        f"indexed, learnt or judged. {remedy}, or copy the store to a place of your own "
        "(sightline store backup TARGET) and name that with --store."
    )


def check_local_file_system(folder: Path) -> None:
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
