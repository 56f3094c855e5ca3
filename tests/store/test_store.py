"""Versions, searching, merging, rolling back, copying, purging: the store as a whole."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import sightline.store.segments as segments
from sightline.errors import (
    CollectionError,
    ParameterError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
)
from sightline.records import Batch, DenseQuery, FeatureRows, SparseRows
from sightline.store import seal
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from sightline.store.locks import Lock, check_local_file_system, file_system
from sightline.store.models import load_model, save_model
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.backup import backup
from sightline.store.upkeep.purge import purge
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Change, Writer
from sightline.testing import check_store
from tests.factories.photos import fingerprint
from tests.factories.small_disks import judge_and_die, judged_event


def batch(ids: Sequence[int], value: float = 1.0, terms: tuple[int, ...] = (5,)) -> Batch:
    rows = np.full((len(ids), 4), value, np.float32)
    return Batch(
        np.array(ids, np.int64), (terms,) * len(ids), tuple(b"jpeg%d" % i for i in ids),
        (FeatureRows("f-1", rows),),
    )  # fmt: skip


def vector(snapshot: Snapshot, picture: int, feature: str) -> list[float]:
    rows = snapshot.rows(feature, np.array([picture], np.int64))
    assert isinstance(rows, FeatureRows)
    return list(rows.rows[0].tolist())


def fill(tmp_path: Path, *, merged: bool) -> object:
    count = iter(range(1000))

    def make(batches: Sequence[Batch], deleted: Sequence[int]) -> Snapshot:
        store_folder = StoreFolder(tmp_path / f"store{next(count)}")
        with Writer(store_folder, "test") as w:
            for b in batches:
                w.publish(Change(batches=[b]), finished=True)
            w.publish(Change(dead=deleted), finished=True)
            if merged:
                w.compact(everything=True)
        with store_folder.reader() as reader:
            return reader.snapshot

    return make


@pytest.mark.parametrize("merged", [False, True])
def test_the_store_keeps_its_contract(tmp_path: Path, merged: bool) -> None:
    check_store(fill(tmp_path, merged=merged))  # type: ignore[arg-type]


def test_the_contract_check_notices_a_store_that_is_wrong(tmp_path: Path) -> None:
    good = fill(tmp_path, merged=False)

    class Wrong:
        def __init__(self, inner: Snapshot) -> None:
            self.inner, self.version = inner, 1
            self.ids = inner.ids

        def top(self, query: object, k: int, where: object = None) -> object:
            return self.inner.top(query, k, None)  # type: ignore[arg-type]

    with pytest.raises(AssertionError, match=r"top\(\)"):
        check_store(lambda b, d: Wrong(good(b, d)))  # type: ignore[arg-type, operator, return-value]


def test_small_blocks_give_the_same_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.store.engines.flat.BLOCK_BYTES", 1)
    monkeypatch.setattr("sightline.store.engines.flat._MIN_BLOCK_ROWS", 4)
    check_store(fill(tmp_path, merged=True), n=300)  # type: ignore[arg-type]


def test_a_merge_splits_at_the_row_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MERGED_ROWS", 10)
    with Writer(StoreFolder(tmp_path / "store"), "test") as w:
        for start in range(1, 36, 5):
            w.publish(Change(batches=[batch(range(start, start + 5), start)]), finished=True)
        assert w.compact(everything=True)
        assert [s.rows for s in w.version.segments] == [10, 10, 10, 5]
    with StoreFolder(tmp_path / "store").reader() as reader:
        assert reader.snapshot.thumbnail(17) == b"jpeg17"
        assert vector(reader.snapshot, 17, "f-1") == [16.0] * 4


def test_a_query_that_does_not_fit_is_named(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([1])]), finished=True)
    with store_folder.reader() as reader:
        with pytest.raises(StoreError, match=r"'g-1' is not in the store \(it has: f-1\)"):
            reader.snapshot.top(DenseQuery("g-1", np.zeros(4, np.float32)), 1)
        with pytest.raises(ParameterError, match="of length 4"):
            reader.snapshot.top(DenseQuery("f-1", np.zeros(3, np.float32)), 1)
        with pytest.raises(ParameterError, match="at least 1"):
            reader.snapshot.top(DenseQuery("f-1", np.zeros(4, np.float32)), 0)
        with pytest.raises(StoreError, match="not a number"):
            reader.snapshot.top(DenseQuery("f-1", np.full(4, np.nan, np.float32)), 1)


def test_a_reader_keeps_its_version_however_often_others_publish(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([1, 2], 1.0)]), finished=True)
        with store_folder.reader() as old:
            for i in range(10):
                w.publish(Change(batches=[batch([1, 2], float(i))], dead=[2]), finished=True)
                w.compact(everything=True)
            query = DenseQuery("f-1", np.ones(4, np.float32))
            assert old.snapshot.top(query, 5).scores.tolist() == [4.0, 4.0]
            assert old.snapshot.thumbnail(2) == b"jpeg2"
            with store_folder.reader() as new:
                assert new.snapshot.version > old.snapshot.version
                assert new.snapshot.top(query, 5).scores.tolist() == [36.0, 36.0]


def test_two_finished_versions_are_kept_and_files_of_others_are_removed(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        for i in range(1, 8):
            w.publish(Change(batches=[batch([i])]), finished=i != 6)
        assert store_folder.versions.numbers() == [4, 5, 7]
    wanted = {
        f.name
        for n in store_folder.versions.numbers()
        for f in store_folder.versions.read(n).files()
    }
    assert set(os.listdir(store_folder.shards)) == wanted


def test_rollback_publishes_the_old_state_again(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        first = w.publish(Change(batches=[batch([1, 2])]), finished=True)
        w.publish(Change(dead=[1]), finished=True)
        w.rollback(first.number)
    with store_folder.reader() as reader:
        assert reader.snapshot.ids().tolist() == [1, 2]
        assert reader.snapshot.version == 3
    assert verify(store_folder).sound


def test_only_one_writer_and_the_second_learns_who(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    who = rf"'sightline index' \(process {os.getpid()} on "
    with Writer(store_folder, "index"), pytest.raises(StoreBusy, match=who):
        Writer(store_folder, "index")
    Writer(store_folder, "index").close()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    code = (
        "import sys, os\n"
        "from pathlib import Path\n"
        "from sightline.store.locks import Lock\n"
        "lock = Lock(Path(sys.argv[1]), 'index')\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == b"held\n"
    with pytest.raises(StoreBusy, match=f"process {child.pid}"):
        Lock(tmp_path, "index")
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    Lock(tmp_path, "index", wait=2).release()


def test_waiting_for_the_lock(tmp_path: Path) -> None:
    first = Lock(tmp_path, "index")
    other = os.open(tmp_path / "lock", os.O_RDWR)
    with pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
    first.release()
    assert (tmp_path / "lock").read_bytes() == b""


def test_network_file_systems_are_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 0:1 / / rw - ext4 /dev/sda rw\n"
        "2 1 0:2 / /net\\040share rw - nfs4 server:/x rw\n"
        "3 2 0:3 / /net\\040share/local rw - ext4 /dev/sdb rw\n"
    )
    assert file_system(Path("/net share/store"), str(mounts)) == "nfs4"
    assert file_system(Path("/net share/local/x"), str(mounts)) == "ext4"
    assert file_system(Path("/net shared"), str(mounts)) == "ext4"
    assert file_system(Path("/"), str(tmp_path / "missing")) == ""
    check_local_file_system(tmp_path)


def test_a_network_file_system_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline.store.locks.file_system", lambda folder: "cifs")
    with pytest.raises(StoreError, match=r"network file system \(cifs\).*--store"):
        Writer(StoreFolder(tmp_path / "store"), "index")


def test_an_empty_place_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="Run: sightline index"):
        StoreFolder(tmp_path).reader()


def test_a_copy_is_a_store_like_any_other(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([1, 2, 3])]), finished=True)
    checked = backup(store_folder, tmp_path / "copy")
    assert checked.sound and checked.sealed
    with StoreFolder(tmp_path / "copy").reader() as reader:
        assert reader.snapshot.ids().tolist() == [1, 2, 3]
    with pytest.raises(StoreError, match="not empty"):
        backup(store_folder, tmp_path / "copy")


def test_purging_removes_a_picture_from_every_file(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        for i in (1, 2, 3):
            w.publish(Change(batches=[batch([i], terms=(i,))]), finished=True)
    purge(store_folder, [2], [])
    with store_folder.reader() as reader:
        assert reader.snapshot.ids().tolist() == [1, 3]
    everything = b"".join(p.read_bytes() for p in store_folder.path.rglob("*") if p.is_file())
    assert b"jpeg2" not in everything and b"jpeg3" in everything
    assert verify(store_folder).sound
    assert len(store_folder.versions.numbers()) == 1


def test_models_are_named_after_their_content_and_checked(tmp_path: Path) -> None:
    arrays = {"W": np.ones((2, 3), np.float32)}
    name = save_model(tmp_path, "pamir", {"C": 0.1}, arrays)
    assert save_model(tmp_path, "pamir", {"C": 0.1}, arrays) == name
    assert load_model(tmp_path, name).about == {"C": 0.1}
    assert np.array_equal(load_model(tmp_path, name).arrays["W"], arrays["W"])
    other = save_model(tmp_path, "pamir", {"C": 0.2}, arrays)
    assert other != name
    (tmp_path / other / "model.json").write_text((tmp_path / name / "model.json").read_text())
    with pytest.raises(StoreDamaged, match="not what was written"):
        load_model(tmp_path, other)


def test_a_model_with_numbers_that_are_not_finite_is_refused(tmp_path: Path) -> None:
    name = save_model(tmp_path, "pamir", {}, {"W": np.array([1.0, np.nan], np.float32)})
    with pytest.raises(StoreDamaged, match="not finite, in 'W'"):
        load_model(tmp_path, name)


def test_a_store_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    Writer(store_folder, "test").close()
    db = sqlite3.connect(store_folder.catalogue)
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreTooNew, match="schema 99"):
        store_folder.reader()


@pytest.mark.parametrize("index_file", [True, False])
def test_a_read_only_store_is_read_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index_file: bool
) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([1])]), finished=True)
    judge_and_die(store_folder, [judged_event(1)])
    if not index_file:
        os.unlink(f"{store_folder.events}-shm")
    before = fingerprint(store_folder.path)
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: access(path, mode) if store_folder.path != path else False
    )
    with store_folder.reader() as reader:
        assert reader.snapshot.ids().tolist() == [1]
    log = EventLog(store_folder.events, write=False)
    assert [e.kind for e in log.read()] == ["judged"]
    log.close()
    assert fingerprint(store_folder.path) == before


def sparse(ids: Sequence[int], name: str = "v-1", length: int = 70_000) -> Batch:
    """Make pictures whose sparse row has the picture's id at two places, or nothing."""
    start = np.cumsum([0, *(2 if i % 3 else 0 for i in ids)]).astype(np.int64)
    index = np.array([x for i in ids if i % 3 for x in (i, length - 1)], np.int32)
    value = np.array([x for i in ids if i % 3 for x in (i, 1)], np.float32)
    rows = SparseRows(name, length, start, index, value)
    return Batch(np.array(ids, np.int64), ((),) * len(ids), (b"",) * len(ids), (rows,))


@pytest.mark.parametrize("length", [70_000, 300])
def test_sparse_rows_survive_merging_and_copying(tmp_path: Path, length: int) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        for ids in ([1, 2, 3, 9], [4, 5, 6], [7, 8]):
            w.publish(Change(batches=[sparse(ids, length=length)]), finished=True)
        w.publish(Change(dead=[5]), finished=True)
        for merged in (False, True):
            if merged:
                w.compact(everything=True)
            with store_folder.reader() as reader:
                weights = np.zeros(length, np.float32)
                weights[[4, 7, 8]] = 1
                top = reader.snapshot.top(DenseQuery("v-1", weights), 3)
                assert (top.ids.tolist(), top.scores.tolist()) == ([8, 7, 4], [8, 7, 4])
                rows = reader.snapshot.rows("v-1", np.array([2, 3, 7, 9], np.int64))
                assert isinstance(rows, SparseRows)
                assert rows.start.tolist() == [0, 2, 2, 4, 4]
                assert rows.index.tolist() == [2, length - 1, 7, length - 1]
                assert rows.value.tolist() == [2, 1, 7, 1]


def test_merging_loses_no_features_where_pictures_have_different_ones(tmp_path: Path) -> None:
    store_folder = StoreFolder(tmp_path / "store")
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([1, 2]), sparse([3, 4])]), finished=True)
        w.publish(Change(batches=[batch([5]), sparse([6])]), finished=True)
        w.compact(everything=True)
        assert len(w.version.segments) == 2
    with store_folder.reader() as reader:
        groups = reader.snapshot.by_features(np.arange(1, 7))
        assert [(f, ids.tolist()) for f, ids in groups] == [
            (("f-1",), [1, 2, 5]),
            (("v-1",), [3, 4, 6]),
        ]
        assert reader.snapshot.features() == ()


def test_a_log_that_a_reader_removes_meanwhile_is_no_open_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: True)
    assert not seal.has_open_logs(tmp_path)
    (tmp_path / "events.sqlite3-wal").write_bytes(b"x")
    assert seal.has_open_logs(tmp_path)
