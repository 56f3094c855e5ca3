"""After a rollback the next index does again only what differs; work is counted, not timed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

import sightline.collection.index.batches as reading
import sightline.store.segments as segments
from sightline.collection import Collection
from sightline.compute.features import DESCRIBE_TASK
from sightline.compute.inline import InlineCompute
from sightline.contracts import Done, Failed, Job, WorkerKind
from sightline.pictures.reading import READ_TASK, WORDS_TASK
from sightline.records import FeatureRows
from sightline.store.events import EventLog, NewEvent
from sightline.store.upkeep.rollback import describe_versions
from sightline.store.versions import Segment
from tests.factories.failing_disks import KILLS, Disk, loaded_sqlite, run_child
from tests.factories.photos import make_photo, make_photos

FEATURES = ["color"]
EDITED, MOVED, REWORDED, GONE = b"001.jpg", b"sub/moved.jpg", b"003.jpg", b"004.jpg"
NEW = (b"new-0.jpg", b"new-1.jpg")


class Counting(InlineCompute):
    """Lists the files each kind of work was done for."""

    def __init__(self) -> None:
        self.done: dict[str, list[bytes]] = {READ_TASK: [], WORDS_TASK: [], DESCRIBE_TASK: []}

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        return super().run(task, self._listed(task, jobs), kind)

    def _listed(self, task: str, jobs: Iterable[Job]) -> Iterator[Job]:
        for job in jobs:
            self.done[task].append(job.name)
            yield job


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos")


def opened(tmp_path: Path, photos: Path, store: str = "store") -> Collection:
    return Collection.open(photos, store=tmp_path / store)


def worked(c: Collection, features: Iterable[str] = ()) -> tuple[list[bytes], list[bytes]]:
    """Index; return the files that were read, in full or for their words, and those described."""
    counting = Counting()
    c.index(compute=counting, features=list(features))
    done = counting.done
    return sorted([*done[READ_TASK], *done[WORDS_TASK]]), sorted(done[DESCRIBE_TASK])


def change_much(photos: Path) -> None:
    """Edit, move, reword, remove and add pictures."""
    make_photo(photos / "001.jpg", 101)
    (photos / "sub").mkdir()
    os.rename(photos / "002.jpg", photos / "sub" / "moved.jpg")
    os.rename(photos / "002.txt", photos / "sub" / "moved.txt")
    (photos / "003.txt").write_text("giraffe")
    os.remove(photos / "004.jpg")
    for i, path in enumerate(NEW):
        make_photo(photos / os.fsdecode(path), 200 + i)


def content(c: Collection) -> dict[bytes, tuple[object, ...]]:
    """Return all that the current version holds of each picture, by path."""
    out: dict[bytes, tuple[object, ...]] = {}
    with c.store_folder.reader() as reader:
        snapshot = reader.snapshot
        facts = reader.catalogue.facts(snapshot.ids().tolist())
        assert len(facts) == len(snapshot.ids())
        for s in snapshot.segments:
            for row in np.flatnonzero(s.alive()).tolist():
                picture = int(s.ids[row])
                rows = []
                for f in sorted(s.features):
                    found = snapshot.rows(f, np.array([picture], np.int64))
                    assert isinstance(found, FeatureRows)
                    rows.append((f, found.rows.tobytes()))
                out[facts[picture].path] = (s.words(row).tolist(), s.thumbnail(row), rows)
    return out


def fresh(tmp_path: Path, photos: Path, features: Iterable[str] = FEATURES) -> object:
    c = opened(tmp_path, photos, "fresh")
    c.index(compute=InlineCompute(), features=list(features))
    return content(c)


def changed_collection(tmp_path: Path, photos: Path) -> tuple[Collection, int]:
    """Index, change much, index again with all rows merged into one new segment."""
    c = opened(tmp_path, photos)
    first = c.index(compute=InlineCompute(), features=FEATURES).version
    change_much(photos)
    c.index(compute=InlineCompute())
    return c, first


@pytest.fixture(params=[True, False], ids=["merged", "apart"])
def merging(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Merge after every index, so that both versions share no segment, or never."""
    few = 0 if request.param else 100
    monkeypatch.setattr(segments, "_MAX_SMALL", few)
    monkeypatch.setattr(segments, "_DEAD_SHARE", 0.01 if request.param else 2.0)
    return bool(request.param)


@pytest.mark.usefixtures("merging")
def test_nothing_is_read_where_the_newer_version_has_the_rows(tmp_path: Path, photos: Path) -> None:
    c, first = changed_collection(tmp_path, photos)
    c.store.rollback(first)
    assert c.status().pictures == 8, "as many as there were then"
    assert worked(c) == ([], [])
    assert content(c) == fresh(tmp_path, photos)
    assert {*NEW, EDITED, MOVED, REWORDED} <= content(c).keys() and GONE not in content(c)
    assert worked(c) == ([], []) and c.store.verify().sound


@pytest.mark.usefixtures("merging")
def test_only_what_differs_is_read_where_the_newer_rows_are_damaged(
    tmp_path: Path, photos: Path
) -> None:
    c, first = changed_collection(tmp_path, photos)
    newer = c.store_folder.versions.read(c.store.version())
    kept = {f.name for f in c.store_folder.versions.read(first).files()}
    c.store.rollback(first)
    damaged = {f.name for f in newer.files()} - kept
    assert damaged
    for name in damaged:
        data = bytearray((c.store_folder.shards / name).read_bytes())
        data[-1] ^= 1
        (c.store_folder.shards / name).write_bytes(data)
    differing = sorted([EDITED, *NEW])
    assert worked(c) == (differing, differing)
    assert content(c) == fresh(tmp_path, photos)


def test_only_what_differs_is_read_where_the_newer_version_was_not_finished(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unfinished versions are not kept, so their rows are gone with the rollback."""
    c = opened(tmp_path, photos)
    first = c.index(compute=InlineCompute(), features=FEATURES).version
    change_much(photos)
    monkeypatch.setattr(reading, "BATCH", 2)
    publish, calls = reading.PictureReader._publish, []

    def stopped(self: reading.PictureReader, *args: object) -> None:
        publish(self, *args)  # type: ignore[arg-type]
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(reading.PictureReader, "_publish", stopped)
    with pytest.raises(Exception, match="Stopped"):
        c.index(compute=InlineCompute())
    monkeypatch.undo()
    assert not describe_versions(c.store_folder)[-1].finished
    c.store.rollback(first)
    read, described = worked(c)
    # The moved picture's row is right already, if it was read before the stop.
    assert {EDITED, REWORDED, *NEW} - {*described} <= {REWORDED}
    assert set(read) <= {EDITED, REWORDED, MOVED, *NEW}
    assert content(c) == fresh(tmp_path, photos)


def test_features_that_were_computed_after_the_older_version_are_reused(
    tmp_path: Path, photos: Path
) -> None:
    c = opened(tmp_path, photos)
    first = c.index(compute=InlineCompute()).version
    names = ["color", "visterms"]
    assert len(worked(c, names)[1]) == 8
    (book,) = c.store_folder.versions.read(c.store.version()).codebooks
    before = content_sparse(c)
    c.store.rollback(first)
    assert c.store_folder.versions.read(c.store.version()).codebooks == (book,)
    assert worked(c) == ([], [])
    assert content_sparse(c) == before


def content_sparse(c: Collection) -> list[tuple[str, list[int], list[bytes]]]:
    with c.store_folder.reader() as reader:
        ids, out = reader.snapshot.ids(), []
        for f in reader.snapshot.features():
            rows = reader.snapshot.rows(f, ids)
            parts = [rows.rows] if isinstance(rows, FeatureRows) else [rows.index, rows.value]
            out.append((f, ids.tolist(), [p.tobytes() for p in parts]))
    assert len(out) == 2
    return out


@pytest.mark.usefixtures("merging")
def test_taking_a_rollback_back_leaves_nothing_to_do(tmp_path: Path, photos: Path) -> None:
    c, first = changed_collection(tmp_path, photos)
    newest, then = c.store.version(), content(c)
    c.store.rollback(first)
    c.store.rollback(newest)
    assert content(c) == then
    assert worked(c) == ([], []) and content(c) == then


@pytest.mark.usefixtures("merging")
def test_two_rollbacks_in_a_row_do_not_lose_the_newest_rows(tmp_path: Path, photos: Path) -> None:
    c, first = changed_collection(tmp_path, photos)
    then = content(c)
    c.store.rollback(first)
    c.store.rollback(first)
    assert worked(c) == ([], []) and content(c) == then


def test_changes_after_the_rollback_are_read(tmp_path: Path, photos: Path) -> None:
    c, first = changed_collection(tmp_path, photos)
    c.store.rollback(first)
    make_photo(photos / "new-0.jpg", 300)
    (photos / "001.txt").write_text("zebra")
    os.utime(photos / "new-1.jpg", ns=(1, 1))
    read, described = worked(c)
    assert (read, described) == ([b"001.jpg", b"new-0.jpg"], [b"new-0.jpg"])
    assert [h.path for h in c.search("zebra").hits] == [EDITED]
    assert content(c) == fresh(tmp_path, photos)
    assert worked(c) == ([], [])


def test_words_saved_after_the_older_version_come_back_without_reading(
    tmp_path: Path, photos: Path
) -> None:
    c = opened(tmp_path, photos)
    first = c.index(compute=InlineCompute()).version
    session = c.judge("tree")
    session.mark(positive=[b"006.jpg"])
    session.save_as("castle")
    session.close()
    c.store.rollback(first)
    assert not c.search("castle").hits
    assert worked(c) == ([], [])
    assert [h.path for h in c.search("castle").hits] == [b"006.jpg"]


def test_a_picture_whose_facts_were_not_published_is_read_after_a_rollback(
    tmp_path: Path, photos: Path
) -> None:
    """A crash between log and publish, then a rollback: the mark of the crash stays."""
    c, first = changed_collection(tmp_path, photos)
    (picture,) = c.pictures.resolve([b"005.jpg"])
    log = EventLog(c.store_folder.events, write=True)
    body = {"source": "txt", "tags": ["lost"], "text": ""}
    log.append([NewEvent("words", picture, body)])  # type: ignore[arg-type]
    log.close()
    c.store.rollback(first)
    assert worked(c) == ([b"005.jpg"], [b"005.jpg"])
    assert content(c) == fresh(tmp_path, photos)


def test_rollback_says_from_which_version_to_which(tmp_path: Path, photos: Path) -> None:
    c, first = changed_collection(tmp_path, photos)
    newest = c.store.version()
    done = c.store.rollback()
    assert (done.version, done.left.number, done.restored.number) == (newest + 1, newest, first)
    assert (done.left.pictures, done.restored.pictures) == (9, 8)
    assert describe_versions(c.store_folder)[-1].note == f"rollback to {first}"


def test_a_preview_after_a_rollback_reads_nothing(tmp_path: Path, photos: Path) -> None:
    c, first = changed_collection(tmp_path, photos)
    c.store.rollback(first)
    preview = c.preview()
    assert preview.plan.read == [] and len(preview.plan.reuse) == 4


def test_repair_that_falls_back_to_an_older_version_trusts_no_row(
    tmp_path: Path, photos: Path
) -> None:
    c, _ = changed_collection(tmp_path, photos)
    name = f"{c.store.version():08d}.json"
    (c.store_folder.versions.folder / name).write_bytes(b"{}")
    c.store.repair(lambda text: None)
    assert content(c) == fresh(tmp_path, photos)


@pytest.mark.skipif(loaded_sqlite() is None, reason="this Python has SQLite built in")
def test_a_rollback_or_index_killed_anywhere_leaves_no_wrong_row(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills of the rollback and of the index after it, at steps spread over both."""
    monkeypatch.setattr(segments, "_MAX_SMALL", 1)
    c, first = changed_collection(tmp_path, photos)
    wanted = fresh(tmp_path, photos)
    kept = tmp_path / "kept"
    shutil.copytree(c.store_folder.path, kept)

    def work(say: object) -> None:
        c.store.rollback(first)
        c.index(compute=InlineCompute())

    steps = run_child(work, Disk(c.store_folder.path, tmp_path / "shadow", 0)).steps
    for stop_at in range(1, steps, -(-steps // KILLS)):
        shutil.rmtree(c.store_folder.path)
        shutil.copytree(kept, c.store_folder.path)
        crash = run_child(work, Disk(c.store_folder.path, tmp_path / f"shadow-{stop_at}", stop_at))
        assert not crash.finished
        read, _ = worked(c)
        assert content(c) == wanted, f"killed at step {stop_at}"
        assert set(read) <= {EDITED, MOVED, REWORDED, *NEW}, f"killed at step {stop_at}"
        assert c.store.verify().sound


def test_segments_of_both_versions_are_really_merged(tmp_path: Path, photos: Path) -> None:
    """A control of the tests above: with a merge, the two versions share no row file."""
    with pytest.MonkeyPatch.context() as m:
        m.setattr(segments, "_MAX_SMALL", 0)
        c, first = changed_collection(tmp_path, photos)
    a, b = c.store_folder.versions.read(first), c.store_folder.versions.read(c.store.version())
    assert not _bases(a.segments) & _bases(b.segments)


def _bases(found: Iterable[Segment]) -> set[str]:
    return {s.base.name for s in found}
