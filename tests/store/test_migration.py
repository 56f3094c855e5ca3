"""A store of an older schema becomes one of this release, with a copy kept and no id lost."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

import sightline.store.schema as schema
from sightline.collection import Collection
from sightline.collection.results import TextAnswer
from sightline.collection.search.topics import SharedSpace
from sightline.compute.inline import InlineCompute
from sightline.errors import StoreError

KEPT = Path(__file__).parent / "fixtures" / "schema-1"


@pytest.fixture
def old(tmp_path: Path) -> Collection:
    shutil.copytree(KEPT, tmp_path / "kept")
    return Collection.open(tmp_path / "kept" / "photos", store=tmp_path / "kept" / "store")


def rows(path: Path) -> list[tuple[int, bytes, str]]:
    db = sqlite3.connect(path)
    out = db.execute("SELECT id, path, sha FROM pictures ORDER BY id").fetchall()
    db.close()
    return out


def test_an_old_store_is_upgraded_by_the_next_index(old: Collection) -> None:
    before = rows(old.store_folder.catalogue)
    assert len(before) == 4
    with pytest.raises(StoreError, match=r"schema 1; this Sightline reads schema 2\. Run: "):
        old.search("tree")
    report = old.index(compute=InlineCompute())
    assert report.indexed == 4 and report.added == 0
    assert rows(old.store_folder.catalogue) == before
    assert [h.path for h in old.search("tree").hits] == [b"000.jpg", b"001.jpg"]
    assert old.store.verify().sound
    copy = old.store_folder.path / "catalogue.schema-1.sqlite3"
    assert rows(copy) == before
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sqlite3.connect(copy).execute("PRAGMA user_version").fetchone() == (1,)


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(
    old: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (*schema._STEPS, ("CREATE TABLE extra (x)", "THIS IS NO SQL"))
    monkeypatch.setattr(schema, "_STEPS", broken)
    monkeypatch.setattr(schema, "SCHEMA", len(broken))
    with pytest.raises(StoreError):
        old.index(compute=InlineCompute())
    db = sqlite3.connect(old.store_folder.catalogue)
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    db.close()
    assert "extra" not in tables


def test_a_new_catalogue_has_the_latest_schema(tmp_path: Path, old: Collection) -> None:
    new = Collection.open(KEPT / "photos", store=tmp_path / "new")
    new.index(compute=InlineCompute())
    old.index(compute=InlineCompute())
    assert _columns(new.store_folder.catalogue) == _columns(old.store_folder.catalogue)


def _columns(path: Path) -> dict[str, set[tuple[str, str]]]:
    db = sqlite3.connect(path)
    tables = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    out = {t: {(r[1], r[2]) for r in db.execute(f"PRAGMA table_info({t})")} for t in tables}
    db.close()
    return out


def test_a_store_without_a_text_model_opens_and_gets_one(tmp_path: Path) -> None:
    shutil.copytree(KEPT.parent / "format-4", tmp_path / "kept")
    c = Collection.open(tmp_path / "kept" / "photos", store=tmp_path / "kept" / "store")
    assert c.store.verify().sound
    (version,) = (v for v in c.models.versions() if v.current)
    assert [m.kind for m in version.models] == ["words"]
    # Its word model has a space of texts and pictures, which serves as long as there is no other.
    before = [(h.path, h.score) for h in c.search("red")]
    assert c.words.topics() and c.pictures.describe_texts(1).texts
    answered = c.search_text("something red")
    assert answered.hits and answered.text_answer == TextAnswer("words", "no text model")
    report = c.models.train_text(rankers=["semantic-matching"], force=True)
    (version,) = (v for v in c.models.versions() if v.current)
    assert [m.kind for m in version.models] == ["words", "text"]
    assert [(h.path, h.score) for h in c.search("red")] == before
    assert c.store.verify().sound and c.status().text_model
    c.store.rollback(report.version - 1)
    assert not c.status().text_model and c.words.topics()
    assert c.index(compute=InlineCompute()).indexed == 24
    assert [(h.path, h.score) for h in c.search("red")] == before
    c.store.rollback(report.version)
    assert c.status().text_model
    # A picture that comes later has a point at once.
    photos = tmp_path / "kept" / "photos"
    shutil.copyfile(photos / "00.png", photos / "later.png")
    assert c.index(compute=InlineCompute()).added == 1
    with c.store_folder.reader() as reader:
        points = SharedSpace(reader).model.points_of("pictures")
        assert len(reader.snapshot.having(points)) == 25
