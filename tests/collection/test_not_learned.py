"""A word the model has not learned leaves the predicted part, and is named in the answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.query import NotLearned, ResolvedQuery
from sightline.compute.inline import InlineCompute
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id
from tests.factories.photos import paint_some_with_words
from tests.factories.plugins import plugged

# Red and warm are on the same picture, and more frequent there than on others.
BATHES = NotLearned("bathes", 1, ("red", "warm"))


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Return a trained collection in which `bathes` is on one red picture, `barks` on a blue one.

    Pictures from 90 on have no word.
    """
    folder = tmp_path_factory.mktemp("rare")
    photos = paint_some_with_words(folder / "photos")
    (photos / "006_x.txt").write_text("red, warm, bathes")
    (photos / "008_x.txt").write_text("blue, cold, barks")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        found = Collection.open(photos, store=folder / "store", workers=1)
        found.index(features=["mean-colour"], compute=InlineCompute())
        found.train(rankers=["ridge"])
        yield found


def predicted(c: Collection, query: str, cut: bool = True) -> list[tuple[str, float]]:
    """Return the pictures without words that a query predicts, with their scores."""
    hits = c.search(query, 500, filters=Filters(untagged=True), cut=cut).hits
    assert all(h.learned for h in hits)
    return [(h.name, h.score) for h in hits]


def test_a_word_on_one_picture_leaves_what_the_others_predict(c: Collection) -> None:
    alone = predicted(c, "red")
    assert alone and predicted(c, "red bathes") == alone
    assert predicted(c, "red bathes", cut=False) == predicted(c, "red", cut=False)
    found = c.search("red bathes", 500)
    assert found.not_learned == (BATHES,) and found.predicted is True
    assert str(found.not_learned[0]) == "bathes (on 1 picture)" and not found.unknown
    first, *others = found.hits
    # The one that has both words comes first, by all its words.
    assert first.name == "006_x.png" and first.tagged and first.score > 1
    assert not any(h.tagged for h in others)
    assert {h.name for h in c.search("red", 500)} <= {h.name for h in found}
    scores = [h.score for h in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_pictures_that_have_the_word_alone_match_in_part(c: Collection) -> None:
    hits = c.search("red barks", 500).hits
    some = [h.name for h in hits if not h.tagged and not h.learned]
    assert some == ["008_x.png"]


def test_a_word_that_no_picture_has_is_named_as_well(c: Collection) -> None:
    found = c.search("red xyzzy", 500)
    assert found.not_learned == (NotLearned("xyzzy", 0),)
    assert str(found.not_learned[0]) == "xyzzy (on no picture)"
    assert [u.word for u in found.unknown] == ["xyzzy"] and not any(h.tagged for h in found)
    assert predicted(c, "red xyzzy bathes") == predicted(c, "red")


def test_without_a_learned_word_nothing_is_predicted_and_that_is_said(c: Collection) -> None:
    found = c.search("bathes barks", 500)
    assert found.predicted is False and not any(h.learned for h in found)
    assert {h.name for h in found} == {"006_x.png", "008_x.png"}
    assert found.not_learned == (BATHES, NotLearned("barks", 1, ("blue",)))
    counted = c.search("bathes", 5, count=True)
    assert counted.part is not None and counted.part.within is None


def test_signs_weights_and_parts_of_lists_keep_their_meaning(c: Collection) -> None:
    required = c.search("+bathes red", 500).hits
    assert [h.name for h in required] == ["006_x.png"]
    assert "006_x.png" not in {h.name for h in c.search("red -bathes", 500)}
    assert not c.search("red -bathes", 500).not_learned
    assert predicted(c, "2:red 5:bathes") == predicted(c, "2:red")
    whole = [h.picture for h in c.search("red bathes", 30, cut=False).hits]
    part = c.search("red bathes", 10, cut=False, offset=10, count=True)
    assert [h.picture for h in part] == whole[10:20] and part.not_learned
    assert part.part is not None and part.part.within is not None


def test_without_a_model_nothing_is_called_not_learned(c: Collection) -> None:
    found = c.search("red bathes", 5, predicted=False)
    assert found.not_learned == () and found.predicted is None


def test_sessions_rank_by_the_words_that_were_learned(c: Collection) -> None:
    with c.judge("red bathes") as session:
        ranking = session.next(500)
    assert ranking.not_learned == (BATHES,) and ranking.predicted is True
    assert ranking.hits[0].name == "006_x.png"
    with c.judge("red") as session:
        alone = [h.name for h in session.next(500) if int(h.name[:3]) >= 90]
    assert [h.name for h in ranking if int(h.name[:3]) >= 90] == alone
    refined = c.sessions.refine("red bathes", examples="090_x.png", k=5)
    assert refined.not_learned == ranking.not_learned


def test_pictures_are_ranked_and_explained_without_the_word(c: Collection) -> None:
    ids = c.pictures.resolve(["090_x.png", "091_x.png", "092_x.png"])
    assert c.pictures.rank("red bathes", ids) == c.pictures.rank("red", ids)
    assert c.words.not_learned("red bathes") == (BATHES,)
    hits = c.search("red bathes", 500, filters=Filters(untagged=True)).hits[:2]
    for w in c.explain("red bathes", hits=hits, compute=InlineCompute()):
        red, bathes = w.words
        assert red.learned and not bathes.learned and bathes.contribution == 0
        assert w.parts is not None and len(w.parts.of_words) == 1 and bathes.seen is None
        assert "not learned" in w.lines()[1] and "not learned" not in w.lines()[0]
        said = w.to_dict()["words"]
        assert isinstance(said, list)
        assert [isinstance(x, dict) and "parts" in x for x in said] == [True, False]
    exact = c.search("red bathes", 1).hits
    (w,) = c.explain("red bathes", hits=exact, compute=InlineCompute())
    assert sum(s.contribution for s in w.words) + 1 == pytest.approx(w.hit.score, abs=1e-4)


def test_a_word_that_lost_its_last_picture_is_neither_asked_nor_called_not_learned(
    c: Collection,
) -> None:
    with c.store_folder.reader() as reader:
        asked = ResolvedQuery.of(reader, parse("red zzz bathes"))
        assert asked.learned.tolist() == [term_id("red")]
        assert asked.terms.tolist() == [term_id("red"), term_id("bathes")]
        assert asked.unknown == ("zzz",)
        only = ResolvedQuery.of(reader, parse("bathes"))
        assert only.model is None and only.predicted is False


def test_a_picture_with_such_a_word_and_another_comes_before_predictions(c: Collection) -> None:
    found = c.search("red cold barks", 500)
    first, *others = found.hits
    assert (first.name, first.match) == ("008_x.png", "partial") and not first.learned
    assert all(h.match != "exact" for h in others) and any(h.learned for h in others[:3])
    scores = [h.score for h in found.hits]
    assert scores == sorted(scores, reverse=True) and len({h.picture for h in found}) == len(found)
    part = c.search("red cold barks", 10, cut=False, offset=0, count=True)
    assert part.hits[0] == first and part.part is not None
    assert part.part.within == 1 + sum(h.learned for h in found.hits)
    assert first.name not in [h.name for h in c.search("red cold -barks", 500)]
    (why,) = c.explain("red cold barks", hits=[first], compute=InlineCompute())
    assert sum(w.contribution for w in why.words) == pytest.approx(first.score, abs=1e-4)
