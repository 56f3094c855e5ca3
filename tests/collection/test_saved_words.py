"""From no words to a learned one: judge, save, train, and pictures nobody judged are predicted."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.models import dataset
from sightline.collection.models.dataset import Dataset, load_dataset
from sightline.collection.models.recipe import Recipe, fit
from sightline.collection.models.saved_words import load_known
from sightline.collection.models.word_model import WordModel, load_word_model
from sightline.collection.tagging.review import SOURCE, settle
from sightline.contracts import Json
from sightline.errors import CollectionError
from sightline.measures.ranking import average_precision
from sightline.measures.splits import HELD_OUT, fold_of
from sightline.store.events import EventLog, NewEvent
from sightline.store.writer import Judging
from sightline.words.term_ids import term_id
from tests.factories.judging_collections import judged_collection, kind_of
from tests.factories.planted_stores import clusters, plant

KINDS = 6


@pytest.fixture
def untagged(tmp_path: Path) -> Collection:
    """Return 120 pictures of six clusters, none of which has a word."""
    _, rows = clusters(120, KINDS, noise=0.4)
    plant(tmp_path / "store", [[]] * 120, {"deep": rows})
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(120):
        (photos / f"{i:04d}.jpg").write_bytes(b"x")
    return Collection.open(photos, store=tmp_path / "store", features="deep")


def of_kind(kind: int, first: int = 2, last: int = 120) -> list[int]:
    """Return the pictures of a cluster."""
    return [p for p in range(first, last + 1) if kind_of(p) == kind]


def judged_and_saved(
    c: Collection, word: str, positives: int = 3, like: int = 1, step: int = 1
) -> str:
    """Judge some pictures like one, and as many that are not; save the session as a word."""
    kind = kind_of(like)
    with c.judge(pictures=like) as session:
        fit = of_kind(kind, like + 1)[step - 1 :: step][:positives]
        unfit = [p for p in range(40, 80) if kind_of(p) != kind][:positives]
        session.mark(positive=fit, negative=unfit)
        assert session.save_as(word) == positives
    return session.id


def known(c: Collection) -> Dataset:
    """Return what a training would learn from."""
    with (
        c.store_folder.reader() as reader,
        contextlib.closing(EventLog(c.store_folder.events, write=False)) as log,
    ):
        return load_known(reader, log)[0]


def model_of(c: Collection) -> WordModel:
    with c.store_folder.reader() as reader:
        found = load_word_model(c.store_folder, reader.snapshot.model)
    assert found is not None
    return found


@pytest.mark.parametrize("positives", [2, 3, 8])
def test_a_saved_word_is_learned_where_no_picture_has_any_other(
    untagged: Collection, positives: int
) -> None:
    judged_and_saved(untagged, "cat", positives)
    report = untagged.train()
    assert report.words == 1 and report.pictures == 120 and report.unproven and report.version
    hits = untagged.search("cat", 50).hits
    assert sum(h.tagged for h in hits) == positives
    predicted = [h for h in hits if h.learned]
    assert len(predicted) >= 10
    assert np.mean([kind_of(h.picture) == 0 for h in predicted]) >= 0.9
    everything = untagged.search("cat", 20, cut=False).hits
    assert np.mean([kind_of(h.picture) == 0 for h in everything]) >= 0.9


def test_the_report_says_of_each_saved_word_what_held_out_pictures_tell(
    untagged: Collection,
) -> None:
    judged_and_saved(untagged, "cat", 8)
    report = untagged.train()
    tagged = np.array(of_kind(0)[:8])
    (cat,) = report.saved
    held = int((fold_of(tagged) == HELD_OUT).sum())
    assert (cat.word, cat.pictures, cat.negatives, cat.held_out) == ("cat", 8, 8, held)
    assert cat.avgp is not None and cat.untrained is not None and cat.avgp > cat.untrained
    assert f"{held} of them held out" in str(cat) and "AvgP" in str(cat)
    # What proves it has not seen the held-out pictures.
    every = fold_of(np.arange(1, 121)) == HELD_OUT
    assert len(model_of(untagged).proof.arrays["landmarks.0"]) == int((~every).sum())
    assert untagged.models.is_current()
    assert untagged.evaluate(curve=False).groups[0].n == 1


@pytest.mark.parametrize("positives", [2, 3])
def test_a_word_with_few_held_out_pictures_is_measured_by_leaving_out_each(
    untagged: Collection, positives: int
) -> None:
    judged_and_saved(untagged, "cat", positives)
    (cat,) = untagged.train().saved
    assert cat.held_out < 5 and cat.measured_by == "leave-one-out" and not cat.is_proven
    assert cat.avgp is not None and cat.untrained is not None
    assert "not yet proven" in str(cat) and f"AvgP {cat.avgp:.3f}" in str(cat)
    # The figure is that of fits made again, each without one of its pictures (and with a bandwidth
    # and a strength of its own, which the closed form shares).
    sample = known(untagged)
    fits = np.asarray(sample.labels.todense())[:, 0] > 0
    ranked_by = model_of(untagged).served.recipe
    left_out = np.array([fit_without(ranked_by, sample, i) for i in range(len(sample))])
    assert cat.avgp == pytest.approx(average_precision(left_out, fits), abs=0.02)


def fit_without(recipe: Recipe, sample: Dataset, row: int) -> float:
    """Return the score of one picture by a fit to all others."""
    rest = np.arange(len(sample)) != row
    fitted = fit(recipe, sample.only(rest))
    return float(fitted.scores(sample.only(~rest).views)[0, 0])


def test_a_word_that_few_held_out_pictures_measure_shows_no_probability(
    untagged: Collection,
) -> None:
    judged_and_saved(untagged, "cat", 3)
    untagged.train()
    results = untagged.search("cat", 50)
    predicted = [h for h in results if h.match == "predicted"]
    assert len(predicted) >= 10
    assert {(h.label, h.probability, h.proven) for h in predicted} == {
        ("not yet proven", None, False)
    }
    # They are ordered as ever, and pictures that have the word are as sure as ever.
    assert [h.score for h in predicted] == sorted((h.score for h in predicted), reverse=True)
    assert {h.label for h in results if h.tagged} == {"exact"}
    assert [(w.word, w.pictures) for w in results.unproven] == [("cat", 3)]
    (described,) = untagged.pictures.describe(predicted[0].picture).words
    assert described.word == "cat" and not described.proven
    (text,) = {h.label for h in untagged.search_text("a cat, and nothing else", 5)}
    assert text == "not yet proven"


def test_a_word_that_enough_held_out_pictures_measure_shows_its_probability(
    untagged: Collection,
) -> None:
    kinds = [np.array(of_kind(k)) for k in range(KINDS)]
    first, *rest = max(kinds, key=lambda pictures: (fold_of(pictures) == HELD_OUT).sum()).tolist()
    with untagged.judge(pictures=first) as session:
        session.mark(positive=rest, negative=of_kind(kind_of(first) - 1)[:9])
        session.save_as("cat")
    (cat,) = untagged.train().saved
    assert cat.is_proven
    results = untagged.search("cat", 120, cut=False)
    predicted = [h for h in results if h.match == "predicted"]
    assert predicted and all(h.label.endswith("%") and h.proven for h in predicted)
    assert results.unproven == ()


@pytest.mark.parametrize("words", [["cat"], ["cat", "dog"]])
def test_three_tags_among_untagged_pictures_teach_a_word(tmp_path: Path, words: list[str]) -> None:
    _, rows = clusters(120, KINDS, noise=0.4)
    tags: list[list[str]] = [[] for _ in range(120)]
    for kind, word in enumerate(words):
        for p in of_kind(kind)[:3]:
            tags[p - 1] = [word]
    plant(tmp_path / "store", tags, {"deep": rows})
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(120):
        (photos / f"{i:04d}.jpg").write_bytes(b"x")
    c = Collection.open(photos, store=tmp_path / "store", features="deep")
    report = c.train()
    assert sorted(w.word for w in report.saved) == words and not any(
        w.is_proven for w in report.saved
    )
    for kind, word in enumerate(words):
        predicted = [h for h in c.search(word, 30).hits if h.learned]
        assert len(predicted) >= 5
        assert np.mean([kind_of(h.picture) == kind for h in predicted]) >= 0.9
    # Of two words, what has one as a tag is an example against the other.
    sample = known(c)
    assert sample.unlabelled is not None
    assert (~sample.unlabelled).sum(axis=0).tolist() == [3 * len(words)] * len(words)


def test_with_enough_tagged_pictures_those_without_tags_take_no_part(tmp_path: Path) -> None:
    words, rows = clusters(120, KINDS)
    tags = [words[i] if i % 3 == 0 else [] for i in range(120)]
    plant(tmp_path / "store", tags, {"deep": rows})
    (tmp_path / "photos").mkdir()
    sample = known(Collection.open(tmp_path / "photos", store=tmp_path / "store", features="deep"))
    assert sample.unlabelled is None and sample.saved is None and len(sample) == 40


def test_a_word_on_nearly_all_tagged_pictures_is_learned_beside_the_others(tmp_path: Path) -> None:
    _, rows = clusters(120, KINDS, noise=0.4)
    tags: list[list[str]] = [[] for _ in range(120)]
    for p in [*of_kind(0), *of_kind(1)]:
        tags[p - 1] = ["holiday"] + ["red"] * (kind_of(p) == 0)
    plant(tmp_path / "store", tags, {"deep": rows})
    (tmp_path / "photos").mkdir()
    sample = known(Collection.open(tmp_path / "photos", store=tmp_path / "store", features="deep"))
    assert sample.terms.tolist() == [term_id("red")]
    assert sample.saved is not None and sample.saved.terms.tolist() == [term_id("holiday")]
    assert len(sample.saved) == 120


def test_a_word_on_planted_noise_is_said_to_be_no_better_than_chance(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    plant(tmp_path / "store", [[]] * 60, {"deep": rng.normal(size=(60, 16)).astype(np.float32)})
    (tmp_path / "photos").mkdir()
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store", features="deep")
    with c.judge(pictures=1) as session:
        session.mark(positive=[2, 3, 4], negative=[5, 6, 7])
        session.save_as("noise")
    (noise,) = c.train().saved
    assert noise.avgp is not None and noise.avgp < 0.3 and not noise.is_proven


def test_answers_of_no_are_negatives_and_all_others_unlabelled(untagged: Collection) -> None:
    judged_and_saved(untagged, "cat", 3)
    sample = known(untagged)
    assert sample.terms.tolist() == [term_id("cat")] and len(sample) == 120
    assert sample.unlabelled is not None and sample.saved is None
    labelled = sample.ids[~sample.unlabelled[:, 0]].tolist()
    unfit = [p for p in range(40, 80) if kind_of(p) != 0][:3]
    assert labelled == sorted([*of_kind(0)[:3], *unfit])
    assert sample.ids[np.asarray(sample.labels.todense())[:, 0] > 0].tolist() == of_kind(0)[:3]


def test_more_answers_are_something_new_to_learn(untagged: Collection) -> None:
    session = judged_and_saved(untagged, "cat", 3)
    untagged.train()
    assert untagged.models.is_current()
    with untagged.judge(resume=session) as more:
        more.mark(negative=[p for p in range(80, 100) if kind_of(p) != 0][:2])
    assert not untagged.models.is_current()
    # Who changes their mind about a picture takes the word from it, also before it is saved again.
    with untagged.judge(resume=session) as more:
        more.mark(negative=[of_kind(0)[0]])
    sample = known(untagged)
    assert sample.ids[np.asarray(sample.labels.todense())[:, 0] > 0].tolist() == of_kind(0)[1:3]


def test_several_words_are_saved_one_after_the_other(untagged: Collection) -> None:
    judged_and_saved(untagged, "cat", 4, like=1)
    judged_and_saved(untagged, "red barn", 4, like=2)
    report = untagged.train()
    assert {w.word for w in report.saved} == {"cat", "red barn", "red", "barn"}
    for query, kind in (("cat", 0), ('"red barn"', 1)):
        hits = [h for h in untagged.search(query, 40) if h.learned]
        assert hits and {kind_of(h.picture) for h in hits} == {kind}


def test_of_many_pictures_a_sample_that_does_not_change_is_learnt_from(
    untagged: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "MOST_UNLABELLED", 30)
    judged_and_saved(untagged, "cat", 3)
    some = known(untagged)
    assert len(some) == 36 and some.unlabelled is not None
    assert (~some.unlabelled).sum() == 6 and np.array_equal(known(untagged).ids, some.ids)
    untagged.train()
    hits = [h for h in untagged.search("cat", 40) if h.learned]
    assert hits and np.mean([kind_of(h.picture) == 0 for h in hits]) >= 0.75


def test_what_cannot_be_learned_is_said_with_what_to_do(untagged: Collection) -> None:
    with pytest.raises(CollectionError, match="sightline judge --like PICTURE --save-as WORD"):
        untagged.train()
    with untagged.judge(pictures=1) as session:
        session.mark(positive=[7], negative=[2])
        session.save_as("cat")
        with pytest.raises(CollectionError, match=r"Only 1 of the 120 pictures.* judge more"):
            untagged.train()
        session.mark(positive=list(range(2, 121)))
        session.save_as("cat")
    with untagged.judge(pictures=2) as session:
        session.mark(positive=[1])
        session.save_as("cat")
    with pytest.raises(CollectionError, match=r"missing from others.* Judge more pictures"):
        untagged.train()


def test_a_reverted_session_teaches_nothing(untagged: Collection) -> None:
    session = judged_and_saved(untagged, "cat", 3)
    untagged.train()
    untagged.sessions.revert(session)
    with pytest.raises(CollectionError, match="None of the 120 pictures has a word"):
        untagged.train()


# -- beside ordinary words -------------------------------------------------------------------------


def ordinary(model: WordModel) -> dict[str, NDArray[np.generic]]:
    """Return all numbers by which a model scores ordinary words."""
    mask = model.served.is_saved
    own = ~mask if len(mask) else np.ones(len(model.terms), bool)
    parts = {"terms": model.terms, "counts": model.counts, "idf": model.idf,
             "slope": model.combination.slope_, "offset": model.combination.offset_,
             "known": model.combination.known_, "h": model.cutoff.h_}  # fmt: skip
    fits = {"served": model.served, "proof": model.proof}
    arrays = {f"{n}.{k}": a for n, f in fits.items() for k, a in f.arrays.items()}
    return {**{name: a[own] for name, a in parts.items()}, **arrays}


@pytest.mark.parametrize("ranker", ["ridge", "pamir", "log-product"])
def test_a_saved_word_changes_nothing_of_ordinary_words(tmp_path: Path, ranker: str) -> None:
    """An untagged picture says nothing against tags, whether a session judged it or not."""
    c = judged_collection(tmp_path)
    c.train(rankers=[ranker], features=["deep"])
    before = ordinary(model_of(c))
    first = [
        (h.picture, h.score)
        for h in c.search("word1", 40, filters=Filters(untagged=True), cut=False)
    ]
    session = judged_and_saved(c, "treasure", 4, like=7, step=2)
    report = c.train(rankers=[ranker], features=["deep"])
    after = ordinary(model_of(c))
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    again = {
        h.picture: h.score for h in c.search("word1", 40, filters=Filters(untagged=True), cut=False)
    }
    assert all(again.get(p, s) == s for p, s in first)
    # The word itself is learnt against all other pictures, tagged or not.
    (treasure,) = report.saved
    assert treasure.word == "treasure" and treasure.pictures == 4
    sample = known(c)
    assert sample.unlabelled is None and sample.saved is not None and len(sample.saved) == 120
    hits = [h for h in c.search("treasure", 40) if h.learned]
    assert len(hits) >= 8 and np.mean([kind_of(h.picture) == 0 for h in hits]) >= 0.75
    both = [h for h in c.search("treasure word0", 10) if h.learned]
    assert both and {kind_of(h.picture) for h in both} == {0}
    c.sessions.revert(session)
    c.train(rankers=[ranker], features=["deep"], force=True)
    assert all(np.array_equal(before[n], a) for n, a in ordinary(model_of(c)).items())


def test_a_word_that_files_have_too_is_an_ordinary_one(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    before = known(c)
    with c.judge(pictures=1) as session:
        session.mark(positive=[9, 21], negative=[2])
        session.save_as("word2")
    sample = known(c)
    assert sample.saved is None and sample.unlabelled is None
    assert set(sample.ids.tolist()) == {*before.ids.tolist(), 9, 21}


def test_words_that_a_review_accepted_are_ordinary_ones(tmp_path: Path) -> None:
    """A review is a session as well, but it was asked of some pictures alone."""
    c = judged_collection(tmp_path)
    before = known(c)
    said: dict[str, Json] = {"query": "treasure", "word": "treasure", "source": SOURCE}
    with Judging(c.store_folder) as judging:
        for picture, fits in ((9, 1.0), (21, 1.0), (33, 0.0)):
            body: dict[str, Json] = {**said, "relevance": fits, "mark": f"m{picture}"}
            judging.append([NewEvent("judged", picture, body, "reviewed")])
    assert settle(c.store_folder, 1.0) == 2
    sample = known(c)
    assert term_id("treasure") in sample.terms and sample.saved is None
    assert set(sample.ids.tolist()) == {*before.ids.tolist(), 9, 21}


def test_without_saved_words_the_sample_is_the_one_of_words_alone(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    with c.store_folder.reader() as reader:
        plain = load_dataset(reader.snapshot)
    found = known(c)
    assert found.basis() == plain.basis() and found.saved is None and found.unlabelled is None
    c.train(rankers=["ridge"], features=["deep"])
    model = model_of(c)
    assert model.served.saved is None and model.about["format"] == 2
    assert not any("saved" in name for name in model.served.arrays)


def test_models_with_saved_words_say_that_earlier_releases_cannot_read_them(
    tmp_path: Path,
) -> None:
    c = judged_collection(tmp_path)
    judged_and_saved(c, "treasure", 4, like=7, step=2)
    c.train(rankers=["ridge"], features=["deep"])
    model = model_of(c)
    assert model.about["format"] == 3 and json.dumps(dict(model.about))
    assert model.knows(np.array([term_id("treasure")])).all() and c.store.verify().sound
    (word, *_) = c.pictures.describe(13, 1).words
    assert word.word in ("treasure", "word0", "pair0")
    assert c.evaluate(curve=False).groups[0].avgp > 0.5
