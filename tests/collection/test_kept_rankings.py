"""Later parts of a list are cut from the ranking of its first one; rankings are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.search import kept_rankings
from sightline.collection.search.kept_rankings import ListRanking, ranking_of
from sightline.records import Top
from sightline.store.snapshot import Snapshot
from tests.factories.servers import Served, grow, painted, running

Body = dict[str, Any]


@pytest.fixture
def rankings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the queries that the store ranks by from now on."""
    ranked: list[object] = []
    top = Snapshot.top

    def counted(self: Snapshot, query: Any, *arguments: Any, **more: Any) -> Top:
        ranked.append(query)
        return top(self, query, *arguments, **more)

    monkeypatch.setattr(Snapshot, "top", counted)
    return ranked


@pytest.fixture(scope="module")
def own_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(painted(tmp_path_factory.mktemp("kept"))) as s:
        yield s


def part(s: Served, query: str, offset: int, **more: object) -> Body:
    body = {"query": query, "k": 10, "offset": offset, "cut": False, **more}
    answer: Body = s.post("/v1/search", body).json
    return answer


def ids(answer: Body) -> list[int]:
    return [h["id"] for h in answer["hits"]]


@pytest.mark.parametrize("query", ["red", "warm -blue", "+warm red", "gren"])
def test_a_counted_list_is_ranked_once(
    own_served: Served, rankings: list[object], query: str
) -> None:
    first = part(own_served, query, 0, count=True)
    assert rankings
    rankings.clear()
    listed = ids(first)
    while len(listed) < first["total"]:
        listed += ids(part(own_served, query, len(listed)))
    assert part(own_served, query, 20, count=True)["within"] == first["within"]
    assert not rankings
    c = own_served.service.collection
    whole = Collection.open(c.root, store=c.store_folder.path).search(query, 500, cut=False)
    assert rankings and listed == [h.picture for h in whole]
    assert len(set(listed)) == first["total"] > 30


def test_a_list_that_is_not_counted_is_ranked_deeper_than_asked(
    own_served: Served, rankings: list[object]
) -> None:
    part(own_served, "warm cold", 0)
    part(own_served, "warm cold", 10)
    rankings.clear()
    for offset in (20, 30, 40, 50, 60, 70):
        part(own_served, "warm cold", offset)
    assert not rankings


def test_other_filters_cut_offs_and_syntax_are_ranked_anew(
    own_served: Served, rankings: list[object]
) -> None:
    everything = part(own_served, "green", 0, count=True)
    totals = []
    for more in (
        {"filters": {"after": "2000"}}, {"tagged": True}, {"untagged": True}, {"cut": True},
        {"predicted": False}, {"query": '"green"'}, {"query": "2:green warm"},
        {"filters": {"min_side": 10_000}},
    ):  # fmt: skip
        rankings.clear()
        asked: Body = {"query": "green", "offset": 0, "count": True, **more}
        answer = part(own_served, **asked)
        assert rankings or not answer["total"]
        totals.append(answer["total"])
    assert totals[1] + totals[2] == everything["total"] and totals[-1] == 0


def test_a_new_version_is_ranked_anew(tmp_path: Path, rankings: list[object]) -> None:
    with running(painted(tmp_path, n=24)) as s:
        before = part(s, "red", 0, count=True)
        c = s.service.collection
        grow(c)
        rankings.clear()
        after = part(s, "red", 0, count=True)
        assert rankings and after["total"] == before["total"] + 1
        assert after["version"] > before["version"]
        # A tag that is added counts in the next part.
        session = c.judge(positive=ids(after)[:1])
        session.mark(positive=ids(after)[-1:])
        session.save_as("crimson")
        rankings.clear()
        tagged = part(s, "crimson", 0, count=True)
        assert rankings and tagged["total"] == 1


def test_a_changed_list_of_synonyms_is_ranked_anew(tmp_path: Path) -> None:
    with running(painted(tmp_path, n=24, train=False)) as s:
        before = part(s, "red", 0, count=True)
        folder = s.service.collection.store_folder.path
        (folder / "synonyms.toml").write_text('groups = [["red", "blue"]]\n')
        assert part(s, "red", 0, count=True)["total"] > before["total"]


def test_two_collections_do_not_share_rankings(tmp_path: Path, rankings: list[object]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    a, b = painted(tmp_path / "a", n=24, train=False), painted(tmp_path / "b", n=48, train=False)
    totals = []
    for c in (a, b):
        c.store_folder.fast = True
        rankings.clear()
        counted = c.search("red", 2, count=True).part
        assert counted is not None and rankings
        totals.append(counted.total)
    assert totals[0] != totals[1]


def test_files_that_move_into_a_filter_are_ranked_anew(tmp_path: Path) -> None:
    c = painted(tmp_path, n=24)
    c.store_folder.fast = True
    late = Filters(folder="late")
    before = c.search("red", 2, count=True, cut=False, filters=late).part
    moved = next(iter(c.search("red", 1)))
    (tmp_path / "photos" / moved.name).rename(tmp_path / "photos" / "late" / "moved.jpg")
    c.index()
    after = c.search("red", 2, count=True, cut=False, filters=late).part
    assert before is not None and after is not None
    assert after.total == (before.total or 0) + 1


def test_the_rankings_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Version:
        """What a ranking is kept beside."""

    made: list[int] = []

    def kept(version: Any, key: int, n: int = 10) -> ListRanking:
        def rank(depth: int) -> ListRanking:
            made.append(key)
            top = Top(np.arange(n), np.zeros(n, np.float32))
            return ListRanking(depth, [(top, "exact")], None, 0, 0, "")

        return ranking_of(version, key, 5, None, rank)

    version = Version()
    monkeypatch.setattr(kept_rankings, "MOST", 3)
    for key in (1, 2, 3, 1, 4, 1, 2):
        kept(version, key)
    # 2 was used least recently when 4 came.
    assert made == [1, 2, 3, 4, 2]
    monkeypatch.setattr(kept_rankings, "MOST_BYTES", 12 * 25)
    made.clear()
    for key in (5, 6, 5, 7, 6):
        kept(version, key)
    assert made == [5, 6, 7, 6]
    assert kept(Version(), 5) is not kept(version, 5)
