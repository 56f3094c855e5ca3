"""Mistyped words are searched as what was probably meant, in every kind of query."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sightline.collection import Collection
from sightline.collection.corrections import Correction
from sightline.compute.inline import InlineCompute
from tests.factories.photos import paint_some_with_words
from tests.factories.plugins import plugged

YELOW = Correction("yelow", ("yellow",))


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Return a trained collection; pictures from 90 on have no word."""
    folder = tmp_path_factory.mktemp("mistyped")
    photos = paint_some_with_words(folder / "photos")
    (photos / "002_x.txt").write_text("blue, cold, gren, 2024, 東京, 夜景")
    with pytest.MonkeyPatch.context() as patch, plugged(patch):
        found = Collection.open(photos, store=folder / "store", workers=1)
        found.index(features=["mean-colour"], compute=InlineCompute())
        found.train(rankers=["ridge"])
        yield found


def same(c: Collection, mistyped: str, meant: str) -> tuple[Correction, ...]:
    """Check that two queries have the same hits; return the corrections of the first."""
    found, right = c.search(mistyped, 500), c.search(meant, 500)
    assert [(h.picture, h.score, h.match) for h in found] == [
        (h.picture, h.score, h.match) for h in right
    ]
    assert found.hits and not right.corrections and not found.unknown
    assert found.not_learned == right.not_learned and found.constraints == right.constraints
    return found.corrections


def test_every_part_of_a_query_is_corrected(c: Collection) -> None:
    assert same(c, "yelow", "yellow") == (YELOW,)
    assert same(c, "2:yelow warm", "2:yellow warm") == (YELOW,)
    assert same(c, "warm -yelow", "warm -yellow") == (YELOW,)
    assert same(c, "warm +yelow", "warm +yellow") == (YELOW,)
    assert same(c, "yellow 2:yelow", "2:yellow") == (YELOW,)
    assert same(c, "東京夜景", "東京 夜景") == (Correction("東京夜景", ("東京", "夜景")),)


def test_words_of_the_owner_and_words_in_quotes_stay(c: Collection) -> None:
    found = c.search("gren", 500)
    assert not found.corrections and [h.name for h in found if h.tagged] == ["002_x.png"]
    for query, verbatim in (('"yelow"', False), ("yelow", True)):
        found = c.search(query, verbatim=verbatim)
        assert not found.corrections and not found.hits
        assert [(u.word, u.near) for u in found.unknown] == [("yelow", ("yellow",))]
    assert not c.search("2025").corrections and not c.search("zebra").corrections
    # An English noun that no picture has; as a typo of cold it would be as near as couds.
    assert not c.search("colt").corrections and not c.search("mold").corrections
    assert c.search("cogd").corrections == (Correction("cogd", ("cold",)),)


def test_a_correction_never_contradicts_the_query(c: Collection) -> None:
    for query in ("yellow -yelow", "yelow -yellow", "yelow -yelloww"):
        found = c.search(query, 500)
        assert not found.corrections, query
    assert [u.word for u in c.search("yelow -yellow", 500).unknown] == ["yelow"]


def test_sessions_are_about_what_was_meant(c: Collection) -> None:
    with c.judge("yelow") as session:
        ranking = session.next(500)
        assert session.start.query == "yellow" and ranking.corrections == (YELOW,)
        session.mark(positive=[ranking.hits[0]], negative=[ranking.hits[-1]])
    with c.judge(resume=session.id) as resumed:
        assert resumed.next(5).corrections == (YELOW,) and resumed.start == session.start
    assert c.sessions.get(session.id).query == "yellow"
    with c.judge('"yelow"') as session:
        assert session.start.query == '"yelow"' and not session.next(5).corrections


def test_explanations_and_ranks_follow_the_corrected_query(c: Collection) -> None:
    (why,) = c.explain("yelow", 1, compute=InlineCompute())
    assert [w.word for w in why.words] == ["yellow"]
    ids = c.pictures.resolve(["005_x.png", "006_x.png"])
    assert c.pictures.rank("yelow", ids) == c.pictures.rank("yellow", ids)
    assert c.words.corrections("yelow") == (YELOW,)


def test_a_server_reads_the_spellings_of_a_version_once(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sightline.store.catalogue import Catalogue

    monkeypatch.setattr(c.store_folder, "fast", True)
    c.search("yelow")
    monkeypatch.setattr(Catalogue, "terms", None)
    assert c.search("yelow grren").corrections == (YELOW, Correction("grren", ("green",)))
