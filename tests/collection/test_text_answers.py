"""Texts as queries: the gate of the text model, and which kind of model answers."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import sightline.collection.search.texts as texts
from sightline.collection.models import any_word
from sightline.collection.models.any_word import CERTAIN, rank_by_any_word
from sightline.collection.models.dataset import load_dataset
from sightline.collection.models.text_model import load_text_model
from sightline.collection.models.text_queries import TextQueries
from sightline.collection.models.text_training import TextOptions, TextReport, train_text
from sightline.collection.models.training import TrainOptions, train
from sightline.collection.models.word_model import WordModel, load_word_model
from sightline.collection.results import Results, TextAnswer
from sightline.collection.search.texts import search_text
from sightline.errors import NotBetter, UsageError
from sightline.measures.ranking import average_precision
from sightline.progress import NoProgress
from sightline.store.catalogue import Where
from sightline.store.folder import Reader, StoreFolder
from sightline.words.term_ids import term_id
from tests.factories.planted_stores import clusters, noise_like, plant


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    """Plant 200 pictures, some without words, in two segments; their files are empty."""
    words, rows = clusters(200, 6)
    words = [[*ws, "often"] if i % 3 else ws for i, ws in enumerate(words)]
    for i in range(200):
        (tmp_path / f"{i:04d}.jpg").touch()
    some = [ws if i % 10 else [] for i, ws in enumerate(words)]
    features = {"signal": rows, "noise": noise_like(rows)}
    return plant(tmp_path / "store", some, features, segments=2)


def train_words(store_folder: StoreFolder, ranker: str = "ridge") -> None:
    train(store_folder, TrainOptions((ranker,), ("signal",)), 0.0, NoProgress())


def train_texts(
    store_folder: StoreFolder, ranker: str = "cca", feature: str = "signal", **more: bool
) -> TextReport:
    options = TextOptions((ranker,), (feature,), **more)
    return train_text(store_folder, options, 0.0, NoProgress())


def ask(reader: Reader, text: str) -> Results:
    root = os.fsencode(reader.store_folder.path.parent)
    return search_text(reader, root, text, 15, Where(), False)


def word_model(reader: Reader) -> WordModel:
    model = load_word_model(reader.store_folder, reader.snapshot.model)
    assert model is not None
    return model


def slow_ranking(reader: Reader, counts: dict[str, int]) -> dict[int, float]:
    """Return how likely each picture has one of some words, word by word."""
    model = word_model(reader)
    columns = {w: int(np.searchsorted(model.terms, term_id(w))) for w in counts}
    idf = {w: n * float(model.idf[columns[w]]) for w, n in counts.items()}
    mean = sum(idf.values()) / len(idf)
    chances = {}
    for s in reader.snapshot.segments:
        assert s.scores is not None
        for row, picture in enumerate(s.ids.tolist()):
            none = 1.0
            for w in counts:
                scores = s.scores.row(term_id(w))
                assert scores is not None
                probability = model.combination.word_probabilities([[scores[row]]], [columns[w]])
                likely = float(probability.item())
                likely = CERTAIN if term_id(w) in s.words(row) else min(likely, CERTAIN)
                none *= (1 - likely) ** (idf[w] / mean)
            chances[picture] = 1 - none
    return chances


@pytest.mark.parametrize("ranker", ["ridge", "pamir"])
def test_words_rank_pictures_for_a_text_by_the_chance_of_any(
    store_folder: StoreFolder, ranker: str
) -> None:
    train_words(store_folder, ranker)
    with store_folder.reader() as reader:
        counts = {"word1": 1, "word4": 2, "often": 1}
        terms = np.array([term_id(w) for w in counts])
        some = np.arange(3, 150)
        top = rank_by_any_word(
            reader.snapshot, word_model(reader), terms, list(counts.values()), 60, some
        )
        slow = slow_ranking(reader, counts)
        best = sorted(some.tolist(), key=lambda p: -slow[p])[:60]
        assert top.scores == pytest.approx([slow[p] for p in best], abs=1e-5)
        assert [slow[p] for p in top.ids.tolist()] == pytest.approx(top.scores.tolist(), abs=1e-5)


def test_words_without_published_rows_count_alike(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_words(store_folder)
    terms = np.array([term_id("word1"), term_id("pair2")])

    def ranked() -> list[tuple[int, float]]:
        with store_folder.reader() as reader:
            top = rank_by_any_word(reader.snapshot, word_model(reader), terms, [1, 1], 20, None)
            return list(zip(top.ids.tolist(), top.scores.round(4).tolist(), strict=True))

    before = ranked()
    monkeypatch.setattr("sightline.collection.models.word_model.LEAST_PUBLISHED", 1)
    monkeypatch.setattr("sightline.collection.models.word_model.BUDGET", 0.0)
    train(store_folder, TrainOptions(("ridge",), ("signal",), force=True), 0.0, NoProgress())
    with store_folder.reader() as reader:
        assert len(word_model(reader).published) == 1
    assert sorted(ranked()) == sorted(before)


def test_the_model_that_is_better_for_held_out_texts_answers(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_words(store_folder)
    with store_folder.reader() as reader:
        alone = ask(reader, "A word1 and a word1 of zyxwvut.")
        assert alone.text_answer == TextAnswer("words", "no text model")
        assert [w.word for w in alone.not_learned] == ["zyxwvut"]
        assert alone.wording.stop_words == ("a", "and", "of")
        # A text has no quotes to search them by.
        assert alone.wording.lines() == ["3 stop words left out: a, and, of"]
    figures = train_texts(store_folder).proof.extra
    with store_folder.reader() as reader:
        answered = ask(reader, "word1").text_answer
        assert answered is not None
        better = figures["word_model"] > figures["text_to_picture"]
        assert answered.model == ("words" if better else "text")
        monkeypatch.setattr(texts, "_text_figures", lambda _: (0.5, 0.6))
        by_words = ask(reader, "A word1 and a word1.")
        assert by_words.text_answer == TextAnswer("words", "better", 0.5, 0.6)
        assert "better for held-out texts (AvgP 0.600, the text model 0.500)" in str(
            by_words.text_answer
        )
        assert [h.picture for h in by_words] == [h.picture for h in alone]
        monkeypatch.setattr(texts, "_text_figures", lambda _: (0.6, 0.5))
        by_text = ask(reader, "A word1 and a word1.")
        assert by_text.text_answer == TextAnswer("text") and by_text.hits
        # A word that the model to ask first has not learned is left to the other.
        monkeypatch.setattr(
            "sightline.collection.models.text_model.TextModel.learned_term", lambda _, terms: None
        )
        other = ask(reader, "word1")
        assert other.text_answer == TextAnswer("words", "no word learned") and other.hits
        with pytest.raises(UsageError, match="No model has learned any of the words"):
            ask(reader, "zyxwvut qwpoeiru")


def test_a_worse_text_model_is_refused_and_the_word_model_does_not_matter(
    store_folder: StoreFolder,
) -> None:
    train_words(store_folder)
    first = train_texts(store_folder)
    with store_folder.reader() as reader:
        before = reader.snapshot.version, reader.snapshot.model, reader.snapshot.text
        assert before[2] == first.model
    with pytest.raises(NotBetter, match="text model is worse than the one in use: mean AvgP"):
        train_texts(store_folder, feature="noise")
    with store_folder.reader() as reader:
        assert (reader.snapshot.version, reader.snapshot.model, reader.snapshot.text) == before
    measured = train_texts(store_folder, feature="noise", dry_run=True)
    assert measured.version == 0 and measured.proof.current == pytest.approx(first.proof.candidate)
    forced = train_texts(store_folder, feature="noise", force=True)
    assert forced.forced and not forced.proof.passes
    with store_folder.reader() as reader:
        assert (reader.snapshot.model, reader.snapshot.text) == (before[1], forced.model)


def test_texts_and_pictures_are_measured_as_one_by_one(store_folder: StoreFolder) -> None:
    train_words(store_folder)
    train_texts(store_folder)
    with store_folder.reader() as reader:
        model = load_text_model(store_folder, reader.snapshot.text)
        assert model is not None
        held, words = TextQueries.held_out(load_dataset(reader.snapshot)), word_model(reader)
    measured = held.measure(model.proof)
    labels = np.asarray(held.dataset.labels.todense()) > 0
    scores = model.proof.points(held.dataset.views) @ model.proof.text_points(held.dataset.labels).T
    n = len(held.dataset)
    proof = words.proof_combination
    rows = proof.rows(words.proof.scores(held.dataset.views))
    likely = proof.word_probabilities(rows, np.arange(len(words.terms)))
    none = np.log(1 - np.minimum(likely, CERTAIN))
    any_of = -(labels * words.idf) @ none.T
    by_words = held.measure_words(words)
    assert by_words is not None and np.array_equal(words.terms, held.dataset.terms)
    for i, row in enumerate(held.rows.tolist()):
        fits = np.array([bool((labels[row] & labels[j]).any()) for j in range(n)])
        assert 0 < fits.sum() < n and fits[row]
        for got, of in (
            (measured.text_to_picture, scores[:, row]),
            (measured.picture_to_text, scores[row]),
            (by_words, any_of[row].astype(np.float32)),
        ):
            order = np.argsort(-of, kind="stable")
            assert got.avgp[i] == pytest.approx(average_precision(fits[order]), abs=1e-6)
    assert measured.mean().mean_avgp == pytest.approx(
        (measured.text_to_picture.mean_avgp + measured.picture_to_text.mean_avgp) / 2
    )


def test_evidence_adds_up_to_the_chance_of_any() -> None:
    p = np.array([0.2, 0.5, 0.9])
    assert any_word.chance(any_word.evidence(p).sum()) == pytest.approx(1 - math.prod(1 - p))
