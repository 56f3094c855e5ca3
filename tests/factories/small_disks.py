"""Small disks that can be filled to the last byte, and stores on them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Judging

KINDS = ("tmpfs", "ext4")


class SmallDisk:
    """A file system of its own, mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filling = folder / "filling"

    def free(self) -> int:
        s = os.statvfs(self.folder)
        return s.f_bavail * s.f_frsize

    def fill(self) -> None:
        """Leave not one byte free."""
        with open(self._filling, "ab", buffering=0) as f:
            for size in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        f.write(b"x" * size)
            with contextlib.suppress(OSError):
                os.fsync(f.fileno())
        assert self.free() == 0

    def fill_names(self) -> None:
        """Use up the inodes, so that no further file can be created."""
        with contextlib.suppress(OSError):
            for i in range(100_000):
                (self.folder / f"name-{i}").touch()
        assert os.statvfs(self.folder).f_favail == 0

    def empty(self) -> None:
        """Remove the files that filled the disk."""
        self._filling.unlink(missing_ok=True)
        for path in self.folder.glob("name-*"):
            path.unlink()


@contextlib.contextmanager
def small_disk(
    kind: str, place: Path, *, megabytes: int = 32, names: int = 0
) -> Iterator[SmallDisk]:
    """Mount a disk, or skip the test if that is not allowed; `names` limits the number of files."""
    place.mkdir()
    if kind == "tmpfs":
        more = f",nr_inodes={names}" if names else ""
        how = ["-t", "tmpfs", "-o", f"size={megabytes}m{more}", "tmpfs"]
    else:
        image = place.with_suffix(".image")
        with open(image, "wb") as f:
            f.truncate(megabytes << 20)
        try:
            # No block is kept for root, who runs the tests.
            created = subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], capture_output=True)
        except FileNotFoundError:
            pytest.skip("making an ext4 file system needs mkfs.ext4")
        assert created.returncode == 0, created.stderr
        how = ["-o", "loop", str(image)]
    mounted = subprocess.run(["mount", *how, place], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"mounting a small {kind} needs privileges")
    try:
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@contextlib.contextmanager
def read_only(source: Path, place: Path) -> Iterator[Path]:
    """Mount a folder read-only at another place."""
    place.mkdir()
    if subprocess.run(["mount", "--bind", source, place], capture_output=True).returncode:
        pytest.skip("a bind mount needs privileges")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def judged_event(picture: int, query: str = "tree") -> NewEvent:
    return NewEvent("judged", picture, {"query": query, "relevance": 1.0, "source": "test"})


def judge_and_die(store_folder: StoreFolder, events: list[NewEvent]) -> None:
    """Append events in a process that is killed: they are acknowledged, and only in the log."""
    pid = os.fork()
    if pid == 0:
        try:
            Judging(store_folder).append(events)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert Path(f"{store_folder.events}-wal").stat().st_size > 0
