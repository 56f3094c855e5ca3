"""The user's own vectors: matched to pictures, kept with them, forgotten."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sightline.collection.index.vectors as attaching
from sightline.collection import Collection
from sightline.collection.index.vectors import (
    forget_vectors,
    open_vectors,
    remembered_vectors,
)
from sightline.compute.inline import InlineCompute
from sightline.errors import DataError, UsageError
from sightline.records import DenseQuery, SparseRows
from sightline.registry import FEATURES
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer
from tests.factories.failing_disks import Disk, loaded_sqlite, run_child
from tests.factories.photos import fingerprint
from tests.factories.vector_files import (
    QUIET,
    add,
    all_paths,
    features_of,
    make_collection,
    refresh,
    save,
    vectors_of,
    version,
    writer,
)


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return make_collection(tmp_path)


@pytest.fixture
def photos(c: Collection, tmp_path: Path) -> Path:
    return tmp_path / "photos"


# -- matching --------------------------------------------------------------------------------------


def test_by_path_with_odd_names(c: Collection, tmp_path: Path) -> None:
    paths = all_paths(c)[::-1]
    wanted = save(tmp_path / "clip.npz", paths)
    before = fingerprint(tmp_path / "photos")
    report = add(c, tmp_path / "clip.npz")
    assert (report.matched, report.n_unmatched, report.n_without) == (8, 0, 0)
    assert not report.problems()
    assert b"caf\xe9 \xff.jpg" in wanted
    assert vectors_of(c, report.fingerprint) == wanted
    with c.store_folder.reader() as reader:
        top = reader.snapshot.top(DenseQuery(report.fingerprint, np.array([1, 0], np.float32)), 1)
        assert reader.catalogue.facts(top.ids.tolist())[int(top.ids[0])].path == paths[-1]
    assert c.store.verify().sound and c.store.verify().sealed and not c.store.verify().strays
    assert fingerprint(tmp_path / "photos") == before


def test_ways_to_write_a_path(c: Collection, photos: Path) -> None:
    place = photos / "sub" / "v.npz"
    written = [
        os.fsencode(photos) + b"/001.jpg", b"./002.jpg", b" 003.jpg\t", b"../004.jpg",
        b"C:\\Users\\me\\005.jpg", b"sub\\000.jpg", b"elsewhere/000.jpg", b"/etc/passwd",
    ]  # fmt: skip
    save(place, written)
    report = add(c, place)
    found = vectors_of(c, report.fingerprint)
    names = [b"001.jpg", b"002.jpg", b"003.jpg", b"004.jpg", b"005.jpg", b"sub/000.jpg"]
    assert {p: int(r[0]) for p, r in found.items()} == {p: i for i, p in enumerate(names)}
    assert report.unmatched == (b"elsewhere/000.jpg", b"/etc/passwd")
    assert report.without == (b"000.jpg", b"caf\xe9 \xff.jpg")
    assert report.problems() == [
        "v.npz: no picture here for 2 of 8 rows, the first elsewhere/000.jpg",
        "v.npz: 1 of these rows have a file name that fits several pictures or rows, "
        "the first elsewhere/000.jpg",
        "v.npz: 1 of 8 rows were matched by file name alone, "
        "the first C:\\\\Users\\\\me\\\\005.jpg",
        "v.npz: no vector for 2 of 8 pictures, the first 000.jpg",
    ]


def test_a_path_is_first_taken_from_the_collection(c: Collection, photos: Path) -> None:
    save(photos / "sub" / "v.npz", [b"000.jpg"])
    assert set(vectors_of(c, add(c, photos / "sub" / "v.npz").fingerprint)) == {b"000.jpg"}


def test_file_names_that_are_not_unmistakable_match_nothing(c: Collection, tmp_path: Path) -> None:
    save(tmp_path / "v.npz", [b"x/001.jpg", b"y/001.jpg", b"x/000.jpg", b"x/002.jpg", b"./002.jpg"])
    report = add(c, tmp_path / "v.npz")
    assert report.matched == 1 and report.n_unmatched == 4
    assert set(vectors_of(c, report.fingerprint)) == {b"002.jpg"}


def test_two_rows_for_one_picture_are_refused(c: Collection, tmp_path: Path) -> None:
    save(tmp_path / "v.npz", [b"001.jpg", b"./001.jpg"])
    with pytest.raises(DataError, match=r"001.jpg \(row 0\) and ./001.jpg \(row 1\) name the same"):
        add(c, tmp_path / "v.npz")


def test_by_order(c: Collection, tmp_path: Path) -> None:
    wanted = save(tmp_path / "v.npy", all_paths(c))
    assert vectors_of(c, add(c, tmp_path / "v.npy").fingerprint) == wanted
    np.save(tmp_path / "w.npy", np.ones((7, 2)))
    with pytest.raises(DataError, match="has 7 rows and the collection has 8 pictures"):
        add(c, tmp_path / "w.npy")


def test_nothing_matches(c: Collection, tmp_path: Path) -> None:
    save(tmp_path / "v.npz", [b"x.jpg"])
    before = version(c)
    with pytest.raises(DataError, match=r"No row of .*v.npz belongs to a picture.*Got x.jpg"):
        add(c, tmp_path / "v.npz")
    with writer(c) as w:
        assert not remembered_vectors(w.catalogue) and w.version.number == before


def test_the_name_of_a_computed_feature_is_refused(
    c: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FEATURES, "gist", replace(FEATURES["gist"], class_path="nowhere:Gist"))
    save(tmp_path / "gist.npz", all_paths(c))
    with pytest.raises(UsageError, match="'gist' is the name of a feature that is computed"):
        add(c, tmp_path / "gist.npz")
    assert add(c, tmp_path / "gist.npz", "other").matched == 8


def test_files_as_people_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("v.npz", "a=b.npz", "c=d"):
        save(tmp_path / "v.npz", [b"x.jpg"])
        os.replace(tmp_path / "v.npz", tmp_path / name)
    save(tmp_path / "v.npz", [b"x.jpg"])
    for given, name in (
        ("v.npz", "v"), ("clip=v.npz", "clip"), ("clip=~/v.npz", "clip"), ("a=b.npz", "a-b"),
        (tmp_path / "v.npz", "v"), (f"clip={tmp_path}/a=b.npz", "clip"),
    ):  # fmt: skip
        assert open_vectors(given).name == name
    for given, sentence in (
        ("w.npz", "w.npz cannot be used as a file of vectors: .*No such file"),
        ("clip=w.npz", "^w.npz cannot be used as a file of vectors"),
        ("a b=v.npz", "letters, digits, '_' and '-'"),
        ("c=d", "has the ending ''"),
    ):
        with pytest.raises(UsageError, match=sentence):
            open_vectors(given)


# -- what stays, what is replaced ------------------------------------------------------------------


def test_words_thumbnails_and_other_features_stay(c: Collection, tmp_path: Path) -> None:
    paths = all_paths(c)
    ids = c.pictures.resolve(paths)
    words, small = [c.pictures.words(i) for i in ids], c.pictures.thumbnails(ids)
    hits = [(h.path, h.score) for h in c.search("tree red", 10).hits]
    counts = give_counts(c)
    first = save(tmp_path / "a.npz", paths[:5])
    second = save(tmp_path / "b.npz", paths[3:], seed=7)
    a, b = add(c, tmp_path / "a.npz"), add(c, tmp_path / "b.npz")
    assert vectors_of(c, a.fingerprint) == first and vectors_of(c, b.fingerprint) == second
    assert c.pictures.resolve(paths) == ids
    assert [c.pictures.words(i) for i in ids] == words and c.pictures.thumbnails(ids) == small
    assert [(h.path, h.score) for h in c.search("tree red", 10).hits] == hits
    with c.store_folder.reader() as reader:
        kept = reader.snapshot.rows(counts.name, reader.snapshot.ids())
    assert isinstance(kept, SparseRows) and kept.length == 9
    assert kept.index.tolist() == counts.index.tolist()
    assert c.store.verify().sound


def give_counts(c: Collection) -> SparseRows:
    """Give every picture a sparse row, as features that are computed have them."""
    with writer(c) as w:
        snapshot = Snapshot(w.store_folder.shards, w.version)
        ids = snapshot.ids()
        n = len(ids)
        index = np.arange(n, dtype=np.int32)
        rows = SparseRows("counts-0", 9, np.arange(n + 1), index, np.ones(n, np.float32))
        batch = snapshot.batch(ids, [])
        w.publish(Change(batches=[replace(batch, features=(rows,))]), finished=True)
    return rows


def test_batches_and_a_second_time(
    c: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attaching, "BATCH", 3)
    wanted = save(tmp_path / "v.npz", all_paths(c))
    before = version(c)
    report = add(c, tmp_path / "v.npz")
    assert version(c) == before + 3
    assert vectors_of(c, report.fingerprint) == wanted
    with writer(c) as w:
        events = w.log.last_seq()
    assert add(c, tmp_path / "v.npz") == report
    assert refresh(c) == []
    with writer(c) as w:
        assert (w.version.number, w.log.last_seq()) == (before + 3, events)


def test_a_changed_file_replaces_its_rows(c: Collection, tmp_path: Path) -> None:
    file = tmp_path / "v.npz"
    save(file, all_paths(c))
    old = add(c, file).fingerprint
    wanted = save(file, all_paths(c)[2:5], seed=3)
    assert refresh(c) == ["v.npz: no vector for 5 of 8 pictures, the first 000.jpg"]
    (new,) = features_of(c)
    assert new != old and vectors_of(c, new) == wanted
    with c.store_folder.reader() as reader:
        assert [f.fingerprint for f in remembered_vectors(reader.catalogue)] == [new]
    save(file, [b"nothing.jpg"])
    (problem,) = refresh(c)
    assert "No row of" in problem and "The vectors it gave before stay" in problem
    assert vectors_of(c, new) == wanted


def test_another_file_of_the_same_name_replaces_it(c: Collection, tmp_path: Path) -> None:
    save(tmp_path / "v.npz", all_paths(c))
    add(c, tmp_path / "v.npz")
    (tmp_path / "new").mkdir()
    wanted = save(tmp_path / "new" / "v.npz", all_paths(c)[:3], seed=1)
    add(c, tmp_path / "new" / "v.npz")
    (only,) = features_of(c)
    assert vectors_of(c, only) == wanted
    with c.store_folder.reader() as reader:
        (file,) = remembered_vectors(reader.catalogue)
    assert (file.path, file.fingerprint) == (str(tmp_path / "new" / "v.npz"), only)


# -- forgetting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_name", [True, False])
def test_forgetting_removes_rows_and_nothing_else(
    c: Collection, tmp_path: Path, by_name: bool
) -> None:
    paths = all_paths(c)
    small = c.pictures.thumbnails(c.pictures.resolve(paths))
    kept = save(tmp_path / "a.npz", paths)
    save(tmp_path / "b.npz", paths)
    a, _ = add(c, tmp_path / "a.npz"), add(c, tmp_path / "b.npz")
    with writer(c) as w:
        assert forget_vectors(w, "b" if by_name else tmp_path / "b.npz", QUIET) == ("b",)
        assert forget_vectors(w, tmp_path / "b.npz", QUIET) == ()
    assert refresh(c) == []
    assert features_of(c) == {a.fingerprint} and vectors_of(c, a.fingerprint) == kept
    assert c.pictures.thumbnails(c.pictures.resolve(paths)) == small and c.store.verify().sound
    assert add(c, tmp_path / "b.npz").matched == 8


def test_forgetting_that_was_cut_short_goes_on(
    c: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = all_paths(c)
    save(tmp_path / "v.npy", paths)
    add(c, tmp_path / "v.npy")
    monkeypatch.setattr(attaching, "BATCH", 3)
    monkeypatch.setattr(Writer, "publish", stop_after(2, Writer.publish))
    with pytest.raises(KeyboardInterrupt), writer(c) as w:
        forget_vectors(w, "v", QUIET)
    monkeypatch.undo()
    # Asked for again before the old rows are all gone, they are not taken for new ones.
    os.rename(tmp_path / "photos" / "000.jpg", tmp_path / "photos" / "z.jpg")
    c.index(compute=InlineCompute())
    report = add(c, tmp_path / "v.npy")
    rows = vectors_of(c, report.fingerprint)
    assert [rows[p][0] for p in sorted(rows)] == list(range(8))


def stop_after(n: int, publish: object) -> object:
    """Return a publish that is interrupted when it is called for the n-th time."""
    calls = []

    def run(self: Writer, *args: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == n:
            raise KeyboardInterrupt
        return publish(self, *args, **options)  # type: ignore[operator]

    return run


# -- killed ----------------------------------------------------------------------------------------


@pytest.mark.skipif(loaded_sqlite() is None, reason="SQLite is built in and cannot be watched")
@pytest.mark.parametrize("file", ["v.npz", "v.npy"])
def test_killed_at_any_step_it_goes_on(
    c: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.setattr(attaching, "BATCH", 3)
    wanted = save(tmp_path / file, all_paths(c))
    kept = tmp_path / "kept"
    shutil.copytree(c.store_folder.path, kept)
    steps = run_child(lambda say: said_import(c, tmp_path / file), disk(c, tmp_path, 0)).steps
    published = set()
    for stop in range(random.Random(7).randrange(1, steps // 20), steps, steps // 20):
        shutil.rmtree(c.store_folder.path)
        shutil.copytree(kept, c.store_folder.path)
        crash = run_child(lambda say: said_import(c, tmp_path / file), disk(c, tmp_path, stop))
        assert not crash.finished
        assert c.store.verify().sound
        for name in features_of(c):
            there = vectors_of(c, name)
            published.add(len(there))
            assert there.items() <= wanted.items()
        assert add(c, tmp_path / file).matched == 8
        (name,) = features_of(c)
        assert vectors_of(c, name) == wanted and refresh(c) == []
        check = c.store.verify()
        assert check.sound and check.sealed and not check.strays
    assert published >= {3, 6, 8}, "some kills came between two batches"


def said_import(c: Collection, file: Path) -> None:
    add(c, file)


def disk(c: Collection, tmp_path: Path, stop_at: int) -> Disk:
    return Disk(c.store_folder.path, tmp_path / f"shadow-{stop_at}", stop_at)
