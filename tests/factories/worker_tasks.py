"""Tasks for worker processes under test; each answers, waits, crashes or lies as its job says.

Workers import this module by its plain name, not from `tests`, because a package of that name may
be installed.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.contracts import Done, Json, RunAlone
from sightline.pictures.decode import Unfit
from sightline.pictures.reading import read_picture

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent
PERFORM = "worker_tasks:perform"
READ_LYING = "worker_tasks:read_lying"
_calls = 0


def let_workers_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the modules of this folder importable by their plain names, here and in workers."""
    monkeypatch.setenv("PYTHONPATH", str(HERE), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(HERE))


def perform(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Do what the job says, and return it."""
    global _calls
    _calls += 1
    deed = _DEEDS.get(str(args.get("do")))
    extra = deed(args, alone) if deed else {}
    return Done({**args, "pid": os.getpid(), "alone": alone, **(extra or {})}, bytes(blob))


def _hang(args: dict[str, Json], alone: bool) -> None:
    time.sleep(3600)


def _crash(args: dict[str, Json], alone: bool) -> None:
    ctypes.string_at(0)  # A worker may not send signals, but it can read address zero.


def _crash_once(args: dict[str, Json], alone: bool) -> None:
    mark = str(args["mark"])
    if not os.path.exists(mark):
        Path(mark).touch()
        os._exit(9)


def _wait(args: dict[str, Json], alone: bool) -> None:
    """Report through one pipe, if there is one, that work has begun; end when another is written.

    Opening a pipe waits for the other side, so both sides are synchronised.
    """
    if "begun" in args:
        with open(str(args["begun"]), "w") as f:
            f.write("begun")
    with open(str(args["pipe"])) as f:
        f.read()
    global _calls
    _calls = 100  # This process releases nobody.


def _release_second(args: dict[str, Json], alone: bool) -> None:
    """At the second job of this process, when the first is answered, release the waiting one."""
    if _calls == 2:
        with open(str(args["pipe"]), "w") as f:
            f.write("go")


def _facts(args: dict[str, Json], alone: bool) -> dict[str, Json]:
    names = [n for n in os.environ if n.endswith("_NUM_THREADS")]
    return {
        "threads": {n: os.environ[n] for n in names},
        "limits": [list(resource.getrlimit(r)) for r in _LIMITS],
        "modules": sorted(sys.modules),  # type: ignore[dict-item]
    }


_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)


def _hog(args: dict[str, Json], alone: bool) -> None:
    hoard = []
    while True:
        hoard.append(bytes(32 << 20))


def _take(args: dict[str, Json], alone: bool) -> None:
    bytearray(int(str(args["bytes"])))


def _alone(args: dict[str, Json], alone: bool) -> None:
    if not alone:
        raise RunAlone
    then = _DEEDS.get(str(args.get("then")))
    if then:
        then(args, alone)
    if "log" not in args:
        return
    with open(str(args["log"]), "a") as f:
        f.write("in\n")
        f.flush()
        os.sched_yield()
        f.write("out\n")


def _too_much(args: dict[str, Json], alone: bool) -> dict[str, Json]:
    return {"words": "x" * (3 << 20)}


def _writer() -> int:
    return int(sys.argv[4])  # See sightline.compute.worker.main.


def _frame(text: bytes) -> bytes:
    return struct.pack("<IIi", len(text), len(text), -1) + text


_NONSENSE: dict[str, bytes] = {
    "bad head": b"\xff" * 12,
    "half head": b"\x05\0",
    "half frame": struct.pack("<IIi", 2000, 2000, -1),
    "long frame": struct.pack("<IIi", 2 << 20, 10, -1),
    "bad slot": struct.pack("<IIi", 10, 10, 99),
    "no json": _frame(b"nonsense"),
    "no object": _frame(b"[1]"),
    "deep json": _frame(b"[" * 2000),
    "nine answers": _frame(json.dumps({"value": {}}).encode()) * 9,
}
NONSENSE = tuple(_NONSENSE)


def _lie(args: dict[str, Json], alone: bool) -> None:
    os.write(_writer(), _NONSENSE[str(args["lie"])])
    if args["lie"] != "nine answers":
        time.sleep(3600)


_DEEDS: dict[str, Callable[[dict[str, Json], bool], dict[str, Json] | None]] = {
    "hang": _hang, "crash": _crash, "crash once": _crash_once, "wait": _wait, "facts": _facts,
    "release second": _release_second, "hog": _hog, "take": _take, "alone": _alone, "lie": _lie,
    "too much": _too_much,
}  # fmt: skip


def read_lying(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Read a picture, but return nonsense for those named so."""
    done = read_picture(args, blob, alone)
    name = os.path.basename(str(args["path"]))
    if name.startswith("lie-nothing"):
        return Done({})
    if name.startswith("lie-shape"):
        return Done({**done.value, "shape": [7, 7, 3]}, done.blob)
    if name.startswith("lie-number"):
        return Done({**done.value, "width": 1 << 80}, done.blob)
    if name.startswith("lie-pixels"):
        return Done({**done.value, "shape": None}, done.blob)
    if name.startswith("lie-words"):
        return Done({**done.value, "words": [["txt", ["\udc80"], "\ud800 tree"]]}, done.blob)
    return done


def escape_further(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Try more of what a decode worker must not be able to do; return what succeeded."""
    folder = str(args["folder"])
    target, new = os.path.join(folder, "target"), os.path.join(folder, "new-")
    attempts: tuple[tuple[str, Callable[[], object]], ...] = (
        ("mkdir", lambda: os.mkdir(new + "1")),
        ("link", lambda: os.link(target, new + "2")),
        ("symlink", lambda: os.symlink(target, new + "3")),
        ("truncate", lambda: os.truncate(target, 0)),
        ("chmod", lambda: os.chmod(target, 0o600)),
        ("mkfifo", lambda: os.mkfifo(new + "4")),
        ("xattr", lambda: os.setxattr(target, "user.x", b"x")),
        ("listen", lambda: socket.create_server(("127.0.0.1", 0)).close()),
        ("pair", socket.socketpair),
        ("create", lambda: os.close(os.open(new + "5", os.O_CREAT | os.O_EXCL))),
    )
    succeeded: list[Json] = []
    for name, attempt in attempts:
        try:
            attempt()
        except OSError:
            continue
        succeeded.append(name)
    return Done({"done": succeeded})


def read_unreadable(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Fail as if the disk had not answered."""
    raise Unfit("unreadable", "it cannot be read: Input/output error")
