"""Why a picture is a hit: words that add up to its score, and parts that lie where they should."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sightline.collection import Collection, Filters
from sightline.collection.explain import Explanation
from sightline.collection.explain.drawing import draw_sheet
from sightline.collection.explain.features import FeatureRecomputer
from sightline.collection.models.word_model import WordModel, load_word_model
from sightline.compute.inline import InlineCompute
from sightline.errors import ParameterError
from sightline.words.term_ids import term_id
from tests.factories.photos import SQUARES, paint_squares
from tests.factories.plugins import plugged


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with plugged(monkeypatch):
        yield


def made(folder: Path, features: Sequence[str], ranker: str = "ridge", n: int = 96) -> Collection:
    c = Collection.open(folder / "photos", store=folder / "store", workers=1)
    paint_squares(folder / "photos", n)
    c.index(features=features, compute=InlineCompute())
    if ranker:
        c.train(rankers=[ranker], force=True)
    return c


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        yield made(tmp_path_factory.mktemp("squares"), ["mean-colour"])


def why(c: Collection, query: str, k: int = 8, **more: Any) -> list[Explanation]:
    return c.explain(query, k, compute=InlineCompute(), **more)


# -- words -----------------------------------------------------------------------------------------


def check_words(c: Collection, query: str, **filters: Any) -> set[str]:
    """Check that the words of every hit add up to its score; return the kinds of hits seen."""
    with c.store_folder.reader() as reader:
        learnt = load_word_model(c.store_folder, reader.snapshot.model)
    kinds = set()
    for w in why(c, query, 500, pictures=0, **filters):
        total = sum(s.contribution for s in w.words)
        assert all(s.contribution == pytest.approx(s.weight * s.number) for s in w.words)
        if w.hit.learned:
            assert learnt is not None
            known = [s for s in w.words if s.learned]
            terms = learnt.aliases.names_of(np.array([term_id(s.word) for s in known]))
            # Words that were learned as one are one word of the query.
            at, which = np.unique(np.searchsorted(learnt.terms, terms), return_inverse=True)
            weights = np.bincount(which, [s.weight for s in known])
            total = float(learnt.combination.probability(total, weights, at))
            assert any(not s.tagged for s in w.words)
        assert w.hit.score == pytest.approx(total + w.hit.tagged, abs=2e-4)
        kinds.add("tagged" if w.hit.tagged else "learnt" if w.hit.learned else "some")
        assert all(s.tagged for s in w.words) == w.hit.tagged
    return kinds


def test_words_add_up_to_the_score_of_every_kind_of_hit(trained: Collection) -> None:
    assert check_words(trained, "red", cut=False) == {"tagged", "learnt"}
    assert check_words(trained, "2:red warm", cut=False) == {"tagged", "learnt"}
    assert check_words(trained, "red cold") >= {"some"}
    assert check_words(trained, "red cold", predicted=False) == {"some"}
    (w, *_) = why(trained, "red", 2, predicted=False)
    assert w.parts is None and "left out" in w.problem


def test_a_tag_counts_as_known_and_is_marked(trained: Collection) -> None:
    found = why(trained, "red cold", 500, cut=False, pictures=0)
    learnt = next(w for w in found if w.hit.learned and any(s.tagged for s in w.words))
    cold = next(s for s in learnt.words if s.tagged)
    assert "tagged (" in learnt.lines()[learnt.words.index(cold)]
    assert cold.seen is not None and 0 <= cold.seen <= 1
    with trained.store_folder.reader() as reader:
        model = load_word_model(trained.store_folder, reader.snapshot.model)
    assert model is not None
    query = model.query(np.array([term_id("red"), term_id("cold")]), [1.0, 1.0])
    assert cold.number == pytest.approx(query.known[query.terms == term_id(cold.word)][0])


# -- parts -----------------------------------------------------------------------------------------


def peak_on_square(w: Explanation, place: tuple[int, int, int]) -> bool:
    assert w.parts is not None
    where, (top, left, side) = w.parts.blocks, place
    cells = where.in_cells(w.parts.of_query)
    i, j = np.unravel_index(cells.argmax(), cells.shape)
    down, right = where.down, where.right
    return bool(
        down[i] < top + side
        and top < down[i + 1]
        and right[j] < left + side
        and left < right[j + 1]
    )


@pytest.mark.parametrize(
    "filters", [{}, {"filters": Filters(untagged=True)}], ids=["tagged", "learnt"]
)
def test_the_strongest_part_is_the_square_that_makes_the_word(
    trained: Collection, tmp_path: Path, filters: dict[str, Any]
) -> None:
    places = paint_squares(tmp_path / "again", 96)
    found = []
    for word in SQUARES:
        for w in why(trained, word, 12, **filters):
            assert w.hit.learned == bool(filters) and w.problem == ""
            found.append(peak_on_square(w, places[w.hit.name]))
    # Chance would be about one in five.
    assert len(found) > 12 and np.mean(found) > 0.8


def test_a_part_is_what_the_score_loses_without_it(trained: Collection) -> None:
    """Everything again by hand: mean colours, the model's scores, the combination."""
    (w,) = why(trained, "red blue", 1, blocks=3)
    assert w.parts is not None and w.picture is not None and not w.parts.exact
    with trained.store_folder.reader() as reader:
        learnt = load_word_model(trained.store_folder, reader.snapshot.model)
    assert learnt is not None
    terms = np.array([term_id("red"), term_id("blue")])
    at = np.searchsorted(learnt.terms, terms)
    weights = learnt.combination.weights(learnt.idf[at], [1.0, 1.0])

    def score(rgb: NDArray[np.uint8]) -> float:
        row = np.asarray(rgb.reshape(-1, 3).mean(axis=0) / 255, np.float32)[None]
        scores = learnt.served.scores({learnt.features[0]: row}, at)
        return float(learnt.combination.some(at).rows(scores)[0] @ weights)

    mean = w.picture.reshape(-1, 3).mean(axis=0).round().astype(np.uint8)
    assert w.parts.score == pytest.approx(score(w.picture), abs=1e-5)
    for box, part in zip(w.parts.blocks.boxes(), w.parts.of_query.ravel(), strict=True):
        without = w.picture.copy()
        without[box] = mean
        assert part == pytest.approx(score(w.picture) - score(without), abs=1e-5)


def test_the_map_of_a_query_is_the_sum_of_its_words(trained: Collection) -> None:
    (w,) = why(trained, "red warm", 1)
    assert w.parts is not None and w.parts.of_words.shape[0] == 2
    assert np.allclose(w.parts.of_query, w.parts.of_words.sum(axis=0))
    assert len(w.parts.likely) == len(w.parts.without) == 3


def test_only_the_first_hits_are_looked_at(trained: Collection) -> None:
    found = why(trained, "red", 5, pictures=2)
    assert [w.parts is None for w in found] == [False, False, True, True, True]
    assert all(w.words and not w.problem for w in found)
    with pytest.raises(ParameterError, match="at least 1"):
        why(trained, "red", 5, blocks=0)


# -- exact shares ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["sum", "average", "product"])
def test_visterms_and_a_linear_ranker_have_exact_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Where words multiply, the logarithm of a probability is no sum over blocks."""
    monkeypatch.setattr("sightline.collection.models.trials.WAYS", (how,))
    c = made(tmp_path, ["visterms"], "pamir", n=60)
    assert "tagged" in check_words(c, "green cold", cut=False)
    found = why(c, "red cold", 4, cut=False)
    hidden = why(c, "red cold", 4, cut=False, exact=False)
    assert len(found) == len(hidden) == 4
    for w, h in zip(found, hidden, strict=True):
        assert w.parts is not None and h.parts is not None and not h.parts.exact
        assert w.parts.exact == (how != "product")
        assert w.parts.score == pytest.approx(h.parts.score, abs=1e-4)
        if w.parts.exact:
            total = float(w.parts.of_query.sum()) + w.parts.rest
            assert total == pytest.approx(w.parts.score, abs=1e-4)
            assert w.parts.blocks.rows > h.parts.blocks.rows and w.parts.without == ()
    if how == "sum":
        (by_workers,) = c.explain("red cold", 1, cut=False)
        assert by_workers.parts is not None and found[0].parts is not None
        assert np.array_equal(by_workers.parts.of_words, found[0].parts.of_words)


def test_a_kernel_has_no_exact_shares(tmp_path: Path) -> None:
    c = made(tmp_path, ["visterms"], "ridge", n=60)
    (w,) = why(c, "red", 1)
    assert w.parts is not None and not w.parts.exact


# -- when something is missing ---------------------------------------------------------------------


def test_without_a_model_there_are_words_alone(tmp_path: Path) -> None:
    c = made(tmp_path, [], "", n=12)
    assert check_words(c, "red warm") == {"tagged"}
    found = why(c, "red cold", 20)
    assert found and all(w.parts is None and "sightline train" in w.problem for w in found)
    assert all(s.seen is None for w in found for s in w.words)
    assert "not tagged" in "".join(line for w in found for line in w.lines())


def test_a_word_that_was_not_learnt_is_named(trained: Collection, tmp_path: Path) -> None:
    c = made(tmp_path, ["mean-colour"], n=48)
    (tmp_path / "photos" / "001.txt").write_text("green, cold, unique")
    c.index(compute=InlineCompute())
    (w, *_) = why(c, "green unique")
    assert w.parts is not None and [s.learned for s in w.words] == [True, False]
    assert w.lines()[1].startswith("unique")
    (w, *_) = why(c, "unique")
    assert w.parts is None and "has not learned 'unique'" in w.problem
    assert [s.learned for s in w.words] == [False]
    assert why(trained, "zzz") == []


def test_a_picture_that_cannot_be_read_is_named_and_the_others_are_not(tmp_path: Path) -> None:
    c = made(tmp_path, ["mean-colour"])
    hits = c.search("red", 4).hits
    (tmp_path / "photos" / hits[1].name).write_bytes(b"no longer a picture")
    found = why(c, "red", hits=hits)
    assert [bool(w.problem) for w in found] == [False, True, False, False]
    assert "cannot be read" in found[1].problem and found[1].words
    assert draw_sheet(found, "red").height > 500
    for h in hits:
        (tmp_path / "photos" / h.name).unlink()
    assert all("cannot be read" in w.problem for w in why(c, "red", hits=hits))


def test_a_feature_that_fails_is_named(
    trained: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        raise RuntimeError("I do not like this one")

    monkeypatch.setattr("plugin_features.MeanColour.describe", fail)
    found = why(trained, "red", 2)
    assert all("cannot be described: " in w.problem and w.parts is None for w in found)
    assert all(w.picture is not None for w in found)


def test_features_of_the_user_stay_as_they_are(tmp_path: Path) -> None:
    c = made(tmp_path, [], "")
    names = sorted(p.name for p in (tmp_path / "photos").glob("*.png"))
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(len(names), 5)) * 0.1
    rows[np.arange(len(names)), np.arange(len(names)) % 3] += 1
    np.savez(tmp_path / "own.npz", vectors=rows, paths=np.array(names))
    c.index(vectors=[str(tmp_path / "own.npz")], compute=InlineCompute())
    c.train(rankers=["ridge"], force=True)
    (w,) = why(c, "red", 1)
    assert w.parts is None and "the model uses own alone" in w.problem
    c.index(features=["mean-colour"], compute=InlineCompute())
    with c.store_folder.reader() as reader:
        prints = {f.rpartition("-")[0]: f for f in reader.snapshot.features()}
        learnt = SimpleNamespace(features=tuple(prints.values()))
        again = FeatureRecomputer.of(reader, cast(WordModel, learnt), 384)
        assert again.class_paths == {prints["mean-colour"]: "plugin_features:MeanColour"}
        assert again.held_names == ("own",) and again.has_stored(reader, w.hit.picture)
        described = [np.full(3, i, np.float32) for i in range(4)]
        views = again.views([[row] for row in described], reader, w.hit.picture)
    assert np.array_equal(views[prints["mean-colour"]], described)
    mine = rows[names.index(w.hit.name)].astype(np.float32)
    assert np.allclose(views[prints["own"]], np.tile(mine, (4, 1)))


@pytest.mark.parametrize("size", [(2, 2), (3, 50), (384, 2), (7, 5)])
def test_pictures_smaller_than_a_block(tmp_path: Path, size: tuple[int, int]) -> None:
    c = made(tmp_path, ["mean-colour"], n=48)
    Image.new("RGB", size, SQUARES["red"]).save(tmp_path / "photos" / "tiny.png")
    (tmp_path / "photos" / "tiny.txt").write_text("red, tiny")
    c.index(compute=InlineCompute())
    found = [w for w in why(c, "red", 500, pictures=500) if w.hit.name == "tiny.png"]
    assert found[0].parts is not None
    assert np.isfinite(found[0].parts.of_query).all()
    assert draw_sheet(found).width > 400


# -- as others see it ------------------------------------------------------------------------------


def test_json_can_be_written_and_says_where_the_parts_lie(trained: Collection) -> None:
    (w,) = why(trained, "red warm", 1, blocks=4)
    said = json.loads(json.dumps(w.to_dict(), allow_nan=False))
    assert len(said["parts"]) == said["rows"] and len(said["parts"][0]) == said["columns"]
    assert len(said["down"]) == said["rows"] + 2 and said["down"][-1] == said["right"][-1] == 1
    assert [x["word"] for x in said["words"]] == ["red", "warm"]
    total = np.sum([x["parts"] for x in said["words"]], axis=0)
    assert np.allclose(total, said["parts"], atol=1e-5)
    nothing = Explanation(w.hit, w.words, problem="there is none").to_dict()
    assert nothing["parts"] is None and nothing["problem"] == "there is none"
