"""Killed or without power at any step: nothing acknowledged is lost, and the next run goes on."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sightline.collection.index.batches as reading
import sightline.store.segments as segments
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.store.events import EventLog, NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Judging, Writer
from tests.factories.failing_disks import KILLS, Crash, Disk, cut_power, loaded_sqlite, run_child
from tests.factories.photos import make_photo, make_photos

pytestmark = pytest.mark.skipif(
    loaded_sqlite() is None, reason="this Python has SQLite built in, where it cannot be watched"
)
Say = Callable[..., None]
CHUNKS = 4


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Publish and merge often, so that every kind of step comes many times in a short run."""
    monkeypatch.setattr(reading, "BATCH", 3)
    monkeypatch.setattr(segments, "_MAX_SMALL", 1)
    yield


def work(photos: Path, store: Path) -> Callable[[Say], None]:
    """Return a run through index, publish, judging, change, deletion and compaction."""

    def run(say: Say) -> None:
        append, publish = Writer.append, Writer._swap

        def told_append(self: Writer, events: list[NewEvent]) -> object:
            out = append(self, events)
            say("events", self.log.last_seq())
            return out

        def told_publish(self: Writer, version: object, change: object) -> object:
            out = publish(self, version, change)  # type: ignore[arg-type]
            say("version", self.version.number)
            return out

        Writer.append = told_append  # type: ignore[method-assign, assignment]
        Writer._swap = told_publish  # type: ignore[method-assign, assignment]
        c = Collection.open(photos, store=store)
        c.index(compute=InlineCompute())
        with Judging(c.store_folder) as judging:
            for i in range(5):
                body = {"query": "tree", "relevance": 1.0, "source": "test"}
                judging.append([NewEvent("judged", 1, body, "s", f"key-{i}")])  # type: ignore[arg-type]
                say("key", f"key-{i}")
        (photos / "002.txt").write_text("dog, changed")
        os.remove(photos / "005.jpg")
        make_photo(photos / "new.jpg", 99)
        c.index(compute=InlineCompute())
        say("done", True)

    return run


def restore(photos: Path, kept: Path) -> None:
    shutil.rmtree(photos)
    shutil.copytree(kept, photos)


def steps_of(tmp_path: Path, photos: Path) -> int:
    """Return how many steps an undisturbed run has."""
    kept = tmp_path / "kept"
    shutil.copytree(photos, kept)
    disk = Disk(tmp_path / "store0", tmp_path / "shadow0", 0)
    crash = run_child(work(photos, tmp_path / "store0"), disk)
    assert crash.finished
    restore(photos, kept)
    return crash.steps


def problems_after(photos: Path, store: Path, crash: Crash) -> list[str]:
    """Return what a crash did that it must not do; then go on, and see that all comes right."""
    found: list[str] = []
    store_folder = StoreFolder(store)
    events = max((a[1] for a in crash.acks if a[0] == "events"), default=0)
    version = max((a[1] for a in crash.acks if a[0] == "version"), default=0)
    keys = {a[1] for a in crash.acks if a[0] == "key"}
    if store_folder.events.exists():
        log = EventLog(store_folder.events, write=True)
        found += log.problems()
        have = list(log.read()) if not found else []
        log.close()
        if len(have) < events:
            found.append(f"{events} events were acknowledged, {len(have)} are there")
        if not keys <= {e.key for e in have}:
            found.append("an acknowledged judgement is lost")
    elif events:
        found.append("the log is gone")
    if store_folder.exists():
        found += [p.what for p in verify(store_folder).problems]
        if not found and version:
            with store_folder.reader() as reader:
                if reader.snapshot.version < version:
                    found.append(f"version {version} was published and is gone")
                reader.snapshot.ids()
    elif version:
        found.append("the store is gone")
    return found or _going_on(photos, store)


def _going_on(photos: Path, store: Path) -> list[str]:
    found = []
    c = Collection.open(photos, store=store)
    report = c.index(compute=InlineCompute())
    pictures = sorted(p.name.encode() for p in photos.glob("*.jpg"))
    with c.store_folder.reader() as reader:
        facts = reader.catalogue.facts(reader.snapshot.ids().tolist())
    if sorted(f.path for f in facts.values()) != pictures or report.indexed != len(pictures):
        found.append(f"after going on there are {report.indexed} pictures, not {len(pictures)}")
    check = c.store.verify()
    if check.problems or check.strays or not check.sealed:
        found.append(f"after going on: {check}")
    tagged = [p for p in photos.glob("*.txt") if "tree" in p.read_text()]
    if len(c.search("tree", 50).hits) != sum(p.with_suffix(".jpg").exists() for p in tagged):
        found.append("a search after going on misses pictures")
    return found


def crash_at(
    tmp_path: Path, photos: Path, point: int, seed: int | None, *, flush: bool = True
) -> list[str]:
    """Crash at one step (a power cut if there is a seed) and return the problems."""
    folder = tmp_path / f"run-{point}-{seed}"
    kept = tmp_path / "kept-before"
    if not kept.exists():
        shutil.copytree(photos, kept)
    store, shadow = folder / "store", folder / "shadow"
    folder.mkdir()
    disk = Disk(store, shadow, point, flush=flush)
    crash = run_child(work(photos, store), disk)
    if seed is not None:
        cut_power(store, shadow, seed)
    found = problems_after(photos, store, crash)
    restore(photos, kept)
    shutil.rmtree(folder)
    return found


def points(total: int, count: int, chunk: int) -> list[int]:
    chosen = random.Random(5).sample(range(1, total + 1), min(count, total))
    return chosen[chunk::CHUNKS]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_kill_at_any_step_loses_nothing(tmp_path: Path, photos: Path, chunk: int) -> None:
    total = steps_of(tmp_path, photos)
    assert total >= 200
    for point in points(total, KILLS, chunk):
        assert crash_at(tmp_path, photos, point, None) == [], f"killed at step {point}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_power_cut_at_any_step_loses_nothing(tmp_path: Path, photos: Path, chunk: int) -> None:
    total = steps_of(tmp_path, photos)
    for point in points(total, KILLS, chunk):
        assert crash_at(tmp_path, photos, point, point) == [], f"cut at step {point}"


def test_without_our_flushes_a_power_cut_is_noticed(tmp_path: Path, photos: Path) -> None:
    """The harness would see it if files were not flushed."""
    total = steps_of(tmp_path, photos)
    steps = [total, *points(total, 40, 0)]
    assert any(_tolerant(tmp_path, photos, step, flush=False) for step in steps)


def test_without_sqlite_flushes_a_power_cut_is_noticed(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness would see it if commits were not flushed."""
    connect = sqlite3.connect

    def careless(*args: Any, **kwargs: Any) -> object:
        db = connect(*args, **kwargs)

        class Careless:
            def __init__(self) -> None:
                self.row = db

            def execute(self, sql: str, *rest: Any) -> object:
                return db.execute(sql.replace("synchronous=FULL", "synchronous=OFF"), *rest)

            def __getattr__(self, name: str) -> object:
                return getattr(db, name)

        return Careless()

    total = steps_of(tmp_path, photos)
    monkeypatch.setattr(sqlite3, "connect", careless)
    problems = (p for step in points(total, 60, 0) for p in _tolerant(tmp_path, photos, step))
    assert any("acknowledged" in p or "gone" in p or "lost" in p for p in problems)


def _tolerant(tmp_path: Path, photos: Path, point: int, *, flush: bool = True) -> list[str]:
    try:
        return crash_at(tmp_path, photos, point, point, flush=flush)
    except Exception as e:
        kept = tmp_path / "kept-before"
        restore(photos, kept)
        return [f"lost: {e}"]
