"""Points of a model: ranked like the rows of a feature, merged, dropped and checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.errors import StoreDamaged, StoreError
from sightline.progress import NoProgress
from sightline.records import DenseQuery
from sightline.store.engines.tables import engine_tables
from sightline.store.folder import StoreFolder
from sightline.store.scores import points_feature
from sightline.store.shards import open_arrays
from sightline.store.upkeep.repair import repair
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Change, Writer
from tests.factories.scored_stores import FakeScorer, batch, points_of, scored_store, train


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    return StoreFolder(tmp_path / "store")


def test_points_of_a_model_are_ranked_like_a_feature_and_merged(store_folder: StoreFolder) -> None:
    scored_store(store_folder)
    weights = np.array([0.4, -1.0], np.float32)
    with Writer(store_folder, "test") as w:
        scorer = FakeScorer(store_folder, 1, spaced=True)
        w.publish_model(scorer, "", NoProgress())
        w.publish(Change(dead=[2, 8]), finished=True)

    def top(name: str) -> list[tuple[int, float]]:
        with store_folder.reader() as reader:
            found = reader.snapshot.top(DenseQuery(name, weights), 100)
            ids, scores = reader.snapshot.scores(DenseQuery(name, weights))
        assert sorted(ids.tolist()) == sorted(found.ids.tolist())
        assert sorted(scores.tolist()) == sorted(found.scores.tolist())
        return list(zip(found.ids.tolist(), found.scores.tolist(), strict=True))

    name = points_feature(scorer.model, "pictures")
    before = top(name)
    living = np.array([1, 3, 4, 5, 6, 7, 9])
    want = points_of(1, living) @ weights
    assert [i for i, _ in before] == living[np.argsort(-want)].tolist()
    assert [s for _, s in before] == pytest.approx(sorted(want.tolist(), reverse=True))
    with Writer(store_folder, "test") as w:
        assert w.compact(everything=True)
        assert [s.scored_by for s in w.version.segments] == [scorer.model]
    assert top(name) == before and verify(store_folder).sound
    for other in (points_feature(scorer.model, "texts"), "words-0123456789abcdef/pictures"):
        with pytest.raises(StoreError, match="is not in the store"):
            top(other)
    # Another model takes them along when it comes.
    with Writer(store_folder, "test") as w:
        train(w, 2)
    with pytest.raises(StoreError, match="is not in the store"):
        top(name)


def text_store(store_folder: StoreFolder) -> tuple[str, str]:
    """Make a store with a word model and, beside it, a text model; return their names."""
    words = scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        scorer = text_scorer(store_folder)
        w.publish_text(scorer, "", NoProgress())
    return words, scorer.model


def text_scorer(store_folder: StoreFolder) -> FakeScorer:
    return FakeScorer(store_folder, 5, (), spaced=True, kind="text")


def published_by(store_folder: StoreFolder) -> tuple[set[str], set[str]]:
    """Return the models that gave the scores and the points of the current version."""
    version = store_folder.versions.read(store_folder.versions.numbers()[-1])
    both = [(s.scored_by, s.text_scored_by) for s in version.segments]
    return {a for a, _ in both}, {b for _, b in both}


def test_a_text_model_lies_beside_the_word_model(store_folder: StoreFolder) -> None:
    words, text = text_store(store_folder)
    query = DenseQuery(points_feature(text, "pictures"), np.array([0.4, -1.0], np.float32))

    def top() -> list[int]:
        with store_folder.reader() as reader:
            assert (reader.snapshot.model, reader.snapshot.text) == (words, text)
            ids: list[int] = reader.snapshot.top(query, 100).ids.tolist()
            return ids

    first = np.arange(1, 10)
    assert top() == first[np.argsort(-(points_of(5, first) @ query.weights))].tolist()
    with Writer(store_folder, "test") as w:
        # Pictures that come later are scored by both, and a merge keeps what both gave.
        w.scorer, w.text_scorer = FakeScorer(store_folder, 1), text_scorer(store_folder)
        w.publish(Change(batches=[batch([12, 13])], dead=[2]), finished=True)
        before = top()
        assert {12, 13} < set(before) and 2 not in before
        assert published_by(store_folder) == ({words}, {text})
        w.scorer = w.text_scorer = None
        assert w.compact(everything=True)
    assert top() == before and published_by(store_folder) == ({words}, {text})
    with store_folder.reader() as reader:
        tables = {t.feature: t for t in engine_tables(reader.snapshot.published)}
        assert tables[query.feature].rows == len(before)
    assert verify(store_folder).sound and not verify(store_folder).strays


def test_models_are_trained_rolled_back_and_pruned_by_themselves(store_folder: StoreFolder) -> None:
    words, text = text_store(store_folder)
    with Writer(store_folder, "test") as w:
        number = w.version.number
        newer = train(w, 2)
        assert (w.version.text, published_by(store_folder)) == (text, ({newer}, {text}))
        w.rollback(number - 1)
        assert (w.version.model, w.version.text) == (words, "")
        assert published_by(store_folder) == ({words}, {""})
        for _ in range(3):
            w.publish(Change(), finished=True)
        assert set(os.listdir(store_folder.models)) == {words}, "no kept version names the others"
        w.publish_text(text_scorer(store_folder), "", NoProgress())
        w.drop_models()
        assert published_by(store_folder) == ({""}, {""}) and not w.version.models()


@pytest.mark.parametrize("what", ["points", "model"])
def test_damage_to_a_text_model_leaves_the_word_model(store_folder: StoreFolder, what: str) -> None:
    words, text = text_store(store_folder)
    version = store_folder.versions.read(store_folder.versions.numbers()[-1])
    file = version.segments[1].text_scores
    assert file is not None
    path = store_folder.shards / file.name
    if what == "model":
        path = store_folder.models / text / "arrays.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    assert not verify(store_folder).sound
    said: list[str] = []
    assert repair(store_folder, said.append).sound
    version = store_folder.versions.read(store_folder.versions.numbers()[-1])
    assert version.model == words and published_by(store_folder)[0] == {words}
    if what == "model":
        assert version.text == "" and "run: sightline train text" in said
        return
    assert version.text == text
    assert "the points of 3 pictures were damaged; the next index computes them again" in said
    with Writer(store_folder, "test") as w:
        w.text_scorer = text_scorer(store_folder)
        assert w.score_missing()
    assert published_by(store_folder) == ({words}, {text})


def test_damaged_points_are_refused(
    store_folder: StoreFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored_store(store_folder)
    with Writer(store_folder, "test") as w:
        w.publish_model(FakeScorer(store_folder, 1, spaced=True), "", NoProgress())

    def cut(path: Path) -> dict[str, Any]:
        return {n: a[:-1] if n.startswith("points.") else a for n, a in open_arrays(path).items()}

    monkeypatch.setattr("sightline.store.scores.open_arrays", cut)
    with pytest.raises(StoreDamaged, match="does not hold the scores of 3 pictures"):
        store_folder.reader().__enter__()
