"""Models, their scores and codebooks: published, merged, rolled back, pruned, damaged, mended."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import sightline.store.segments as segments
from sightline.contracts import Json
from sightline.errors import StoreDamaged, StoreError
from sightline.records import Batch, WordQuery
from sightline.store.catalogue import Catalogue
from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.models import load_model, open_model, save_model
from sightline.store.scores import Scores, with_scores
from sightline.store.upkeep.backup import backup
from sightline.store.upkeep.repair import repair
from sightline.store.upkeep.verify import verify
from sightline.store.versions import Segment, version_name
from sightline.store.writer import Change, Writer
from tests.factories.scored_stores import TERMS, FakeScorer, batch, score, scored_store, train


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    return StoreFolder(tmp_path / "store")


def best(store_folder: StoreFolder) -> tuple[list[int], list[float]]:
    """Return all pictures that have a score for two words, best first."""
    query = WordQuery(np.array([11, 14]), np.ones(2, np.float32), np.zeros(2, np.float32))
    with store_folder.reader() as reader:
        top = reader.snapshot.top(query, 100)
    return top.ids.tolist(), top.scores.tolist()


def seen(picture: int) -> NewEvent:
    body: dict[str, Json] = {"path": f"{picture}.jpg", "sha": "s", "size": 1, "mtime": 1}
    return NewEvent("picture-seen", picture, body)


def models(store_folder: StoreFolder) -> list[str]:
    return sorted(os.listdir(store_folder.models))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def book(store_folder: StoreFolder, kind: str, number: int) -> str:
    return save_model(store_folder.models, kind, {}, {"centroids": np.full(4, number, np.float32)})


# -- merging -----------------------------------------------------------------------------------


def test_a_merge_keeps_the_scores_of_one_model(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "MERGED_ROWS", 5)
    name = scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        w.publish(Change(dead=[2, 8]), finished=True)
        before = best(store_folder)
        assert w.compact(everything=True)
        assert [(s.rows, s.scored_by) for s in w.version.segments] == [(5, name), (2, name)]
    assert best(store_folder) == before
    with store_folder.reader() as reader:
        for s in reader.snapshot.segments:
            assert s.scores is not None and s.scores.terms.tolist() == list(TERMS)
            for t in TERMS:
                row = s.scores.row(t)
                assert row is not None
                assert row.tolist() == [score(1, i, t) for i in s.ids.tolist()]
            assert s.scores.row(10) is None and s.scores.row(99) is None
    assert verify(store_folder).sound


@pytest.mark.parametrize("what", ["none", "other model", "other words", "other points"])
def test_a_merge_drops_scores_that_do_not_fit_together(
    store_folder: StoreFolder, what: str
) -> None:
    name = scored_store(store_folder)
    whole = best(store_folder)
    scorers = {
        "none": None,
        "other model": FakeScorer(store_folder, 2),
        "other words": FakeScorer(store_folder, 1, TERMS[1:]),
        "other points": FakeScorer(store_folder, 1, spaced=True),
    }
    with Writer(store_folder, "test") as w:
        w.scorer = scorers[what]
        w.publish(Change(batches=[batch([7, 8, 9], [(TERMS[i % 5],) for i in (7, 8, 9)])]),
                  finished=True)  # fmt: skip
        w.scorer = None
        w.compact(everything=True)
        assert [(s.rows, s.scores, s.scored_by) for s in w.version.segments] == [(9, None, "")]
        assert best(store_folder) == ([], [])
        w.scorer = FakeScorer(store_folder, 1)
        assert w.score_missing() and not w.score_missing()
        assert not w.version.finished and w.version.model == name
    assert best(store_folder) == whole


def test_a_merge_makes_scores_again_where_it_can(store_folder: StoreFolder) -> None:
    """Segments scored for different words are merged at the end of an index run, after which
    nobody looks again."""
    name = scored_store(store_folder)
    whole = best(store_folder)
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([9], [(TERMS[4],)])]), finished=True)
        w.scorer = FakeScorer(store_folder, 1)
        w.compact(everything=True)
        assert [s.scored_by for s in w.version.segments] == [name]
    assert best(store_folder) == whole


def test_pictures_without_the_feature_stay_without_scores(store_folder: StoreFolder) -> None:
    bare = Batch(np.array([50]), ((11,),), (b"",))
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[batch([1, 2]), bare]), finished=True)
        train(w, 1)
        assert [bool(s.scores) for s in w.version.segments] == [True, False]
        assert not w.score_missing()
    assert sorted(best(store_folder)[0]) == [1, 2]


def test_scores_of_another_shape_are_refused(store_folder: StoreFolder) -> None:
    scored_store(store_folder)
    with Writer(store_folder, "test") as w, pytest.raises(StoreError, match=r"shape \(1, 2\)"):
        rows = np.zeros((1, 2), np.float32)
        with_scores(store_folder.shards, w.version.segments[0], Scores("m", np.array([1]), rows))
    points = {"pictures": np.zeros((2, 4), np.float32)}
    with (
        Writer(store_folder, "test") as w,
        pytest.raises(StoreError, match=r"'pictures' have the shape"),
    ):
        rows = np.zeros((1, 3), np.float32)
        scores = Scores("m", np.array([1]), rows, points)
        with_scores(store_folder.shards, w.version.segments[0], scores)


# -- versions ----------------------------------------------------------------------------------


def test_going_back_brings_the_old_model_and_its_scores(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_read: list[int] = []
    real = Catalogue.restamp

    def restamp(self: Catalogue, stamps: Iterable[tuple[int, str]]) -> None:
        new = list(stamps)
        to_read.extend(picture for picture, _ in new)
        real(self, new)

    monkeypatch.setattr(Catalogue, "restamp", restamp)
    old = scored_store(store_folder)
    before = best(store_folder)
    with Writer(store_folder, "test") as w:
        w.note(Change(events=w.append([seen(p) for p in (4, 5, 6)])))
        number = w.version.number
        new = train(w, 2)
        assert best(store_folder) != before
        version = w.rollback(number)
        assert (version.model, w.scorer) == (old, None)
        assert {s.scored_by for s in version.segments} == {old}
        # Another model changes nothing about pictures: none of them has to be read again.
        assert to_read == []
        assert best(store_folder) == before
        assert models(store_folder) == sorted([old, new])
        w.publish(Change(dead=[4]), finished=True)
        w.rollback(version.number)
        assert to_read == [4], "only the picture whose row differs"
    assert best(store_folder) == before
    assert verify(store_folder).sound


def test_models_go_when_no_kept_version_names_them(store_folder: StoreFolder) -> None:
    names = [scored_store(store_folder)]
    with Writer(store_folder, "test") as w:
        for seed in (2, 3, 4, 5):
            names.append(train(w, seed))
            kept = {
                store_folder.versions.read(n).model for n in store_folder.versions.numbers()
            } - {""}
            assert set(models(store_folder)) == kept
        assert models(store_folder) == sorted(names[-3:])
        w.forget_older()
        assert models(store_folder) == names[-1:]
    assert load_model(store_folder.models, names[-1]).about == {"seed": 5}


def test_a_codebook_takes_the_place_of_its_own_kind(store_folder: StoreFolder) -> None:
    name = scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        blocks = [book(store_folder, "blocks", 1)]
        w.publish_codebook(blocks[0])
        other = book(store_folder, "other-kind", 1)
        w.publish_codebook(other)
        assert w.version.codebooks == (blocks[0], other) and not w.version.finished
        w.publish(Change(), finished=True)
        blocks.append(book(store_folder, "blocks", 2))
        w.publish_codebook(blocks[1])
        assert w.version.codebooks == (blocks[1], other)
        # The version before still lists the first one, and can be gone back to.
        assert models(store_folder) == sorted([name, *blocks, other])
        for _ in range(2):
            w.publish(Change(), finished=True)
        assert w.version.model == name
        w.publish(Change(), finished=True)
        assert models(store_folder) == sorted([name, blocks[1], other])


def test_a_model_that_was_not_published_is_named_and_removed(store_folder: StoreFolder) -> None:
    name = scored_store(store_folder)
    stray = FakeScorer(store_folder, 9).model
    (store_folder.models / "arrays-.safetensors.77.part").write_bytes(b"half")
    somebodys = store_folder.models / "notes"
    somebodys.mkdir()
    checked = verify(store_folder)
    assert checked.sound
    assert set(checked.strays) == {
        f"models/{stray}", "models/arrays-.safetensors.77.part", "models/notes"
    }  # fmt: skip
    Writer(store_folder, "test").close()
    assert models(store_folder) == sorted([name, "notes"])


def test_a_version_of_the_first_format_still_reads(store_folder: StoreFolder) -> None:
    scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        version = w.version
    fields = asdict(version)
    del fields["codebooks"]
    for s in fields["segments"]:
        for name in ("scores", "scored_by", "first", "last"):
            del s[name]
    body = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    head = {"format": 1, "sha256": hashlib.sha256(body.encode()).hexdigest()}
    path = store_folder.versions.folder / version_name(version.number)
    path.write_text(json.dumps(head)[:-1] + ', "version": ' + body + "}")
    read = store_folder.versions.read(version.number)
    assert (
        read.codebooks == ()
        and read.similar == ""
        and read.live == 9
        and read.model == version.model
    )
    assert read.segments[0] == Segment(
        version.segments[0].rows, version.segments[0].base, version.segments[0].features
    )
    with store_folder.reader() as reader:
        assert reader.snapshot.ids().tolist() == list(range(1, 10))
    path.write_text(path.read_text().replace('"format": 1', '"format": 6'))
    with pytest.raises(StoreDamaged, match="format is unknown"):
        store_folder.versions.read(version.number)


def test_a_copy_has_models_and_scores(store_folder: StoreFolder, tmp_path: Path) -> None:
    name = scored_store(store_folder)
    assert backup(store_folder, tmp_path / "copy").sound
    copy = StoreFolder(tmp_path / "copy")
    assert best(copy) == best(store_folder) and models(copy) == [name]


# -- damage ------------------------------------------------------------------------------------


def mended(store_folder: StoreFolder) -> list[str]:
    """Repair, see that all is well and that every picture is still there; return what was said."""
    said: list[str] = []
    after = repair(store_folder, said.append)
    assert after.sound and not after.strays, after
    with store_folder.reader() as reader:
        assert reader.snapshot.ids().tolist() == list(range(1, 10))
    return said


def current(store_folder: StoreFolder) -> tuple[Segment, ...]:
    return store_folder.versions.read(store_folder.versions.numbers()[-1]).segments


@pytest.mark.parametrize("how", ["flip", "cut", "missing"])
def test_damaged_scores_are_found_and_only_they_are_dropped(
    store_folder: StoreFolder, how: str
) -> None:
    name = scored_store(store_folder)
    whole = best(store_folder)
    file = current(store_folder)[1].scores
    assert file is not None
    path = store_folder.shards / file.name
    if how == "flip":
        flip(path)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-4])
    else:
        path.unlink()
    assert [p.file for p in verify(store_folder).problems] == [f"shards/{file.name}"]
    said = mended(store_folder)
    assert "the scores of 3 pictures were damaged; the next index computes them again" in said
    assert not any("read again" in s or "model" in s for s in said)
    assert [s.scored_by for s in current(store_folder)] == [name, "", name]
    assert sorted(best(store_folder)[0]) == [1, 2, 3, 7, 8, 9]
    with Writer(store_folder, "test") as w:
        w.scorer = FakeScorer(store_folder, 1)
        assert w.version.model == name and w.score_missing()
    assert best(store_folder) == whole


@pytest.mark.parametrize("file", ["model.json", "arrays.safetensors"])
@pytest.mark.parametrize("how", ["flip", "missing"])
def test_a_damaged_model_is_found_and_only_it_is_dropped(
    store_folder: StoreFolder, file: str, how: str
) -> None:
    name = scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        codebook = book(store_folder, "blocks", 1)
        w.publish_codebook(codebook)
        w.publish(Change(), finished=True)
    path = store_folder.models / name / file
    flip(path) if how == "flip" else path.unlink()
    found = verify(store_folder).problems
    assert [p.file for p in found] == [f"models/{name}"] and found[0].derived
    said = mended(store_folder)
    assert f"the model {name} is damaged and no longer used" in said
    assert "run: sightline train" in said
    assert not any("scores" in s or "codebook" in s for s in said)
    version = store_folder.versions.read(store_folder.versions.numbers()[-1])
    assert (version.model, version.codebooks) == ("", (codebook,))
    # Scores of a model that is gone can never be asked for.
    assert all(s.scores is None for s in version.segments)
    assert models(store_folder) == [codebook]


def test_a_damaged_codebook_is_found_and_only_it_is_dropped(store_folder: StoreFolder) -> None:
    name = scored_store(store_folder)
    whole = best(store_folder)
    with Writer(store_folder, "test") as w:
        bad = book(store_folder, "blocks", 1)
        w.publish_codebook(bad)
        good = book(store_folder, "shapes", 1)
        w.publish_codebook(good)
        w.publish(Change(), finished=True)
    flip(store_folder.models / bad / "arrays.safetensors")
    assert [p.file for p in verify(store_folder).problems] == [f"models/{bad}"]
    said = mended(store_folder)
    assert any(f"the codebook {bad} is damaged" in s for s in said)
    assert not any("train" in s or "scores" in s for s in said)
    version = store_folder.versions.read(store_folder.versions.numbers()[-1])
    assert (version.model, version.codebooks) == (name, (good,))
    assert best(store_folder) == whole


def test_a_model_laid_over_another_is_refused_in_one_line(store_folder: StoreFolder) -> None:
    name = scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        other = train(w, 2)
    shutil.copytree(store_folder.models / name, store_folder.models / other, dirs_exist_ok=True)
    renamed = f"other-{name.rpartition('-')[2]}"
    shutil.copytree(store_folder.models / name, store_folder.models / renamed)
    for read in (load_model, open_model):
        for wrong in (other, renamed):
            with pytest.raises(StoreDamaged) as e:
                read(store_folder.models, wrong)
            assert "not what was written. Run: sightline store repair" in str(e.value)
            assert "\n" not in str(e.value)
        with pytest.raises(StoreDamaged, match=r"cannot be read: .*Run: sightline store repair"):
            read(store_folder.models, "words-0000000000000000")
    assert f"models/{other}" in [p.file for p in verify(store_folder).problems]
    mended(store_folder)


def test_scores_laid_over_others_are_refused_when_opened(store_folder: StoreFolder) -> None:
    """Sizes and types are checked at once; the loop that reads them trusts them."""
    scored_store(store_folder)
    file, base = current(store_folder)[0].scores, current(store_folder)[0].base
    assert file is not None
    shutil.copyfile(store_folder.shards / base.name, store_folder.shards / file.name)
    with pytest.raises(StoreDamaged, match="does not hold the scores of 3 pictures"):
        store_folder.reader()
    assert any("scores of 3 pictures" in s for s in mended(store_folder))
