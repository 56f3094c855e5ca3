"""With not one byte free everything can be read, and nothing that was acknowledged is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sightline.errors import StoreDamaged, StoreFull
from sightline.store import readonly, seal
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from sightline.store.upkeep.repair import repair
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Change, Judging, Writer
from tests.factories.planted_stores import plant
from tests.factories.small_disks import KINDS, SmallDisk, judge_and_die, judged_event, small_disk

ROOT = Path(__file__).parent.parent.parent
WORDS = [["tree"], ["tree", "snow"], ["dog"]]


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(request.param, tmp_path / "disk") as found:
        yield found


def planted(folder: Path) -> StoreFolder:
    return plant(folder / "store", WORDS, {"color": np.eye(3, dtype=np.float32)})


def events(store_folder: StoreFolder) -> list[tuple[int, str]]:
    log = EventLog(store_folder.events, write=False)
    try:
        return [(e.seq, e.kind) for e in log.read()]
    finally:
        log.close()


def assert_readable(store_folder: StoreFolder, expected: list[tuple[int, str]]) -> None:
    assert events(store_folder) == expected
    with store_folder.reader() as reader:
        assert reader.catalogue.counts() == (3, 0, 0)
        assert reader.snapshot.ids().tolist() == [1, 2, 3]
        assert len(reader.catalogue.facts([1, 2, 3])) == 3
    found = verify(store_folder)
    assert found.problems == () and found.strays == ()


WRITING = """
import sys
from pathlib import Path
from sightline.store.folder import StoreFolder
from sightline.store.writer import Judging
from tests.factories.small_disks import judged_event
with Judging(StoreFolder(Path(sys.argv[1]))) as judging:
    for _ in range(500):
        judging.append([judged_event(3, "x" * 3000)])
"""
SORTING = """
import sqlite3, sys
from pathlib import Path
from sightline.store.catalogue import Catalogue
from sightline.store.folder import StoreFolder
path = StoreFolder(Path(sys.argv[1])).catalogue
catalogue = Catalogue(path, write=False)
found = [t for _, t in catalogue.terms()]
assert found == sorted(found) and len(found) >= 40_000
catalogue.close()
# The control: sorted as SQLite does it by itself, the same rows need a file.
db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
try:
    db.execute("SELECT id, term FROM terms ORDER BY term").fetchall()
except sqlite3.OperationalError as e:
    assert "full" in str(e), e
else:
    sys.exit("no file was needed")
"""


READING = """
import sys
from pathlib import Path
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
store_folder = StoreFolder(Path(sys.argv[1]))
for _ in range(60):
    log = EventLog(store_folder.events, write=False)
    assert [e.seq for e in log.read()] == [1, 2, 3, 4, 5]
    log.close()
    store_folder.reader().close()
"""


def run(code: str, store_folder: StoreFolder, **variables: str) -> None:
    """Run Python in a process of its own: a fork shares what SQLite knows of open files."""
    ran = subprocess.run(
        [sys.executable, "-c", code, str(store_folder.path)], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


def judge_until_full(store_folder: StoreFolder) -> None:
    with Judging(store_folder) as judging:
        while True:
            judging.append([judged_event(3, "x" * 4000)])


SEEN = [(i, "picture-seen") for i in (1, 2, 3)]
JUDGED = [*SEEN, (4, "judged"), (5, "judged")]


def test_a_sealed_store_is_read(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    disk.fill()
    for _ in range(2):
        assert_readable(store_folder, SEEN)
    assert verify(store_folder).sealed


@pytest.mark.parametrize("left", ["log and index", "log"])
def test_events_that_are_only_in_the_log_are_read(disk: SmallDisk, left: str) -> None:
    store_folder = planted(disk.folder)
    judge_and_die(store_folder, [judged_event(1), judged_event(2)])
    if left == "log":
        os.unlink(f"{store_folder.events}-shm")
    disk.fill()
    for _ in range(2):
        assert_readable(store_folder, JUDGED)
        disk.fill()


def test_a_log_of_the_catalogue_is_read_too(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    pid = os.fork()
    if pid == 0:
        try:
            writer = Writer(store_folder, "test")
            writer.note(Change(meta=[("noted", "yes")]))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.path.getsize(f"{store_folder.catalogue}-wal") > 0
    os.unlink(f"{store_folder.catalogue}-shm")
    disk.fill()
    with store_folder.reader() as reader:
        assert reader.catalogue.meta("noted") == "yes"


def test_writers_say_that_the_disk_is_full_and_go_on_once_it_is_not(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    judge_and_die(store_folder, [judged_event(1), judged_event(2)])
    os.unlink(f"{store_folder.events}-shm")
    disk.fill()
    for _ in range(2):
        with pytest.raises(StoreFull, match=r"is full \(\d+ bytes free\)") as caught:
            judge_until_full(store_folder)
        assert caught.value.exit_code == 74 and "Free some space" in str(caught.value)
        with (
            pytest.raises(StoreFull, match="Free some space"),
            Writer(store_folder, "index") as writer,
        ):
            writer.note(Change(meta=[("much", "x" * 1_000_000)]))
        disk.fill()
        with store_folder.reader() as reader:
            assert reader.catalogue.meta("much") is None
        assert events(store_folder)[: len(JUDGED)] == JUDGED
        assert verify(store_folder).problems == ()
    kept = events(store_folder)
    disk.empty()
    with Writer(store_folder, "index") as writer:
        appended = writer.append([judged_event(3)])
    assert events(store_folder) == [*kept, (appended[0].seq, "judged")]
    found = verify(store_folder)
    assert found.sound and found.sealed


def test_a_reader_beside_a_writer_that_began_before(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    with Judging(store_folder) as judging:
        judging.append([judged_event(1), judged_event(2)])
        disk.fill()
        assert events(store_folder) == JUDGED
        with pytest.raises(StoreFull):
            while True:
                judging.append([judged_event(3, "x" * 4000)])
        acknowledged = events(store_folder)
        disk.empty()
        judging.append([judged_event(3)])
        assert events(store_folder) == [*acknowledged, (len(acknowledged) + 1, "judged")]
    assert verify(store_folder).sound


def test_a_writer_that_comes_later_does_not_disturb_a_reader(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    judge_and_die(store_folder, [judged_event(1), judged_event(2)])
    os.unlink(f"{store_folder.events}-shm")
    disk.fill()
    log = EventLog(store_folder.events, write=False)
    reading = log.read()
    assert next(reading).seq == 1
    disk.empty()
    run(WRITING, store_folder)
    assert [e.seq for e in reading] == [2, 3, 4, 5]
    assert log.last_seq() == 505
    log.close()
    assert len(events(store_folder)) == 505
    with Judging(store_folder):
        pass
    assert verify(store_folder).sound


def test_sorting_needs_no_file(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    terms = [(i, f"{i * 2_654_435_761 % (1 << 32):010d}" * 20) for i in range(40_000)]
    with Writer(store_folder, "test") as writer:
        writer.note(Change(terms=terms))
    disk.fill()
    run(SORTING, store_folder, SQLITE_TMPDIR=str(disk.folder))


def test_readers_and_writers_of_one_process_take_turns(disk: SmallDisk) -> None:
    """Once there is space again writers get in, however many readers came while there was none."""
    store_folder = planted(disk.folder)
    disk.fill()
    first = EventLog(store_folder.events, write=False)
    second = EventLog(store_folder.events, write=False)
    disk.empty()
    third = EventLog(store_folder.events, write=False)  # It shares the index of the others.
    said: list[int] = []
    stop = threading.Event()

    def write() -> None:
        with Judging(store_folder) as judging:
            said.extend(e.seq for e in judging.append([judged_event(1), judged_event(2)]))

    def read() -> None:
        while not stop.is_set():
            assert len(events(store_folder)) in (3, 5)

    readers = [threading.Thread(target=read) for _ in range(3)]
    writer = threading.Thread(target=write)
    for thread in (*readers, writer):
        thread.start()
    for log in (first, second, third):
        assert log.last_seq() == 3
        log.close()
    writer.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert said == [4, 5]
    assert events(store_folder) == JUDGED
    with Judging(store_folder):
        pass
    assert verify(store_folder).sound


def test_new_readers_let_a_writer_that_waits_go_first(
    disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readonly, "_READER_WAITS", 600.0)
    store_folder = planted(disk.folder)
    disk.fill()
    first = EventLog(store_folder.events, write=False)
    disk.empty()
    written, reading = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with Judging(store_folder) as judging:
                judging.append([judged_event(1), judged_event(2)])
        finally:
            written.set()

    def read() -> None:
        reading.set()
        log = EventLog(store_folder.events, write=False)
        assert written.wait()  # It would keep a writer waiting that it had not let go first.
        log.close()

    threads = [threading.Thread(target=write), threading.Thread(target=read)]
    threads[0].start()
    while not readonly._waiting_writers[store_folder.events]:
        os.sched_yield()
    threads[1].start()
    reading.wait()
    first.close()
    for thread in threads:
        thread.join()
    assert events(store_folder) == JUDGED


def test_many_read_at_once(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    judge_and_die(store_folder, [judged_event(1), judged_event(2)])
    os.unlink(f"{store_folder.events}-shm")
    disk.fill()
    with ThreadPoolExecutor(4) as pool:  # Each in a process of its own.
        list(pool.map(lambda _: run(READING, store_folder), range(4)))
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: events(store_folder), range(200)):
            assert found == JUDGED


@pytest.mark.parametrize("died", [False, True])
def test_a_disk_without_room_for_another_name(tmp_path: Path, died: bool) -> None:
    with small_disk("tmpfs", tmp_path / "disk", names=100) as disk:
        store_folder = planted(disk.folder)
        if died:
            judge_and_die(store_folder, [judged_event(1), judged_event(2)])
        disk.fill_names()
        assert_readable(store_folder, JUDGED if died else SEEN)
        disk.fill_names()
        if not died:
            with pytest.raises(StoreFull, match="the disk is full"):
                Judging(store_folder)
        disk.empty()
        with Judging(store_folder) as judging:
            judging.append([judged_event(3)])
        assert verify(store_folder).sound


def test_what_cannot_be_read_for_want_of_a_name_is_not_called_damaged(tmp_path: Path) -> None:
    """A log without its index file, and no room to make one: that is all that can be said."""
    with small_disk("tmpfs", tmp_path / "disk", names=100) as disk:
        store_folder = planted(disk.folder)
        judge_and_die(store_folder, [judged_event(1), judged_event(2)])
        os.unlink(f"{store_folder.events}-shm")
        disk.fill_names()
        with pytest.raises(StoreFull, match="the disk is full"):
            events(store_folder)
        with pytest.raises(StoreFull, match="the disk is full"):
            verify(store_folder)
        disk.empty()
        assert_readable(store_folder, JUDGED)


def test_a_full_disk_is_no_damage_and_damage_is(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    judge_and_die(store_folder, [judged_event(1), judged_event(2)])
    os.unlink(f"{store_folder.events}-shm")
    raw = bytearray(store_folder.catalogue.read_bytes())
    raw[4096:8192] = b"\xff" * 4096
    store_folder.catalogue.write_bytes(bytes(raw))
    disk.fill()
    assert {p.file for p in verify(store_folder).problems} == {"catalogue.sqlite3"}


def test_a_repair_that_runs_out_of_space_takes_nothing_away(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    with Judging(store_folder) as judging:
        for _ in range(200):
            judging.append([judged_event(1, "x" * 2000)])
    raw = bytearray(store_folder.events.read_bytes())
    at = raw.index(b"xxxx")
    raw[at] ^= 1
    store_folder.events.write_bytes(bytes(raw))
    disk.fill()
    # Room for the copy that is read, not for the log that is written anew.
    with open(disk.folder / "filling", "r+b") as f:
        f.truncate(os.path.getsize(f.name) - len(raw) - 100_000)
    with pytest.raises(StoreFull, match="Free some space"):
        repair(store_folder, lambda said: None)
    assert store_folder.events.read_bytes() == bytes(raw)
    disk.empty()
    assert repair(store_folder, lambda said: None).sound
    assert len(events(store_folder)) == 203


def test_a_seal_that_cannot_be_written_does_not_undo_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder = planted(tmp_path)

    def full(folder: Path) -> None:
        raise StoreFull("no space for the seal")

    with monkeypatch.context() as m:
        m.setattr(seal, "write_seal", full)
        with Judging(store_folder) as judging:
            judging.append([judged_event(1)])
    assert events(store_folder) == JUDGED[:4]
    found = verify(store_folder)
    assert found.sound and not found.sealed


def test_a_database_that_is_missing_is_not_a_full_disk(disk: SmallDisk) -> None:
    store_folder = planted(disk.folder)
    disk.fill()
    store_folder.events.unlink()
    with pytest.raises(StoreDamaged, match="missing"):
        EventLog(store_folder.events, write=False)
