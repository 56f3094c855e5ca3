"""Words and example pictures in one search."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import NoFeatures, QueryError, UsageError
from tests.factories.judging_collections import events_of
from tests.factories.photos import COLOURS, paint


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return 60 pictures of six colours; those that are not red or yellow are cold."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "photos").mkdir()
    paint(folder / "photos", 60, True, 0)
    collection = Collection.open(folder / "photos", store=folder / "store", workers=1)
    collection.index(features=["color"], compute=InlineCompute())
    return collection


def drawn(folder: Path, colour: str) -> str:
    path = folder / f"{colour}.png"
    Image.new("RGB", (50, 40), COLOURS[colour]).save(path)
    return str(path)


def colour_of(picture: int) -> str:
    return list(COLOURS)[(picture - 1) % len(COLOURS)]


def colours(c: Collection, query: str, k: int = 10, **examples: object) -> list[str]:
    hits = c.search(query, k, compute=InlineCompute(), **examples)  # type: ignore[arg-type]
    return [colour_of(h.picture) for h in hits]


def test_a_positive_example_leads_within_the_word(c: Collection, tmp_path: Path) -> None:
    assert set(colours(c, "cold", positive=drawn(tmp_path, "blue"))) == {"blue"}
    assert set(colours(c, f"cold {drawn(tmp_path, 'green')}")) == {"green"}
    assert len(set(colours(c, "cold"))) > 1


def test_a_negative_example_comes_last_though_nothing_is_positive(
    c: Collection, tmp_path: Path
) -> None:
    for query in (
        colours(c, "cold", 40, negative=[drawn(tmp_path, "blue")]),
        colours(c, f"cold -{drawn(tmp_path, 'blue')}", 40),
    ):
        assert "blue" not in query[:30] and set(query[30:]) == {"blue"}


def test_both_sides_and_signs_of_words_hold_together(c: Collection, tmp_path: Path) -> None:
    white, blue = drawn(tmp_path, "white"), drawn(tmp_path, "blue")
    ranked = colours(c, "cold -green", 30, positive=white, negative=blue)
    assert ranked[:10] == ["white"] * 10 and "green" not in ranked
    assert set(colours(c, "cold +blue", positive=white)) == {"blue"}


def test_examples_of_the_collection_are_not_hits(c: Collection) -> None:
    ids = [h.picture for h in c.search("cold", 60, positive=3, negative=[4])]
    assert ids and not {3, 4} & set(ids)
    assert events_of(c, "judged", "session-started") == []


def test_pictures_alone_are_a_search_by_similarity(c: Collection) -> None:
    found = c.search("", 5, positive=3)
    assert [h.match for h in found] == ["similar"] * 5
    assert [h.picture for h in found] == [h.picture for h in c.similar(3, k=5)]


def test_the_answer_is_that_of_words_in_all_else(c: Collection) -> None:
    found = c.search("cold xyzzy -blue", 5, positive=3)
    assert [u.word for u in found.unknown] == ["xyzzy"]
    assert [str(s) for s in found.constraints] == ["-blue by tags (tag on 10 pictures)"]
    assert {h.match for h in found} == {"partial"}


def test_what_cannot_be_answered_says_why(c: Collection, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="both a positive and a negative"):
        c.search("cold", positive=3, negative=3)
    with pytest.raises(QueryError, match="leave the weight out"):
        c.search(f"cold 2:{drawn(tmp_path, 'blue')}")
    with pytest.raises(UsageError, match="go with words alone"):
        c.search("cold", positive=3, count=True)
    with pytest.raises(UsageError, match="no dense descriptor 'deep'"):
        c.search("cold", positive=3, feature="deep")


def test_without_a_feature_the_way_out_is_named(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 6, True, 0)
    bare = Collection.open(tmp_path / "photos", store=tmp_path / "store", workers=1)
    bare.index(compute=InlineCompute())
    with pytest.raises(NoFeatures, match="index --features"):
        bare.search("cold", positive=1)
