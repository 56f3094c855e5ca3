"""Likeness at the command line: similar, duplicates and train --similar as people see them."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from sightline.cli import main
from tests.cli.test_commands import Ran, Shell
from tests.factories.similar_collections import draw_stripes, stripes

FEATURES = "color,edges"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Draw, index and train once; tests here only look."""
    folder = tmp_path_factory.mktemp("drawn")
    photos, store = draw_stripes(folder / "photos"), folder / "store"
    shutil.copy(photos / "across" / "000.png", photos / "across" / "copy.png")
    where = ["-C", str(photos), "--store", str(store)]
    with pytest.raises(SystemExit) as ended:
        main(["index", "--workers", "1", "--features", FEATURES, *where])
    assert not ended.value.code
    return photos, store


@pytest.fixture
def shell(drawn: tuple[Path, Path], capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capfd, drawn[0], drawn[1])


@pytest.fixture
def own(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    shell = Shell(capfd, draw_stripes(tmp_path / "photos"), tmp_path / "store")
    assert shell("index", "--workers", "1", "--features", FEATURES).code == 0
    return shell


def lines(ran: Ran) -> list[list[str]]:
    assert ran.code == 0, ran.err
    return [line.split("\t") for line in ran.out.splitlines()]


def test_similar_prints_similarity_and_path(shell: Shell) -> None:
    ran = shell("similar", "across/000.png", "-t", "4")
    found = lines(ran)
    assert len(found) == 4 and all(len(x) == 2 for x in found)
    assert found[0][1].endswith("across/copy.png")
    scores = [float(x[0]) for x in found]
    assert scores == sorted(scores, reverse=True)
    assert "all descriptors count equally (color, edges)" in ran.err
    only = shell("similar", "across/000.png", "-t", "4", "-f").out.splitlines()
    assert only == [x[1] for x in found]
    assert shell("similar", "across/000.png", "-t", "4", "-f", "-0").out.count("\0") == 4


def test_similar_takes_several_positive_and_negative_pictures_and_filters(shell: Shell) -> None:
    ran = shell("similar", "across/000.png", "down/001.png", "--not", "rising/002.png", "--json")
    said = json.loads(ran.out)
    assert said["not"] == ["rising/002.png"] and len(said["hits"]) == 10
    names = {os.path.relpath(h["path"], shell.photos) for h in said["hits"]}
    assert not names & {"across/000.png", "down/001.png", "rising/002.png"}
    below = lines(shell("similar", "across/000.png", "--folder", "down", "-t", "50"))
    assert len(below) == 10 and all("/down/" in x[1] for x in below)


def test_why_says_what_each_descriptor_contributed(shell: Shell) -> None:
    ran = shell("similar", "across/000.png", "-t", "2", "--why")
    told = ran.out.splitlines()
    assert len(told) == 6 and told[1].startswith("\t") and "cosine " in told[1]
    assert {line.split()[0] for line in told if line.startswith("\t")} == {"color", "edges"}
    said = json.loads(shell("similar", "across/000.png", "-t", "2", "--why", "--json").out)
    for hit in said["hits"]:
        total = sum(w["contribution"] for w in hit["why"])
        assert total == pytest.approx(hit["score"], abs=1e-5)
        assert set(hit["why"][0]["measures"]) == {"cosine", "exp-l1", "exp-l2", "exp-chi2"}


def test_csv_and_contact_sheets(shell: Shell, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(shell("similar", "down/001.png", "--csv").out)))
    assert len(rows) == 10 and set(rows[0]) == {"score", "path", "learnt", "match"}
    sheet = tmp_path / "sheet.png"
    assert shell("similar", "down/001.png", "--sheet", str(sheet)).code == 0
    with Image.open(sheet) as drawn:
        assert drawn.size[0] > 300
    inside = shell("similar", "down/001.png", "--sheet", str(shell.photos / "sheet.png"))
    assert inside.code == 2 and "inside the collection" in inside.err
    assert not (shell.photos / "sheet.png").exists()


def test_a_picture_outside_is_read_by_limited_workers(shell: Shell, tmp_path: Path) -> None:
    stripes("down", 1).save(tmp_path / "x.png")
    found = lines(shell("similar", str(tmp_path / "x.png"), "-t", "1"))
    assert found[0][1].endswith("down/001.png")
    by_search = lines(shell("search", str(tmp_path / "x.png"), "-t", "1"))
    assert by_search == found


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("similar",), 2, "Missing argument"),
        (("similar", "nowhere.png"), 1, "There is no picture nowhere.png"),
        (("similar", "4711"), 1, "There is no picture 4711"),
        (("similar", "down/001.png", "--not", "down/001.png"), 2, "both a positive and a negative"),
        (("similar", "down/001.png", "--why", "--csv"), 2, "--why explains hits"),
        (("search", "./across/000.png", "--why"), 2, "sightline similar PICTURE --why"),
        (
            ("train", "--similar", "--ranker", "ridge"),
            2,
            "--ranker is an option of training words",
        ),
        (
            ("train", "--from", "tags"),
            2,
            "--from is an option of training similarity",
        ),
        (("train", "--similar", "--from", "weather"), 2, "Similarity is learned from"),
        (("duplicates", "--threshold", "2"), 2, "must be from 0 to 0.5. Got 2.0."),
    ],
)
def test_mistakes_get_one_line_and_a_code(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, said: str
) -> None:
    monkeypatch.chdir(shell.photos)
    ran = shell(*arguments)
    assert ran.code == code and said in ran.err


def test_a_broken_picture_is_named(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 nothing")
    ran = shell("similar", str(tmp_path / "broken.jpg"))
    assert ran.code == 1 and "broken.jpg cannot be read" in ran.err
    assert "Traceback" not in ran.err


def test_train_similar_shows_what_it_learnt_from_and_proved(own: Shell) -> None:
    ran = own("train", "--similar", "--from", "folders")
    assert ran.code == 0
    for part in ("Supervision: folders. 2 features: color", "On validation queries",
                 "uniform", "Chosen: ", "held-out queries: mean AvgP", " queries better", " alone ",
                 "recall of the best ten", "Unproven", "version"):  # fmt: skip
        assert part in ran.out
    said = json.loads(own("train", "--similar", "--from", "classes", "--json", "--dry-run").out)
    assert said["source"] == "classes" and said["version"] == 0
    assert said["held_out"]["avgp"] == said["proof"]["AvgP"]
    assert said["held_out"]["equal_weights"] == said["proof"]["uniform"]
    assert said["features"] == said["descriptors"] and said["learner"] == said["chosen"]
    assert said["proof"]["current"] is not None and 0 <= said["shortlist"]["recall"] <= 1
    assert {t["learner"] for t in said["tried"]} >= {"uniform", "OPAR-I C=0.01", "AROW r=1"}
    found = own("similar", "across/000.png", "-t", "3")
    assert len(lines(found)) == 3 and "count equally" not in found.err
    assert "similarity: 2 descriptors by" in own().out


def test_duplicates_in_every_form(shell: Shell, tmp_path: Path) -> None:
    ran = shell("duplicates", "--threshold", "0")
    assert lines(ran) == [
        ["1", "best", "0.0000", str(shell.photos / "across" / "000.png")],
        ["1", "copy", "0.0000", str(shell.photos / "across" / "copy.png")],
    ]
    assert "1 groups with 2 of 41 pictures" in ran.err
    said = json.loads(shell("duplicates", "--json").out)
    assert said["threshold"] == 0.15 and [d["mark"] for d in said["groups"][0]] == ["best", "copy"]
    rows = list(csv.DictReader(io.StringIO(shell("duplicates", "--csv").out)))
    assert [r["group"] for r in rows] == ["1", "1"]
    sheet = tmp_path / "sheet.png"
    assert shell("duplicates", "--sheet", str(sheet)).code == 0 and sheet.exists()
