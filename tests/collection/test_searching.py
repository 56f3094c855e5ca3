"""Searching by words: order, marks, the grammar, filters, unknown words."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest

from sightline.collection import Collection, Filters
from sightline.compute.inline import InlineCompute
from sightline.errors import QueryError, UsageError
from tests.factories.photos import make_photo

CAPTIONS = {
    "winter/a.jpg": "tree, snow",
    "winter/b.jpg": "tree, snow, people, house, car",
    "winter/c.jpg": "snow",
    "summer/d.jpg": "tree",
    "summer/e.jpg": "golden gate bridge, red",
    "summer/f.jpg": "bridge",
    "summer/g.jpg": "",
}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    photos = tmp_path / "photos"
    for i, (name, words) in enumerate(CAPTIONS.items()):
        make_photo(photos / name, i, (20 + 10 * i, 20))
        if words:
            (photos / name).with_suffix(".txt").write_text(words)
    c = Collection.open(photos, store=tmp_path / "store")
    c.index(compute=InlineCompute())
    return c


def found(c: Collection, query: str, **where: object) -> list[str]:
    filters = Filters(**where)  # type: ignore[arg-type]
    return [h.path.decode() for h in c.search(query, 50, filters=filters).hits]


def test_pictures_with_every_word_come_first_and_are_marked(collection: Collection) -> None:
    hits = collection.search("tree snow", 50).hits
    assert [h.path for h in hits[:2]] == [b"winter/a.jpg", b"winter/b.jpg"]
    assert [h.tagged for h in hits] == [True, True, False, False]
    assert {h.path for h in hits[2:]} == {b"winter/c.jpg", b"summer/d.jpg"}


def test_a_perfect_fit_scores_two_and_scores_fall_from_first_to_last(
    collection: Collection,
) -> None:
    hits = collection.search("tree snow", 50).hits
    assert hits[0].score == pytest.approx(2.0)
    scores = [h.score for h in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(1 < h.score <= 2 if h.tagged else 0 < h.score <= 1 for h in hits)


def test_signs(collection: Collection) -> None:
    assert found(collection, "tree -people") == ["summer/d.jpg", "winter/a.jpg"]
    assert found(collection, "tree +snow") == ["winter/a.jpg", "winter/b.jpg", "winter/c.jpg"]
    assert found(collection, "+tree +snow") == ["winter/a.jpg", "winter/b.jpg"]
    assert found(collection, "tree snow -tree2") == found(collection, "tree snow")


def test_labels_of_several_words(collection: Collection) -> None:
    assert found(collection, '"golden gate bridge"') == ["summer/e.jpg"]
    assert found(collection, "bridge") == ["summer/f.jpg", "summer/e.jpg"]
    assert found(collection, 'bridge -"golden gate bridge"') == ["summer/f.jpg"]


def test_a_weight_changes_what_comes_first(collection: Collection) -> None:
    plain = collection.search("snow bridge", 50).hits
    assert not any(h.tagged for h in plain)
    assert found(collection, "9:snow bridge")[0] == "winter/c.jpg"
    assert found(collection, "snow 9:bridge")[0] == "summer/f.jpg"


def test_unknown_words_are_named_with_near_ones(collection: Collection) -> None:
    results = collection.search('"brigde"')
    assert results.hits == ()
    assert [(u.word, u.near) for u in results.unknown] == [("brigde", ("bridge",))]
    mixed = collection.search("tree zebra", 50)
    assert [u.word for u in mixed.unknown] == ["zebra"]
    assert len(mixed.hits) == 3 and not any(h.tagged for h in mixed.hits)
    assert found(collection, "tree +zebra") == []


def test_filters(collection: Collection) -> None:
    assert found(collection, "tree", folder="winter") == ["winter/a.jpg", "winter/b.jpg"]
    assert found(collection, "tree", folder="/winter/") == found(
        collection, "tree", folder="winter"
    )
    root = os.fsdecode(collection.root)
    assert found(collection, "tree", folder=f"{root}/winter") == ["winter/a.jpg", "winter/b.jpg"]
    assert len(found(collection, "tree", folder=".")) == 3
    with pytest.raises(UsageError, match="There is no folder wint in"):
        found(collection, "tree", folder="wint")
    assert found(collection, "tree", min_side=50) == ["summer/d.jpg"]
    assert found(collection, "tree", max_side=29) == ["winter/a.jpg"]
    now = int(datetime.datetime.now(datetime.UTC).timestamp())
    assert found(collection, "tree", after=now - 86_400) == found(collection, "tree")
    assert found(collection, "tree", before=now - 86_400) == []
    assert found(collection, "tree", before="2001-06") == []
    assert found(collection, "tree", min_bytes=1, max_bytes=10**9) == found(collection, "tree")
    assert found(collection, "tree", max_bytes=1) == []


def test_k_cuts_and_the_first_group_goes_first(collection: Collection) -> None:
    assert len(collection.search("tree snow", 3).hits) == 3
    assert [h.tagged for h in collection.search("tree snow", 3).hits] == [True, True, False]


@pytest.mark.parametrize("query", ["", "   ", "-people", 'tree "snow', "x:" * 600])
def test_queries_that_cannot_be_answered(collection: Collection, query: str) -> None:
    with pytest.raises(QueryError):
        collection.search(query)


def test_the_version_comes_with_the_answer(collection: Collection) -> None:
    assert collection.search("tree").version == collection.status().version
