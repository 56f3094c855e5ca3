"""Tables and JSON of words: what goes out is read back as it was."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sightline.exchange.exported import ExportedPicture, ExportedWord, writable
from sightline.exchange.words_csv import csv_parts
from sightline.exchange.words_json import coco_parts, json_parts
from sightline.pictures.tables import inside_of, read_words_file, roots_of

Parts = Callable[[Iterable[ExportedPicture]], Iterator[bytes]]
FORMS: dict[str, tuple[Parts, str]] = {
    "csv": (csv_parts, ".csv"), "json": (json_parts, ".jsonl"), "coco": (coco_parts, ".json"),
}  # fmt: skip
ODD = st.text(min_size=1, max_size=20).map(writable).filter(bool) | st.sampled_from(
    ['a "quoted" one', "a, b; c", "two\nlines", "שלום", "👩‍👩‍👧", "=1+1", "'", "\\", "]]>", "a\tb"]
)


def picture(
    words: list[str], path: bytes = b"a.jpg", caption: str = "", number: int = 7
) -> ExportedPicture:
    given = tuple(ExportedWord(w, "tagged", ("txt",)) for w in words)
    return ExportedPicture(number, path, 40, 20, "JPEG", given, caption)


def read_back(
    tmp_path: Path, form: str, *pictures: ExportedPicture
) -> dict[bytes, tuple[tuple[str, ...], str]]:
    parts, ending = FORMS[form]
    file = tmp_path / f"words{ending}"
    file.write_bytes(b"".join(parts(pictures)))
    read = read_words_file(file)
    assert not read.dropped and not read.ignored and not read.remarks
    roots = roots_of(os.fsencode(tmp_path))
    words = {inside_of(key, roots): tags for key, tags in read.keyed[0].words.items()}
    return {path: (tags.tags, tags.text) for path, tags in words.items() if path is not None}


@pytest.mark.parametrize("form", FORMS)
@given(words=st.lists(ODD, max_size=5, unique=True), caption=st.just("") | ODD)
def test_labels_are_read_back_as_labels_and_text_as_text(
    tmp_path: Path, form: str, words: list[str], caption: str
) -> None:
    assume(words or caption)
    found = read_back(tmp_path, form, picture(words, caption=caption))
    assert found == {b"a.jpg": (tuple(words), caption)}


@pytest.mark.parametrize("form", FORMS)
def test_running_text_and_odd_names_are_read_back(tmp_path: Path, form: str) -> None:
    paths = [b"b/\xff\xfe.jpg", b"a,\"b\".jpg", b"new\nline.jpg", b"cr\rx.jpg", b" blank.jpg",
             "é/ü.jpg".encode()]  # fmt: skip
    text = "A sentence, with commas."
    given = [picture(["snow"], p, text, number) for number, p in enumerate(paths)]
    found = read_back(tmp_path, form, *given)
    assert found == dict.fromkeys(paths, (("snow",), text))


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_a_file_too(form: str) -> None:
    said = b"".join(FORMS[form][0]([])).decode()
    if form == "coco":
        assert json.loads(said) == {"images": [], "annotations": [], "categories": []}
    assert said.splitlines() == {"csv": ["path,picture,word,kind,source,confidence,caption"],
                                 "json": []}.get(form, said.splitlines())  # fmt: skip


def proposal() -> ExportedPicture:
    words = (
        ExportedWord("tree", "proposed", ("model",), 0.875, (0.25, 0.5, 0.5, 0.25)),
        ExportedWord("snow", "accepted", ("txt", "judged")),
    )
    return ExportedPicture(7, b"a.jpg", 40, 20, "JPEG", words)


def test_a_table_says_kind_source_and_confidence() -> None:
    rows = list(csv.DictReader(b"".join(csv_parts([proposal()])).decode().splitlines()))
    assert [(r["word"], r["kind"], r["source"], r["confidence"]) for r in rows] == [
        ("tree", "proposed", "model", "0.875"),
        ("snow", "accepted", "txt; judged", ""),
    ]


def test_lines_say_what_is_known_of_each_word() -> None:
    (line,) = b"".join(json_parts([proposal()])).splitlines()
    said = json.loads(line)
    assert (said["path"], said["picture"], said["width"]) == ("a.jpg", 7, 40)
    assert said["about"] == [
        {"word": "tree", "kind": "proposed", "sources": ["model"], "confidence": 0.875,
         "box": [0.25, 0.5, 0.5, 0.25]},
        {"word": "snow", "kind": "accepted", "sources": ["txt", "judged"]},
    ]  # fmt: skip


def test_coco_has_boxes_in_pixels() -> None:
    said = json.loads(b"".join(coco_parts([proposal()])))
    first, second = said["annotations"]
    assert first == {
        "id": 1, "image_id": 7, "category_id": 1, "kind": "proposed", "score": 0.875,
        "bbox": [10.0, 10.0, 20.0, 5.0], "area": 100.0, "iscrowd": 0,
    }  # fmt: skip
    assert "bbox" not in second and second["id"] == 2
    assert [c["name"] for c in said["categories"]] == ["tree", "snow"]
