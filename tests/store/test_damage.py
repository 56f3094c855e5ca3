"""Bit rot, cut-off files, full disks: found, named, and mended from the log and the pictures."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import sightline.collection.index.batches as reading
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import SightlineError, StoreError, StoreIOError
from sightline.store.events import EventLog, NewEvent
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Judging
from tests.factories.photos import make_photos

FLIPS = 1000
NOT_DATA = ("lock", "writers")


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    monkeypatch.setattr(reading, "BATCH", 5)
    c = Collection.open(make_photos(tmp_path / "photos", 12), store=tmp_path / "store")
    c.index(compute=InlineCompute())
    (tmp_path / "photos" / "001.txt").write_text("barn, changed")
    c.index(compute=InlineCompute())
    return c


def files_of(folder: Path) -> list[Path]:
    found = sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in NOT_DATA)
    return [p for p in found if p.stat().st_size]


def flip(path: Path, at: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def test_one_flipped_bit_anywhere_is_found(collection: Collection) -> None:
    """1,000 flips over all files of the store: every one is reported."""
    files = files_of(collection.store_folder.path)
    assert {p.parent.name for p in files} >= {"shards", "versions", "store"}
    chance = random.Random(1)
    missed = []
    for i in range(FLIPS):
        # Small files get their share: each is hit as often as a large one.
        path = files[i % len(files)]
        at, bit = chance.randrange(path.stat().st_size), chance.randrange(8)
        flip(path, at, bit)
        if verify(collection.store_folder).sound:
            missed.append(f"{path.name} at {at}")
        flip(path, at, bit)
    assert missed == []
    assert verify(collection.store_folder).sound


def test_a_file_cut_short_anywhere_is_found(collection: Collection) -> None:
    chance = random.Random(2)
    files = files_of(collection.store_folder.path)
    for i in range(100):
        path = files[i % len(files)]
        whole = path.read_bytes()
        path.write_bytes(whole[: chance.randrange(len(whole))])
        assert not verify(collection.store_folder).sound, path
        path.write_bytes(whole)
    assert files_of(collection.store_folder.path) == files


def answers(c: Collection) -> list[tuple[bytes, float]]:
    return [(h.path, h.score) for q in ("tree", "barn", "dog red") for h in c.search(q, 50).hits]


@pytest.mark.parametrize(
    "name", ["catalogue.sqlite3", "events.sqlite3", "shards", "versions", "seal.json"]
)
@pytest.mark.parametrize("how", ["flip", "cut", "missing"])
def test_repair_brings_back_what_is_derived(collection: Collection, name: str, how: str) -> None:
    before = answers(collection)
    events = _events(collection)
    place = collection.store_folder.path / name
    for path in [place] if place.is_file() else files_of(place):
        if how == "flip":
            flip(path, path.stat().st_size // 2, 3)
        elif how == "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        else:
            path.unlink()
    said: list[str] = []
    if (name, how) in (("events.sqlite3", "cut"), ("events.sqlite3", "missing")):
        # Half of the truth is gone; what is left is kept, and the pictures are read again.
        after = collection.store.repair(said.append)
        assert after.sound
        assert sorted(p for p, _ in answers(collection)) == sorted(p for p, _ in before)
        return
    after = collection.store.repair(said.append)
    assert after.sound and not after.strays, after
    assert answers(collection) == before
    assert _events(collection)[: len(events)] == events


def _events(c: Collection) -> list[tuple[int, str, int | None]]:
    log = EventLog(c.store_folder.events, write=True)
    out = [(e.seq, e.kind, e.picture) for e in log.read()]
    log.close()
    return out


def test_repair_keeps_judgements_and_puts_the_damaged_log_aside(collection: Collection) -> None:
    with Judging(collection.store_folder) as judging:
        for i in range(300):
            body = {"query": f"word{i}", "relevance": 1.0, "source": "test"}
            judging.append([NewEvent("judged", 1, body)])  # type: ignore[arg-type]
    raw = collection.store_folder.events.read_bytes()
    at = raw.index(b"word150")
    flip(collection.store_folder.events, at, 1)
    said: list[str] = []
    collection.store.repair(said.append)
    log = EventLog(collection.store_folder.events, write=True)
    words = {j.query for j in log.judgements()}
    log.close()
    assert words == {f"word{i}" for i in range(300)} - {"word150"}
    assert any("1 could not be read" in s for s in said)
    assert (collection.store_folder.path / "events.sqlite3.damaged-1").exists()


def test_a_damaged_store_says_so_when_it_is_used(collection: Collection) -> None:
    for path in (collection.store_folder.shards).iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match="Run: sightline store repair"):
        collection.search("tree")


def test_leftovers_are_named_and_removed(collection: Collection) -> None:
    stray = collection.store_folder.shards / "pictures-0000.safetensors.77.part"
    stray.write_bytes(b"half")
    assert verify(collection.store_folder).strays == (f"shards/{stray.name}",)
    collection.store.repair(lambda s: None)
    assert not stray.exists()


# -- full disks ------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs privileges")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_at_ten_sizes(
    tmp_path: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever runs out of space ends with one clean error, and the old version serves on."""
    monkeypatch.setattr(reading, "BATCH", 20)
    photos = make_photos(tmp_path / "photos", 30)
    store = small_disk / "store"
    Collection.open(photos, store=store).index(compute=InlineCompute())
    used = _used(small_disk)
    make_photos(photos, 200)
    failed = []
    for i in range(10):
        free = 8192 + i * 60_000
        _resize(small_disk, used + free)
        c = Collection.open(photos, store=store)
        try:
            c.index(compute=InlineCompute())
        except StoreIOError as e:
            failed.append(free)
            assert e.exit_code == 74
            assert "full" in str(e) or "space" in str(e)
        except SightlineError as e:
            pytest.fail(f"with {free} bytes free: {e!r}")
        _resize(small_disk, 64 << 20)
        assert len(c.search("tree", 500).hits) > 0
        assert c.store.verify().problems == (), free
        shutil.rmtree(store)
        make_photos(tmp_path / "photos", 30)
        _only(photos, 30)
        Collection.open(photos, store=store).index(compute=InlineCompute())
        make_photos(photos, 200)
    assert len(failed) >= 5, "the disk was hardly ever full"
    report = Collection.open(photos, store=store).index(compute=InlineCompute())
    assert report.indexed == 200


def _used(disk: Path) -> int:
    s = os.statvfs(disk)
    return (s.f_blocks - s.f_bfree) * s.f_frsize


def _resize(disk: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def _only(photos: Path, n: int) -> None:
    for path in photos.iterdir():
        if int(path.stem) >= n:
            path.unlink()
