"""Who may write: one indexer at a time, any number of people judging.

Locks are kernel locks on a file, so the lock of a process that dies, in whatever way, is released
at once. The file names the command that holds it, for the error message of others. A command that
holds no lock most of the time, such as a training, announces itself by a locked file in `running/`.
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
    """A command that is running on a store.

    Attributes
    ----------
    command : str
        Its name, without "sightline".
    pid : int
        The id of its process.
    host : str
        The machine it runs on.
    since : float
        When it started, in seconds since 1970; 0 if unknown.
    by : str
        The program that started it, "" for none.
    """

    command: str
    pid: int
    host: str
    since: float
    by: str = ""

    def __str__(self) -> str:
        started, today = time.localtime(self.since), time.localtime()
        form = "%H:%M" if started[:3] == today[:3] else "%Y-%m-%d %H:%M"
        by = f", started by '{self.by}'" if self.by else ""
        since = f", since {time.strftime(form, started)}" if self.since else ""
        return f"'sightline {self.command}'{by} (process {self.pid} on {self.host}{since})"


# The command that runs in this context, and whether its announcement could be written.
_current: ContextVar[tuple[Running, bool] | None] = ContextVar("current", default=None)
_program = ""


def set_program(program: str) -> None:
    """Name a program, such as a server, that this process starts commands for from now on."""
    global _program
    _program = program


def _running(command: str) -> Running:
    current = _current.get()
    if current is not None:
        return current[0]
    return Running(command, os.getpid(), os.uname().nodename, time.time(), _program)


@contextlib.contextmanager
def running(folder: Path, command: str) -> Iterator[None]:
    """Announce a command while it runs on a store.

    Commands that it calls, such as the index of a training, are part of it.
    """
    if _current.get() is not None:
        yield
        return
    announced = _running(command)
    announcement = _Announcement(folder, announced)
    token = _current.set((announced, announcement.exists))
    try:
        yield
    finally:
        announcement.remove()
        _current.reset(token)


def commands(folder: Path) -> list[Running]:
    """Return the commands that are running on a store, the oldest first."""
    candidates = (_read_if_running(path) for path in _announcements(folder))
    return sorted((r for r in candidates if r is not None), key=lambda r: r.since)


def _announcements(folder: Path) -> list[Path]:
    try:
        return sorted((folder / RUNNING).glob("*.json"))
    except OSError:
        return []


def _read_if_running(path: Path) -> Running | None:
    """Return what an announcement says; None if its process has ended."""
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
        fields = json.loads(os.pread(fd, 4096, 0))
        since, by = float(fields.get("since", 0.0)), str(fields.get("by", ""))
        # The command has the key that older releases gave it.
        return Running(str(fields["verb"]), int(fields["pid"]), str(fields["host"]), since, by)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _encode(running: Running) -> bytes:
    fields = asdict(running)
    return json.dumps({"verb": fields.pop("command"), **fields}).encode()


class _Announcement:
    """The file that announces a running command; where it cannot be written there is none."""

    def __init__(self, folder: Path, announced: Running) -> None:
        self._fd, self._path = -1, folder / RUNNING / f"{secrets.token_hex(8)}.json"
        # Only the error messages of other commands depend on it.
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._path.parent, mode=0o700)
            self._remove_dead(folder)
            self._make(announced)

    @property
    def exists(self) -> bool:
        return self._fd >= 0

    def _remove_dead(self, folder: Path) -> None:
        for path in _announcements(folder):
            if _read_if_running(path) is None:
                path.unlink(missing_ok=True)

    def _make(self, announced: Running) -> None:
        # It gets its name once it is locked, or others could take it for that of a dead process.
        aside = self._path.with_suffix(".part")
        self._fd = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        os.pwrite(self._fd, _encode(announced), 0)
        os.rename(aside, self._path)

    def remove(self) -> None:
        """Remove it; the command has ended."""
        if self.exists:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


class Lock:
    """The right to change what is published; one holder at a time.

    Parameters
    ----------
    folder : Path
        The folder of the store.
    command : str
        The command that wants the lock, for the error message of others.
    wait : float, default=0.0
        How many seconds to wait for the holder.
    name : str, default="lock"
        The name of the lock file; other names are other rights, such as loading an engine.

    Raises
    ------
    StoreBusy
        If another process holds the lock after the wait.
    """

    def __init__(
        self, folder: Path, command: str, wait: float = 0.0, *, name: str = "lock"
    ) -> None:
        self.path = folder / name
        self._fd = _open_for_writing(self.path)
        deadline = time.monotonic() + wait
        while not _try_lock(self._fd, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                other = self._holder()
                os.close(self._fd)
                raise StoreBusy(
                    f"{folder} is being changed by {other}. Try again when it is done, "
                    "or use --wait SECONDS."
                )
            time.sleep(0.05)
        holder, current = _running(command), _current.get()
        announced = current is not None and current[1]
        self._announcement = None if announced else _Announcement(folder, holder)
        self._write_holder(holder)

    def _holder(self) -> str:
        return str(_read(self._fd) or "another process")

    def _write_holder(self, holder: Running) -> None:
        os.ftruncate(self._fd, 0)
        with contextlib.suppress(OSError):
            # On a full disk the lock still holds; only the error message of others says less.
            os.pwrite(self._fd, _encode(holder), 0)

    def release(self) -> None:
        """Release the lock."""
        if self._fd >= 0:
            if self._announcement is not None:
                self._announcement.remove()
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
    """A shared lock that every writer holds; only the last one to leave may seal the store."""

    def __init__(self, folder: Path) -> None:
        self._fd = _open_for_writing(folder / "writers")
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def alone(self) -> bool:
        """Return whether there is no other writer; if so, keep others out until `leave`."""
        return _try_lock(self._fd, fcntl.LOCK_EX)

    def leave(self) -> None:
        """Release the lock."""
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
    """Raise `StoreReadOnly` if the store, or the folder it would be created in, is read-only."""
    place = folder
    while not place.exists():
        place = place.parent
    by_effective_id = os.access in os.supports_effective_ids
    if not os.access(place, os.W_OK | os.X_OK, effective_ids=by_effective_id):
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
        f"indexed, learned or judged. {remedy}, or copy the store to a folder of your own "
        "(sightline store backup TARGET) and name that with --store."
    )


def check_local_file_system(folder: Path) -> None:
    """Raise if a store is on a network file system, where locks and flushes are unreliable."""
    kind = file_system(folder)
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{folder} is on a network file system ({kind}), where a crash can lose data. "
            "Name a local folder with --store; the pictures may stay where they are."
        )


def file_system(folder: Path, mounts: str = "/proc/self/mountinfo") -> str:
    """Return the kind of file system a folder is on; "" if it cannot be found out."""
    target = os.path.realpath(os.fsencode(folder))
    best, kind = b"", b""
    try:
        with open(mounts, "rb") as f:
            for line in f:
                mount, _, source = line.partition(b" - ")
                point = re.sub(rb"\\(\d{3})", lambda m: bytes([int(m[1], 8)]), mount.split()[4])
                inside = target == point or target.startswith(point.rstrip(b"/") + b"/")
                if inside and len(point) >= len(best):
                    best, kind = point, source.split()[0]
    except OSError:
        return ""
    return kind.decode("ascii", "replace")
