"""Answers count at the next search, the same after a restart, and not in what proves a model."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sightline._typing import Ints
from sightline.collection import Collection
from sightline.collection.models import online
from sightline.collection.models.online import load_updated_model
from sightline.collection.models.word_model import WordModel
from sightline.compute.inline import InlineCompute
from sightline.errors import StoreDamaged
from sightline.measures.splits import HELD_OUT, fold_of
from sightline.similarity.compact import CompactSpace, kernel_of_codes
from sightline.store.engines import word_updates
from sightline.store.engines.word_updates import UpdateCache
from sightline.store.shards import open_arrays
from sightline.store.writer import Writer
from sightline.words.term_ids import term_id
from tests.factories.photos import COLOURS, paint
from tests.factories.servers import painted


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of which 90 pictures have words and 12 have none, with a quick model."""
    folder = tmp_path_factory.mktemp("trained")
    painted(folder, train=False).train()
    return folder


@pytest.fixture
def own(trained: Path, tmp_path: Path) -> Collection:
    shutil.copytree(trained, tmp_path / "own")
    return opened(tmp_path / "own")


def opened(folder: Path) -> Collection:
    return Collection.open(folder / "photos", store=folder / "store", workers=1)


def model_of(c: Collection) -> WordModel:
    with c.store_folder.reader() as reader:
        model = load_updated_model(reader)
    assert model is not None
    return model


def scores(c: Collection, word: str = "red") -> dict[int, float]:
    """Return the score of every predicted picture."""
    hits = c.search(word, k=200, cut=False)
    return {h.picture: h.score for h in hits if h.match == "predicted"}


def untagged(colour: str) -> list[int]:
    """Return the untagged pictures of a colour, by id."""
    names = list(COLOURS)
    return [i + 1 for i in range(90, 102) if names[i % len(names)] == colour]


def test_a_refused_prediction_is_gone_at_the_next_search_and_its_like_fall(own: Collection) -> None:
    first, second = untagged("red")
    before = scores(own)
    assert before[first] > 0.5 and before[second] > 0.5
    own.judge("red").mark(negative=[first])
    after = scores(own)
    assert after[first] < 0.1
    assert after[second] < before[second]
    # What is unlike keeps its score.
    blue = untagged("blue")[0]
    assert after.get(blue, 0.0) == pytest.approx(before.get(blue, 0.0), abs=0.02)


def test_an_accepted_picture_comes_first_and_its_like_rise(own: Collection) -> None:
    first, second = untagged("green")
    before = scores(own)
    own.judge("red").mark(positive=[first])
    after = scores(own)
    assert max(after, key=lambda p: after[p]) == first
    assert after[second] > before.get(second, 0.0)


def test_updates_are_the_same_after_a_restart_and_in_any_order(
    own: Collection, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    red, green = untagged("red"), untagged("green")
    session = own.judge("red")
    session.mark(positive=[green[0]])
    scores(own)
    session.mark(negative=[red[0]])
    after = scores(own)
    monkeypatch.setattr(word_updates, "CACHE", UpdateCache())
    online._KEPT.clear()
    assert scores(opened(tmp_path / "own")) == after
    shutil.copytree(trained, tmp_path / "other")
    other = opened(tmp_path / "other")
    session = other.judge("red")
    session.mark(negative=[red[0]])
    session.mark(positive=[green[0]])
    assert scores(other) == after


def test_answers_that_are_undone_or_reverted_leave_nothing(own: Collection) -> None:
    first, second = untagged("red")
    before = scores(own)
    session = own.judge("red")
    session.mark(negative=[first])
    once = scores(own)
    session.mark(negative=[second])
    session.undo()
    assert scores(own) == once != before
    own.sessions.revert(session.id)
    assert scores(own) == before


def test_pictures_indexed_with_words_count_without_training(tmp_path: Path) -> None:
    # What is called red from now on makes green ones more likely.
    own = painted(tmp_path, train=False)
    own.train()
    photos = Path(own.root.decode())
    before = scores(own)
    green = untagged("green")[0]
    names = list(COLOURS)
    start = 600 + names.index("green")
    for i in range(start, start + 12, len(names)):
        paint(photos, 1, False, i, start=i)
        (photos / f"{i:03d}_x.txt").write_text("red")
    own.index(compute=InlineCompute())
    assert scores(own)[green] > before.get(green, 0.0)


def test_a_word_that_a_session_was_saved_as_counts(own: Collection) -> None:
    first, second = untagged("blue")
    before = scores(own)
    session = own.judge(positive=[untagged("green")[0]])
    other = untagged("red")[0]
    session.mark(positive=[first], negative=[other])
    session.save_as("red")
    after = scores(own)
    assert after[second] > before.get(second, 0.0)
    # What the session judged not to fit does not have the word either.
    assert after[other] < 0.1 < before[other]


def test_search_why_and_describe_say_the_same(own: Collection) -> None:
    first, second = untagged("red")
    own.judge("red").mark(negative=[first])
    for picture in (first, second):
        (word,) = (w for w in own.pictures.describe(picture, k=50).words if w.word == "red")
        assert word.score == pytest.approx(scores(own)[picture], abs=1e-4)


def test_held_out_pictures_prove_without_updates_and_show_what_updates_gain(
    own: Collection,
) -> None:
    before = own.evaluate(curve=False)
    assert before.online is None
    ids = np.array(untagged("red") + untagged("yellow"), np.int64)
    own.judge("cold").mark(negative=ids.tolist())
    after = own.evaluate(curve=False)
    assert after.groups[0].avgp == before.groups[0].avgp
    gain = after.online
    assert gain is not None and gain.words == 1 and gain.queries >= 1
    # Answers on held-out pictures are not replayed.
    assert gain.answers == int((fold_of(ids) != HELD_OUT).sum())
    assert gain.avgp is not None and gain.updated is not None
    assert gain.to_dict()["updated"] == gain.updated


def test_the_next_training_learns_from_the_answers_instead(own: Collection) -> None:
    own.judge("red").mark(negative=[untagged("red")[0]])
    assert model_of(own).query(red(model_of(own)), [1.0]).updates
    own.train(force=True)
    model = model_of(own)
    assert model.online is not None and not model.online.labels()
    assert not model.query(red(model), [1.0]).updates


def red(model: WordModel) -> Ints:
    """Return the term that a model learned as red."""
    return np.array([model.learned_term([term_id("red")])], np.int64)


def test_an_answer_takes_one_pass_over_the_codes(
    own: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = UpdateCache()
    monkeypatch.setattr(word_updates, "CACHE", columns)
    own.store_folder.fast = True
    with own.store_folder.reader() as reader:
        n_segments = len(reader.snapshot.segments)
    session = own.judge("red")
    for n, picture in enumerate(untagged("red"), 1):
        session.mark(negative=[picture])
        scores(own)
        scores(own)
        assert columns.computed == n * n_segments


def test_later_parts_of_a_list_are_not_cut_from_a_ranking_before_an_answer(own: Collection) -> None:
    own.store_folder.fast = True
    first = untagged("red")[0]

    def part() -> list[int]:
        return [h.picture for h in own.search("red", k=200, offset=0, cut=False)]

    before = part()
    own.judge("red").mark(negative=[first])
    after = part()
    assert sorted(before) == sorted(after) and before.index(first) < after.index(first)


def test_kernels_that_are_kept_have_a_limit() -> None:
    codes = np.random.default_rng(0).integers(0, 256, (100, 8), np.uint8)
    columns = UpdateCache(most_bytes=3 * 400)
    for i in range(10):
        columns.kernel(codes, codes[i : i + 1], 3.0)
        assert columns._bytes <= 3 * 400
    assert len(columns._kept) == 3
    again = columns.kernel(codes, codes[:2], 3.0)
    assert again.shape == (2, 100) and np.allclose(again[[0, 1], [0, 1]], 1.0)


def test_a_model_of_an_earlier_release_searches_without_updates(own: Collection) -> None:
    before = scores(own)
    model = model_of(own)
    assert model.online_space is not None
    own.judge("red").mark(negative=[untagged("red")[0]])
    with own.store_folder.reader() as reader:
        plain = online.with_updates(reader, replace(model, online=None, online_space=None))
        assert plain.online is None
        query = plain.query(red(plain), [1.0])
        top = reader.snapshot.top(query, 200, None, plain.more)
    likely = dict(zip(top.ids.tolist(), plain.probability(query, top.scores), strict=True))
    assert all(likely[p] == pytest.approx(s, abs=1e-6) for p, s in before.items())


def test_an_engine_which_holds_scores_as_published_is_not_asked(
    own: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asked(Exception):
        pass

    def top(*_: object) -> None:
        raise Asked

    with own.store_folder.reader() as reader:
        monkeypatch.setattr(reader.snapshot, "engine", SimpleNamespace(top=top))
        model = load_updated_model(reader)
        assert model is not None
        with pytest.raises(Asked):
            reader.snapshot.top(model.query(red(model), [1.0]), 5)
        own.judge("red").mark(negative=[untagged("red")[0]])
        model = load_updated_model(reader)
        assert model is not None
        assert len(reader.snapshot.top(model.query(red(model), [1.0]), 5).ids) == 5


def test_merged_segments_keep_codes(own: Collection) -> None:
    own.judge("red").mark(negative=[untagged("red")[0]])
    before = scores(own)
    with Writer(own.store_folder, "test") as w:
        assert w.compact(everything=True)
    assert scores(own) == before


def test_damaged_codes_are_refused(own: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(path: Path) -> dict[str, Any]:
        return {n: a[:-1] if n == "codes" else a for n, a in open_arrays(path).items()}

    monkeypatch.setattr("sightline.store.scores.open_arrays", cut)
    with pytest.raises(StoreDamaged, match="does not hold the scores of"):
        own.store_folder.reader()


def test_the_update_is_kernel_ridge_on_what_the_model_got_wrong(own: Collection) -> None:
    first, _ = untagged("red")
    model = model_of(own)
    assert model.online_space is not None
    own.judge("red").mark(negative=[first], positive=[untagged("green")[0]])
    updated = model_of(own)
    term = int(red(updated)[0])
    assert updated.online is not None
    update = updated.online.of(np.array([term]))[term]
    space = model.online_space
    column = int(np.searchsorted(model.terms, term))
    codes = update.codes.astype(np.float64) - 128.0
    unit = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    K = np.exp(-space.space.gamma * (1.0 - unit @ unit.T))
    with own.store_folder.reader() as reader:
        rows = {
            picture: number
            for s in reader.snapshot.segments
            if s.scores is not None and (row := s.scores.row(term)) is not None
            for picture, number in zip(s.ids.tolist(), row.tolist(), strict=True)
        }
    x = np.array([rows[p] for p in update.ids.tolist()])
    if model.combination.how == "product":
        x = x - np.log(-np.expm1(x))
    predicted = np.clip((x - space.origin[column]) / space.gain[column], 0.0, 1.0)
    y = np.array([0.0 if p == first else 1.0 for p in update.ids.tolist()])
    expected = np.linalg.solve(K + np.eye(2), y - predicted) * space.gain[column]
    assert update.coefficients == pytest.approx(expected, rel=1e-4)


def test_a_compact_space_keeps_what_is_near_near() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 30))
    rows = np.repeat(centres, 20, axis=0) + 0.3 * rng.normal(size=(80, 30))
    views = tuple(
        (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)
        for v in (rows[:, :18], rows[:, 18:])
    )
    space = CompactSpace.of(views)
    K = kernel_of_codes(space.codes(views), space.codes(views), space.gamma)
    same = np.repeat(np.arange(4), 20)[:, None] == np.repeat(np.arange(4), 20)
    assert K[same].mean() > 2 * K[~same].mean()
    again = CompactSpace.from_arrays(space.to_arrays())
    assert np.array_equal(again.codes(views), space.codes(views))
    # Equal pictures have no directions, and a kernel all the same.
    equal = (np.tile(views[0][:1], (5, 1)),)
    flat = CompactSpace.of(equal)
    assert np.isfinite(kernel_of_codes(flat.codes(equal), flat.codes(equal), 1.0)).all()
