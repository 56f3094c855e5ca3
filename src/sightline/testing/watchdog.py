"""Ends what a process started when that process ends, even by SIGKILL, and removes its folders.

A watchdog is a process of its own that waits for the end of a pipe, which the kernel closes with
the process that holds it. Then it kills every process that was started from there, found by a
variable in its environment that children inherit, or by its parent: also those in sessions of
their own, and those whose parent has ended. Disks mounted below the folders are unmounted before
the folders are removed. Linux only, as it reads /proc.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading

_VARIABLE = "SIGHTLINE_WATCHED"
_IS_WATCHDOG = "SIGHTLINE_IS_WATCHDOG"
# Processes that give themselves a name, as those of Ray do, write it over their environment, unless
# this is set. One whose parent has ended as well could not be found any more.
_KEEPS_ENVIRONMENT = "SPT_NOENV"
_REMOVE, _KEEP = "remove ", "keep "
# How the kernel writes spaces and backslashes of a path.
_OCTAL = re.compile(rb"\\([0-7]{3})")
# Rounds of killing, and the milliseconds each waits for the processes that it killed.
_ROUNDS, _WAIT = 100, 5_000


class _Own:
    """The watchdog of this process: who it watches, its pipe, and what children are known by."""

    lock = threading.Lock()
    owner = 0
    pipe = -1
    token = ""


def watched() -> str:
    """End everything that this process starts from now on with it; return the token that marks it.

    Further calls do nothing.
    """
    with _Own.lock:
        if _Own.owner == os.getpid():
            return _Own.token
        outer = os.environ.get(_VARIABLE, "")
        token = f"{os.getpid()}-{os.urandom(8).hex()}"
        read_end, _Own.pipe = os.pipe()
        nothing = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", __file__, token],
            {_IS_WATCHDOG: token},
            file_actions=[(os.POSIX_SPAWN_DUP2, read_end, 0), nothing, (os.POSIX_SPAWN_DUP2, 1, 2)],
            setsid=True,
        )
        os.close(read_end)
        os.environ.setdefault(_KEEPS_ENVIRONMENT, "1")
        os.environ[_VARIABLE] = f"{outer}:{token}" if outer else token
        _Own.owner, _Own.token = os.getpid(), token
        return token


def remove_later(folder: str | os.PathLike[str]) -> None:
    """Have a folder removed once this process has ended, unless `keep` is called before."""
    watched()
    _tell(_REMOVE, folder)


def keep(folder: str | os.PathLike[str]) -> None:
    """Take back `remove_later`."""
    _tell(_KEEP, folder)


def processes(token: str) -> list[int]:
    """Return the processes known by a token, and those below them; watchdogs are left out."""
    parents: dict[int, int] = {}
    environments: dict[int, bytes] = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                parents[pid] = int(parent)
                with open(f"/proc/{pid}/environ", "rb") as file:
                    environments[pid] = file.read()
    dogs = {p for p, e in environments.items() if e.startswith(_IS_WATCHDOG.encode())}
    marked = {p for p, e in environments.items() if _is_marked(e, token)} - dogs
    grown = 0
    while grown != len(marked):
        grown = len(marked)
        marked |= {p for p, parent in parents.items() if parent in marked} - dogs
    return sorted(marked)


def ended(pid: int, milliseconds: int) -> bool:
    """Wait until a process has ended; say whether it has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        return bool(waiting.poll(milliseconds))
    finally:
        os.close(descriptor)


def _is_marked(environment: bytes, token: str) -> bool:
    name = _VARIABLE.encode() + b"="
    marks = (v[len(name) :] for v in environment.split(b"\0") if v.startswith(name))
    return any(token.encode() in mark.split(b":") for mark in marks)


def _tell(what: str, folder: str | os.PathLike[str]) -> None:
    os.write(_Own.pipe, os.fsencode(f"{what}{os.path.abspath(folder)}\n"))


def _after_fork() -> None:
    """Close the pipe: a child that outlives this process must not keep it open."""
    if _Own.pipe >= 0:
        os.close(_Own.pipe)
    _Own.owner, _Own.pipe, _Own.lock = 0, -1, threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def mounts_below(folder: str | os.PathLike[str]) -> list[str]:
    """Return where disks are mounted at or below a folder, the innermost first."""
    with open("/proc/self/mountinfo", "rb") as file:
        fields = [line.split()[4] for line in file]
    points = [os.fsdecode(_OCTAL.sub(lambda m: bytes([int(m[1], 8)]), f)) for f in fields]
    root = os.path.abspath(folder)
    return [p for p in reversed(points) if p == root or p.startswith(root.rstrip("/") + "/")]


def _main(token: str) -> None:
    os.chdir("/")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folders: dict[str, None] = {}
    with open(0, encoding=sys.getfilesystemencoding(), errors="surrogateescape") as commands:
        for line in commands:
            what, _, folder = line.rstrip("\n").partition(" ")
            if what == _REMOVE.strip():
                folders[folder] = None
            else:
                folders.pop(folder, None)
    for _ in range(_ROUNDS):
        pids = processes(token)
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            ended(pid, _WAIT)
    for folder in folders:
        for point in mounts_below(folder):
            with contextlib.suppress(OSError):
                subprocess.run(["umount", "-l", point], capture_output=True)
        # What is still mounted may be a folder of somebody else.
        if not mounts_below(folder):
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _main(sys.argv[1])
