"""Several collections are searched as one, and no member fails in silence."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.compute.inline import InlineCompute
from sightline.errors import CollectionError, ParameterError, QueryError, StoreDamaged, UsageError
from sightline.federation import Collections, LocalMember
from sightline.federation.members import MemberHits, VectorRequest, WordRequest
from tests.factories.photos import paint
from tests.factories.servers import painted

QUERIES = ("red", "warm cold", "2:red warm", "red blue -green", "+warm red")
FEATURES = ("color", "edges")


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return a collection without a model, of pictures that the shared one does not have."""
    folder = tmp_path_factory.mktemp("untrained")
    (folder / "work").mkdir()
    paint(folder / "work", 20, True, 7, start=300)
    (folder / "work" / "300_x.txt").write_text("fluwver, red")
    c = Collection.open(folder / "work", store=folder / "store", workers=1)
    c.index(features=FEATURES, compute=InlineCompute())
    return c


@pytest.fixture(scope="module")
def both(taught: Collection, untrained: Collection) -> Collections:
    return Collections({"family": taught, "work": untrained})


@dataclass(frozen=True)
class Shard:
    """Some pictures of a collection, with its model."""

    whole: Collection
    ids: tuple[int, ...]
    label: str = "shard"
    seconds: float | None = None

    def size(self) -> int:
        return len(self.ids)

    def search(self, request: WordRequest, depth: int) -> MemberHits:
        found = self.whole.search(request.text, depth, cut=request.cut, ids=self.ids)
        complete = len(found) < depth
        return MemberHits(found.hits, ("",) * len(found), found.version, complete)

    def features(self) -> tuple[str, ...]:
        raise NotImplementedError

    def nearest(self, request: VectorRequest, depth: int) -> MemberHits:
        raise NotImplementedError


@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=6)
@given(k=st.integers(2, 8), rng=st.randoms(use_true_random=False))
def test_shards_with_one_model_rank_predictions_as_the_whole_does(
    taught: Collection, query: str, k: int, rng: random.Random
) -> None:
    parts: list[list[int]] = [[] for _ in range(k)]
    for i in taught:
        rng.choice(parts).append(i)
    shards = Collections([Shard(taught, tuple(ids)) for ids in parts])
    whole = taught.search(query, 500, cut=False).hits
    merged = [h.hit for h in shards.search(query, 500, cut=False)]
    assert {h.picture for h in merged} == {h.picture for h in whole}
    assert [(h.match, h.probability) for h in merged] == [(h.match, h.probability) for h in whole]
    likely = [h for h in whole if h.match == "predicted"]
    for h in likely:
        equal = {o.picture for o in likely if o.probability == h.probability}
        ranks = [i for i, m in enumerate(merged) if m.picture in equal and m.match == "predicted"]
        assert ranks == [i for i, m in enumerate(whole) if m.picture in equal]


def test_hits_name_their_collection_and_come_in_the_order_of_one(both: Collections) -> None:
    results = both.search("red", 100)
    kinds = [h.hit.match for h in results]
    assert kinds == sorted(kinds, key=["exact", "predicted", "partial"].index)
    assert {h.collection for h in results} == {"family", "work"}
    assert [h.collection for h in results][:4] == ["family", "work", "family", "work"]
    likely = [h.hit.probability or 0 for h in results if h.hit.match == "predicted"]
    assert likely and likely == sorted(likely, reverse=True)
    assert results.is_complete and len(both) == sum(map(int, both.sizes().values())) == 122
    assert "work: there is no word model yet, so nothing is predicted" in results.lines()
    assert not any(line.startswith("family: there is no") for line in results.lines())


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("cut", [True, False])
def test_pages_make_up_the_list_and_are_the_same_every_time(
    both: Collections, query: str, cut: bool
) -> None:
    whole = both.search(query, 500, cut=cut)
    assert not whole.more
    pages = []
    for offset in range(0, len(whole) + 7, 7):
        page = both.search(query, 7, offset=offset, cut=cut)
        assert page.more == (offset + 7 < len(whole)) and page.version == whole.version
        pages += list(page)
    assert pages == list(whole) == list(both.search(query, 500, cut=cut))


def test_a_word_of_one_collection_is_no_typing_error_in_another(
    untrained: Collection, tmp_path: Path
) -> None:
    (tmp_path / "p").mkdir()
    paint(tmp_path / "p", 6, True, 9, start=900)
    for i in range(900, 904):
        (tmp_path / "p" / f"{i}_x.txt").write_text("fluvver")
    near = Collection.open(tmp_path / "p", store=tmp_path / "s", workers=1)
    near.index(compute=InlineCompute())
    # Alone it answers with something else; beside a collection that has the word it does not.
    alone = near.search("fluwver")
    assert alone.corrections and len(alone) == 4
    known = Collections({"has": untrained, "near": near})
    assert [(h.collection, h.hit.match) for h in known.search("fluwver")] == [("has", "exact")]
    assert any(
        "no picture has the word 'fluwver'" in line for line in known.search("fluwver").lines()
    )
    # A word that neither has is corrected by each.
    mistyped = known.search("fluvwer")
    assert {h.collection for h in mistyped} >= {"near"}
    assert any("searched fluvver for fluvwer" in line for line in mistyped.lines())


class Correcting(Shard):
    """A member whose pictures lack the word, and which searches another one for it."""

    def search(self, request: WordRequest, depth: int) -> MemberHits:
        from sightline.collection.corrections import Correction

        if "reb" in request.verbatim:
            return MemberHits((), (), 1, True, unknown=("reb",))
        found = super().search(replace(request, query=parse("red")), depth)
        return replace(found, corrections=(Correction("reb", ("red",)),))


def parse(text: str):  # type: ignore[no-untyped-def]
    from sightline.words.grammar import parse as parsed

    return parsed(text)


def test_a_correction_is_withdrawn_where_another_member_has_the_word(taught: Collection) -> None:
    correcting = Correcting(taught, tuple(taught))
    assert len(Collections({"a": correcting}).search("reb")) > 0

    class Knowing(Shard):
        def search(self, request: WordRequest, depth: int) -> MemberHits:
            return replace(
                super().search(replace(request, query=parse("blue")), depth), corrections=()
            )

    beside = Collections({"a": correcting, "b": Knowing(taught, tuple(taught))})
    assert {h.collection for h in beside.search("reb")} == {"b"}


def test_a_file_in_two_collections_is_one_hit(taught: Collection, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(Path(taught.root.decode()), copied)
    second = Collection.open(copied, store=tmp_path / "s", workers=1)
    second.index(compute=InlineCompute())
    results = Collections({"a": taught, "b": second}).search("red", 100)
    alone = taught.search("red", 100)
    exact = [h for h in results if h.hit.match == "exact"]
    assert len(exact) == sum(h.match == "exact" for h in alone)
    assert all(h.also_in == (("b",) if h.collection == "a" else ("a",)) for h in exact)
    assert len({h.content for h in results}) == len(results)


def test_members_that_fail_are_named_and_the_others_answer(
    taught: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Collection.open(tmp_path / "gone", store=tmp_path / "gone-store")
    (tmp_path / "empty").mkdir()
    empty = Collection.open(tmp_path / "empty", store=tmp_path / "empty-store")
    damaged = Collection.open(taught.root.decode(), store=taught.store_folder.path)

    def fails(*args: object, **more: object) -> None:
        raise StoreDamaged("The file catalogue.sqlite3 is damaged.")

    monkeypatch.setattr(damaged, "search", fails)
    unreadable = Collection.open(taught.root.decode(), store=taught.store_folder.path)

    def denied(*args: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(unreadable, "search", denied)
    members = {"gone": gone, "empty": empty, "bad": damaged, "denied": unreadable, "good": taught}
    results = Collections(members).search("red", 5)
    assert {h.collection for h in results} == {"good"} and not results.is_complete
    problems = {m.name: m.problem for m in results.members}
    assert list(problems) == list(members) and problems["good"] == ""
    assert "indexed" in problems["gone"] and "indexed" in problems["empty"]
    assert "damaged" in problems["bad"] and "denied" in problems["denied"]
    assert [line.split()[0] for line in results.lines()][:4] == ["gone", "empty", "bad", "denied"]
    # Which members answered decides whether two lists are the same.
    del members["bad"]
    assert Collections(members).search("red", 5).version != results.version
    sizes = Collections(members).sizes()
    assert sizes["good"] == 102 and "indexed" in str(sizes["gone"])
    with pytest.raises(CollectionError, match="gone cannot be counted"):
        len(Collections(members))
    with pytest.raises(CollectionError, match=r"None of 2 collections answers\. gone: .*; empty: "):
        Collections({"gone": gone, "empty": empty}).search("red")


def test_a_store_of_an_older_format_is_named(taught: Collection, tmp_path: Path) -> None:
    from tests.store import test_migration

    old = Path(test_migration.__file__).parent / "fixtures" / "schema-1"
    shutil.copytree(old, tmp_path / "old")
    c = Collection.open(tmp_path / "old" / "photos", store=tmp_path / "old" / "store")
    results = Collections({"old": c, "good": taught}).search("red", 5)
    assert {h.collection for h in results} == {"good"}
    assert results.members[0].problem and results.members[0].version is None


def test_bugs_are_not_taken_for_members_that_fail(
    taught: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Shard(taught, ())
    with pytest.raises(NotImplementedError):
        Collections({"a": broken, "b": taught}).similar("x.jpg")
    waited = Shard(taught, (), seconds=30.0)
    with pytest.raises(NotImplementedError):
        Collections({"a": waited, "b": taught}).similar("x.jpg")


def test_a_query_that_cannot_be_read_is_an_error_and_no_report(both: Collections) -> None:
    with pytest.raises(QueryError):
        both.search("")
    with pytest.raises(QueryError):
        both.search("red -red")
    with pytest.raises(UsageError, match="by a picture alone"):
        both.search("red ./a.jpg")
    with pytest.raises(ParameterError):
        both.search("red", 0)
    with pytest.raises(ParameterError):
        both.search("red", offset=-1)


def test_filters_hold_for_all(both: Collections) -> None:
    untagged = both.search("red", 100, filters=Filters(untagged=True))
    assert untagged.hits and {h.hit.match for h in untagged} == {"predicted"}
    late = both.search("red", 100, filters=Filters(folder="late"))
    assert {h.collection for h in late} == {"family"}
    assert [m.answered for m in late.members] == [True, False]
    assert not any(h.hit.match == "predicted" for h in both.search("red", 100, predicted=False))


def test_a_picture_is_compared_by_one_feature(both: Collections, taught: Collection) -> None:
    (first, *_) = taught.search("red", 1)
    results = both.similar(first.file, 20, feature="color")
    assert results.hits[0].hit.picture == first.picture
    assert results.hits[0].hit.score == pytest.approx(1)
    scores = [h.hit.score for h in results]
    assert scores == sorted(scores, reverse=True)
    assert {h.collection for h in results} == {"family", "work"}
    pages = [
        h for o in range(0, 20, 5) for h in both.similar(first.file, 5, offset=o, feature="color")
    ]
    assert pages == list(results)
    (described,) = [m for m in both.members.values() if isinstance(m, LocalMember)][:1]
    (color,) = [f for f in described.features() if f.startswith("color")]
    vector = described.vector_of(bytes(first.file), color)
    assert list(both.similar(3 * vector, 20, feature="color")) == list(results)


def test_features_that_differ_are_named(taught: Collection, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    paint(tmp_path / "p", 6, True, 9)
    other = Collection.open(tmp_path / "p", store=tmp_path / "s", workers=1)
    other.index(features=["gist"], compute=InlineCompute())
    mixed = Collections({"a": taught, "b": other})
    (first, *_) = taught.search("red", 1)
    results = mixed.similar(first.file, feature="color")
    assert {h.collection for h in results} == {"a"}
    assert "lack color" in results.members[1].problem
    with pytest.raises(UsageError, match="No collection has the feature 'nothing'"):
        mixed.similar(first.file, feature="nothing")
    with pytest.raises(UsageError, match="Name the feature"):
        mixed.similar([1.0, 2.0])
    with pytest.raises(UsageError, match="finite"):
        mixed.similar([np.nan], feature="color")
    with pytest.raises(CollectionError, match="numbers is needed"):
        mixed.similar([1.0, 2.0], feature="color")


def test_names_are_checked_and_made(taught: Collection, tmp_path: Path) -> None:
    for name in ("", "..", "a/b", "a b", "-x", "x" * 65):
        with pytest.raises(UsageError, match="cannot name"):
            Collections({name: taught})
    with pytest.raises(UsageError, match="at least one"):
        Collections([])
    with pytest.raises(UsageError, match="one store for each"):
        Collections.open(tmp_path, tmp_path, stores=[tmp_path / "s"])
    assert list(Collections([taught, taught]).members) == ["photos", "photos-2"]


def test_what_is_opened_is_not_written(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=12)
    before = sorted(p.name for p in tmp_path.rglob("*"))
    Collections.open(c.root, stores=[c.store_folder.path]).search("red")
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
