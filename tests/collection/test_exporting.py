"""Which words go out, where they may go, and that they come back the same."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sightline.collection import Collection
from sightline.collection.export.select import ExportSelection, gather
from sightline.collection.filters import Filters
from sightline.collection.sessions.tags import save
from sightline.errors import ParameterError, StoreIOError, UsageError
from sightline.exchange.exported import ExportedPicture
from sightline.records import ProposedWord
from sightline.store.catalogue import Where
from sightline.store.events import EventLog
from tests.factories.exported_collections import folder_of, indexed, judge, reindex, terms_of
from tests.factories.photos import fingerprint, make_photo

TREE = ProposedWord("tree", 0.9, (0.0, 0.0, 0.5, 0.5))


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return indexed(tmp_path)


def gathered(c: Collection, **choice: Any) -> dict[int, ExportedPicture]:
    proposed = choice.pop("proposed", {})
    log = EventLog(c.store_folder.events, write=False)
    with c.store_folder.reader() as reader:
        said = log.judgements()
        log.close()
        return {
            p.picture: p
            for p in gather(reader.catalogue, said, Where(), ExportSelection(**choice), proposed)
        }


def words(p: ExportedPicture) -> dict[str, str]:
    return {w.word: w.kind for w in p.words}


def test_words_have_the_kind_of_the_strongest_statement(c: Collection) -> None:
    judge(c, "SNOW", 1, True)
    judge(c, "winter trees", 1, True)
    save(c.store_folder, "s", "Cosy", 0)
    given = gathered(c, proposed={1: [TREE, ProposedWord("ice", 0.4)]})[1]
    assert words(given) == {
        "tree": "tagged", "snow": "accepted", "Cosy": "accepted", "winter": "accepted",
        "trees": "accepted", "ice": "proposed",
    }  # fmt: skip
    by_word = {w.word: w for w in given.words}
    assert by_word["snow"].sources == ("txt", "judged") and by_word["snow"].confidence is None
    assert by_word["Cosy"].sources == ("session:s",)
    assert by_word["ice"].confidence == 0.4
    # That a model saw the word somewhere is worth keeping, whoever else says it.
    assert by_word["tree"].box == TREE.box and by_word["tree"].confidence is None


def test_words_that_somebody_said_no_to_are_left_out(c: Collection) -> None:
    judge(c, "tree", 1, False)
    judge(c, "snow people", 5, False)
    (folder_of(c) / "001.txt").write_text("Nature/Tree, tree house, red barn")
    reindex(c)
    judge(c, "tree", 2, False)
    given = gathered(c, proposed={1: [TREE], 3: [TREE]})
    assert words(given[1]) == {"snow": "tagged"}
    assert words(given[2]) == {"tree house": "tagged", "red barn": "tagged"}
    assert words(given[3]) == {"dog": "tagged", "tree": "proposed"}
    assert words(given[5]) == {"snow": "tagged"}, "nobody said which of the two does not fit"
    judge(c, "tree", 1, True)
    assert words(gathered(c)[1]) == {"tree": "accepted", "snow": "tagged"}


def test_what_is_taken_back_does_not_count(c: Collection) -> None:
    judge(c, "ice", 1, True)
    assert "ice" in words(gathered(c)[1])
    c.sessions.revert("s")
    assert "ice" not in words(gathered(c)[1])


def test_kinds_confidence_and_untagged_pictures_can_be_chosen(c: Collection) -> None:
    judge(c, "ice", 1, True)
    proposed = {1: [TREE, ProposedWord("fog", 0.2)], 8: [TREE]}
    only = gathered(c, kinds=frozenset(["accepted"]), proposed=proposed)
    assert {p: words(x) for p, x in only.items()} == {1: {"ice": "accepted"}}
    sure = gathered(c, kinds=frozenset(["proposed"]), min_confidence=0.5, proposed=proposed)
    assert {p: words(x) for p, x in sure.items()} == {
        1: {"tree": "proposed"},
        8: {"tree": "proposed"},
    }
    bare = gathered(c, untagged=True, proposed=proposed)
    assert list(bare) == [8]


def test_running_text_goes_with_tags_alone(c: Collection) -> None:
    (folder_of(c) / "000.txt").write_text("An old oak stands in the snow, all alone.")
    reindex(c)
    assert gathered(c)[1].caption == "An old oak stands in the snow, all alone."
    assert 1 not in gathered(c, kinds=frozenset(["accepted"]))


@pytest.mark.parametrize(
    ("form", "name"), [("csv", "w.csv"), ("json", "w.jsonl"), ("coco", "w.json")]
)
def test_a_file_gives_another_collection_the_same_words(
    tmp_path: Path, c: Collection, form: str, name: str
) -> None:
    (folder_of(c) / "000.txt").write_text("Places/Berlin, a\u202eb, Straße, ❤️")
    (folder_of(c) / "001.txt").write_text("An old oak stands in the snow, all alone.")
    reindex(c)
    report = c.export(form, tmp_path / name)
    assert report.written == 1 and report.pictures == 7
    bare = tmp_path / "bare"
    for p in folder_of(c).glob("*.jpg"):
        (bare / p.name).parent.mkdir(exist_ok=True)
        (bare / p.name).write_bytes(p.read_bytes())
    other = Collection.open(bare, store=tmp_path / "other", workers=1)
    reindex(other, tmp_path / name)
    assert terms_of(other) == terms_of(c)


def test_sidecars_in_a_folder_of_their_own_give_the_same_words(
    tmp_path: Path, c: Collection
) -> None:
    make_photo(folder_of(c) / "sub" / "x.jpg", 50)
    (folder_of(c) / "sub" / "x.txt").write_text("Places/Berlin, a & <b>")
    reindex(c)
    before = fingerprint(folder_of(c))
    report = c.export("xmp", tmp_path / "tree")
    assert report.written == 8 and fingerprint(folder_of(c)) == before
    made = {str(p.relative_to(tmp_path / "tree")) for p in (tmp_path / "tree").rglob("*.xmp")}
    assert "sub/x.jpg.xmp" in made and "007.jpg.xmp" not in made and len(made) == 8
    for p in folder_of(c).rglob("*.jpg"):
        (tmp_path / "tree" / p.relative_to(folder_of(c))).write_bytes(p.read_bytes())
    other = Collection.open(tmp_path / "tree", store=tmp_path / "other", workers=1)
    reindex(other)
    assert terms_of(other) == terms_of(c)


def test_filters_choose_pictures(tmp_path: Path, c: Collection) -> None:
    make_photo(folder_of(c) / "sub" / "x.jpg", 50, (80, 60))
    (folder_of(c) / "sub" / "x.txt").write_text("dog")
    reindex(c)
    assert c.export("csv", tmp_path / "a.csv", filters=Filters(folder="sub")).pictures == 1
    assert c.export("csv", tmp_path / "b.csv", filters=Filters(min_side=60)).pictures == 1
    rows = list(csv.DictReader((tmp_path / "b.csv").read_text().splitlines()))
    assert [(r["path"], r["word"]) for r in rows] == [("sub/x.jpg", "dog")]


def test_nothing_is_written_inside_the_collection(tmp_path: Path, c: Collection) -> None:
    photos = folder_of(c)
    (tmp_path / "link").symlink_to(photos)
    (tmp_path / "to-file.csv").symlink_to(photos / "new.csv")
    (tmp_path / "up").mkdir()
    before = fingerprint(photos)
    for form, target in (
        ("csv", photos / "w.csv"), ("csv", photos), ("json", photos / "no" / "w.jsonl"),
        ("csv", tmp_path / "link" / "w.csv"), ("csv", tmp_path / "to-file.csv"),
        ("csv", tmp_path / "up" / ".." / "photos" / "w.csv"),
        ("xmp", photos), ("xmp", photos / "sub"), ("xmp", tmp_path / "link"), ("xmp", tmp_path),
        ("csv", tmp_path / "store" / "w.csv"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="inside"):
            c.export(form, target, overwrite=True)
    assert fingerprint(photos) == before


def test_links_below_a_target_lead_nowhere(tmp_path: Path, c: Collection) -> None:
    make_photo(folder_of(c) / "sub" / "x.jpg", 50)
    (folder_of(c) / "sub" / "x.txt").write_text("dog")
    reindex(c)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "sub").symlink_to(folder_of(c))
    (tmp_path / "tree" / "000.jpg.xmp").symlink_to(folder_of(c) / "000.jpg")
    before = fingerprint(folder_of(c))
    report = c.export("xmp", tmp_path / "tree")
    assert fingerprint(folder_of(c)) == before
    left = {x.path: x.reason for x in report.left}
    assert "a link or a file" in left[b"sub/x.jpg.xmp"] and b"000.jpg.xmp" in left
    assert report.written == 6
    over = c.export("xmp", tmp_path / "tree", overwrite=True)
    assert {x.path for x in over.left} == {b"000.jpg.xmp", b"sub/x.jpg.xmp"}
    assert fingerprint(folder_of(c)) == before


def test_files_that_are_there_are_replaced_only_if_told(tmp_path: Path, c: Collection) -> None:
    file, tree = tmp_path / "w.csv", tmp_path / "tree"
    file.write_text("mine")
    with pytest.raises(UsageError, match="--overwrite"):
        c.export("csv", file)
    assert file.read_text() == "mine"
    c.export("csv", file, overwrite=True)
    assert file.read_text().startswith("path,")
    tree.mkdir()
    (tree / "000.jpg.xmp").write_text("mine")
    report = c.export("xmp", tree)
    assert [x.path for x in report.left] == [b"000.jpg.xmp"] and report.written == 6
    assert (tree / "000.jpg.xmp").read_text() == "mine"
    assert c.export("xmp", tree, overwrite=True).written == 7
    assert "mine" not in (tree / "000.jpg.xmp").read_text()


def test_a_dry_run_writes_nothing(tmp_path: Path, c: Collection) -> None:
    before = sorted(os.listdir(tmp_path))
    for form, name in (("csv", "w.csv"), ("coco", "w.json"), ("xmp", "tree")):
        report = c.export(form, tmp_path / name, dry_run=True)
        assert report.pictures == 7 and report.words == 12 and report.written == 0
    assert sorted(os.listdir(tmp_path)) == before
    assert not list(folder_of(c).glob("*.xmp"))


def test_boxes_go_where_a_format_has_room_for_them(tmp_path: Path, c: Collection) -> None:
    proposed = {1: [TREE]}
    c.export("json", tmp_path / "w.jsonl", proposed=proposed)
    first = json.loads((tmp_path / "w.jsonl").read_text().splitlines()[0])
    assert first["about"][0]["box"] == [0, 0, 0.5, 0.5]
    assert c.export("xmp", tmp_path / "a", proposed=proposed).regions == 1
    assert "mwg-rs:Regions" in (tmp_path / "a" / "000.jpg.xmp").read_text()
    assert c.export("xmp", tmp_path / "b", proposed=proposed, boxes=False).regions == 0
    assert "mwg-rs:Regions" not in (tmp_path / "b" / "000.jpg.xmp").read_text()


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("pdf", "x"), {}, "one of csv, json, coco, xmp"),
        (("csv",), {}, "Name a file"),
        (("csv", "words.txt"), {}, "ends in .csv"),
        (("json", "words.json"), {}, "ends in .jsonl"),
        (("csv", "w.csv"), {"only": ["known"]}, "among accepted, tagged, proposed"),
        (("csv", "w.csv"), {"min_confidence": 2}, "from 0 to 1"),
        (("csv", "w.csv"), {"into_collection": True}, "Leave out the flag"),
        (("xmp", "there"), {"into_collection": True}, "Leave out TARGET"),
        (("xmp",), {"into_collection": True, "overwrite": True}, "Leave out --overwrite"),
    ],
)
def test_wrong_use_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, c: Collection, arguments: tuple[str, ...],
    options: dict[str, Any], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, ParameterError), match=said):
        c.export(*arguments, **options)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, c: Collection) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreIOError, match="Cannot write"):
        c.export("csv", tmp_path / "file" / "w.csv")
    with pytest.raises(UsageError, match="no folder"):
        c.export("xmp", tmp_path / "file")


@pytest.mark.parametrize("format", ["csv", "json", "coco", "xmp"])
def test_sentences_and_keyword_lists_come_back_as_what_they_were(
    tmp_path: Path, format: str
) -> None:
    folder = tmp_path / "photos"
    for n in range(3):
        make_photo(folder / f"{n}.jpg", n)
    table = tmp_path / "works.jsonl"
    rows = [
        {"file_name": "0.jpg", "text": "dog"},
        {"file_name": "1.jpg", "tags": ["Still Life: Flowers and Fruit", "Paris, Texas"]},
        {"file_name": "2.jpg", "tags": "snow; trees", "caption": "A photo of a cat, asleep."},
    ]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = Collection.open(folder, store=tmp_path / "first", workers=1)
    reindex(first, table)
    expected = {
        b"0.jpg": ((), "dog"),
        b"1.jpg": (("Still Life: Flowers and Fruit", "Paris, Texas"), ""),
        b"2.jpg": (("snow", "trees"), "A photo of a cat, asleep."),
    }
    assert all_words(first) == expected
    out = tmp_path / "out"
    out.mkdir()
    first.export(format, out)
    second = Collection.open(folder, store=tmp_path / "second", workers=1)
    if format == "xmp":
        for sidecar in out.glob("*.xmp"):
            (folder / sidecar.name).write_bytes(sidecar.read_bytes())
        reindex(second)
    else:
        reindex(second, next(out.iterdir()))
    assert all_words(second) == expected


def all_words(c: Collection) -> dict[bytes, tuple[tuple[str, ...], str]]:
    """Return labels and text of each picture, whatever their source."""
    with c.store_folder.reader() as reader:
        return {
            k.path: (tags.tags, tags.text)
            for k in reader.catalogue.known()
            for tags in reader.catalogue.words(k.picture)
        }
