"""Pictures like others: who is found, what is said of it, and what is refused."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.index.vectors import publish_rows
from sightline.collection.similarity import candidates
from sightline.collection.similarity.candidates import choose_shortlist, measure_recall
from sightline.collection.similarity.model import uniform
from sightline.collection.similarity.query import QueryPicture, resolve_query
from sightline.compute.inline import InlineCompute
from sightline.errors import CollectionError, DataError, UsageError
from sightline.progress import NoProgress
from sightline.records import Hit
from sightline.settings import Settings
from sightline.store.events import EventLog
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Writer
from tests.factories.similar_collections import draw_stripes, plant_similar, stripes
from tests.naive.likeness import ranked_by_likeness

INLINE = InlineCompute()


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Draw and index pictures of stripes once; tests that change anything take a copy."""
    folder = tmp_path_factory.mktemp("drawn")
    photos = draw_stripes(folder / "photos")
    Collection.open(photos, store=folder / "store").index(
        features=["color", "edges"], compute=INLINE
    )
    return photos, folder / "store"


@pytest.fixture
def c(drawn: tuple[Path, Path]) -> Collection:
    return Collection.open(drawn[0], store=drawn[1])


@pytest.fixture
def own(tmp_path: Path) -> Collection:
    """Return a collection that a test may change."""
    c = Collection.open(draw_stripes(tmp_path / "photos"), store=tmp_path / "store")
    c.index(features=["color", "edges"], compute=INLINE)
    return c


def names(hits: tuple[Hit, ...]) -> list[str]:
    return [os.fsdecode(h.path) for h in hits]


def test_a_picture_is_found_by_path_by_id_and_from_anywhere(c: Collection) -> None:
    inside = c.similar("across/000.png", compute=INLINE)
    (picture,) = c.pictures.resolve(["across/000.png"])
    whole = os.path.join(os.fsdecode(c.root), "across/000.png")
    for same in (picture, str(picture), whole, Path(whole), os.fsencode(whole)):
        assert c.similar(same, compute=INLINE).hits == inside.hits
        assert c.similar(positive=[same], compute=INLINE).hits == inside.hits
    assert len(inside.hits) == c.settings.top and inside.compared == 39
    assert "across/000.png" not in names(inside.hits)


def test_a_picture_outside_is_described_and_its_copy_found_first(
    c: Collection, tmp_path: Path
) -> None:
    stripes("down", 1).save(tmp_path / "other.png")
    before = sorted(os.walk(c.root))
    found = c.similar(tmp_path / "other.png", k=3, compute=INLINE)
    assert names(found.hits)[0] == "down/001.png"
    assert found.hits[0].score > found.hits[1].score and not found.lacking
    os.symlink(tmp_path / "other.png", tmp_path / "link.png")
    assert c.similar(tmp_path / "link.png", k=3, compute=INLINE).hits == found.hits
    assert sorted(os.walk(c.root)) == before


def test_without_training_all_descriptors_count_alike_and_it_is_said(c: Collection) -> None:
    found = c.similar("across/000.png", compute=INLINE)
    assert "all descriptors count equally (color, edges)" in found.remark
    assert "sightline train similarity" in found.remark
    assert not found.trained and not any(h.learned for h in found.hits)


def test_the_order_is_that_of_a_slow_twin(c: Collection) -> None:
    asked = ["across/000.png", "down/001.png"], ["rising/002.png"]
    found = c.similar(*asked[0], negative=asked[1], k=37, compute=INLINE)
    ids = c.pictures.resolve([*asked[0], *asked[1]])
    with c.store_folder.reader() as reader:
        alike = uniform(reader.snapshot)
        slow = ranked_by_likeness(reader.snapshot, alike, ids[:2], ids[2:])
    assert [h.picture for h in found.hits] == [picture for picture, _ in slow]
    assert [h.score for h in found.hits] == pytest.approx([s for _, s in slow], abs=1e-5)


def test_shares_of_descriptors_sum_to_the_score(c: Collection) -> None:
    found = c.similar("across/000.png", negative=["down/001.png"], compute=INLINE)
    for hit, shares in zip(found.hits, found.shares, strict=True):
        assert {s.descriptor for s in shares} == {"color", "edges"}
        assert sum(s.value for s in shares) == pytest.approx(hit.score, abs=1e-5)
        for s in shares:
            assert sum(v for _, v in s.measures) == pytest.approx(s.value)
        assert abs(shares[0].value) >= abs(shares[1].value)


def test_several_pictures_are_all_left_out_and_negative_ones_push_away(c: Collection) -> None:
    plain = c.similar("across/000.png", k=38, compute=INLINE)
    pushed = c.similar("across/000.png", negative=["across/004.png"], k=38, compute=INLINE)
    assert not {"across/000.png", "across/004.png"} & set(names(pushed.hits))
    kind = [n.startswith("across") for n in names(plain.hits)]
    away = [n.startswith("across") for n in names(pushed.hits)]
    assert np.flatnonzero(kind).mean() < np.flatnonzero(away).mean()


def test_filters_leave_what_they_say(c: Collection) -> None:
    found = c.similar("across/000.png", filters=Filters(folder="down"), k=50, compute=INLINE)
    assert len(found.hits) == 10 and all(n.startswith("down/") for n in names(found.hits))
    assert (
        len(c.similar("across/000.png", filters=Filters(untagged=True), k=50, compute=INLINE).hits)
        == 4
    )
    assert not c.similar("across/000.png", filters=Filters(min_side=1000), compute=INLINE).hits


def test_a_query_in_the_search_box_may_be_a_picture(c: Collection) -> None:
    here = os.path.join(os.fsdecode(c.root), "across/000.png")
    away = os.path.join(os.fsdecode(c.root), "down/001.png")
    assert c.search(here).hits == c.similar(here, compute=INLINE).hits
    both = c.search(f"{here} -{away}")
    assert both.hits == c.similar(here, negative=[away], compute=INLINE).hits
    heavy = c.search(f"3:{here} {away}", 38)
    even = c.search(f"{here} {away}", 38)
    assert heavy.hits != even.hits
    with pytest.raises(UsageError, match="Words are explained here"):
        c.explain(here)


def test_pictures_that_are_gone_are_left_out_and_counted(own: Collection) -> None:
    best = own.similar("across/000.png", k=2, compute=INLINE).hits
    os.unlink(os.path.join(own.root, best[0].path))
    found = own.similar("across/000.png", k=2, compute=INLINE)
    assert found.missing == 1 and found.hits[0].picture == best[1].picture


@pytest.mark.parametrize(
    ("asked", "negative", "kind", "said"),
    [
        (["nowhere.png"], [], CollectionError, "There is no picture nowhere.png, neither here nor"),
        (["across"], [], UsageError, "is a folder"),
        (["999"], [], CollectionError, "There is no picture 999 in"),
        ([999], [], CollectionError, "There is no picture 999 in"),
        ([], ["across/000.png"], UsageError, "at least one positive picture"),
        (["across/000.png"], ["across/000.png"], UsageError, "both a positive and a negative"),
    ],
)
def test_pictures_that_cannot_be_asked_for(
    c: Collection, asked: list[str], negative: list[str], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        c.similar(*asked, negative=negative, compute=INLINE)


@pytest.mark.parametrize("content", [b"", b"no picture at all", b"\x89PNG\r\n\x1a\n0000"])
def test_a_query_that_does_not_decode_is_named(
    c: Collection, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "broken.png").write_bytes(content)
    with pytest.raises(DataError, match=r"broken\.png cannot be read: "):
        c.similar(tmp_path / "broken.png", compute=INLINE)
    with pytest.raises(UsageError, match="At least 1 hit"):
        c.similar("across/000.png", k=0, compute=INLINE)


def test_pictures_without_descriptors_cannot_be_compared(tmp_path: Path) -> None:
    photos = draw_stripes(tmp_path / "photos", 8)
    c = Collection.open(photos, store=tmp_path / "store")
    c.index(compute=INLINE)
    with pytest.raises(CollectionError, match=r"No descriptor .* index --features (deep|gist)"):
        c.similar("across/000.png", compute=INLINE)
    with pytest.raises(UsageError, match="a dry run computes none"):
        c.models.train_similarity(dry_run=True)
    with pytest.raises(CollectionError, match="No descriptor"):
        c.models.learn_similarity("across/000.png", positive=["across/004.png"])
    log = EventLog(c.store_folder.events, write=False)
    assert log.similarity_judgements() == []
    log.close()


def vectors(c: Collection, file: Path, paths: list[str], length: int = 3) -> str:
    """Save vectors that tell the kinds of stripes apart, for some pictures."""
    kinds = ["across", "down", "rising", "falling"]
    rows = np.eye(4, length, dtype=np.float32)[[kinds.index(p.partition("/")[0]) for p in paths]]
    np.savez(file, vectors=rows + 0.1, paths=np.array(paths))
    return f"own={file}"


def paths_of(c: Collection) -> list[str]:
    with c.store_folder.reader() as reader:
        return sorted(os.fsdecode(k.path) for k in reader.catalogue.known())


def test_imported_vectors_join_and_pictures_without_them_count_nothing_by_them(
    own: Collection, tmp_path: Path
) -> None:
    some = paths_of(own)[:-2]
    own.index(vectors=[vectors(own, tmp_path / "v.npz", some)], compute=INLINE)
    found = own.similar("across/000.png", k=39, compute=INLINE)
    assert "own" in found.remark and found.partly == (("own", 2),)
    first = {s.descriptor: s.value for s in found.shares[0]}
    assert first["own"] != 0
    lacking = set(paths_of(own)[-2:])
    for hit, shares in zip(found.hits, found.shares, strict=True):
        if os.fsdecode(hit.path) in lacking:
            assert {s.descriptor: s.value for s in shares}["own"] == 0.0
            lacking.discard(os.fsdecode(hit.path))
    assert not lacking


def test_a_picture_from_outside_has_no_imported_vector_and_that_is_said(
    own: Collection, tmp_path: Path
) -> None:
    own.index(vectors=[vectors(own, tmp_path / "v.npz", paths_of(own))], compute=INLINE)
    stripes("down", 1).save(tmp_path / "other.png")
    found = own.similar(tmp_path / "other.png", compute=INLINE)
    assert found.lacking == (("own", 1),)
    assert all(s.value == 0 for shares in found.shares for s in shares if s.descriptor == "own")


def test_a_picture_that_lacks_a_descriptor_is_described_now(own: Collection) -> None:
    before = own.similar("across/000.png", compute=INLINE)
    (picture,) = own.pictures.resolve(["across/000.png"])
    with Writer(own.store_folder, "test") as writer:
        here = Snapshot(own.store_folder.shards, writer.version)
        publish_rows(writer, here, "edges", {picture}, {}, None, NoProgress())
    found = own.similar("across/000.png", compute=INLINE)
    assert found.partly == (("edges", 1),) and not found.lacking
    assert [h.picture for h in found.hits] == [h.picture for h in before.hits]
    os.unlink(os.path.join(own.root, b"across/000.png"))
    gone = own.similar(picture, compute=INLINE)
    assert gone.lacking == (("edges", 1),)


def test_vectors_on_few_pictures_are_left_out_by_name(own: Collection, tmp_path: Path) -> None:
    some = paths_of(own)[:20]
    own.index(vectors=[vectors(own, tmp_path / "v.npz", some)], compute=INLINE)
    said = own.similar("across/000.png", compute=INLINE).remark
    assert "own is left out, on 20 pictures alone" in said


def test_vectors_of_another_length_make_what_was_learnt_by_them_useless(
    own: Collection, tmp_path: Path
) -> None:
    file = tmp_path / "v.npz"
    own.index(vectors=[vectors(own, file, paths_of(own))], compute=INLINE)
    own.models.train_similarity(features=["own"], force=True)
    assert own.similar("across/000.png", compute=INLINE).trained
    own.index(vectors=[vectors(own, file, paths_of(own), length=5)], compute=INLINE)
    found = own.similar("across/000.png", compute=INLINE)
    assert not found.trained and "(own) are gone from the pictures" in found.remark
    assert own.models.train_similarity(force=True).proof.not_compared


def test_vectors_that_are_not_finite_change_nothing(own: Collection, tmp_path: Path) -> None:
    before = own.similar("across/000.png", compute=INLINE).hits
    rows = np.ones((40, 3), np.float32)
    rows[3, 1] = np.nan
    np.savez(tmp_path / "v.npz", vectors=rows, paths=np.array(paths_of(own)))
    with pytest.raises(UsageError, match="must be finite"):
        own.index(vectors=[f"own={tmp_path / 'v.npz'}"], compute=INLINE)
    assert own.similar("across/000.png", compute=INLINE).hits == before


def test_training_describes_where_asked_and_ranks_by_what_was_learnt(own: Collection) -> None:
    report = own.models.train_similarity(source="classes")
    assert report.source == "classes" and set(report.descriptors) == {"color", "edges"}
    found = own.similar("across/000.png", k=5, compute=INLINE)
    assert found.trained and found.hits[0].learned and not found.remark
    assert all(n.startswith("across/") for n in names(found.hits))
    assert "2 descriptors by" in own.status().similarity_model
    assert {f.name for f in own.pictures.features() if f.used} == {"color", "edges"}


def test_of_many_pictures_a_shortlist_is_ranked_and_misses_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder, _ = plant_similar(tmp_path / "store", 600, noises=1)
    with store_folder.reader() as reader:
        snapshot = reader.snapshot
        alike = uniform(snapshot)
        chosen = choose_shortlist(snapshot, alike, snapshot.ids()[:300], depth=60)
        alike = replace(alike, shortlist=chosen)
        measured = measure_recall(snapshot, alike, snapshot.ids()[300:])
        assert 0.8 < measured.recall <= 1.0 and measured.queries == 40
        asked = resolve_query(reader, alike, [QueryPicture(7, b"")], [], Settings())
        monkeypatch.setattr(candidates, "ALL", 100)
        short = candidates.candidates(snapshot, alike, asked, None)
        assert 60 <= len(short) < 400 and 7 not in short
        assert len(candidates.candidates(snapshot, alike, asked, None, exact=True)) == 599
        some = np.arange(1, 400, dtype=np.int64)
        assert set(candidates.candidates(snapshot, alike, asked, some).tolist()) <= set(
            some.tolist()
        )
