"""A disk that can fail: kills a writer at its n-th step, or cuts the power there.

A killed process loses nothing the kernel already has. A power cut loses what was not flushed: file
contents go back to the last fsync of that file, and names in a folder to the last fsync of that
folder. Both kinds of flush are watched: Python's own, by replacing `os.fsync`, and SQLite's, by
putting our function in front of the one in its file table.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Steps of each kind at which a writer is killed or its power cut: all some 200 take minutes.
KILLS = int(os.environ.get("SIGHTLINE_KILLS", "24"))
_FILE_TABLE_BYTES = 8 + 18 * 8
_SYNC_AT, _WRITE_AT = 8 + 4 * 8, 8 + 2 * 8


def loaded_sqlite() -> str | None:
    """Return the path of the SQLite library this Python uses, if it is one of its own."""
    import sqlite3

    sqlite3.connect(":memory:").close()
    with open("/proc/self/maps", encoding="utf-8") as f:
        for line in f:
            if "libsqlite3" in line:
                return line.split()[-1]
    return None


@dataclass
class Crash:
    """What a crashed child had reported before it ended."""

    acks: list[list[Any]]
    finished: bool
    steps: int


class Disk:
    """Watches one child process; created in the parent, used in the child."""

    def __init__(self, store: Path, shadow: Path, stop_at: int, *, flush: bool = True) -> None:
        self.store, self.shadow, self.stop_at, self.flush = store, shadow, stop_at, flush
        self.steps = 0
        self._kept: list[Any] = []
        self._open: dict[int, int] = {}

    def install(self) -> None:
        """Start watching (in the child)."""
        self.shadow.mkdir(parents=True, exist_ok=True)
        real = {n: getattr(os, n) for n in ("fsync", "replace", "unlink", "ftruncate")}

        def fsync(fd: int) -> None:
            self.step()
            if self.flush:
                real["fsync"](fd)
                self.flushed(fd)
            self.step()

        setattr(os, "fsync", fsync)  # noqa: B010
        for name in ("replace", "unlink", "ftruncate"):
            setattr(os, name, self._counted(real[name]))
        self._watch_sqlite()

    def _copy(self, source: str, target: Path) -> None:
        """Copy a file without closing it, which would drop SQLite's locks on it."""
        number = os.stat(source).st_ino
        if number not in self._open:
            # Left open also so that its number is not given to a later file.
            self._open[number] = os.open(source, os.O_RDONLY)
        at = 0
        with open(target, "wb") as copy:
            while block := os.pread(self._open[number], 1 << 20, at):
                at += copy.write(block)

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.step()
            for path in args[:2]:
                # Holding a file open keeps its number from being given to a new one.
                if isinstance(path, str | bytes | os.PathLike) and os.path.isfile(path):
                    self._kept.append(os.open(path, os.O_RDONLY))
            return function(*args, **kwargs)

        return call

    def step(self) -> None:
        """Count a step, and kill the process at the chosen one."""
        self.steps += 1
        if self.steps == self.stop_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def flushed(self, fd: int) -> None:
        """Remember what a file or folder is now: this much survives a power cut."""
        path = os.readlink(f"/proc/self/fd/{fd}")
        self.flushed_path(path)

    def flushed_path(self, path: str) -> None:
        if not path.startswith(str(self.store)) and path != str(self.store.parent):
            return
        if os.path.isdir(path):
            names = {n: os.lstat(os.path.join(path, n)).st_ino for n in os.listdir(path)}
            record = {"folder": os.path.relpath(path, self.store), "names": names}
            name = self.shadow / f"folder-{os.stat(path).st_ino}"
            name.write_text(json.dumps(record))
        elif os.path.exists(path):
            self._copy(path, self.shadow / f"file-{os.stat(path).st_ino}")

    def _watch_sqlite(self) -> None:
        library = loaded_sqlite()
        assert library is not None
        lib = ctypes.CDLL(library)
        lib.sqlite3_vfs_find.restype = ctypes.c_void_p
        vfs = lib.sqlite3_vfs_find(None)
        # sqlite3_vfs: three ints (and padding), pNext, zName, pAppData, then xOpen.
        slot = ctypes.c_void_p.from_address(vfs + 16 + 3 * 8)
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int,
            ctypes.c_void_p,
        )  # fmt: skip
        original = kind(slot.value or 0)

        def opened(v: int, name: int | None, file: int, flags: int, out: int) -> int:
            # SQLite keeps this very pointer, so the name goes through as a number.
            code: int = original(v, name, file, flags, out)
            if code == 0 and name:
                self._watch_file(file, os.fsdecode(ctypes.string_at(name)))
            return code

        callback = kind(opened)
        self._kept += [callback, original, lib]
        slot.value = ctypes.cast(callback, ctypes.c_void_p).value

    def _watch_file(self, file: int, path: str) -> None:
        pointer = ctypes.c_void_p.from_address(file)
        if not pointer.value:
            return
        table = ctypes.create_string_buffer(ctypes.string_at(pointer.value, _FILE_TABLE_BYTES))
        base = ctypes.addressof(table)
        sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
        write = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
        )
        real_sync = sync(ctypes.c_void_p.from_address(base + _SYNC_AT).value or 0)
        real_write = write(ctypes.c_void_p.from_address(base + _WRITE_AT).value or 0)

        def on_sync(f: int, flags: int) -> int:
            self.step()
            code: int = real_sync(f, flags)
            self.flushed_path(path)
            if path.endswith(("-wal", "-journal")):
                # SQLite flushes the folder along with a log it has just made.
                self.flushed_path(os.path.dirname(path))
            self.step()
            return code

        def on_write(f: int, data: int, n: int, at: int) -> int:
            self.step()
            code: int = real_write(f, data, n, at)
            return code

        callbacks = sync(on_sync), write(on_write)
        for at, c in ((_SYNC_AT, callbacks[0]), (_WRITE_AT, callbacks[1])):
            address = ctypes.cast(c, ctypes.c_void_p).value
            ctypes.c_void_p.from_address(base + at).value = address
        self._kept += [table, callbacks, real_sync, real_write]
        pointer.value = base


def run_child(work: Callable[[Callable[..., None]], None], disk: Disk) -> Crash:
    """Run work in a child under a failing disk; it acknowledges by calling what it is given."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            disk.install()
            work(lambda *message: _send(writer, message))
            _send(writer, ["finished", disk.steps])
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f if line.endswith("\n")]
    _, status = os.waitpid(pid, 0)
    ended = os.waitstatus_to_exitcode(status)
    assert ended in (0, -signal.SIGKILL), f"the child failed with {ended}"
    finished = bool(lines) and lines[-1][0] == "finished"
    steps = lines[-1][1] if finished else disk.stop_at
    return Crash([a for a in lines if a[0] != "finished"], finished, steps)


def _send(fd: int, message: Any) -> None:
    os.write(fd, json.dumps(list(message)).encode() + b"\n")


def cut_power(store: Path, shadow: Path, seed: int) -> None:
    """Turn a store into what a power cut leaves: for each file and folder either what was flushed
    last, or (as the seed decides) what the kernel had on its own account already written."""
    chance = random.Random(seed)
    folders = {}
    for record in shadow.glob("folder-*"):
        r = json.loads(record.read_text())
        folders[os.path.normpath(os.path.join(store, r["folder"]))] = r["names"]
    live = {str(p): p.lstat().st_ino for p in store.rglob("*")} if store.exists() else {}
    contents = {ino: Path(p).read_bytes() for p, ino in live.items() if Path(p).is_file()}
    after: dict[str, bytes | None] = {}
    _lay(str(store), folders, live, contents, shadow, chance, after)
    known = str(store.parent) in folders and store.name in folders[str(store.parent)]
    if store.exists():
        shutil.rmtree(store)
    if not known and chance.random() < 0.5:
        return
    store.mkdir()
    for path, data in after.items():
        if data is None:
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Path(path).write_bytes(data)


def _lay(
    folder: str,
    folders: dict[str, dict[str, int]],
    live: dict[str, int],
    contents: dict[int, bytes],
    shadow: Path,
    chance: random.Random,
    after: dict[str, bytes | None],
) -> None:
    now = {os.path.basename(p): ino for p, ino in live.items() if os.path.dirname(p) == folder}
    flushed = folders.get(folder, {})
    names = flushed if chance.random() < 0.7 else now
    after[folder] = None
    for name, ino in names.items():
        path = os.path.join(folder, name)
        if path in folders or (path in live and os.path.isdir(path)):
            _lay(path, folders, live, contents, shadow, chance, after)
            continue
        kept = shadow / f"file-{ino}"
        safe = kept.read_bytes() if kept.exists() else b""
        after[path] = safe if chance.random() < 0.7 else contents.get(ino, safe)
