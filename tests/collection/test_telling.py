"""Words, texts and pictures in one space: published, asked both ways, and kept up to date."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.collection.models.dataset import load_dataset, segment_views
from sightline.collection.models.registry import RANKERS
from sightline.collection.models.text_model import PICTURES, TEXTS, likely, text_curve
from sightline.collection.models.training import TrainOptions, is_trained, train
from sightline.collection.models.word_model import load_word_model
from sightline.collection.search.texts import as_text
from sightline.collection.search.topics import SharedSpace
from sightline.errors import CollectionError, UsageError
from sightline.progress import NoProgress
from sightline.records import DenseQuery, Tags, WordQuery
from sightline.store.folder import Reader, StoreFolder
from sightline.store.scores import Scores, open_scores, with_scores
from sightline.store.versions import Version
from sightline.store.writer import Change, Writer
from tests.factories.planted_stores import clusters, plant
from tests.factories.recorded_progress import RecordedProgress

ACROSS = sorted(name for name, kind in RANKERS.items() if kind.shared_space)
Float = NDArray[np.float32]


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    words, rows = clusters(200, 6)
    # A twentieth of the pictures has no words, and lies in the space all the same.
    return plant(tmp_path / "store", [ws if i % 20 else [] for i, ws in enumerate(words)],
                 {"signal": rows})  # fmt: skip


def trained(
    store_folder: StoreFolder, ranker: str = "lscmr", progress: RecordedProgress | None = None
) -> StoreFolder:
    train(store_folder, TrainOptions(rankers=(ranker,)), 0.0, progress or NoProgress())
    return store_folder


def points(reader: Reader, name: str) -> Float:
    found = [s.matrix(name) for s in reader.snapshot.segments]
    return np.concatenate([np.asarray(m) for m in found if m is not None])


def test_there_are_four_rankers_across_kinds() -> None:
    assert ACROSS == ["cca", "lscmr", "semantic-matching", "ssi"]


@pytest.mark.parametrize("ranker", ACROSS)
def test_published_points_give_the_scores_of_words_and_texts(
    store_folder: StoreFolder, ranker: str
) -> None:
    with trained(store_folder, ranker).reader() as reader:
        learnt = load_word_model(store_folder, reader.snapshot.model)
        assert learnt is not None
        pictures, texts = (
            points(reader, learnt.as_text_model().points_of(w)) for w in (PICTURES, TEXTS)
        )
        (segment,) = reader.snapshot.segments
        views = segment_views(segment, learnt.features)
        assert views is not None
        scores = learnt.served.scores(views)
        assert pictures @ learnt.served.word_points().T == pytest.approx(scores, abs=1e-4)
        # Words beyond the budget are scored by points, and as the published ones are.
        rows = learnt.more(segment, learnt.terms)
        assert rows is not None and segment.scores is not None
        assert rows == pytest.approx(segment.scores.rows, abs=1e-4)
        sample = load_dataset(reader.snapshot)
        tagged = np.diff(segment.base["word_start"]) > 0
        assert texts[tagged] == pytest.approx(learnt.served.text_points(sample.labels), abs=1e-5)
        assert not texts[~tagged].any() and (~tagged).any()


@pytest.mark.parametrize("ranker", ACROSS)
def test_a_text_finds_pictures_and_a_picture_texts(store_folder: StoreFolder, ranker: str) -> None:
    with trained(store_folder, ranker).reader() as reader:
        space = SharedSpace(reader)
        (segment,) = reader.snapshot.segments
        tagged = [set(segment.words(r).tolist()) for r in range(len(segment.ids))]
        for word in range(6):
            point, missing = space.text_point(f"They saw word{word}, and pair{word // 2} again.")
            assert missing == ("saw",)
            found = space.pictures(point, 15).ids - 1
            right = np.mean([p % 6 == word for p in found.tolist()])
            assert right > (0.6 if ranker == "semantic-matching" else 0.8)
        pictures = points(reader, space.model.points_of(PICTURES))
        worded = np.setdiff1d(reader.snapshot.ids(), reader.snapshot.without_words())
        shares = []
        for row in range(0, 200, 7):
            texts = space.texts(pictures[row], 10, worded).ids - 1
            own = tagged[row % 6 + 6]
            shares += [bool(own & tagged[t]) for t in texts.tolist()]
        assert np.mean(shares) > 0.8


def test_a_curve_tells_how_likely_a_text_fits(store_folder: StoreFolder) -> None:
    with trained(store_folder).reader() as reader:
        learnt = load_word_model(store_folder, reader.snapshot.model)
        assert learnt is not None and learnt.text_curve is not None
        sample = load_dataset(reader.snapshot)
        scores = learnt.proof.points(sample.views) @ learnt.proof.text_points(sample.labels).T
        shared = np.asarray((sample.labels @ sample.labels.T).todense()) > 0
        chance = likely(scores, learnt.text_curve)
        assert chance[shared].mean() > 0.8 > 0.2 > chance[~shared].mean()
        assert np.array_equal(text_curve(learnt.proof, sample), text_curve(learnt.proof, sample))


def test_points_go_with_the_model_and_older_ones_say_what_to_do(store_folder: StoreFolder) -> None:
    with trained(store_folder).reader() as reader:
        name = SharedSpace(reader).model.points_of(PICTURES)
        assert len(reader.snapshot.top(DenseQuery(name, points(reader, name)[0]), 3).ids) == 3
    with Writer(store_folder, "test") as w:
        # As a release before this one left it: a model, and no points.
        w._swap(_without_points(w), Change())
    with store_folder.reader() as reader:
        space = SharedSpace(reader)
        with pytest.raises(CollectionError, match=r"Run: sightline train text"):
            space.pictures(space.words[0], 3)
    trained(store_folder, "ridge")
    with store_folder.reader() as reader, pytest.raises(UsageError, match="no text model yet"):
        SharedSpace(reader)


def _without_points(writer: Writer) -> Version:
    segments = []
    for s in writer.version.segments:
        found = open_scores(writer.store_folder.shards, s)
        assert found is not None
        bare = Scores(found.model, found.terms, found.rows)
        segments.append(with_scores(writer.store_folder.shards, s, bare))
    return replace(writer.version, number=writer.version.number + 1, segments=tuple(segments))


def test_rounds_are_told_while_it_learns(store_folder: StoreFolder) -> None:
    told = RecordedProgress()
    trained(store_folder, "lscmr", told)
    rounds = [n for n in told.noted if n.startswith("lscmr, round ")]
    assert len(rounds) > 5 and "objective" in rounds[0] and "violation" in rounds[-1]


def test_words_that_are_not_published_are_found_by_points(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.collection.models.word_model.LEAST_PUBLISHED", 2)
    monkeypatch.setattr("sightline.collection.models.word_model.BUDGET", 0.0)
    with trained(store_folder).reader() as reader:
        learnt = load_word_model(store_folder, reader.snapshot.model)
        assert learnt is not None and len(learnt.published) == 2 < len(learnt.terms)
        rare = np.setdiff1d(learnt.terms, learnt.terms[learnt.published])[:1]
        query = WordQuery(rare, np.ones(1, np.float32), np.zeros(1, np.float32))

        def refuse(*_: object) -> None:
            raise AssertionError("rows of features were read")

        monkeypatch.setattr("sightline.collection.models.word_model.segment_views", refuse)
        assert len(reader.snapshot.top(query, 5, None, learnt.more).ids) == 5


def test_what_is_written_of_a_picture_is_one_line() -> None:
    assert as_text([]) == ""
    assert as_text([Tags("a", ("x",), " "), Tags("b", ("x", "y"))]) == "x, y"
    assert as_text([Tags("a", (), "Two\n lines")]) == "Two lines"


def test_a_model_of_fewer_words_than_its_ranker_could_learn_is_trained(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.collection.models.training.MOST_WORDS", 5)
    # The other one cannot learn here, but bounds the words while both may be chosen.
    report = train(store_folder, TrainOptions(rankers=("lscmr", "cmrm")), 0.0, NoProgress())
    assert report.recipe.startswith("lscmr") and report.words == 5
    assert is_trained(store_folder)
