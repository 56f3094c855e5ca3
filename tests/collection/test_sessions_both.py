"""Words and pictures from anywhere in one search, of which nothing is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import DataError, QueryError, UsageError
from tests.factories.judging_collections import events_of, judged_collection, kind_of
from tests.factories.photos import COLOURS, paint


@pytest.fixture(scope="module")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Return pictures of six colours; those that are not red or yellow are cold."""
    folder = tmp_path_factory.mktemp("both")
    (folder / "photos").mkdir()
    paint(folder / "photos", 60, True, 0)
    c = Collection.open(folder / "photos", store=folder / "store", workers=1)
    c.index(features=["color"], compute=InlineCompute())
    return c


def drawn(folder: Path, colour: str) -> Path:
    path = folder / f"{colour}.png"
    Image.new("RGB", (50, 40), COLOURS[colour]).save(path)
    return path


def colour_of(picture: int) -> str:
    return list(COLOURS)[(picture - 1) % len(COLOURS)]


@pytest.mark.parametrize(
    ("word", "look"), [("cold", "blue"), ("cold", "green"), ("warm", "yellow"), ("warm", "red")]
)
def test_pictures_of_that_word_and_look_come_first(
    coloured: Collection, tmp_path: Path, word: str, look: str
) -> None:
    found = coloured.sessions.refine(
        word, examples=drawn(tmp_path, look), k=5, compute=InlineCompute()
    )
    assert {colour_of(h.picture) for h in found} == {look} and all(h.tagged for h in found)
    plain = coloured.search(word, 5)
    assert {colour_of(h.picture) for h in plain} != {look}
    assert events_of(coloured, "judged", "session-started") == []


def test_words_count_where_looks_do_not_fit_them(coloured: Collection, tmp_path: Path) -> None:
    found = coloured.sessions.refine(
        "yellow", examples=drawn(tmp_path, "blue"), k=20, compute=InlineCompute()
    )
    colours = [colour_of(h.picture) for h in found]
    assert {"yellow", "blue"} == set(colours)


def test_words_required_and_excluded_hold(coloured: Collection, tmp_path: Path) -> None:
    blue = drawn(tmp_path, "blue")
    without = coloured.sessions.refine("cold -blue", examples=blue, k=60, compute=InlineCompute())
    assert "blue" not in {colour_of(h.picture) for h in without} and len(without) == 50
    only = coloured.sessions.refine("+white", examples=blue, k=60, compute=InlineCompute())
    assert {colour_of(h.picture) for h in only} == {"white"}


def test_pictures_of_the_collection_and_judgements_go_with_words(tmp_path: Path) -> None:
    c = judged_collection(tmp_path)
    found = c.sessions.refine("word0", examples=1, k=19)
    assert 1 not in [h.picture for h in found]
    alone = (c.sessions.refine(examples=1, k=19), c.search("word0", 19))
    good = [[kind_of(h.picture) for h in r].count(kind_of(1)) for r in (found, *alone)]
    assert good[0] > max(good[1:]), good
    unfit = [h.picture for h in found][:2]
    less = c.sessions.refine("word0", examples=1, negative=unfit, k=19)
    assert not {1, *unfit} & {h.picture for h in less}
    assert events_of(c, "judged", "session-started") == []


def test_what_cannot_be_asked_is_refused(coloured: Collection, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\nno more")
    with pytest.raises(DataError, match=r"broken\.png cannot be read"):
        coloured.sessions.refine("cold", examples=broken, compute=InlineCompute())
    with pytest.raises(QueryError, match="names no word"):
        coloured.sessions.refine("-cold", examples=1)
    with pytest.raises(UsageError, match="names pictures"):
        coloured.sessions.refine("./000_x.png", examples=1)
