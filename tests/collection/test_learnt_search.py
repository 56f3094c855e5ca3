"""From folder to learnt hits: pictures without words are found, and new ones as they come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.compute.features import load_feature
from sightline.compute.inline import InlineCompute
from sightline.errors import CollectionError, Interrupted, UsageError
from sightline.measures.many import measure_queries
from sightline.store.models import arrays_file
from tests.factories.photos import COLOURS, paint, paint_some_with_words
from tests.factories.plugins import plugged


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with plugged(monkeypatch):
        yield


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    photos = paint_some_with_words(tmp_path / "photos")
    found = Collection.open(photos, store=tmp_path / "store", workers=1)
    found.index(features=["mean-colour"], compute=InlineCompute())
    return found


def colour_of(name: str) -> str:
    return list(COLOURS)[int(name[:3]) % len(COLOURS)]


def test_pictures_without_words_are_found_after_training_alone(c: Collection) -> None:
    assert [h.learned for h in c.search("red", 50)] == [False] * 15
    report = c.train()
    assert report.proof.candidate > 0.9
    hits = c.search("red", 50).hits
    assert [h.tagged for h in hits] == [True] * 15 + [False] * (len(hits) - 15)
    learnt = hits[15:]
    assert learnt and all(h.learned and 0 < h.score < 1 for h in learnt)
    assert {colour_of(h.name) for h in learnt} == {"red"}
    scores = [h.score for h in hits]
    assert scores == sorted(scores, reverse=True)


def test_filters_and_signs_hold_for_learnt_hits_too(c: Collection) -> None:
    c.train()
    untagged = c.search("red", 50, filters=Filters(untagged=True)).hits
    assert untagged and all(int(h.name[:3]) >= 90 for h in untagged)
    assert not c.search("red", 50, filters=Filters(untagged=True), predicted=False).hits
    required = [h for h in c.search("+red warm", 50).hits if int(h.name[:3]) >= 90]
    assert {colour_of(h.name) for h in required} == {"red"}
    everything = c.search("red", 500, cut=False).hits
    assert len(everything) == 102 and everything[0].tagged
    assert not [h for h in c.search("red -warm", 50).hits if h.tagged]


def test_words_a_picture_has_count_as_known(c: Collection, tmp_path: Path) -> None:
    """A picture that has one of two words ranks by the other alone."""
    (tmp_path / "photos" / "090_x.txt").write_text("cold")
    c.index(compute=InlineCompute())
    c.train()
    hits = {h.name: h for h in c.search("red cold", 500, cut=False)}
    assert not hits["090_x.png"].tagged
    assert hits["090_x.png"].score > max(h.score for h in hits.values() if int(h.name[:3]) > 90)


def test_new_pictures_are_scored_as_they_are_indexed(c: Collection, tmp_path: Path) -> None:
    c.train()
    before = len(c.search("blue", 500).hits)
    paint(tmp_path / "photos", 6, False, 2, start=102)
    assert c.index(compute=InlineCompute()).added == 6
    hits = c.search("blue", 500).hits
    assert len(hits) == before + 1 and "104_x.png" in {h.name for h in hits if h.learned}


def test_words_that_were_not_learnt_leave_the_others_their_hits(
    c: Collection, tmp_path: Path
) -> None:
    (tmp_path / "photos" / "000_x.txt").write_text("red, warm, unique")
    c.index(compute=InlineCompute())
    c.train()
    hits = c.search("unique red", 50).hits
    assert [h.name for h in hits if h.tagged] == ["000_x.png"]
    assert all(h.learned for h in hits[1:])
    assert {h.picture for h in hits} == {h.picture for h in c.search("red", 50)}
    said = c.search('"redd"', 5)
    assert not said.hits and "red" in said.unknown[0].near


def test_training_computes_the_features_it_needs_and_keeps_doing_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    paint(photos, 60, True, 0)
    c = Collection.open(photos, store=tmp_path / "store", workers=1)
    c.index(compute=InlineCompute())
    monkeypatch.setattr(
        "sightline.collection.models.requirements.default_features", lambda: ["mean-colour"]
    )
    c.train()
    assert [f.name for f in c.pictures.features() if f.used] == ["mean-colour"]
    paint(photos, 6, False, 1, start=60)
    again = Collection.open(photos, store=tmp_path / "store", workers=1)
    again.index(compute=InlineCompute())
    assert {f.pictures for f in again.pictures.features() if f.name == "mean-colour"} == {66}
    assert again.search("red", 50, filters=Filters(untagged=True)).hits


def test_it_is_known_whether_there_is_anything_new_to_learn(c: Collection, tmp_path: Path) -> None:
    assert not c.models.is_current()
    c.train()
    assert c.models.is_current()
    (tmp_path / "photos" / "091_x.txt").write_text("green")
    c.index(compute=InlineCompute())
    assert not c.models.is_current()


def test_evaluating_tells_gain_harm_and_curve(c: Collection) -> None:
    with pytest.raises(CollectionError, match="There is no word model yet"):
        c.evaluate()
    report = c.train()
    e = c.evaluate()
    assert e.groups[0].avgp == pytest.approx(report.proof.candidate)
    assert e.groups[0].gain > 0.3 and e.groups[0].harmed_rate < 0.2
    assert [g.name for g in e.groups] == ["all", "one word", "several words"]
    assert e.curve[-1][1] == pytest.approx(e.groups[0].avgp, abs=0.02)
    assert [n for n, _ in e.curve] == sorted(n for n, _ in e.curve)
    assert e.to_dict()["held_out"] == e.held_out and {w for w, _, _ in e.best} <= {
        *COLOURS,
        "warm",
        "cold",
    }


def test_evaluating_tells_curves_and_whom_it_harmed(c: Collection) -> None:
    c.train()
    e = c.evaluate(curve=False)
    said = json.loads(json.dumps(e.to_dict()))
    line = said["precision_recall"]
    assert line["recall"] == [round(0.1 * i, 1) for i in range(11)]
    assert line["precision"] == sorted(line["precision"], reverse=True)
    assert all(a > b for a, b in zip(line["precision"], line["untrained"], strict=True))
    # The area below an interpolated curve is about the mean AvgP, from above.
    area = sum(line["precision"]) / 11
    assert e.groups[0].avgp <= area + 0.02 and line["queries"] == e.groups[0].n
    assert {w["word"] for w in said["best"]} == {w for w, _, _ in e.best}
    assert [w["AvgP"] for w in said["worst"]] == [a for _, a, _ in e.worst]
    assert len(said["harmed"]) == min(e.groups[0].significantly_harmed, 20)
    assert e.groups[0].significantly_harmed <= e.groups[0].harmed
    lost = [h["untrained"] - h["AvgP"] for h in said["harmed"]]
    assert lost == sorted(lost, reverse=True) and all(x > 0 for x in lost)
    assert 0 <= said["groups"][0]["p"] <= 1
    shown = said["reliability"]
    assert shown["first_hits"] == 20 and shown["n"] == sum(b["n"] for b in shown["bins"])
    # Six colours and two temperatures that the pictures show plainly.
    assert shown["ece"] < 0.1 and shown["brier_skill"] > 0.5


def test_queries_that_lost_are_named(c: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model turned round harms nearly everybody."""
    c.train()
    turned = "sightline.collection.models.held_out.measure_queries"
    monkeypatch.setattr(turned, lambda rows, queries: measure_queries(-rows, queries))
    e = c.evaluate(curve=False)
    assert e.groups[0].harmed == e.groups[0].n
    # Most, even so: of some words nearly all pictures fit, and no order is much worse than chance.
    assert len(e.harmed) == e.groups[0].significantly_harmed > 0.5 * e.groups[0].n
    h = e.harmed[0]
    assert h.avgp < h.untrained and h.n >= 1
    assert set(h.words.split()) <= {*COLOURS, "warm", "cold"}


def test_a_rolled_back_version_serves_its_own_model(c: Collection) -> None:
    c.train(rankers=["ridge"])
    first = [(h.name, h.score) for h in c.search("red", 30, filters=Filters(untagged=True))]
    c.train(rankers=["pamir"], force=True)
    second = [(h.name, h.score) for h in c.search("red", 30, filters=Filters(untagged=True))]
    assert first != second
    c.store.rollback()
    assert [(h.name, h.score) for h in c.search("red", 30, filters=Filters(untagged=True))] == first


def test_ctrl_c_while_training_publishes_nothing(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sightline.collection.models.training.make_model", stop)
    with pytest.raises(Interrupted, match="Nothing was published"):
        c.train()
    assert not c.models.is_current() and c.store.verify().sound


def test_a_model_folder_of_another_store_is_not_believed(c: Collection, tmp_path: Path) -> None:
    c.train(rankers=["ridge"])
    with c.store_folder.reader() as reader:
        name = reader.snapshot.model
    other = Collection.open(tmp_path / "photos", store=tmp_path / "other", workers=1)
    other.index(features=["mean-colour"], compute=InlineCompute())
    other.train(rankers=["pamir"])
    with other.store_folder.reader() as reader:
        strange = other.store_folder.models / reader.snapshot.model
    for file in strange.iterdir():
        (c.store_folder.models / name / file.name).write_bytes(file.read_bytes())
    with pytest.raises(Exception, match=r"model\.json is not what was written"):
        c.search("red")
    assert not c.store.verify().sound
    said: list[str] = []
    assert c.store.repair(said.append).sound and any("no longer used" in s for s in said)
    assert len(c.search("red", 50).hits) == 15  # by the words alone
    assert arrays_file(c.store_folder.models, name)


def test_a_dry_run_publishes_nothing(c: Collection) -> None:
    version = c.status().version
    report = c.train(dry_run=True)
    assert report.version == 0 and c.status().version == version and c.status().word_model == ""


def test_missing_features_are_named(c: Collection) -> None:
    with pytest.raises(UsageError, match="no 'magic' among the features"):
        c.train(features=["magic"])


def test_training_never_makes_pictures_with_words_vanish(c: Collection) -> None:
    queries = ("red zzzzz", "red cold", "green warm", "blue zzzzz cold")
    before = {q: {h.picture for h in c.search(q, 500)} for q in queries}
    for ranker in ("ridge", "pamir"):
        c.train(rankers=[ranker], force=True)
        for q in queries:
            hits = c.search(q, 500).hits
            assert before[q] <= {h.picture for h in hits}
            assert len({h.picture for h in hits}) == len(hits)
            scores = [h.score for h in hits]
            assert scores == sorted(scores, reverse=True)


def test_a_model_whose_features_are_gone_leaves_search_as_it_was(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [h.picture for h in c.search("red cold", 500)]
    c.train()
    monkeypatch.setattr("plugin_features.MeanColour.version", 2)
    load_feature.cache_clear()
    report = c.index(compute=InlineCompute())
    load_feature.cache_clear()
    assert any("lack the features the model was trained on" in p for p in report.problems)
    hits = c.search("red cold", 500).hits
    assert sorted(h.picture for h in hits) == sorted(before) and not any(h.learned for h in hits)


def test_a_dry_run_computes_no_features(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    paint(photos, 30, True, 0)
    c = Collection.open(photos, store=tmp_path / "store", workers=1)
    c.index(compute=InlineCompute())
    with pytest.raises(UsageError, match="a dry run computes none"):
        c.train(dry_run=True)
    assert not (tmp_path / "store" / "config.toml").exists()
