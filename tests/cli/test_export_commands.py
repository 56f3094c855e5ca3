"""`sightline export` as people see it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cli.test_commands import Shell
from tests.factories.photos import fingerprint, make_photos
from tests.factories.sidecars import DARKTABLE, keywords_packet


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    shell = Shell(capfd, make_photos(tmp_path / "photos"), tmp_path / "store")
    shell.index()
    return shell


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_it_says_what_was_written(shell: Shell, tmp_path: Path) -> None:
    before = fingerprint(shell.photos)
    dry = shell("export", "csv", str(tmp_path / "w.csv"), "--dry-run")
    assert dry.code == 0 and "would write 12 words of 7 pictures (12 tagged) to" in dry.out
    assert not (tmp_path / "w.csv").exists()
    ran = shell("export", "csv", str(tmp_path / "w.csv"))
    assert ran.code == 0 and f"to {tmp_path / 'w.csv'}" in ran.out and "export: 7 in" in ran.err
    assert len((tmp_path / "w.csv").read_text().splitlines()) == 13
    again = shell("export", "csv", str(tmp_path / "w.csv"))
    assert again.code == 2 and "--overwrite" in again.err
    assert shell("export", "csv", str(tmp_path / "w.csv"), "--overwrite").code == 0
    ran = shell("export", "xmp", str(tmp_path / "tree"))
    assert ran.code == 0 and "wrote 7 sidecars to" in ran.out
    assert fingerprint(shell.photos) == before


def test_what_goes_out_can_be_read_back(shell: Shell, tmp_path: Path) -> None:
    for form, name in (("csv", "w.csv"), ("json", "w.jsonl"), ("coco", "w.json")):
        assert shell("export", form, str(tmp_path / name)).code == 0
        ran = shell("index", "--words", str(tmp_path / name), "--dry-run")
        assert ran.code == 0 and "problem" not in ran.err


def test_a_folder_gets_a_file_with_the_usual_name(shell: Shell, tmp_path: Path) -> None:
    for form in ("csv", "json", "coco"):
        assert shell("export", form, f"{tmp_path}/out/").code == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "words.csv", "words.json", "words.jsonl",
    ]  # fmt: skip


def test_it_shows_what_it_would_do_and_asks(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (shell.photos / "000.jpg.xmp").write_text(DARKTABLE)
    before = fingerprint(shell.photos)
    dry = shell("export", "xmp", "--into-collection", "--dry-run")
    assert "would write 6 new sidecars and additions to 1 (12 words)" in dry.out
    assert "add\t000.jpg.xmp\ttree, snow" in dry.err and "new\t001.jpg.xmp" in dry.err
    answer(monkeypatch, "n\n")
    no = shell("export", "xmp", "--into-collection")
    assert no.code == 0 and "nothing was written" in no.out
    assert "Write 6 new sidecars and additions to 1 (12 words) in the collection?" in no.err
    answer(monkeypatch, "")
    assert shell("export", "xmp", "--into-collection").code == 130
    assert fingerprint(shell.photos) == before
    answer(monkeypatch, "y\n")
    yes = shell("export", "xmp", "--into-collection")
    assert yes.code == 0 and "wrote 7 sidecars beside the pictures" in yes.out
    assert "sightline index" in yes.err
    monkeypatch.undo()
    assert "nothing to write" in shell("export", "xmp", "--into-collection", "--yes").out


def test_lists_that_are_completed_are_shown(shell: Shell) -> None:
    """So is done to what earlier versions wrote."""
    flat = keywords_packet({"dc:subject": ("tree", "snow")})
    (shell.photos / "000.jpg.xmp").write_bytes(flat)
    assert shell("index").code == 0
    dry = shell("export", "xmp", "--into-collection", "--dry-run")
    assert "additions to 1 (10 words, 2 to more keyword lists)" in dry.out
    assert "add\t000.jpg.xmp\tin all keyword lists: tree, snow" in dry.err
    said = json.loads(shell("export", "xmp", "--into-collection", "--yes", "--json").out)
    assert said["files"][0]["completed"] == ["tree", "snow"] and said["completed"] == 2
    assert said["changed"] == 1 and said["written"] == 7


def test_files_that_were_left_alone_are_named(shell: Shell) -> None:
    (shell.photos / "000.jpg.xmp").write_text("no XML")
    ran = shell("export", "xmp", "--into-collection", "--yes")
    assert ran.code == 0 and "wrote 6 sidecars" in ran.out
    assert "left alone 000.jpg.xmp: it is not well-formed XML" in ran.err
    assert shell("export", "xmp", "--into-collection", "--yes", "--strict").code == 1
    said = json.loads(shell("export", "xmp", "--into-collection", "--yes", "--json").out)
    assert said["left"][0]["path"] == "000.jpg.xmp" and said["written"] == 0


def test_it_answers_programs(shell: Shell, tmp_path: Path) -> None:
    said = json.loads(
        shell("export", "xmp", str(tmp_path / "x"), "--json", "--only", "carried").out
    )
    assert said["format"] == "xmp" and said["written"] == said["new"] == said["pictures"] == 7
    assert said["kinds"] == {"tagged": 12} and said["left"] == []
    first = {"path": "000.jpg.xmp", "new": True, "words": ["tree", "snow"], "completed": []}
    assert said["files"][0] == first and said["completed"] == 0
    ran = shell("export", "csv", str(tmp_path / "n.csv"), "--only", "proposed", "--json")
    assert ran.code == 2 and "train regions" in ran.err


def test_words_cannot_turn_a_terminal_round(shell: Shell, tmp_path: Path) -> None:
    table = tmp_path / "t.jsonl"
    table.write_text(json.dumps({"path": "000.jpg", "words": ["a\u202eb"]}))
    assert shell("index", "--words", str(table)).code == 0
    ran = shell("export", "xmp", "--into-collection", "--dry-run")
    assert "a\\u202eb" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pdf", "x.pdf"], "must be one of csv, json, coco, xmp. Got 'pdf'."),
        (["csv"], "Where to? Name a file."),
        (["csv", "words.txt"], "ends in .csv"),
        (["csv", "w.csv", "--into-collection"], "Only xmp goes into the collection"),
        (["csv", "w.csv", "--only", "mine"], "'mine' is not one of"),
        (["csv", "w.csv", "--min-confidence", "7"], "must be from 0 to 1. Got 7.0."),
        (["csv", "w.csv", "--after", "soon"], "must be a date"),
        (["xmp", "photos/x"], "lies inside the collection"),
        (["xmp", "."], "lies inside"),
    ],
)
def test_wrong_use_is_one_line(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = shell("export", *arguments)
    assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err
