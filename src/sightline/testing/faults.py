"""Fault injection: a reading task that crashes, hangs or uses up memory at files named so.

It tests the isolation of workers on the real path, file by file.
"""

from __future__ import annotations

import ctypes
import os
import socket
import time
from collections.abc import Callable

from sightline.contracts import Done, Json
from sightline.pictures.reading import read_picture

FAULTY_READ_TASK = "sightline.testing.faults:read_with_faults"
ESCAPE_TASK = "sightline.testing.faults:try_to_escape"


def read_with_faults(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Read a picture, unless its name begins with crash, exit, hang or hog."""
    name = os.path.basename(str(args["path"]))
    if name.startswith("crash"):
        ctypes.string_at(0)  # Reading address zero is a segmentation fault.
    if name.startswith("exit"):
        os._exit(3)
    if name.startswith("hang"):
        time.sleep(3600)
    if name.startswith("hog"):
        hoard = []
        while True:
            hoard.append(bytes(64 << 20))  # Allocated, never touched: the limit is reached at once.
    return read_picture(args, blob, alone)


def try_to_escape(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Try what a worker must not be able to do; return what succeeded."""
    succeeded: list[Json] = []
    target = str(args["target"])
    attempts: tuple[tuple[str, Callable[[], object]], ...] = (
        ("socket", lambda: socket.socket().close()),
        ("write", lambda: _write(target)),
        ("unlink", lambda: os.unlink(target)),
        ("rename", lambda: os.rename(target, target + "2")),
        ("run", lambda: os.execv("/bin/true", ["true"])),
        ("touch", lambda: os.utime(target)),
        ("signal", lambda: os.kill(os.getppid(), 0)),
        ("raw open", lambda: _raw_open(target)),
    )
    for name, attempt in attempts:
        try:
            attempt()
        except OSError:
            continue
        succeeded.append(name)
    return Done({"done": succeeded})


def _write(target: str) -> None:
    with open(target, "a") as f:
        f.write("x")


def _raw_open(target: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.open(target.encode(), os.O_WRONLY) < 0:
        raise OSError(ctypes.get_errno(), "refused")
