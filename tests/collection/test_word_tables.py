"""Tables of words in a collection: matched to pictures, remembered, reported, read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sightline.collection import Collection, ColumnRules
from sightline.collection.index.run import IndexReport
from sightline.collection.index.tables import TableReport, match_table
from sightline.compute.inline import InlineCompute
from sightline.errors import UsageError
from sightline.pictures.tables import read_words_file
from sightline.records import Tags
from sightline.store.events import NewEvent
from sightline.store.writer import Change, Writer
from tests.factories.photos import make_photo

ROOT = b"/home/me/pictures"


def matched(
    folder: Path, content: str, *pictures: str, name: str = "w.csv", encoding: str = "utf-8"
) -> tuple[dict[bytes, Tags], TableReport]:
    """Read a table and match it to pictures at these paths."""
    file = folder / name
    file.write_text(content, encoding=encoding)
    ids = {p.encode(): n for n, p in enumerate(pictures)}
    table = match_table(read_words_file(file), str(file), ids, ROOT)
    report = table.report
    used = report.matched + report.unmatched.count + sum(d.count for d in report.dropped)
    assert report.rows == used, "every row is accounted for"
    return dict(table.words), report


@pytest.mark.parametrize(
    ("key", "path", "by_name"),
    [
        ("a.jpg", "a.jpg", False),
        (" ./x//a.jpg ", "x/a.jpg", False),
        (".\\x\\a.jpg", "x/a.jpg", False),
        ("..a.jpg", "..a.jpg", False),
        ("/home/me/pictures/x/a.jpg", "x/a.jpg", False),
        ("a.jpg", "x/a.jpg", True),
        ("a", "x/a.jpg", True),
        ("x/a.jpg", "2024/x/a.jpg", True),
        ("photos/x/a.jpg", "x/a.jpg", True),
        ("/media/disk/x/a.jpg", "x/a.jpg", True),
        ("C:\\x\\a.jpg", "x/a.jpg", True),
        ("https://example.org/full/a.jpg?x=1", "x/a.jpg", True),
        ("y/a.jpg", "x/a.jpg", None),
        ("a.png", "a.jpg", None),
        ("A.jpg", "a.jpg", None),
        ("/etc/passwd", "a.jpg", None),
        ("..", "a.jpg", None),
        ("a\0.jpg", "a.jpg", None),
    ],
)
def test_a_key_names_a_picture_by_path_or_by_unmistakable_file_name(
    tmp_path: Path, key: str, path: str, by_name: bool | None
) -> None:
    line = json.dumps({"path": key, "tags": ["snow"]})
    words, report = matched(tmp_path, line, path, "other.jpg", name="w.jsonl")
    if by_name is None:
        assert not words and report.unmatched.examples
    else:
        assert list(words) == [path.encode()] and report.by_name == by_name


def test_a_file_name_that_fits_two_pictures_or_rows_is_dropped_with_its_reason(
    tmp_path: Path,
) -> None:
    words, report = matched(
        tmp_path, "path,tags\na.jpg,snow\nb.jpg,ice\n", "x/a.jpg", "y/a.jpg", "b.jpg"
    )
    assert list(words) == [b"b.jpg"]
    assert [(d.kind, d.count, d.examples) for d in report.dropped] == [("unclear", 1, ("a.jpg",))]


def test_of_several_key_columns_the_one_that_matches_most_rows_is_taken(tmp_path: Path) -> None:
    content = "name,id,tags\nSunflowers,7,yellow\nIrises,8,blue\n"
    words, report = matched(tmp_path, content, "7.jpg", "8.jpg")
    assert report.key_column == "id" and set(words) == {b"7.jpg", b"8.jpg"}


def test_keys_in_windows_1252_name_files_in_utf8(tmp_path: Path) -> None:
    words, _ = matched(tmp_path, "path,tags\nété.jpg,été\n", "été.jpg", encoding="cp1252")
    assert words == {"été.jpg".encode(): Tags("file:w.csv", ("été",))}


def test_several_keys_of_one_picture_are_joined(tmp_path: Path) -> None:
    content = "path,tags,title\na.jpg,snow,One\n./a.jpg,ice,Two\n"
    words, report = matched(tmp_path, content, "a.jpg")
    assert words == {b"a.jpg": Tags("file:w.csv", ("snow", "ice"), "One\nTwo")}
    assert (report.matched, report.pictures) == (2, 1)


def test_the_summary_is_one_line_with_all_counts(tmp_path: Path) -> None:
    content = 'path,tags,title,room\na.jpg,"snow;ice",A walk,3\nb.jpg,,Red,4\nlost.jpg,x,,\n,y,,\n'
    _, report = matched(tmp_path, content, "a.jpg", "b.jpg")
    assert report.summary() == (
        "w.csv: 2 of 4 rows matched to 2 pictures by column 'path'; 2 cells read as labels "
        "(tags divided at ;), 2 as text (title); 1 row not matched, such as lost.jpg; "
        "1 row dropped (1: no picture is named (such as line 5)); columns not read: room."
    )
    said = report.to_dict()
    assert said["summary"] == report.summary() and (said["label_cells"], said["text_cells"]) == (
        2,
        2,
    )


# -- in a collection -----------------------------------------------------------------------------


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    folder = tmp_path / "photos"
    folder.mkdir()
    for n, name in enumerate(("a.jpg", "b.jpg", "c.jpg")):
        make_photo(folder / name, n)
    return Collection.open(folder, store=tmp_path / "store", workers=1)


def index(c: Collection, **options: object) -> IndexReport:
    return c.index(compute=InlineCompute(), **options)  # type: ignore[arg-type]


def words_of(c: Collection, path: bytes = b"a.jpg") -> tuple[tuple[str, ...], str]:
    with c.store_folder.reader() as reader:
        ids = {k.path: k.picture for k in reader.catalogue.known()}
        (tags,) = reader.catalogue.words(ids[path])
    return tags.tags, tags.text


def table_of(c: Collection, tmp_path: Path, content: str) -> Path:
    table = tmp_path / "works.csv"
    table.write_text(content)
    return table


def test_what_the_owner_says_of_columns_is_remembered_with_the_table(
    c: Collection, tmp_path: Path
) -> None:
    table = table_of(c, tmp_path, 'no,artist,tags\na,"Roesen, Severin",red; round\n')
    columns = ColumnRules(("artist",), ("tags",), "no", "none")
    planned = c.preview(words=[table], columns=columns)
    report = index(c, words=[table], columns=columns)
    assert planned.tables == report.tables and report.tables[0].matched == 1
    assert planned.to_dict()["tables"] == report.to_dict()["tables"]
    assert words_of(c) == (("Roesen, Severin",), "red; round")
    table.write_text('no,artist,tags\na,"Ast, B. van der",red; small\n')
    assert index(c).tables[0].changes.changed == 1
    assert words_of(c) == (("Ast, B. van der",), "red; small")
    assert index(c).tables == (), "a table that did not change is not read"
    index(c, words=[table], columns=ColumnRules(("artist", "tags"), (), "no", ";"))
    assert words_of(c) == (("Ast, B. van der", "red", "small"), "")
    index(c, forget_words=[table])
    with pytest.raises(UsageError, match="No column names the picture"):
        index(c, words=[table])


def test_columns_without_a_table_are_refused(c: Collection) -> None:
    for rules, flag in (
        (ColumnRules(("x",)), "--labels-in"), (ColumnRules((), ("x",)), "--text-in"),
        (ColumnRules(key_column="x"), "--key-column"), (ColumnRules(separator=";"), "--label-sep"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=f"{flag}.* says how --words FILE"):
            index(c, columns=rules)


def test_words_read_by_earlier_rules_stay_until_the_table_is_read_again(
    c: Collection, tmp_path: Path
) -> None:
    cell = "Still Life: Flowers and Fruit, Severin Roesen"
    table = table_of(c, tmp_path, f'path,words\na.jpg,"{cell}"\n')
    index(c, words=[table])
    # What earlier releases stored for the same table.
    with Writer(c.store_folder, "test", 0) as writer:
        picture = next(k.picture for k in writer.catalogue.known() if k.path == b"a.jpg")
        old = NewEvent("words", picture, {"source": "file:works.csv", "tags": [], "text": cell})
        meta = [("table_rules", "1")]
        writer.publish(Change(events=writer.append([old]), meta=meta), finished=True)
    make_photo(c_folder(c) / "new.jpg", 9)
    report = index(c)
    assert words_of(c) == ((), cell) and report.tables[0].changes.changed == 0
    assert f"To read it again for all: sightline index --words {table}" in report.problems[0]
    changes = index(c, words=[table]).tables[0].changes
    assert words_of(c) == (("Still Life: Flowers and Fruit", "Severin Roesen"), "")
    make_photo(c_folder(c) / "newer.jpg", 10)
    assert not index(c).problems
    assert changes.changed == 1 and changes.example == (
        f"a.jpg: text “{cell}”, now labels “Still Life: Flowers and Fruit · Severin Roesen”"
    )


def c_folder(c: Collection) -> Path:
    return Path(c.root.decode())


def test_a_name_that_becomes_ambiguous_loses_its_words_and_that_is_said(
    c: Collection, tmp_path: Path
) -> None:
    folder = c_folder(c)
    (folder / "x").mkdir()
    (folder / "b.jpg").rename(folder / "x" / "b.jpg")
    table = table_of(c, tmp_path, "path,tags\nb.jpg,ice\n")
    index(c, words=[table])
    assert words_of(c, b"x/b.jpg") == (("ice",), "")
    (folder / "y").mkdir()
    make_photo(folder / "y" / "b.jpg", 9)
    (report,) = index(c).tables
    assert report.changes.lost == 1 and report.dropped[0].kind == "unclear"


def test_a_table_that_became_empty_keeps_its_words_and_is_named(
    c: Collection, tmp_path: Path
) -> None:
    table = table_of(c, tmp_path, "path,tags\na.jpg,ice\n")
    index(c, words=[table])
    for content in ("", "path,tags\n"):
        table.write_text(content)
        (problem,) = index(c).problems
        assert "Its previous words stay" in problem and words_of(c) == (("ice",), "")


def test_text_beside_pictures_is_read_as_the_setting_says(c: Collection) -> None:
    folder = c_folder(c)
    (folder / "a.txt").write_text("red, round")
    (folder / "b.txt").write_text("An apple lies on the table, alone.")
    report = index(c)
    assert {t.kind: t.count for t in report.txt_files} == {"labels": 1, "text": 1}
    assert words_of(c) == (("red", "round"), "")

    def again(txt_as: str) -> Collection:
        return Collection.open(folder, store=c.store_folder.path, workers=1, txt_as=txt_as)

    assert [(t.kind, t.count) for t in index(again("text")).txt_files] == [("text", 2)]
    assert words_of(c) == ((), "red, round")
    assert index(again("text")).txt_files == (), "nothing is read again without a reason"
    assert [(t.kind, t.count) for t in index(again("labels")).txt_files] == [("labels", 2)]
    assert words_of(c, b"b.jpg") == (("An apple lies on the table", "alone."), "")
    with pytest.raises(UsageError, match="txt_as"):
        again("guess")


def test_words_that_are_dropped_or_cut_are_counted_with_an_example(c: Collection) -> None:
    folder = c_folder(c)
    (folder / "a.xmp").write_text("<x:xmpmeta")
    (folder / "b.jpg.xmp").write_text('<!DOCTYPE x [<!ENTITY a "b">]><x/>')
    (folder / "c.txt").write_text("so " * 20_000)
    (folder / "a.txt").write_bytes(b"x" * ((1 << 20) + 1))
    report = index(c)
    lost = {r.kind: (r.count, r.examples[0]) for r in report.lost_words}
    assert set(lost) == {"xmp-broken", "xmp-entities", "text-cut", "sidecar"}
    assert lost["xmp-entities"] == (1, "b.jpg.xmp") and lost["text-cut"][1].startswith("c.jpg: 59,")
    assert lost["sidecar"][1].startswith("a.txt: the file has 1 MB") and not report.problems
    assert report.to_dict()["lost_words"] == [r.to_dict() for r in report.lost_words]
    assert index(c).lost_words == (), "what was read before is not reported again"


def test_skipped_files_are_grouped_by_reason_failures_first_and_new_ones_counted(
    c: Collection,
) -> None:
    folder = c_folder(c)
    for n in range(9):
        (folder / f"link{n}.jpg").symlink_to("a.jpg")
    (folder / "bad.jpg").write_bytes(b"\xff\xd8\xff no")
    (folder / "raw.cr2").write_bytes(b"x")
    (folder / ".hidden.png").write_bytes(b"x")
    (folder / "notes.pdf").write_bytes(b"x")
    report = index(c)
    groups = [(g.failed, g.kind, g.count, g.new) for g in report.groups]
    assert groups == [(True, "broken", 1, 1), (False, "special", 9, 9), (False, "format", 1, 1)]
    assert report.groups[0].example.startswith("bad.jpg: the JPEG data is broken")
    assert {r.kind: r.examples for r in report.left_out} == {
        "hidden": (".hidden.png",), "no-picture": ("notes.pdf",)
    }  # fmt: skip
    assert report.left_out_new
    (folder / "bad2.jpg").write_bytes(b"\xff\xd8\xff no")
    again = index(c)
    first = again.groups[0]
    assert (first.kind, first.count, first.new) == ("broken", 2, 1)
    assert first.example.startswith("bad2.jpg") and not again.left_out_new
    assert [g.new for g in index(c).groups] == [0, 0, 0]
    assert [s.path for s in c.pictures.skipped()][:2] == [b"bad.jpg", b"bad2.jpg"]
    assert sum(g.count for g in again.groups) == len(again.skipped)
