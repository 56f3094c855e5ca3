"""Index runs: only what changed is read, ids stay with pictures, words follow their sources."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import sightline.collection.index.batches as reading
from sightline.collection import Collection
from sightline.collection.index.run import IndexReport
from sightline.compute.inline import InlineCompute
from sightline.contracts import Done, Failed, Job, WorkerKind
from sightline.errors import CollectionError, Interrupted, UsageError
from sightline.pictures.folder import PictureFile
from sightline.pictures.reading import READ_TASK, ReadLimits, request
from sightline.store.events import EventLog, NewEvent
from sightline.store.writer import Judging
from tests.factories.counted_work import calls, opened_files
from tests.factories.photos import make_photo, make_photos


class Counting(InlineCompute):
    """Counts the pictures that are read."""

    def __init__(self) -> None:
        self.read: list[bytes] = []

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        return super().run(task, self._told(task, jobs), kind)

    def _told(self, task: str, jobs: Iterable[Job]) -> Iterator[Job]:
        for job in jobs:
            if task == READ_TASK:
                self.read.append(job.name)
            yield job


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos")


@pytest.fixture
def collection(tmp_path: Path, photos: Path) -> Collection:
    c = Collection.open(photos, store=tmp_path / "store")
    c.index(compute=InlineCompute())
    return c


def index(c: Collection, **options: object) -> tuple[IndexReport, list[bytes]]:
    counting = Counting()
    report = c.index(compute=counting, **options)  # type: ignore[arg-type]
    return report, counting.read


def ids(c: Collection) -> dict[bytes, int]:
    with c.store_folder.reader() as reader:
        facts = reader.catalogue.facts(reader.snapshot.ids().tolist())
    return {f.path: i for i, f in facts.items()}


def paths(c: Collection, query: str) -> list[bytes]:
    return sorted(h.path for h in c.search(query, 100).hits)


def test_counts_add_up_and_a_second_run_reads_nothing(collection: Collection) -> None:
    version = collection.status().version
    report, read = index(collection)
    assert (report.seen, report.indexed, report.skipped) == (8, 8, ())
    assert read == [] and report.added == report.changed == report.moved == report.gone == 0
    assert report.version == version, "an unchanged collection is not published again"


def test_only_new_pictures_are_read(collection: Collection, photos: Path) -> None:
    make_photo(photos / "sub" / "new.jpg", 50)
    report, read = index(collection)
    assert read == [b"sub/new.jpg"] and report.added == 1 and report.indexed == 9


def test_a_moved_picture_keeps_its_id_words_and_judgements(
    collection: Collection, photos: Path
) -> None:
    before = ids(collection)
    with Judging(collection.store_folder) as judging:
        body = {"query": "favourite", "relevance": 1.0, "source": "test"}
        judging.append([NewEvent("judged", before[b"003.jpg"], body)])  # type: ignore[arg-type]
    (photos / "2024").mkdir()
    for ending in ("jpg", "txt"):
        shutil.move(photos / f"003.{ending}", photos / "2024" / f"renamed.{ending}")
    report, _ = index(collection)
    assert (report.moved, report.added, report.gone) == (1, 0, 0)
    after = ids(collection)
    assert after[b"2024/renamed.jpg"] == before[b"003.jpg"]
    assert b"2024/renamed.jpg" in paths(collection, "cat")
    log = EventLog(collection.store_folder.events, write=True)
    assert [j.picture for j in log.judgements()] == [after[b"2024/renamed.jpg"]]
    log.close()


def test_renumbering_a_whole_folder_mixes_nothing_up(collection: Collection, photos: Path) -> None:
    """000→001→002 …: every path but one held another picture before."""
    before = ids(collection)
    contents = {p.name: p.read_bytes() for p in sorted(photos.glob("*.jpg"))}
    names = sorted(contents)
    for old, new in zip(names, [*names[1:], "008.jpg"], strict=True):
        (photos / new).write_bytes(contents[old])
    (photos / "000.jpg").unlink()
    report, _ = index(collection)
    after = ids(collection)
    for old, new in zip(names, [*names[1:], "008.jpg"], strict=True):
        assert after[new.encode()] == before[old.encode()], (old, new)
    assert (report.moved, report.added, report.gone) == (8, 0, 0)


def test_two_pictures_that_change_places(collection: Collection, photos: Path) -> None:
    before = ids(collection)
    a, b = (photos / "000.jpg").read_bytes(), (photos / "001.jpg").read_bytes()
    (photos / "000.jpg").write_bytes(b)
    (photos / "001.jpg").write_bytes(a)
    index(collection)
    after = ids(collection)
    assert (after[b"000.jpg"], after[b"001.jpg"]) == (before[b"001.jpg"], before[b"000.jpg"])


def test_an_edited_picture_keeps_its_id(collection: Collection, photos: Path) -> None:
    before = ids(collection)
    make_photo(photos / "002.jpg", 77)
    report, read = index(collection)
    assert read == [b"002.jpg"] and report.changed == 1
    assert ids(collection) == before


def test_a_copy_is_another_picture(collection: Collection, photos: Path) -> None:
    shutil.copy(photos / "002.jpg", photos / "copy.jpg")
    report, _ = index(collection)
    assert report.added == 1
    assert len(set(ids(collection).values())) == 9


def test_a_touched_picture_is_not_read_again(collection: Collection, photos: Path) -> None:
    os.utime(photos / "002.jpg", (1, 1))
    report, read = index(collection)
    assert read == [] and report.changed == 0
    _, read = index(collection)
    assert read == []


def test_deleted_pictures_leave_and_come_back_with_their_id(
    collection: Collection, photos: Path
) -> None:
    before = ids(collection)
    kept = (photos / "002.jpg").read_bytes()
    (photos / "002.jpg").unlink()
    assert b"002.jpg" not in paths(collection, "dog"), "it leaves results before the next index"
    assert collection.search("dog", 50).missing == 1
    report, _ = index(collection)
    assert report.gone == 1 and report.indexed == 7
    assert collection.search("dog", 50).missing == 0
    (photos / "back.jpg").write_bytes(kept)
    index(collection)
    assert ids(collection)[b"back.jpg"] == before[b"002.jpg"]


def test_an_empty_folder_is_not_believed_at_once(collection: Collection, photos: Path) -> None:
    """A disk that is not mounted looks like a folder whose pictures were all deleted."""
    shutil.move(photos, photos.parent / "away")
    photos.mkdir()
    with pytest.raises(CollectionError, match=r"8 pictures were there before.*--allow-empty"):
        index(collection)
    assert collection.status().pictures == 8
    report, _ = index(collection, allow_empty=True)
    assert report.gone == 8 and collection.status().pictures == 0
    photos.rmdir()
    shutil.move(photos.parent / "away", photos)
    report, _ = index(collection)
    assert report.indexed == 8 and max(ids(collection).values()) == 8


def test_a_picture_that_breaks_and_is_mended_keeps_its_id(
    collection: Collection, photos: Path
) -> None:
    before = ids(collection)
    kept = (photos / "003.jpg").read_bytes()
    (photos / "003.jpg").write_bytes(b"no longer a picture")
    report, _ = index(collection)
    assert [s.path for s in report.skipped] == [b"003.jpg"]
    assert report.seen == report.indexed + 1 == 8
    assert b"003.jpg" not in paths(collection, "cat")
    report, read = index(collection)
    assert read == [] and [s.path for s in report.skipped] == [b"003.jpg"]
    (photos / "003.jpg").write_bytes(kept)
    report, _ = index(collection)
    assert report.skipped == () and ids(collection) == before


def test_a_word_file_that_changed_is_read_again(collection: Collection, photos: Path) -> None:
    (photos / "002.txt").write_text("giraffe")
    report, read = index(collection)
    assert read == [] and report.changed == 1
    assert paths(collection, "giraffe") == [b"002.jpg"]
    assert b"002.jpg" not in paths(collection, "dog")
    (photos / "002.txt").unlink()
    index(collection)
    assert paths(collection, "giraffe") == []


def test_words_come_from_everywhere_at_once(tmp_path: Path, photos: Path) -> None:
    table = tmp_path / "words.csv"
    table.write_text('path,words\n000.jpg,"castle; old town"\nsub/x.jpg,castle\n')
    make_photo(photos / "sub" / "x.jpg", 60)
    c = Collection.open(photos, store=tmp_path / "store", folder_words=True)
    index(c, words=[table])
    assert paths(c, "castle") == [b"000.jpg", b"sub/x.jpg"]
    assert paths(c, '"old town" tree') == [b"000.jpg", b"001.jpg", b"005.jpg"]
    assert c.search('"old town" tree', 1).hits[0].tagged
    assert paths(c, "sub") == [b"sub/x.jpg"]
    assert {t.source for t in c.pictures.words(ids(c)[b"000.jpg"])} == {"txt", "file:words.csv"}


def test_a_table_is_remembered_read_again_when_changed_and_forgotten(
    tmp_path: Path, photos: Path
) -> None:
    table = tmp_path / "words.csv"
    table.write_text("path,words\n000.jpg,castle\n")
    c = Collection.open(photos, store=tmp_path / "store")
    index(c, words=[table])
    table.write_text("path,words\n001.jpg,castle\n")
    _, read = index(c)
    assert read == [] and paths(c, "castle") == [b"001.jpg"]
    make_photo(photos / "new.jpg", 70)
    table.write_text("path,words\n001.jpg,castle\nnew.jpg,castle\n")
    index(c)
    assert paths(c, "castle") == [b"001.jpg", b"new.jpg"]
    index(c, forget_words=[table])
    assert paths(c, "castle") == []


def test_a_table_that_vanished_is_named_and_its_words_go(tmp_path: Path, photos: Path) -> None:
    table = tmp_path / "words.csv"
    table.write_text("path,words\n000.jpg,castle\n")
    c = Collection.open(photos, store=tmp_path / "store")
    index(c, words=[table])
    table.unlink()
    report, _ = index(c)
    assert any("words.csv" in p for p in report.problems)


def test_words_are_split_anew_when_the_rules_change(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.words.tokens.VERSION", 2)
    monkeypatch.setattr(
        "sightline.collection.index.tags.caption_terms", lambda tags: ("everything",)
    )
    _, read = index(collection)
    assert read == [] and len(paths(collection, "everything")) == 7
    version = collection.status().version
    index(collection)
    assert collection.status().version == version


def test_bad_calls_say_what_to_do(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(UsageError, match="inside one another"):
        Collection.open(photos, store=photos / ".store")
    with pytest.raises(CollectionError, match="is no folder"):
        Collection.open(tmp_path / "missing", store=tmp_path / "s").index()
    with pytest.raises(UsageError, match="There is no file"):
        Collection.open(photos, store=tmp_path / "s").index(words=["/nowhere.csv"])
    with pytest.raises(CollectionError, match="Run: sightline index"):
        Collection.open(photos, store=tmp_path / "other").search("tree")


class Stopping(Counting):
    """Somebody presses Ctrl-C while the tenth picture is read."""

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        for i, answer in enumerate(super().run(task, jobs, kind)):
            if i == 9:
                raise KeyboardInterrupt
            yield answer


def test_ctrl_c_keeps_finished_batches_and_the_next_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH", 4)
    c = Collection.open(make_photos(tmp_path / "photos", 20), store=tmp_path / "store")
    with pytest.raises(Interrupted, match=r"9 pictures are indexed; run the same command again"):
        c.index(compute=Stopping())
    assert c.status().pictures == 9 and c.store.verify().sound
    report, read = index(c)
    assert len(read) == 11 and report.indexed == 20


def test_an_unchanged_folder_takes_little_work_a_picture(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    make_photo(photos / "0.jpg", 1)
    data = (photos / "0.jpg").read_bytes()
    n = 2_000
    for i in range(1, n):
        (photos / f"{i}.jpg").write_bytes(data + b"%d" % i)
    c = Collection.open(photos, store=tmp_path / "store")
    assert index(c)[0].indexed == n
    files: list[str] = []
    told: list[tuple[IndexReport, list[bytes]]] = []
    work = calls(lambda: files.extend(opened_files(lambda: told.append(index(c)))))
    assert told[0][1] == [] and told[0][0].indexed == n
    # 10,000 pictures at 69 calls each take half a second; files are those of the store alone.
    assert work < 100 * n and len(files) < 50


def test_ids_do_not_depend_on_the_number_of_workers(tmp_path: Path, photos: Path) -> None:
    found = []
    for workers in (1, 2):
        c = Collection.open(photos, store=tmp_path / f"store{workers}", workers=workers)
        c.index()
        found.append((ids(c), [(h.path, h.score) for h in c.search("tree red").hits]))
    assert found[0] == found[1]


def test_jobs_are_plain(photos: Path) -> None:
    job = request(b"/x", PictureFile(b"caf\xe9.jpg", 1, 2), ReadLimits(), pixels=False)
    assert isinstance(job, Job) and str(job.args["path"]).isprintable() is False
