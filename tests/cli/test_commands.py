"""The command line as people use it: output, exit codes, messages."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from sightline.cli import VERBS, main
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.store.folder import StoreFolder
from sightline.store.writer import Writer
from tests.factories.photos import make_photo, make_photos


class Ran:
    """What a command printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Shell:
    """Runs commands in this process, in a collection's folder."""

    def __init__(self, capfd: pytest.CaptureFixture[str], photos: Path, store: Path) -> None:
        self.capfd, self.photos, self.store = capfd, photos, store

    def __call__(self, *arguments: str, place: bool = True) -> Ran:
        self.capfd.readouterr()
        where = ["-C", str(self.photos), "--store", str(self.store)] if place else []
        with pytest.raises(SystemExit) as ended:
            main([*arguments, *where])
        out, err = self.capfd.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 1, out, err)

    def index(self, *features: str) -> None:
        """Index in this process, which takes a tenth of the time of starting workers."""
        c = Collection.open(self.photos, store=self.store)
        c.index(features=features, compute=InlineCompute())


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    return Shell(capfd, make_photos(tmp_path / "photos"), tmp_path / "store")


@pytest.fixture
def indexed(shell: Shell) -> Shell:
    shell.index()
    return shell


def test_index_says_what_it_did_and_names_what_it_skipped(shell: Shell) -> None:
    (shell.photos / "bad\n.jpg").write_bytes(b"")
    ran = shell("index", "--workers", "1")
    assert ran.code == 0
    assert "9 seen = 8 indexed + 1 skipped (8 new, 0 changed, 0 moved, 0 gone)" in ran.out
    assert "could not read 1 file: the file is empty (such as bad\\n.jpg)" in ran.err
    assert "index: 9/9 in" in ran.err
    assert shell("index", "--strict").code == 1
    said = json.loads(shell("index", "--json").out)
    assert said["seen"] == said["indexed"] + len(said["skipped"]) == 9
    assert said["skipped"][0]["path"] == "bad\n.jpg" and said["skipped"][0]["kind"] == "empty"


def test_search_prints_one_thing_of_each_hit_and_its_path(indexed: Shell) -> None:
    ran = indexed("search", "tree snow")
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert ran.code == 0 and ran.err == ""
    assert lines[0] == ["exact", str(indexed.photos / "000.jpg")]
    labels = [line[0] for line in lines]
    assert labels == sorted(labels) and set(labels) == {"exact", "partial"}
    hits = json.loads(indexed("search", "tree snow", "--json").out)["hits"]
    assert [h["match"] for h in hits] == labels
    assert all(h["probability"] is None for h in hits)
    scores = [h["score"] for h in hits]
    assert scores == sorted(scores, reverse=True) and 0 < min(scores) < 1 < max(scores)


def test_search_forms_of_output(indexed: Shell) -> None:
    assert indexed("search", "tree", "-t", "1", "-f").out == f"{indexed.photos / '000.jpg'}\n"
    assert indexed("search", "tree", "-t", "1", "-f", "-0").out.endswith("000.jpg\0")
    said = json.loads(indexed("search", "tree zebar", "--json").out)
    assert said["unknown"][0]["word"] == "zebar" and said["hits"][0]["tagged"] is False
    rows = list(csv.DictReader(io.StringIO(indexed("search", "tree snow", "--csv").out)))
    assert rows[0]["path"].endswith("000.jpg") and rows[0]["tagged"] == "1"


def test_names_that_are_not_text_come_out_whole(shell: Shell) -> None:
    name = b"caf\xe9\n\xff.jpg"
    make_photo(shell.photos / "x.jpg", 3)
    os.rename(shell.photos / "x.jpg", os.fsencode(shell.photos) + b"/" + name)
    (shell.photos / "words.csv").write_bytes(b"")
    with open(os.fsencode(shell.photos) + b"/caf\xe9\n\xff.txt", "w") as f:
        f.write("unicorn")
    assert shell("index", "--workers", "1").code == 0
    assert "caf\\xe9\\n\\xff.jpg" in shell("search", "unicorn").out
    said = json.loads(shell("search", "unicorn", "--json").out)
    assert os.fsencode(said["hits"][0]["path"]).endswith(b"/" + name)
    raw = subprocess.run(
        [sys.executable, "-m", "sightline", "search", "unicorn", "-f", "-0",
         "-C", str(shell.photos), "--store", str(shell.store)],
        capture_output=True, check=True,
    )  # fmt: skip
    assert raw.stdout.endswith(b"/" + name + b"\0")


def test_unknown_words_and_empty_answers_are_explained(indexed: Shell) -> None:
    ran = indexed("search", "sno")
    assert ran.code == 0 and ran.out == ""
    assert "No picture has the word 'sno'. Did you mean: snow?" in ran.err
    assert "No picture fits." in indexed("search", "+tree +dog").err


def test_filters_and_excluded_words(indexed: Shell) -> None:
    assert indexed("search", "tree", "--not", "snow", "--not", "people", "-f").out.endswith(
        "001.jpg\n"
    )
    ran = indexed("search", "tree", "--folder", "nowhere")
    assert ran.code == 2 and "There is no folder nowhere" in ran.err
    assert indexed("search", "-snow -people tree", "-f").out.endswith("001.jpg\n")
    assert indexed("search", "tree", "snow").out == indexed("search", "tree snow").out
    assert indexed("search", "tree", "--after", "2000", "--before", "2001-06-30").out == ""
    ran = indexed("search", "tree", "--after", "yesterday")
    assert ran.code == 2 and "2024-06-30. Got 'yesterday'" in ran.err
    assert indexed("search", "tree", "--max-mb", "0.000001").out == ""


def test_a_contact_sheet_is_drawn_outside_the_collection_only(indexed: Shell) -> None:
    sheet = indexed.store.parent / "sheet.png"
    assert indexed("search", "tree", "--sheet", str(sheet)).code == 0
    with Image.open(sheet) as drawn:
        assert drawn.format == "PNG" and drawn.width > 300
    ran = indexed("search", "tree", "--sheet", str(indexed.photos / "sheet.png"))
    assert ran.code == 2 and "nothing is ever written" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("search", 'tree "snow'), 2, "sightline: "),
        (("search", "tree ./x.jpg"), 1, "sightline: There is no picture ./x.jpg"),
        (("judge", "--like", "x.jpg"), 1, "sightline: There is no picture x.jpg"),
        (("similar", "x.jpg"), 1, "sightline: There is no picture x.jpg"),
        (("search",), 2, "Name a query"),
        (("serach", "tree"), 2, "No such command"),
        (("index", "--workers", "-1"), 2, "must be between 0 and 256. Got -1."),
        (("index", "--features", "nothing"), 2, "There is no 'nothing' among the features"),
        (("store", "rollback", "77"), 2, "no version 77"),
        (("store", "purge"), 2, "Name a picture or a session"),
        (("store", "purge", "x.jpg", "--yes"), 1, "is not in the collection"),
    ],
)
def test_mistakes_get_one_line_and_a_code(
    indexed: Shell, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = indexed(*arguments)
    assert ran.code == code
    assert said in ran.err and "Traceback" not in ran.err
    # Nothing was computed before the mistake was noticed.
    assert "index:" not in ran.err


def test_nothing_indexed_yet(shell: Shell) -> None:
    ran = shell("search", "tree")
    assert ran.code == 2 and "Run: sightline index" in ran.err
    assert "next: sightline index" in shell().out


def test_busy_names_the_holder_and_exits_75(indexed: Shell) -> None:
    with Writer(StoreFolder(indexed.store), "index"):
        ran = indexed("index")
    assert ran.code == 75 and f"process {os.getpid()}" in ran.err


def test_a_traceback_only_with_debug(indexed: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr("sightline.collection.search.words.search", broken)
    ran = indexed("search", "tree")
    assert ran.code == 1 and "planted" in ran.err and "--debug" in ran.err
    with pytest.raises(RuntimeError, match="planted"):
        main(
            ["search", "tree", "--debug", "-C", str(indexed.photos), "--store", str(indexed.store)]
        )


def test_the_collection_is_found_from_where_we_stand(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("index", str(shell.photos), "--workers", "1", place=False).code == 0
    (shell.photos / "sub").mkdir()
    monkeypatch.chdir(shell.photos / "sub")
    assert "000.jpg" in shell("search", "tree", place=False).out
    state = shell(place=False).out
    assert "8 pictures, 7 of them with words" in state and "next: sightline train" in state
    other = make_photos(shell.photos.parent / "other", 2)
    assert shell("index", str(other), "--workers", "1", place=False).code == 0
    monkeypatch.chdir("/")
    ran = shell("search", "tree", place=False)
    assert ran.code == 2 and "Which collection?" in ran.err
    assert "000.jpg" in shell("-C", str(other), "search", "tree", place=False).out


def test_store_commands(indexed: Shell) -> None:
    assert "Sound: " in indexed("store", "verify").out
    assert json.loads(indexed("store", "verify", "--json").out)["sound"] is True
    make_photo(indexed.photos / "new.jpg", 9)
    indexed("index", "--workers", "1")
    assert "8 pictures" in indexed("store", "rollback", "--list").out
    back = indexed("store", "rollback").out
    assert "Published again" in back
    when = r"\(\d{4}-\d\d-\d\d \d\d:\d\d"
    found = re.search(rf"version (\d+) {when}, 9 pictures\) to version (\d+) {when}, 8 p", back)
    assert found is not None and int(found[1]) > int(found[2])
    assert "8 pictures" in indexed().out
    assert "1 new" in indexed("index", "--workers", "1").out or "9 indexed" in indexed("index").out
    copy = indexed.store.parent / "copy"
    assert "would copy" in indexed("store", "backup", str(copy), "--dry-run").out
    assert not copy.exists()
    assert "copied and checked" in indexed("store", "backup", str(copy)).out
    inside = indexed("store", "backup", str(indexed.photos / "copy"))
    assert inside.code == 2
    assert "would purge" in indexed("store", "purge", "000.jpg", "--dry-run").out
    assert "Removed" in indexed("store", "purge", "000.jpg", "--yes").out
    assert "000.jpg" not in indexed("search", "tree").out


def test_verify_and_repair_from_the_command_line(indexed: Shell) -> None:
    shard = next((indexed.store / "shards").iterdir())
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    ran = indexed("store", "verify")
    assert ran.code == 1 and shard.name in ran.out and "store repair" in ran.err
    assert "would repair" in indexed("store", "repair", "--dry-run").out
    ran = indexed("store", "repair")
    assert ran.code == 0 and "The store is sound." in ran.out
    assert "8 pictures" in indexed().out


def test_dry_run_writes_nothing(shell: Shell) -> None:
    ran = shell("index", "--dry-run")
    said = "8 seen = 8 to read + 0 with changed words + 0 skipped + 0 as they were"
    assert said in ran.out
    assert not shell.store.exists()


def test_a_dry_run_says_what_the_run_then_does(indexed: Shell) -> None:
    table = indexed.store.parent / "t.csv"
    table.write_text("path,words\n000.jpg,castle\n001.jpg,castle\n")
    (indexed.photos / "002.txt").write_text("other")
    for flags in (["--words", str(table)], ["--folder-words"]):
        said = json.loads(indexed("index", "--dry-run", "--json", *flags).out)
        done = json.loads(indexed("index", "--json", "--workers", "1", *flags).out)
        assert said["words_changed"] == done["changed"]
        assert said["seen"] == sum(
            said[k] for k in ("to_read", "words_changed", "skipped", "unchanged")
        )
    assert indexed("index", "--dry-run", "--words", "/nowhere.csv").code == 2


def test_doctor_shows_settings_with_their_origin(
    indexed: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_WORKERS", "1")
    (indexed.store / "config.toml").write_text("top = 3\n")
    said = json.loads(indexed("doctor", "--json").out)
    origins = {s["name"]: s["origin"] for s in said["settings"]}
    assert origins["workers"] == "SIGHTLINE_WORKERS"
    assert origins["top"].endswith("config.toml") and origins["wait"] == "default"
    assert len(indexed("search", "tree").out.splitlines()) == 3
    text = indexed("doctor").out
    assert "decode workers" in text and "8, 7 with words, 0 skipped" in text
    (indexed.photos / "bad.jpg").write_bytes(b"")
    indexed("index")
    assert indexed("doctor", "--skipped").out == "bad.jpg\tempty\tthe file is empty\n"
    rows = list(csv.DictReader(io.StringIO(indexed("doctor", "--skipped", "--csv").out)))
    assert rows == [{"path": "bad.jpg", "kind": "empty", "reason": "the file is empty"}]
    assert "top,3," in indexed("doctor", "--csv").out


def test_the_log_holds_no_words_and_no_queries(indexed: Shell) -> None:
    indexed("search", "verysecretquery")
    (indexed.photos / "000.txt").write_text("verysecretcaption")
    indexed("index")
    log = (indexed.store / "log" / "sightline.log").read_text()
    assert "index begins" in log and "index ends" in log and "secret" not in log


def test_every_verb_has_help(shell: Shell) -> None:
    listed = shell("--help", place=False).out
    for verb, line in VERBS.items():
        assert f"  {verb}" in listed and line in listed
        assert "Usage: sightline" in shell(verb, "--help", place=False).out
    assert shell("--version", place=False).out.startswith("sightline, version")


def test_a_closed_pipe_is_no_error(indexed: Shell) -> None:
    where = f"-C {indexed.photos} --store {indexed.store}"
    command = f"{sys.executable} -m sightline search tree {where}"
    ran = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True
    )
    assert ran.returncode == 0 and ran.stderr == b""


def test_a_store_that_was_named_is_never_replaced_by_another(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("index", str(shell.photos), "--workers", "1", place=False).code == 0
    monkeypatch.chdir(shell.photos)
    typo = shell.photos.parent / "typo"
    for verb in (("search", "tree"), ("store", "purge", "000.jpg", "--yes")):
        ran = shell(*verb, "--store", str(typo), place=False)
        assert ran.code != 0, verb
    assert "8 pictures" in shell(place=False).out
    new = shell.photos.parent / "new-store"
    assert shell("index", "--store", str(new), "--workers", "1", place=False).code == 0
    assert (new / "events.sqlite3").exists()
    monkeypatch.chdir("/")
    assert shell("index", "--store", str(typo), place=False).code == 2


def test_a_damaged_catalogue_is_found_and_mended_from_the_folder(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell("index", str(shell.photos), "--workers", "1", place=False).code == 0
    monkeypatch.chdir(shell.photos)
    store = next((Path(os.environ["HOME"]) / ".local/share/sightline").iterdir())
    (store / "catalogue.sqlite3").write_bytes(b"no database at all")
    assert "store repair" in shell("search", "tree", place=False).err
    assert shell("store", "verify", place=False).code == 1
    ran = shell("store", "repair", place=False)
    assert ran.code == 0 and "The store is sound." in ran.out
    assert "000.jpg" in shell("search", "tree", place=False).out


def test_the_inner_of_two_collections_is_the_one_we_stand_in(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = make_photos(shell.photos / "inner", 3)
    for folder in (shell.photos, inner):
        assert shell("index", str(folder), "--workers", "1", place=False).code == 0
    monkeypatch.chdir(inner)
    assert "3 pictures" in shell(place=False).out
