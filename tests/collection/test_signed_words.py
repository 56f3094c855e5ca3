"""Words with a plus or a minus: tags decide where there are tags, predictions elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.compute.inline import InlineCompute
from sightline.store.snapshot import Snapshot
from tests.factories.photos import COLOURS, paint_some_with_words
from tests.factories.plugins import plugged

UNTAGGED = 90


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Return 90 tagged pictures of one colour each, 12 untagged ones, and a word model."""
    folder = tmp_path_factory.mktemp("signed")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        patch.setattr("sightline.collection.models.training.DEFAULT_RANKERS", ("ridge",))
        photos = paint_some_with_words(folder / "photos")
        (photos / "000_x.txt").write_text("unique, " + (photos / "000_x.txt").read_text())
        collection = Collection.open(photos, store=folder / "store", workers=1)
        collection.index(features=["mean-colour"], compute=InlineCompute())
        collection.train()
        yield collection


def number(name: str) -> int:
    return int(name[:3])


def colour(name: str) -> str:
    return list(COLOURS)[number(name) % len(COLOURS)]


def scores(c: Collection, query: str) -> dict[str, float]:
    """Return the probabilities of untagged pictures."""
    hits = c.search(query, 500, cut=False, filters=Filters(untagged=True)).hits
    assert all(number(h.name) >= UNTAGGED for h in hits)
    return {h.name: h.score for h in hits}


def test_a_minus_multiplies_by_the_chance_that_the_word_is_absent(c: Collection) -> None:
    positive, negative, both = (scores(c, q) for q in ("warm", "red", "warm -red"))
    untagged = Filters(untagged=True)
    red = {h.name for h in c.search("red", 500, filters=untagged)}
    assert red and both.keys() <= positive.keys()
    unlikely = {n for n in both if negative[n] < 0.5 * min(negative[r] for r in red)}
    for n in unlikely:
        assert both[n] == pytest.approx(positive[n] * (1 - negative[n]), abs=2e-6)
    # What a search for the word shows is behind all others, and not shown.
    likely = {n for n in unlikely if positive[n] > 0.01}
    assert likely and max(both.get(n, 0.0) for n in red) < min(both[n] for n in likely)
    shown = {h.name for h in c.search("warm -red", 500, filters=untagged)}
    assert shown and not shown & red


def test_a_plus_takes_pictures_without_the_word_behind_all_others(c: Collection) -> None:
    untagged = Filters(untagged=True)
    red = {h.name for h in c.search("red", 500, filters=untagged)}
    ranked = list(scores(c, "warm +red"))
    assert set(ranked[: len(red)]) == red and len(ranked) > len(red)
    assert {h.name for h in c.search("warm +red", 500, filters=untagged)} <= red


def test_a_minus_moves_untagged_pictures_of_the_word_down(c: Collection) -> None:
    first = list(scores(c, "warm"))[:4]
    assert {"red", "yellow"} & {colour(n) for n in first}
    ranked = list(scores(c, "warm -red"))
    reds = [n for n in scores(c, "warm") if colour(n) == "red"]
    others = [n for n in first if colour(n) != "red"]
    assert reds and others
    assert max(map(ranked.index, others)) < min(map(ranked.index, reds))
    assert not {colour(h.name) for h in c.search("warm -red", 50)} & {"red"}


def test_a_minus_is_hard_where_there_are_tags(c: Collection) -> None:
    hits = c.search("warm -red", 500, cut=False).hits
    assert not [h for h in hits if number(h.name) < UNTAGGED and colour(h.name) == "red"]


def test_a_plus_lets_predicted_pictures_pass_and_keeps_tags_hard(c: Collection) -> None:
    hits = c.search("+red", 500).hits
    assert {colour(h.name) for h in hits} == {"red"}
    assert [h.match for h in hits if number(h.name) >= UNTAGGED] == ["predicted"] * 2
    # A tagged picture without the word is out, however red the model thinks it is.
    everything = c.search("+red warm", 500, cut=False).hits
    assert not [h for h in everything if number(h.name) < UNTAGGED and colour(h.name) != "red"]
    plain = c.search("+red", 500, predicted=False).hits
    assert {h.match for h in plain} == {"exact"}


def test_k_does_not_change_what_comes_first(c: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign moves pictures down: ranking reads on until no other can come before."""
    whole = c.search("warm -red -yellow", 500, cut=False).hits
    depths = []
    top = Snapshot.top

    def counted(self: Snapshot, query: object, k: int, *more: object) -> object:
        depths.append(k)
        return top(self, query, k, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Snapshot, "top", counted)
    for k in (1, 2, 3, 5, 8):
        hits = c.search("warm -red -yellow", k, cut=False, filters=Filters(untagged=True)).hits
        expected = [h for h in whole if number(h.name) >= UNTAGGED][:k]
        assert [(h.name, h.score) for h in hits] == [(h.name, h.score) for h in expected]
    assert max(depths) > 8


def test_the_answer_says_what_decides_on_each_sign(c: Collection) -> None:
    red, unique = c.search("warm +red -unique").constraints
    assert (red.word, red.required, red.predicted) == ("red", True, True)
    assert (unique.word, unique.required, unique.predicted) == ("unique", False, False)
    assert unique.tagged == 1 and red.tagged > 1
    assert str(unique) == "-unique by tags (tag on 1 picture)"
    assert str(red).startswith("+red by tags where there are tags, else by prediction")
    assert c.search("warm").constraints == ()


def test_a_word_that_was_not_learned_is_decided_by_tags(c: Collection) -> None:
    with_word = c.search("warm +unique", 500, cut=False).hits
    assert [h.name for h in with_word] == ["000_x.png"]
    assert scores(c, "warm -unique") == scores(c, "warm")


def test_pages_of_a_list_join_to_the_whole(c: Collection) -> None:
    whole = c.search("warm -red", 500, cut=False).hits
    pages = [
        hit for skip in range(0, 120, 7) for hit in c.search("warm -red", 7, cut=False, offset=skip)
    ]
    assert [h.name for h in pages] == [h.name for h in whole]
    counted = c.search("warm -red", 7, cut=False, offset=0, count=True).part
    assert counted is not None and counted.total == len(whole)
    assert counted.within == sum(h.match != "partial" for h in c.search("warm -red", 500).hits)


def test_scores_fall(c: Collection) -> None:
    values = [h.score for h in c.search("warm +red -yellow", 500, cut=False)]
    assert (np.diff(values) <= 0).all()


def test_why_says_of_each_hit_whether_tags_or_a_prediction_decided_on_a_sign(
    c: Collection,
) -> None:
    positive, negative = scores(c, "warm"), scores(c, "red")
    hits = c.search("warm -red", 500, cut=False).hits
    whys = c.explain("warm -red", hits=hits, pictures=0)
    assert {number(w.hit.name) >= UNTAGGED for w in whys} == {True, False}
    for w in whys:
        (sign,) = w.signs
        assert (str(sign), sign.tagged) == ("-red", False)
        if number(w.hit.name) < UNTAGGED:
            assert sign.by == "tags" and sign.factor == 1.0
            assert sign.text().startswith("by tags: not tagged (")
            continue
        assert sign.by == "prediction"
        assert sign.probability == pytest.approx(negative[w.hit.name], abs=2e-6)
        # What is left of the probability is what the hit shows.
        expected = positive[w.hit.name] * sign.factor
        assert w.hit.score == pytest.approx(expected, abs=2e-6)
        assert w.lines()[-1].startswith("-red  predicted: ")
    assert {"of the probability is left", "behind all others"} <= {
        text for w in whys for text in ("of the probability is left", "behind all others")
        if text in w.signs[0].text()
    }  # fmt: skip


def test_why_names_the_probability_of_a_required_word(c: Collection) -> None:
    hits = c.search("warm +red", 500).hits
    whys = c.explain("warm +red", hits=hits, pictures=0)
    predicted = [w.signs[0] for w in whys if w.signs[0].by == "prediction"]
    tagged = [w.signs[0] for w in whys if w.signs[0].by == "tags"]
    assert predicted and tagged and all(s.text() == "by tags: tagged" for s in tagged)
    for s in predicted:
        assert s.probability is not None and s.cutoff is not None and s.probability >= s.cutoff
        assert " likely, of at least " in s.text()
