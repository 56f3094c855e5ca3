"""Regions of pictures that are hard to learn from: few, plain, tiny, or with too many words."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.tagging import dataset
from sightline.compute.inline import InlineCompute
from sightline.errors import CollectionError, MissingExtra
from tests.factories.tagged_collections import COLORS, painted, words_of


def collection(folder: Path, n: int = 24, words: bool = True) -> Collection:
    photos = folder / "photos"
    photos.mkdir()
    for i in range(n):
        Image.fromarray(painted(i)).save(photos / f"{i:03d}.png")
        if words:
            (photos / f"{i:03d}.txt").write_text(", ".join(words_of(i)))
    return Collection.open(photos, store=folder / "store", workers=1)


def test_pictures_of_one_part_of_one_pixel_and_without_colour(tmp_path: Path) -> None:
    c = collection(tmp_path)
    photos = tmp_path / "photos"
    Image.new("RGB", (1, 1), COLORS["sky"]).save(photos / "pixel.png")
    Image.new("RGB", (40, 30), COLORS["grass"]).save(photos / "plain.png")
    Image.fromarray(painted(1)).convert("L").save(photos / "grey.png")
    Image.new("RGB", (2, 2), COLORS["sky"]).save(photos / "tiny.png")
    for name in ("pixel", "plain", "grey", "tiny"):
        (photos / f"{name}.txt").write_text("sky, grass")
    # What is no picture to look at is named, and left out.
    assert [s.path for s in c.index(compute=InlineCompute()).skipped] == [b"pixel.png"]
    report = c.models.train_regions(feature="regions")
    assert report.pictures == 27 and report.without_regions == report.dropped == 0
    found = c.tagging.localize("sky grass", hits=c.search("sky grass", 50).hits)
    by_name = {h.hit.path: h for h in found.hits}
    assert {b"tiny.png", b"plain.png", b"grey.png"} <= by_name.keys()
    assert all((w.mask.height, w.mask.width) == (2, 2) for w in by_name[b"tiny.png"].words)
    assert c.tag().pictures == 27 and sum(len(s.pictures) for s in c.tagging.scenes()) == 27


def test_more_words_than_regions_drop_the_rarest_and_say_so(tmp_path: Path) -> None:
    c = collection(tmp_path)
    many = ", ".join(f"word{k}" for k in range(12))
    for i in range(4):
        Image.new("RGB", (2, 2), (40 * i, 90, 60)).save(tmp_path / "photos" / f"small{i}.png")
        (tmp_path / "photos" / f"small{i}.txt").write_text(many)
    c.index(compute=InlineCompute())
    report = c.models.train_regions(feature="regions")
    assert report.words == 6 + 12 and report.dropped == 4 * (12 - 4)


def test_words_on_fewer_than_three_pictures_are_left_out(tmp_path: Path) -> None:
    c = collection(tmp_path)
    for i in range(2):
        file = tmp_path / "photos" / f"{i:03d}.txt"
        file.write_text(file.read_text() + ", rare")
    c.index(compute=InlineCompute())
    report = c.models.train_regions(feature="regions")
    assert report.rare == 1 and report.words == 6
    assert c.tagging.localize("rare", 2).unknown == ("rare",)
    told = {a.word for a in c.tag().abstained} | {s.word for s in c.tag().suggestions}
    assert "rare" not in told


def test_many_words_and_pictures_are_bounded_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "MOST_WORDS", 4)
    monkeypatch.setattr(dataset, "MOST_PICTURES", 20)
    c = collection(tmp_path)
    c.index(compute=InlineCompute())
    report = c.models.train_regions(feature="regions")
    assert (report.pictures, report.left_out, report.words, report.frequent) == (20, 4, 4, 2)
    assert c.tag().pictures == 24


def test_pictures_without_words_teach_nothing_and_are_still_tagged(tmp_path: Path) -> None:
    c = collection(tmp_path)
    for i in range(100, 110):
        Image.fromarray(painted(i)).save(tmp_path / "photos" / f"{i}.png")
    c.index(compute=InlineCompute())
    report = c.models.train_regions(feature="regions")
    assert report.pictures == 24 and c.tag(filters=Filters(untagged=True)).pictures == 10
    # Too few have any word for a promise of nine in ten.
    found = c.tag()
    assert not found.suggestions and {a.pictures for a in found.abstained} <= set(range(25))
    assert {a.why for a in found.abstained} == {"fewer than 25 pictures have it"}


@pytest.mark.parametrize(
    ("n", "words", "said"),
    [
        (6, False, "None of the 6 pictures has a word"),
        (1, True, "nothing to learn from 1 picture"),
        (3, True, "none is on at least 3 pictures"),
    ],
)
def test_too_little_to_learn_from_is_said(tmp_path: Path, n: int, words: bool, said: str) -> None:
    c = collection(tmp_path, n, words)
    c.index(compute=InlineCompute())
    with pytest.raises(CollectionError, match=said):
        c.models.train_regions(feature="regions")


def test_without_scikit_image_the_extra_is_named_and_nothing_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = collection(tmp_path, 6)
    c.index(compute=InlineCompute())
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(MissingExtra, match=r"Cutting pictures into regions .*sightline\[regions\]"):
        c.models.train_regions(feature="regions")
    assert (
        not (tmp_path / "store" / "config.toml").exists()
        and c.index(compute=InlineCompute()).seen == 6
    )


def test_a_picture_that_cannot_be_read_is_named_and_the_rest_is_learnt(tmp_path: Path) -> None:
    c = collection(tmp_path)
    bad = tmp_path / "photos" / "bad.png"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n no picture")
    (tmp_path / "photos" / "bad.txt").write_text("sky")
    assert [s.path for s in c.index(compute=InlineCompute()).skipped] == [b"bad.png"]
    assert c.models.train_regions(feature="regions").pictures == 24
