"""Results as tables and in notebooks; collections as containers of pictures."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.results import MOST_SHOWN
from sightline.compute.inline import InlineCompute
from sightline.errors import MissingExtra
from tests.factories.photos import make_photo


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("results")
    for i in range(3):
        make_photo(folder / "photos" / f"{i}.jpg", i)
        (folder / "photos" / f"{i}.txt").write_text("red" if i else "red, blue")
    make_photo(folder / "photos" / "a <b>.jpg", 3)
    (folder / "photos" / "a <b>.txt").write_text("red, odd")
    c = Collection.open(folder / "photos", store=folder / "store", workers=1)
    c.index(features=["color"], compute=InlineCompute())
    return c


def test_a_collection_is_a_container_of_ids(photos: Collection, tmp_path: Path) -> None:
    with photos as c:
        assert len(c) == 4 and list(c) == sorted(c.pictures.resolve(["0.jpg", *list(c)[1:]]))
    empty = Collection.open(tmp_path, store=tmp_path.with_name("none"))
    assert len(empty) == 0 and list(empty) == [] and empty


def test_a_hit_knows_its_file_and_how_it_matched(photos: Collection) -> None:
    both = photos.search("red blue").hits
    assert [h.match for h in both] == ["exact", "partial", "partial", "partial"]
    assert both[0].file == Path(os.fsdecode(photos.root), "0.jpg") and both[0].file.exists()
    assert {h.match for h in photos.similar("0.jpg")} <= {"similar"}


def test_hits_become_a_table(photos: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    results = photos.search("red")
    assert [r["id"] for r in results.to_dicts()] == [h.picture for h in results]
    pandas = pytest.importorskip("pandas")
    table = results.to_pandas()
    assert isinstance(table, pandas.DataFrame) and list(table["path"]) == [h.name for h in results]
    assert list(replace(results, hits=()).to_pandas().columns) == list(table.columns)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        results.to_pandas()


def test_a_notebook_shows_thumbnails(photos: Collection) -> None:
    shown = photos.search("red")._repr_html_()
    assert shown.count("data:image/webp;base64,UklGR") == 4
    assert "<b>" not in shown and "a &lt;b&gt;.jpg" in shown
    results = photos.search("red")
    many = replace(results, hits=results.hits * (MOST_SHOWN // 4 + 1))
    assert many._repr_html_().count("<img") == MOST_SHOWN and "and 4 more" in many._repr_html_()
    gone = replace(results, hits=(replace(results.hits[0], picture=10**6),))
    assert "(no picture)" in gone._repr_html_()
    assert "No hits" in photos.search("nothingofthesort")._repr_html_()
