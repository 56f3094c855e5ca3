"""Commands on a disk without one free byte: what reads works, what writes says why it does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.store.events import NewEvent
from tests.factories.small_disks import KINDS, SmallDisk, judge_and_die, judged_event, small_disk

READS: list[list[str]] = [
    [],
    ["search", "red"],
    ["similar", "000_x.png"],
    ["describe", "000_x.png"],
    ["evaluate"],
    ["sessions", "--empty"],
    ["store", "verify"],
    ["doctor"],
    ["serve", "--get", "/v1/report"],
    ["serve", "--get", "/v1/export?format=csv"],
]
WRITES: list[list[str]] = [
    ["index", "--workers", "1", "--folder-words"],
    ["train", "--ranker", "ridge", "--force"],
    ["sessions", "revert", "lasting"],
    ["store", "rollback"],
    ["store", "repair"],
]
# The machine has one disk, and that is full: other places for temporary files are read-only.
CROWDED = """
for place in /tmp /var/tmp; do
  mount --rbind $place $place && mount -o remount,ro,bind $place || exit 99
done
exec "$@"
"""
COMPILED = """
import numpy as np
from sightline.similarity import _distances_fast
x, found = np.eye(3), np.full((3, 3), np.nan)
_distances_fast.l1_distances(x, x, found)
assert np.allclose(found, 2 - 2 * x)
"""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def disk(kind: str, tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(kind, tmp_path / "disk") as found:
        yield found


@pytest.fixture
def moved(taught: Collection, disk: SmallDisk) -> Collection:
    """Return a trained collection whose store lies on the small disk, last judged by a killed."""
    shutil.copytree(taught.store_folder.path, disk.folder / "store")
    c = Collection.open(taught.root, store=disk.folder / "store", workers=1)
    begun = NewEvent("session-started", None, {"query": "red", "like": []}, "lasting")
    judge_and_die(c.store_folder, [begun, judged_event(4), judged_event(5)])
    return c


def run(disk: SmallDisk, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {"TMPDIR": str(disk.folder), **variables}
    ran = subprocess.run(
        ["unshare", "-m", "sh", "-c", CROWDED, "sh", sys.executable, *command],
        capture_output=True, text=True, env={**os.environ, **kept}, cwd=disk.folder,
    )  # fmt: skip
    if ran.returncode == 99 or "unshare failed" in ran.stderr:
        pytest.skip("mounting in a namespace of its own needs privileges")
    return ran


def sightline(disk: SmallDisk, c: Collection, *command: str) -> subprocess.CompletedProcess[str]:
    where = ["-C", os.fsdecode(c.root), "--store", str(c.store_folder.path)]
    return run(disk, "-m", "sightline", *command, *where)


def some_of(commands: list[list[str]], kind: str) -> list[list[str]]:
    """Return all commands for one kind of disk, every third for others.

    How files are read and written on each kind is a matter of the store, whose tests try all.
    """
    return commands if kind == KINDS[0] else commands[::3]


def test_commands_that_read_work(disk: SmallDisk, moved: Collection, kind: str) -> None:
    for command in some_of(READS, kind):
        disk.fill()
        ran = sightline(disk, moved, *command)
        assert ran.returncode == 0, (command, ran.stderr)
        assert "Traceback" not in ran.stderr and "repair" not in ran.stderr, ran.stderr
        if command[:1] == ["sessions"]:
            assert "lasting" in ran.stdout
        if command[:1] == ["doctor"]:
            assert "0.0 GB" in ran.stdout and "No space left" in ran.stdout


def test_commands_that_write_say_that_the_disk_is_full(
    disk: SmallDisk, moved: Collection, kind: str
) -> None:
    sessions = moved.sessions.all(empty=True)
    assert "lasting" in [s.id for s in sessions]
    for command in some_of(WRITES, kind):
        Path(f"{moved.store_folder.events}-shm").unlink(missing_ok=True)
        disk.fill()
        ran = sightline(disk, moved, *command)
        assert ran.returncode == 74, (command, ran.stdout, ran.stderr)
        assert "disk is full (" in ran.stderr and "Free some space" in ran.stderr, command
        assert "Traceback" not in ran.stderr, ran.stderr
        assert moved.store.verify().problems == ()
    disk.empty()
    assert moved.sessions.all(empty=True) == sessions
    assert sightline(disk, moved, "index", "--workers", "1").returncode == 0
    assert moved.store.verify().sound and moved.search("red").hits


@pytest.mark.parametrize("kind", KINDS[:1])
def test_kernels_that_cannot_be_kept_are_compiled(disk: SmallDisk) -> None:
    kernels = disk.folder / "kernels"
    kernels.mkdir()
    disk.fill()
    ran = run(disk, "-c", COMPILED, NUMBA_CACHE_DIR=str(kernels))
    assert ran.returncode == 0, ran.stderr
