"""Tables of words: whole, broken, hostile."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.pictures import tables
from sightline.pictures.tables import WordsFile, read_words_file
from sightline.records import Tags

ROOT = b"/home/me/pictures"


def read(folder: Path, name: str, data: bytes | str) -> WordsFile:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_words_file(path, ROOT)


def text(name: str, words: str) -> Tags:
    return Tags(f"file:{name}", (), words)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.csv", 'path,words\na.jpg,"snow, trees"\n'),
        ("w.csv", '\ufeffid,FilePath,Tags\n1,a.jpg,"snow, trees"\n'),
        ("w.csv", "image;caption\r\na.jpg;snow, trees\r\n"),
        ("w.csv", "\n\nimage_path\tlabels\na.jpg\tsnow, trees"),
        ("w.tsv", "filename\ttext\na.jpg\tsnow, trees\n"),
        ("w.tab", "a.jpg\tsnow, trees\n"),
        ("w", "a.jpg\tsnow, trees\n"),
        ("w.csv", 'a.jpg,"snow, trees"\n'),
        ("w.csv", "a.jpg;snow, trees\n"),
    ],
)
def test_tables(tmp_path: Path, name: str, content: str) -> None:
    found = read(tmp_path, name, content)
    assert found == WordsFile({b"a.jpg": text(name, "snow, trees")})
    assert list(found) == [(b"a.jpg", text(name, "snow, trees"))]


def test_wide_table(tmp_path: Path) -> None:
    found = read(tmp_path, "w.txt", "path\twords\né.jpg\tété\n".encode("utf-16"))
    assert found == WordsFile({"é.jpg".encode(): text("w.txt", "été")})


def test_rows_for_one_picture_merge_in_order(tmp_path: Path) -> None:
    rows = "path,caption,tags\nb.jpg,two,\na.jpg,one,red\nb.jpg,three,two\n./b.jpg,two,\n"
    found = read(tmp_path, "w.csv", rows)
    assert list(found) == [
        (b"b.jpg", text("w.csv", "two\nthree")),
        (b"a.jpg", text("w.csv", "one\nred")),
    ]
    assert found.problems == ()


def test_bad_rows_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    rows = 'path,words\nlonely.jpg\n\n,snow\na.jpg,"two\nlines"\nempty.jpg,\nb.jpg,"open\nc.jpg,x\n'
    found = read(tmp_path, "w.csv", rows)
    assert dict(found.captions) == {b"a.jpg": text("w.csv", "two\nlines")}
    assert found.problems == (
        "w.csv, line 2: path or words is missing. Got ['lonely.jpg'].",
        "w.csv, line 4: '' is not the path of a file in the collection.",
        "w.csv, line 8: a quote is opened here and never closed.",
    )


def test_cell_beyond_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    found = read(tmp_path, "w.csv", f"path,words\na.jpg,{'x' * 200_000}\nb.jpg,snow\n")
    assert dict(found.captions) == {b"b.jpg": text("w.csv", "snow")}
    assert len(found.problems) == 1
    assert found.problems[0].startswith("w.csv, line 2: field larger than field limit")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    rows = b"path,words\n\xe9.jpg,caf\xe9 \x80\nb.jpg,caf\xe9\nc.jpg,caf\xc3\xa9\n"
    found = read(tmp_path, "w.csv", rows)
    assert dict(found.captions) == {
        b"\xe9.jpg": text("w.csv", "café €"),
        b"b.jpg": text("w.csv", "café"),
        b"c.jpg": text("w.csv", "café"),
    }
    assert found.problems == (
        "w.csv, line 2: not UTF-8; words are read as Windows-1252, paths as they are.",
    )


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("a.jpg", b"a.jpg"),
        (" ./x//a.jpg ", b"x/a.jpg"),
        (".\\x\\a.jpg", b"x/a.jpg"),
        ("x/../a.jpg", b"a.jpg"),
        ("..a.jpg", b"..a.jpg"),
        ("/home/me/pictures/x/a.jpg", b"x/a.jpg"),
        ("//home/me/pictures/a.jpg", b"a.jpg"),
        ("/home/me/pictures2/a.jpg", None),
        ("/home/me/pictures/../a.jpg", None),
        ("../a.jpg", None),
        ("x/../../a.jpg", None),
        ("..\\a.jpg", None),
        ("C:\\x\\a.jpg", None),
        ("/etc/passwd", None),
        ("..", None),
        (".", None),
        ("a\0.jpg", None),
        ("\ud800.jpg", None),
        (7, None),
    ],
)
def test_paths(tmp_path: Path, written: object, path: bytes | None) -> None:
    found = read(tmp_path, "w.jsonl", json.dumps({"path": written, "words": "snow"}))
    if path is None:
        assert not found.captions
        assert len(found.problems) == 1
        assert "w.jsonl, line 1" in found.problems[0]
        assert "is not the path of a file in the collection" in found.problems[0]
    else:
        assert found == WordsFile({path: text("w.jsonl", "snow")})


def test_collection_behind_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    words = tmp_path / "w.csv"
    words.write_text(f"path,words\n{real}/a.jpg,snow\n{link}/b.jpg,trees\n")
    found = read_words_file(os.fsencode(words), os.fsencode(link))
    assert set(found.captions) == {b"a.jpg", b"b.jpg"}


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"path": "a.jpg", "words": ["snow", "tall trees", "snow"]}',
        "",
        '{"File": "a.jpg", "Caption": "White", "tags": ["ice"]}',
        "{broken",
        '["b.jpg"]',
        '{"path": "c.jpg"}',
        '{"path": "c.jpg", "words": [1]}',
        '{"path": "d.jpg", "words": "\\ud800ok"}',
    ]
    expected = {
        b"a.jpg": Tags("file:w.jsonl", ("snow", "tall trees", "ice"), "White"),
        b"d.jpg": text("w.jsonl", "ok"),
    }
    found = read(tmp_path, "w.jsonl", "\n".join(lines))
    assert dict(found.captions) == expected
    places = [problem.split(":")[0] for problem in found.problems]
    assert places == [f"w.jsonl, line {n}" for n in (4, 5, 6, 7)]


@pytest.mark.parametrize(
    "content",
    [
        '{"path": "a.jpg", "words": "x"}',
        '[{"path": "a.jpg", "words": "x"}]',
        '{"path": "a.jpg", "words": "x"}\n{"path": "a.jpg", "words": "x"}\n',
    ],
)
def test_records_in_a_file_called_json(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, "w.json", content) == WordsFile({b"a.jpg": text("w.json", "x")})


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
    assert list(found) == [
        (b"two.jpg", text("c.json", "A dog.\nThe dog runs.")),
        (b"one.jpg", text("c.json", "A cat.")),
    ]
    places = [problem.split(":")[0] for problem in found.problems]
    assert places == [f"c.json, annotations[{n}]" for n in (3, 4, 5, 6)]


def test_coco_instances(tmp_path: Path) -> None:
    document = {
        "images": [{"id": "1", "file_name": "one.jpg"}],
        "categories": [{"id": 5, "name": "dog"}, {"id": 6, "name": "traffic light"}],
        "annotations": [{"image_id": "1", "category_id": n} for n in (6, 5, 6, 7)],
    }
    found = read(tmp_path, "i.json", json.dumps(document))
    assert dict(found.captions) == {b"one.jpg": Tags("file:i.json", ("traffic light", "dog"))}
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.csv", b""),
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
        read_words_file(tmp_path / "none.csv", ROOT)
    with pytest.raises(DataError, match="is not a file"):
        read_words_file(tmp_path, ROOT)


def test_file_too_large(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.touch()
    os.truncate(path, tables.MAX_WORDS_FILE + 1)
    with pytest.raises(DataError, match=r"has 536870913 bytes; at most 536870912.*Split it"):
        read_words_file(path, ROOT)


def test_problems_are_counted_beyond_the_first_thousand(tmp_path: Path) -> None:
    found = read(tmp_path, "w.csv", "path,words\n" + "/etc/x,snow\n" * 1_005)
    assert len(found.problems) == 1_001
    assert found.problems[-1] == "w.csv: 5 more problems are not listed."


def test_file_name_is_shown_safely(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/w\xff\n.csv"
    with open(path, "wb") as file:
        file.write(b"path,words\na.jpg,snow\n")
    assert read_words_file(path, ROOT).captions[b"a.jpg"].source == "file:w\\xff\\n.csv"


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
        found = read_words_file(path, ROOT)
    except DataError:
        return
    for name, words in found:
        assert name and not name.startswith((b"/", b"../"))
        assert words.tags or words.text
        (words.text + "".join(words.tags)).encode()


def test_a_column_named_word_has_one_label_in_a_row(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text(
        'path,word,kind,caption\n1.jpg,"Paris, Texas",x,\n1.jpg,a label of quite many words,x,\n'
        '1.jpg,"",x,Some text.\n2.jpg\n'
    )
    read = read_words_file(table, b"/photos")
    assert dict(read) == {
        b"1.jpg": Tags("file:t.csv", ("Paris, Texas", "a label of quite many words"), "Some text.")
    }
    assert len(read.problems) == 1 and "line 5" in read.problems[0]
