"""Parts of lists: any page of a long list, counts, and where the cut-off lies in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.compute.inline import InlineCompute
from sightline.errors import ParameterError, UsageError
from sightline.records import Hit
from sightline.store.catalogue import Catalogue
from tests.factories.servers import painted

QUERIES = ("red", "warm cold", "red blue -green", "2:red warm", "+warm red", "red zzzz")


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return painted(tmp_path_factory.mktemp("parts"))


def ids(c: Collection, query: str, k: int, **more: object) -> list[int]:
    return [h.picture for h in c.search(query, k, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("count", [True, False])
def test_parts_make_up_the_whole_list(c: Collection, query: str, cut: bool, count: bool) -> None:
    whole = c.search(query, 500, cut=cut).hits
    found: list[Hit] = []
    at = 0
    while True:
        some = c.search(query, 7, cut=cut, offset=at, count=count)
        found += some.hits
        part = some.part
        assert part is not None and part.reached == len(found)
        assert part.total == (len(whole) if count else None)
        assert part.more == (part.reached < len(whole))
        at = part.reached
        if not part.more:
            break
    assert found == list(whole)
    beyond = c.search(query, 7, cut=cut, offset=len(whole) + 50)
    assert not beyond.hits and beyond.part is not None and not beyond.part.more


@pytest.mark.parametrize("query", QUERIES)
def test_the_first_within_are_what_a_cut_list_begins_with(c: Collection, query: str) -> None:
    all_ = c.search(query, 500, cut=False, count=True)
    shown = c.search(query, 500, cut=True, count=True)
    assert all_.part is not None and shown.part is not None
    n = all_.part.within
    assert n is not None and n == shown.part.within
    assert [h.picture for h in all_][:n] == [h.picture for h in shown][:n]
    # What a cut list has below the line has some of the words, and was not found by looks.
    assert not any(h.tagged or h.learned for h in shown.hits[n:])
    assert not any(h.tagged for h in all_.hits[n:])
    if " " not in query:
        assert n == len(shown) < len(all_)


def test_nothing_is_said_of_a_cut_off_without_a_model(c: Collection, tmp_path: Path) -> None:
    plain = painted(tmp_path, train=False, n=24)
    part = plain.search("red", 2, count=True).part
    assert part is not None and (part.total, part.within) == (4, None)
    part = c.search("red", 2, count=True, predicted=False).part
    assert part is not None and (part.total, part.within) == (15, None)


def test_counts_follow_filters(c: Collection) -> None:
    part = c.search("red", 5, count=True, cut=False, filters=Filters(folder="late")).part
    assert part is not None and part.total == 12
    part = c.search("red", 5, count=True, filters=Filters(max_side=1)).part
    assert part is not None and (part.total, part.within, part.more) == (0, 0, False)
    part = c.search("zzzz", 5, count=True).part
    assert part is not None and (part.total, part.within) == (0, None)


def test_files_that_are_gone_leave_gaps_and_shift_nothing(tmp_path: Path) -> None:
    c = painted(tmp_path, n=30)
    before = ids(c, "red", 500, cut=False)
    gone = c.search("red", 500, cut=False).hits[1]
    os.remove(os.path.join(c.root, gone.path))
    first = c.search("red", 4, cut=False, offset=0, count=True)
    assert [h.picture for h in first] == [p for p in before[:4] if p != gone.picture]
    assert first.missing == 1 and first.part is not None
    assert (first.part.reached, first.part.total) == (4, len(before))
    assert ids(c, "red", 4, cut=False, offset=4) == before[4:8]
    # Without parts, whoever wants four gets four.
    assert len(c.search("red", 4, cut=False)) == 4


def test_only_the_pictures_of_a_part_are_looked_up(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = Catalogue.facts

    def facts(self: Catalogue, pictures: object) -> object:
        wanted = list(pictures)  # type: ignore[call-overload]
        asked.extend(wanted)
        return real(self, wanted)

    monkeypatch.setattr(Catalogue, "facts", facts)
    assert len(c.search("red", 5, cut=False, offset=80, count=True)) == 5 and len(asked) == 5


def test_some_pictures_alone(c: Collection) -> None:
    hits = {h.picture: h for h in c.search("red", 500, cut=False)}
    some = sorted(hits)[5:20:3]
    found = c.search("red", 50, cut=False, ids=some).hits
    assert {h.picture for h in found} == set(some)
    assert all(h == hits[h.picture] for h in found)
    assert c.search("red", 50, ids=[]).hits == ()


def test_parts_that_make_no_sense(c: Collection) -> None:
    with pytest.raises(ParameterError, match="'skip' parameter of search must be at least 0"):
        c.search("red", offset=-1)
    with pytest.raises(UsageError, match="go with words alone"):
        c.search("./000_x.png", offset=3)


def test_pictures_with_words_and_without_are_all_of_them(tmp_path: Path) -> None:
    c = painted(tmp_path, n=30)
    # A caption of signs alone is no word.
    Path(os.fsdecode(c.root), "late", "030_x.txt").write_text("!?")
    c.index(compute=InlineCompute())
    every = set(ids(c, "red", 500, cut=False))
    some, none = (
        set(ids(c, "red", 500, cut=False, filters=f))
        for f in (Filters(tagged=True), Filters(untagged=True))
    )
    assert len(some) == 30 and len(none) == 12 and some | none == every and not some & none
    assert set(ids(c, "red", 500, cut=False, filters=Filters(tagged=True, folder="late"))) == set()
    assert {h.picture for h in c.similar(1, k=500, filters=Filters(tagged=True))} == some - {1}
    assert {h.picture for h in c.search_text("red warm", 500, filters=Filters(tagged=True))} == some
    session = c.judge("red", filters=Filters(tagged=True))
    assert {h.picture for h in session.next(500)} == some
    session.mark(positive=[1])
    session.close()
    assert {h.picture for h in c.judge(resume=session.id).next(500)} == some
    with pytest.raises(UsageError, match="both tagged and untagged"):
        Filters(tagged=True, untagged=True)
    report = c.export("csv", tmp_path / "words.csv", filters=Filters(tagged=True))
    # What somebody wrote goes out, even if it is no word.
    assert (report.pictures, report.captions) == (31, 1)
