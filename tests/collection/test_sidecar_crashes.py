"""Killed or without power at any step, a sidecar is the old one or the new one, whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.export import run
from tests.factories.exported_collections import folder_of, indexed, reindex
from tests.factories.failing_disks import KILLS, Disk, cut_power, loaded_sqlite, run_child
from tests.factories.sidecars import ALL

pytestmark = pytest.mark.skipif(
    loaded_sqlite() is None, reason="this Python has SQLite built in, where it cannot be watched"
)
Say = Callable[..., None]
Files = dict[str, bytes]
MOST_STEPS = 80


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a disk loses without power is followed for one thread alone."""
    monkeypatch.setattr(run, "AT_ONCE", 1)


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    """Return a collection with two sidecars that are added to, and two to be made."""
    c = indexed(tmp_path, 4)
    (folder_of(c) / "000.jpg.xmp").write_text(ALL["digiKam"])
    (folder_of(c) / "001.xmp").write_text(ALL["darktable"])
    reindex(c)
    return c


def exporting(c: Collection) -> Callable[[Say], None]:
    def run(say: Say) -> None:
        # The harness keeps files open by the names it is given, which are those in the folder.
        os.chdir(folder_of(c))
        report = c.export("xmp", into_collection=True)
        say("written", report.written)

    return run


def sidecars(folder: Path) -> Files:
    return {p.name: p.read_bytes() for p in folder.glob("*.xmp")}


def others(folder: Path) -> Files:
    return {
        p.name: p.read_bytes() for p in folder.iterdir() if not p.name.endswith((".xmp", ".part"))
    }


def crash(
    c: Collection, tmp_path: Path, step: int, *, power: bool, flush: bool = True
) -> list[str]:
    """Crash at one step; return what is wrong then, and put everything back."""
    photos, kept, shadow = folder_of(c), tmp_path / "kept", tmp_path / "shadow"
    if not kept.exists():
        shutil.copytree(photos, kept)
        c.export("xmp", into_collection=True)
        (tmp_path / "done").mkdir()
        for name, data in sidecars(photos).items():
            (tmp_path / "done" / name).write_bytes(data)
        shutil.rmtree(photos)
        shutil.copytree(kept, photos)
    shutil.rmtree(shadow, ignore_errors=True)
    disk = Disk(photos, shadow, step, flush=flush)
    shadow.mkdir()
    for path in (*photos.iterdir(), photos, photos.parent):
        disk_record(disk, path)
    ended = run_child(exporting(c), disk)
    if power:
        cut_power(photos, shadow, step)
    before, done, now = sidecars(kept), sidecars(tmp_path / "done"), sidecars(photos)
    found = [f"{n} is gone" for n in before if n not in now]
    found += [f"{n} is neither" for n, d in now.items() if d not in (before.get(n), done.get(n))]
    found += ["another file has changed"] * (others(photos) != others(kept))
    if ended.finished and now != done:
        found.append("what was acknowledged is lost")
    found += [] if power else after(c, tmp_path)
    shutil.rmtree(photos, ignore_errors=True)
    shutil.copytree(kept, photos)
    return found


def disk_record(disk: Disk, path: Path) -> None:
    """What was there before lies on the disk."""
    if path.is_dir():
        disk.flushed_path(str(path))
    else:
        shutil.copyfile(path, disk.shadow / f"file-{path.stat().st_ino}")


def after(c: Collection, tmp_path: Path) -> list[str]:
    """Run once more; all must come right, and nothing may lie about."""
    c.export("xmp", into_collection=True)
    right = sidecars(folder_of(c)) == sidecars(tmp_path / "done")
    strays = [p.name for p in folder_of(c).glob(".sightline*")]
    return [] if right and not strays else [f"the next run did not mend it: {strays}"]


def total(c: Collection, tmp_path: Path) -> int:
    kept = tmp_path / "kept0"
    shutil.copytree(folder_of(c), kept)
    steps = run_child(exporting(c), Disk(folder_of(c), tmp_path / "shadow0", 0)).steps
    shutil.rmtree(folder_of(c))
    shutil.copytree(kept, folder_of(c))
    assert 15 <= steps <= MOST_STEPS
    return steps


def some_of(steps: int) -> list[int]:
    """Return the steps to crash at: so many of them, evenly spread, and the last."""
    return sorted({*range(1, steps + 1, -(-steps // KILLS)), steps})


@pytest.mark.parametrize("threads", [1, 4])
def test_a_kill_at_any_step_leaves_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, c: Collection, threads: int
) -> None:
    monkeypatch.setattr(run, "AT_ONCE", threads)
    for step in some_of(total(c, tmp_path)):
        assert crash(c, tmp_path, step, power=False) == [], f"killed at step {step}"


@pytest.mark.usefixtures("one_by_one")
def test_a_power_cut_at_any_step_leaves_old_or_new(tmp_path: Path, c: Collection) -> None:
    for step in some_of(total(c, tmp_path) + 1):
        assert crash(c, tmp_path, step, power=True) == [], f"cut at step {step}"


@pytest.mark.usefixtures("one_by_one")
def test_without_flushes_a_power_cut_is_noticed(tmp_path: Path, c: Collection) -> None:
    """The harness would see it if sidecars were not flushed."""
    steps = some_of(total(c, tmp_path) + 1)
    # The first loss is enough; the last steps are the likeliest to lose.
    assert any(crash(c, tmp_path, step, power=True, flush=False) for step in reversed(steps))
