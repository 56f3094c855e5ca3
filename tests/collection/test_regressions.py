"""Faults that reviewers found by trying; each was real once."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

import sightline.collection.index.batches as reading
import sightline.collection.index.run as indexing
import sightline.collection.index.tags as rewording
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.compute.local import LocalCompute
from sightline.contracts import Failed
from sightline.errors import CollectionError, StoreBusy, StoreDamaged, UsageError
from sightline.pictures.reading import READ_TASK
from sightline.store import folder as store_folder
from sightline.store.events import EventLog, NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Judging
from tests.factories.photos import make_photo, make_photos


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_photos(tmp_path / "photos")


def opened(tmp_path: Path, photos: Path, **flags: bool) -> Collection:
    return Collection.open(photos, store=tmp_path / "store", **flags)


def index(c: Collection, **options: object) -> object:
    return c.index(compute=InlineCompute(), **options)  # type: ignore[arg-type]


def judge(c: Collection, key: str) -> NewEvent:
    return NewEvent("judged", 1, {"query": "tree", "relevance": 1.0, "source": "t"}, None, key)


def paths(c: Collection, query: str) -> set[bytes]:
    return {h.path for h in c.search(query, 100).hits}


def test_a_folder_with_other_files_does_not_become_a_store(tmp_path: Path, photos: Path) -> None:
    place = tmp_path / "documents"
    (place / "models").mkdir(parents=True)
    (place / "models" / "thesis.docx").write_text("years of work")
    (place / "letter.part").write_text("half a letter")
    with pytest.raises(UsageError, match="is no store and holds other files"):
        index(Collection.open(photos, store=place))
    assert sorted(p.name for p in place.rglob("*")) == ["letter.part", "models", "thesis.docx"]


def test_a_collection_inside_the_store_is_refused(tmp_path: Path) -> None:
    art = make_photos(tmp_path / "art" / "models")
    with pytest.raises(UsageError, match="inside one another"):
        Collection.open(art, store=tmp_path / "art")


def test_files_of_others_in_a_store_are_left_alone(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    mine = [c.store_folder.path / n for n in ("notes.txt", "shards/mine.bin", "models/mine/x.bin")]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    (photos / "000.txt").write_text("other words")
    index(c)
    c.store.repair(lambda s: None)
    assert all(path.read_text() == "mine" for path in mine)


def test_a_store_belongs_to_one_folder(tmp_path: Path, photos: Path) -> None:
    index(opened(tmp_path, photos))
    other = make_photos(tmp_path / "other", 2)
    with pytest.raises(CollectionError, match="belongs to"):
        index(opened(tmp_path, other))
    shutil.move(photos, tmp_path / "moved")
    assert index(opened(tmp_path, tmp_path / "moved")).indexed == 8  # type: ignore[attr-defined]


def test_a_log_older_than_its_tables_is_refused(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    kept = c.store_folder.events.read_bytes()
    make_photo(photos / "new.jpg", 50)
    index(c)
    c.store_folder.events.write_bytes(kept)
    with pytest.raises(StoreDamaged, match="replaced by an older one"):
        index(c)
    assert not verify(c.store_folder).sound
    assert c.store.repair(lambda s: None).sound
    with c.store_folder.reader() as reader:
        ids = reader.snapshot.ids().tolist()
    assert len(ids) == len(set(ids)) == 9


def test_repair_waits_for_people_who_judge(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    with Judging(c.store_folder) as judging:
        judging.append([judge(c, "k1")])
        with pytest.raises(StoreBusy):
            c.store.repair(lambda s: None)
        judging.append([judge(c, "k2")])
    c.store.repair(lambda s: None)
    log = EventLog(c.store_folder.events, write=True)
    assert {e.key for e in log.read()} >= {"k1", "k2"}
    log.close()


def test_a_log_cut_at_a_page_gives_back_what_is_left(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    with Judging(c.store_folder) as judging:
        judging.append([judge(c, f"key-{i}") for i in range(400)])
    whole = c.store_folder.events.read_bytes()
    c.store_folder.events.write_bytes(whole[: len(whole) // 4096 * 4096 - 2 * 4096])
    said: list[str] = []
    c.store.repair(said.append)
    log = EventLog(c.store_folder.events, write=True)
    kept = [e for e in log.read() if e.kind == "judged"]
    log.close()
    assert len(kept) > 200
    assert any("cut off, so later ones may be missing" in s for s in said)


def test_a_touched_picture_with_other_words_is_noticed(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    os.utime(photos / "002.jpg", (1, 1))
    (photos / "002.txt").write_text("giraffe")
    index(c)
    assert paths(c, "giraffe") == {b"002.jpg"}


def test_words_stopped_half_way_are_all_read_in_the_end(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = opened(tmp_path, photos)
    index(c)
    for path in photos.glob("*.txt"):
        path.write_text("giraffe")
    monkeypatch.setattr(indexing, "BATCH", 2)
    real, calls = rewording.publish_words, 0

    def stopped(*args: object) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(indexing, "publish_words", stopped)
    with pytest.raises(Exception, match="Stopped"):
        index(c)
    index(c)
    assert len(paths(c, "giraffe")) == 7


def test_index_after_rollback_comes_back_to_the_truth(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    (photos / "002.txt").write_text("giraffe")
    index(c)
    c.store.rollback()
    assert paths(c, "giraffe") == set()
    index(c)
    assert paths(c, "giraffe") == {b"002.jpg"}


def test_copies_of_a_lost_picture_do_not_share_its_id(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    kept = (photos / "001.jpg").read_bytes()
    (photos / "001.jpg").unlink()
    index(c)
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        (photos / name).write_bytes(kept)
    index(c)
    with c.store_folder.reader() as reader:
        ids = reader.snapshot.ids().tolist()
    assert len(ids) == len(set(ids)) == 10 and 2 in ids


def test_a_table_that_cannot_be_read_keeps_its_words(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    table = tmp_path / "t.csv"
    table.write_text("path,words\n000.jpg,castle\nnowhere.jpg,castle\n")
    report = index(c, words=[table])
    (read,) = report.tables  # type: ignore[attr-defined]
    assert read.matched == 1 and read.unmatched.examples == ("nowhere.jpg",)
    table.rename(tmp_path / "away.csv")
    for _ in range(2):
        report = index(c)
        assert any("Its previous words stay" in p for p in report.problems)  # type: ignore[attr-defined]
        assert paths(c, "castle") == {b"000.jpg"}
    make_photo(photos / "000.jpg", 77)
    index(c)
    assert paths(c, "castle") == {b"000.jpg"}, "also when the picture itself was edited"


def test_a_wrong_table_is_refused_and_not_remembered(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    bad = tmp_path / "list.txt"
    bad.write_text("a b c")
    with pytest.raises(UsageError, match=r"list\.txt cannot be used .* Known: \.csv"):
        index(c, words=[bad])
    index(c)
    assert c.words.tables() == []


def test_a_plain_index_and_a_repair_keep_what_was_chosen(tmp_path: Path, photos: Path) -> None:
    make_photo(photos / "castle" / ".hidden.jpg", 60)
    index(opened(tmp_path, photos, folder_words=True, hidden=True))
    for _ in range(2):
        again = opened(tmp_path, photos)
        index(again)
        assert paths(again, "castle") == {b"castle/.hidden.jpg"}
        again.store.repair(lambda s: None)
    assert "folder_words = true" in (tmp_path / "store" / "config.toml").read_text()
    index(opened(tmp_path, photos, folder_words=False))
    assert paths(opened(tmp_path, photos), "castle") == set()


def test_a_session_after_a_killed_index_does_not_seal_a_lie(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    db = sqlite3.connect(c.store_folder.catalogue)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("INSERT OR REPLACE INTO meta VALUES ('x', 'y')")
    db.commit()
    with Judging(c.store_folder) as judging:
        judging.append([judge(c, "k")])
    assert (c.store_folder.path / "seal.json").exists(), (
        "the other database's log was folded in too"
    )
    db.close()
    c.search("tree")
    assert verify(c.store_folder).sound


def test_a_search_among_missing_files_stays_quick(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    make_photo(photos / "x.jpg", 1)
    for i in range(300):
        shutil.copy(photos / "x.jpg", photos / f"x{i}.jpg")
        (photos / f"x{i}.txt").write_text("castle")
    index(c)
    for i in range(299):
        (photos / f"x{i}.jpg").unlink()
    results = c.search("castle", 1)
    assert [h.path for h in results.hits] == [b"x299.jpg"] and results.missing > 100
    shutil.move(photos, tmp_path / "away")
    with pytest.raises(CollectionError, match="Is its disk mounted"):
        c.search("castle")


def test_workers_started_in_a_thread_are_not_blamed(tmp_path: Path, photos: Path) -> None:
    """The kernel ends workers with the thread that started them."""
    from sightline.pictures.folder import PictureFile
    from sightline.pictures.reading import ReadLimits, request

    with LocalCompute(2) as compute:
        jobs = [
            request(
                os.fsencode(photos), PictureFile(b"%03d.jpg" % i, 1, 1), ReadLimits(), pixels=False
            )
            for i in range(8)
        ]
        answers = compute.run(READ_TASK, jobs, "decode")
        thread = threading.Thread(target=lambda: list(answers))
        thread.start()
        thread.join()
        again = list(compute.run(READ_TASK, jobs, "decode"))
    assert not any(isinstance(a, Failed) for a in again)


def test_odd_places(tmp_path: Path) -> None:
    place = os.fsencode(tmp_path) + b"/ph\xffotos %?#"
    os.mkdir(place)
    make_photo(tmp_path / "a.jpg", 1)
    shutil.copy(os.fsencode(tmp_path / "a.jpg"), place + b"/a.jpg")
    store = os.fsdecode(os.fsencode(tmp_path) + b"/st\xffore %?#")
    c = Collection.open(place, store=store, folder_words=True)
    assert c.index(compute=InlineCompute()).indexed == 1
    assert StoreFolder(Path(store)).exists() and c.store.verify().sound


def test_batches_are_published_by_time_as_well(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_SECONDS", -1.0)
    c = opened(tmp_path, photos)
    report = index(c)
    assert report.indexed == 8 and report.version >= 8  # type: ignore[attr-defined]


def test_purge_leaves_no_word_behind_and_takes_gone_pictures(tmp_path: Path, photos: Path) -> None:
    (photos / "000.txt").write_text("verysecretword")
    c = opened(tmp_path, photos)
    index(c)
    picture = c.pictures.resolve(["000.jpg"])[0]
    c.store.purge([picture])
    everything = b"".join(p.read_bytes() for p in c.store_folder.path.rglob("*") if p.is_file())
    assert b"verysecretword" not in everything
    assert json.loads(json.dumps(c.status().pictures)) == 7


def test_no_seal_while_a_reader_keeps_a_log_open(tmp_path: Path, photos: Path) -> None:
    c = opened(tmp_path, photos)
    index(c)
    reader = sqlite3.connect(c.store_folder.events, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM events").fetchone()
    with Judging(c.store_folder) as judging:
        judging.append([judge(c, "k")])
    assert not (c.store_folder.path / "seal.json").exists()
    reader.close()
    assert verify(c.store_folder).sound


def test_a_reader_that_met_a_publish_looks_again(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = opened(tmp_path, photos)
    index(c)
    real, calls = store_folder.current_version, 0

    def overtaken(*args: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 1:
            make_photo(photos / "new.jpg", 90)
            index(c)
            raise StoreDamaged("the files of the version that was read are gone")
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(store_folder, "current_version", overtaken)
    with c.store_folder.reader() as reader:
        assert len(reader.snapshot.ids()) == 9


def test_a_limit_that_was_raised_lets_pictures_in(tmp_path: Path, photos: Path) -> None:
    small = Collection.open(photos, store=tmp_path / "store", max_megapixels=0.001)
    make_photo(photos / "large.jpg", 5, (60, 40))
    assert [s.path for s in small.index(compute=InlineCompute()).skipped] == [b"large.jpg"]
    assert index(opened(tmp_path, photos)).skipped == ()  # type: ignore[attr-defined]
