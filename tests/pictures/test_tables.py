"""Tables of words: whole, broken, hostile."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError, UsageError
from sightline.pictures import tables
from sightline.pictures.tables import read_words_file
from sightline.pictures.word_columns import BY_NAME, SEPARATORS, ColumnRules, split_cell
from sightline.pictures.words_table import WordsTable
from sightline.records import Tags


def read(folder: Path, name: str, data: bytes | str, rules: ColumnRules = BY_NAME) -> WordsTable:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_words_file(path, rules=rules)


def words(table: WordsTable) -> dict[bytes, tuple[tuple[str, ...], str]]:
    """Return labels and text by the key of the best column."""
    return {key: (t.tags, t.text) for key, t in table.keyed[0].words.items()}


def dropped(table: WordsTable) -> dict[str, int]:
    return {d.kind: d.count for d in table.dropped}


SNOW = {b"a.jpg": (("snow", "trees"), "")}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.csv", 'path,words\na.jpg,"snow, trees"\n'),
        ("w.csv", '\ufeffsize,FilePath,Tags\n1,a.jpg,"snow, trees"\n'),
        ("w.csv", "image;keywords\r\na.jpg;snow, trees\r\n"),
        ("w.csv", "\n\nimage_path\tlabels\na.jpg\tsnow|trees"),
        ("w.csv", "file name|size|Tags\na.jpg|x|snow, trees"),
        ("w.csv", "sep=;\nimage;tags\na.jpg;snow;\na.jpg;trees"),
        ("w.tsv", "filename\tsubjects\na.jpg\tsnow;trees\n"),
        ("w.csv", "path,words\na.jpg,snow, trees\n"),
        ("w.tab", "a.jpg\tsnow, trees\n"),
        ("w", "a.jpg\tsnow, trees\n"),
        ("w.csv", 'a.jpg,"snow, trees"\n'),
        ("w.csv", "a.jpg;snow, trees\n"),
        ("w.csv", "path,word\na.jpg,snow\na.jpg,trees\n"),
        ("w.csv", "path,tags,tags\na.jpg,snow,trees\n"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_labels_of_a_table(tmp_path: Path, name: str, content: str, encoding: str) -> None:
    assert words(read(tmp_path, name, content.encode(encoding))) == SNOW


def test_a_label_of_five_words_does_not_make_its_cell_running_text(tmp_path: Path) -> None:
    cell = "Still Life: Flowers and Fruit, Severin Roesen"
    table = read(tmp_path, "w.csv", f'path,words,title\na.jpg,"{cell}",Red.\nb.jpg,snow,"A, b"\n')
    assert words(table) == {
        b"a.jpg": (("Still Life: Flowers and Fruit", "Severin Roesen"), "Red."),
        b"b.jpg": (("snow",), "A, b"),
    }
    assert [(c.name, c.kind, c.cells, c.words) for c in table.columns] == [
        ("words", "labels", 2, 3), ("title", "text", 2, 2),
    ]  # fmt: skip


def test_a_short_caption_stays_text(tmp_path: Path) -> None:
    table = read(tmp_path, "w.csv", 'path,caption\na.jpg,dog\nb.jpg,"dog, cat"\n')
    assert words(table) == {b"a.jpg": ((), "dog"), b"b.jpg": ((), "dog, cat")}


def test_the_owner_says_what_columns_hold_and_which_is_the_key(tmp_path: Path) -> None:
    content = 'no,path,artist,tags,notes\n7,x,"Roesen, Severin",red; round,An apple\n'
    rules = ColumnRules(("Artist",), ("TAGS",), "no", "none")
    table = read(tmp_path, "w.csv", content, rules)
    assert words(table) == {b"7": (("Roesen, Severin",), "red; round")}
    assert [k.column for k in table.keyed] == ["no"] and table.unread == ("path", "notes")
    lines = '{"no": 7, "artist": "Roesen, Severin", "tags": "red; round", "notes": "x"}'
    found = read(tmp_path, "w.jsonl", lines, rules)
    assert words(found) == words(table) and found.unread == ("notes",)


def test_columns_that_are_not_there_are_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'artist'.*'path', 'tags'"):
        read(tmp_path, "w.csv", "path,tags\na,b\n", ColumnRules(("artist",)))
    with pytest.raises(DataError, match=r"'no', 'artist'.*--key-column.*--labels-in or --text-in"):
        read(tmp_path, "w.csv", "no,artist\na,b\n")
    with pytest.raises(DataError, match="no field 'artist'"):
        read(tmp_path, "w.jsonl", '{"path": "a", "tags": "b"}', ColumnRules((), ("artist",)))
    with pytest.raises(UsageError, match="'A_B' is named as labels and as text"):
        ColumnRules(("A_B",), ("ab",)).check()
    with pytest.raises(UsageError, match="one of ; , \\| none"):
        ColumnRules(separator="/").check()


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (
            ["Amsterdam, Netherlands; oil", "Paris, France"],
            ["Amsterdam, Netherlands", "oil", "Paris, France"],
        ),
        (
            ["tree, snow; ice", "red, green", "a, b"],
            ["tree", "snow", "ice", "red", "green", "a", "b"],
        ),
        (["Flowers|Fruit", "Flowers"], ["Flowers", "Fruit"]),
        (["Places|Rome, night", "Places|Rome"], ["Places|Rome", "night"]),
        (["Places/Rome; night"], ["Places/Rome", "night"]),
        (["two\nlines; x, y"], ["two", "lines", "x, y"]),
    ],
)
def test_one_separator_holds_for_a_column(
    tmp_path: Path, cells: list[str], labels: list[str]
) -> None:
    rows = "".join(json.dumps({"path": "a", "tags": cell}) + "\n" for cell in cells)
    assert words(read(tmp_path, "w.jsonl", rows)) == {b"a": (tuple(labels), "")}


@given(
    labels=st.lists(
        st.text(
            st.characters(exclude_categories=("C", "Z"), exclude_characters=";；؛,，、،|"),
            min_size=1,
        ),
        min_size=1,
    ),
    separator=st.sampled_from([s for s in SEPARATORS if s != "none"]),
)
def test_labels_that_were_joined_by_a_separator_are_divided_at_it(
    labels: list[str], separator: str
) -> None:
    assert split_cell(f" {separator} ".join(labels), separator) == labels


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["snow", "ice, red"], "labels"),
        (["A dog runs through the snow", "ice"], "text"),
        (["Ice."], "text"),
    ],
)
def test_a_table_without_header_says_how_it_was_read(
    tmp_path: Path, cells: list[str], kind: str
) -> None:
    content = "".join(f"{n}.jpg\t{cell}\n" for n, cell in enumerate(cells))
    table = read(tmp_path, "w.tsv", content)
    assert [(c.kind, c.guessed) for c in table.columns] == [(kind, True)]
    assert f"no header: column 2 reads as {kind}" in table.remarks[0]
    other = ColumnRules(text_in=("2",)) if kind == "labels" else ColumnRules(labels_in=("2",))
    (column,) = read(tmp_path, "w.tsv", content, other).columns
    assert column.kind != kind and not column.guessed


def test_rows_for_one_picture_merge_in_order(tmp_path: Path) -> None:
    rows = "path,caption,tags\nb.jpg,two,\na.jpg,one,red\nb.jpg,three,two\nb.jpg,two,\n"
    found = read(tmp_path, "w.csv", rows)
    assert list(words(found).items()) == [
        (b"b.jpg", (("two",), "two\nthree")),
        (b"a.jpg", (("red",), "one")),
    ]
    assert dropped(found) == {"repeated": 1} and found.rows == 4


def test_bad_rows_are_counted_with_examples_and_the_rest_is_read(tmp_path: Path) -> None:
    rows = (
        'path,tags,title\nlonely.jpg\n\n,snow,\na.jpg,"two\nlines",\nempty.jpg,,\n'
        'c.jpg,red,Flowers, and fruit\nd.jpg,red,Rose,,\nb.jpg,"open\nc.jpg,x\n'
    )
    found = read(tmp_path, "w.csv", rows)
    assert words(found) == {b"a.jpg": (("two", "lines"), ""), b"d.jpg": (("red",), "Rose")}
    assert {d.kind: (d.count, d.examples[0]) for d in found.dropped} == {
        "no-words": (2, "line 2"), "no-key": (1, "line 4"),
        "too-many-cells": (1, "line 8: ['c.jpg', 'red', 'Flowers', ' and fruit']"),
        "open-quote": (1, "line 10 to line 11"),
    }  # fmt: skip
    assert found.rows == 7


def test_cell_beyond_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    found = read(tmp_path, "w.csv", f"path,words\na.jpg,{'x' * 200_000}\nb.jpg,snow\n")
    assert words(found) == {b"b.jpg": (("snow",), "")}
    (huge,) = found.dropped
    assert "a cell of more than 131,072 characters" in huge.reason
    assert huge.examples[0].startswith("line 2")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    rows = b"path,words\n\xe9.jpg,caf\xe9 \x80\nb.jpg,caf\xe9\nc.jpg,caf\xc3\xa9\n"
    found = read(tmp_path, "w.csv", rows)
    assert words(found) == {
        b"\xe9.jpg": (("café €",), ""), b"b.jpg": (("café",), ""), b"c.jpg": (("café",), ""),
    }  # fmt: skip
    assert found.remarks == ("2 cells are not UTF-8 and are read as Windows-1252",)


def test_a_header_that_names_a_column_twice_is_mentioned(tmp_path: Path) -> None:
    found = read(tmp_path, "w.csv", "path,tags,tags\na.jpg,snow,ice\n")
    assert words(found) == {b"a.jpg": (("snow", "ice"), "")}
    assert found.remarks == ("the header has 'tags' more than once: all of them are read",)


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"path": "a.jpg", "words": ["snow", "tall trees", "snow"]}',
        "",
        '{"File": "a.jpg", "path": "a.jpg", "Caption": "White", "tags": ["ice"]}',
        '{"path": "a.jpg", "captions": ["A dog.", "It runs, fast"], "tags": null}',
        "{broken",
        '["b.jpg"]',
        '{"path": "c.jpg"}',
        '{"path": "c.jpg", "words": [1]}',
        '{"path": "d.jpg", "words": "\\ud800ok"}',
    ]
    found = read(tmp_path, "w.jsonl", "\n".join(lines))
    assert words(found) == {
        b"a.jpg": (("snow", "tall trees", "ice"), "White\nA dog.\nIt runs, fast"),
        b"d.jpg": (("ok",), ""),
    }
    assert dropped(found) == {"no-json": 1, "no-record": 1, "no-words": 2}
    assert [(i.kind, i.examples) for i in found.ignored] == [("no-words-value", ("line 8: [1]",))]
    assert found.rows == 8


@pytest.mark.parametrize(
    "content",
    [
        '{"path": "a.jpg", "words": "x"}',
        '[{"path": "a.jpg", "words": "x"}]',
        '{"path": "a.jpg", "words": "x"}\n{"path": "a.jpg", "words": "x"}\n',
    ],
)
def test_records_in_a_file_called_json(tmp_path: Path, content: str) -> None:
    table = read(tmp_path, "w.json", content)
    assert table.keyed[0].words == {b"a.jpg": Tags("file:w.json", ("x",))}


def test_coco_captions(tmp_path: Path) -> None:
    document = {
        "images": [{"id": 1, "file_name": "one.jpg"}, {"id": 2, "file_name": "two.jpg"}, 3],
        "annotations": [
            {"image_id": 2, "caption": "A dog."},
            {"image_id": 1, "caption": "A cat.\n"},
            {"image_id": 2, "caption": "The dog runs."},
            {"image_id": 9, "caption": "Lost."},
            {"image_id": [], "caption": "Lost."},
            {"image_id": 1},
            "no",
        ],
    }
    found = read(tmp_path, "c.json", json.dumps(document))
    assert list(words(found).items()) == [
        (b"two.jpg", ((), "A dog.\nThe dog runs.")),
        (b"one.jpg", ((), "A cat.")),
    ]
    assert dropped(found) == {"no-image": 3, "no-words": 1} and found.rows == 7
    (column,) = found.columns
    assert (column.name, column.kind, column.cells) == ("caption", "text", 3)


def test_coco_instances(tmp_path: Path) -> None:
    document = {
        "images": [{"id": "1", "file_name": "one.jpg"}],
        "categories": [{"id": 5, "name": "dog"}, {"id": 6, "name": "traffic light"}],
        "annotations": [{"image_id": "1", "category_id": n} for n in (6, 5, 6, 7)],
    }
    found = read(tmp_path, "i.json", json.dumps(document))
    assert words(found) == {b"one.jpg": (("traffic light", "dog"), "")}
    assert dropped(found) == {"repeated": 1, "no-words": 1}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.csv", b""),
        ("w.csv", b"\xef\xbb\xbf \n"),
        ("w.csv", b"\xff\xfe"),
        ("w.csv", b"colour,size\nred,3\n"),
        ("w.csv", b"path\na.jpg\n"),
        ("w.jsonl", b""),
        ("w.jsonl", b"[1]\nno\n"),
        ("w.json", b'{"images": [], "annotations": ['),
        ("w.json", b'{"images": 1, "annotations": []}'),
        ("w.json", b"[" * 200_000),
        ("w.bin", bytes(range(256))),
    ],
)
def test_file_of_no_known_kind(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(DataError, match=r"w\..*Expected CSV or TSV.*for example: trips/1\.jpg"):
        read(tmp_path, name, content)


def test_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv.*No such file.*Check the name"):
        read_words_file(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is not a file"):
        read_words_file(tmp_path)


def test_file_too_large(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.touch()
    os.truncate(path, tables.MAX_WORDS_FILE + 1)
    with pytest.raises(DataError, match=r"has 536870913 bytes; at most 536870912.*Split it"):
        read_words_file(path)


@pytest.mark.parametrize("content", ["path,tags\n", "\ufeffpath,tags", "sep=,\npath,tags\n\n"])
def test_a_header_alone_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=r"w\.csv has a header and no row.*--forget-words"):
        read(tmp_path, "w.csv", content)


def test_file_name_is_shown_safely(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/w\xff\n.csv"
    with open(path, "wb") as file:
        file.write(b"path,words\na.jpg,snow\n")
    assert read_words_file(path).keyed[0].words[b"a.jpg"].source == "file:w\\xff\\n.csv"


@settings(deadline=None, max_examples=150)
@given(
    data=st.one_of(
        st.binary(max_size=300),
        st.binary(max_size=300).map(lambda b: b"path,words\n" + b),
        st.binary(max_size=300).map(lambda b: b'{"path": "a.jpg", "words": "' + b + b'"}'),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(
                    st.sampled_from(
                        ["path", "words", "images", "annotations", "id", "file_name", "image_id"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
        ).map(lambda value: json.dumps(value).encode()),
    ),
    ending=st.sampled_from(["csv", "tsv", "json", "jsonl"]),
)
def test_any_content_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, ending: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_bytes(data)
    try:
        found = read_words_file(path)
    except DataError:
        return
    for keyed in found.keyed:
        for key, tags in keyed.words.items():
            assert key.strip() and (tags.tags or tags.text)
            (tags.text + "".join(tags.tags)).encode()
        used = sum(keyed.rows.values()) + keyed.empty
        assert found.rows == used + sum(d.count for d in found.dropped)


def test_a_singular_name_has_one_label_in_a_row_as_it_is(tmp_path: Path) -> None:
    table = read(
        tmp_path, "t.csv",
        'path,word,kind,caption\n1.jpg,"Paris, Texas",x,\n1.jpg,a label of quite many words,x,\n'
        '1.jpg,"",x,Some text.\n2.jpg\n',
    )  # fmt: skip
    assert words(table) == {
        b"1.jpg": (("Paris, Texas", "a label of quite many words"), "Some text.")
    }
    assert dropped(table) == {"no-words": 1} and table.unread == ("kind",)
