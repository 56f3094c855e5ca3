"""`search --why` as people use it: what is printed, what is drawn, and where never."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.test_commands import Shell
from tests.factories.photos import fingerprint, paint_squares
from tests.factories.plugins import plugged


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Stand in an empty folder beside the collection; have temporary files in another."""
    monkeypatch.setenv("SIGHTLINE_WORKERS", "1")
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with plugged(monkeypatch):
        yield tmp_path / "here"


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    paint_squares(tmp_path / "photos", 48)
    shell = Shell(capfd, tmp_path / "photos", tmp_path / "store")
    shell.index("mean-colour")
    return shell


@pytest.fixture
def trained(shell: Shell) -> Shell:
    assert shell("train", "--ranker", "ridge", "--force").code == 0
    return shell


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path, formats=["PNG"]) as picture:
        return picture.size


def test_words_stand_below_each_hit_and_the_parts_are_drawn(trained: Shell, here: Path) -> None:
    before = fingerprint(trained.photos)
    plain = trained("search", "red warm", "-t", "4").out.splitlines()
    ran = trained("search", "red warm", "-t", "4", "--why")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert [x for x in lines if not x.startswith("\t")] == plain
    assert [x.split()[0] for x in lines if x.startswith("\t")] == ["red", "warm"] * 4
    assert "tagged (" in lines[1] and "likely by the picture alone" in lines[1]
    assert (
        "explain: " in ran.err and "drew why.png: 4 of 4 hits in" in ran.err and "s each" in ran.err
    )
    width, height = size_of(here / "why.png")
    assert width > 900
    assert trained("search", "red warm", "-t", "1", "--why").code == 0
    assert size_of(here / "why.png")[1] < height
    assert fingerprint(trained.photos) == before


def test_words_with_a_sign_say_whether_tags_or_a_prediction_decided(trained: Shell) -> None:
    ran = trained("search", "cold -red", "--why", "-k", "40", "--no-cutoff")
    assert ran.code == 0, ran.err
    signs = [x for x in ran.out.splitlines() if x.startswith("\t-red")]
    hits = [x for x in ran.out.splitlines() if not x.startswith("\t")]
    assert len(signs) == len(hits)
    assert any("by tags: not tagged" in x for x in signs)
    assert any("predicted: " in x and " % likely, so " in x for x in signs)


def test_json_holds_words_and_parts_and_draws_only_when_asked(trained: Shell, here: Path) -> None:
    ran = trained("search", "red warm", "-t", "2", "--why", "--json")
    said = json.loads(ran.out)
    assert ran.code == 0 and not list(here.iterdir())
    for h in said["hits"]:
        reason = h["why"]
        assert [w["word"] for w in reason["words"]] == ["red", "warm"]
        assert len(reason["parts"]) == reason["rows"]
        assert {len(row) for row in reason["parts"]} == {reason["columns"]}
        total = sum(w["contribution"] for w in reason["words"])
        assert h["score"] == pytest.approx(1 + total, abs=1e-4)
    ran = trained("search", "red", "-t", "1", "--json", "--why-png", "x.png")
    assert "why" in json.loads(ran.out)["hits"][0] and (here / "x.png").exists()
    assert "why" not in json.loads(trained("search", "red", "--json").out)["hits"][0]


def test_nothing_is_ever_drawn_inside_the_collection(
    trained: Shell, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = fingerprint(trained.photos)
    (here / "link").symlink_to(trained.photos)
    for target in (trained.photos / "x.png", here / "link" / "x.png"):
        ran = trained("search", "red", "--why-png", str(target))
        assert ran.code == 2 and "inside the collection" in ran.err and not ran.out
    monkeypatch.chdir(trained.photos)
    ran = trained("search", "red", "-t", "1", "--why")
    (made,) = Path(tempfile.gettempdir()).iterdir()
    assert ran.code == 0 and f"drew {made}" in ran.err and made.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(tempfile, "tempdir", str(trained.photos))
    ran = trained("search", "red", "--why")
    assert ran.code == 2 and "outside the collection" in ran.err
    assert fingerprint(trained.photos) == before


def test_a_picture_of_the_user_is_not_overwritten_unless_named(trained: Shell, here: Path) -> None:
    Image.new("RGB", (9, 9)).save(here / "why.png")
    ran = trained("search", "red", "--why")
    assert ran.code == 2 and "Name another file with --why-png" in ran.err
    assert size_of(here / "why.png") == (9, 9)
    assert trained("search", "red", "-t", "1", "--why-png", "why.png").code == 0
    assert size_of(here / "why.png") != (9, 9)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--why", "-f"), "plain form or as --json"),
        (("--why", "--csv"), "plain form or as --json"),
        (("--why", "--trec"), "plain form or as --json"),
        (("--why-png", "x.gif"), "is a PNG file"),
        (("--why-png", "no/such/x.png"), "There is no folder"),
    ],
)
def test_mistakes_get_one_line(shell: Shell, arguments: tuple[str, ...], said: str) -> None:
    ran = shell("search", "red", *arguments)
    assert ran.code == 2 and said in ran.err and len(ran.err.strip().splitlines()) == 1


def test_without_a_model_the_words_are_explained_alone(shell: Shell, here: Path) -> None:
    ran = shell("search", "red warm", "--why", "-t", "2")
    assert ran.code == 0 and not list(here.iterdir())
    assert ran.out.splitlines()[1].startswith("\tred ")
    assert ran.err.strip() == (
        "No heat map: there is no word model yet, so only tags count. Run: sightline train."
    )
    ran = shell("search", "zzz", "--why")
    assert ran.code == 0 and "No picture has the word 'zzz'" in ran.err


def test_a_picture_that_cannot_be_read_is_named(trained: Shell, here: Path) -> None:
    first = Path(trained("search", "red", "-t", "1", "-f").out.strip())
    first.write_bytes(b"no longer a picture")
    ran = trained("search", "red", "-t", "3", "--why")
    assert ran.code == 0 and (here / "why.png").exists()
    assert f"No heat map of {first.name}: it cannot be read" in ran.err
    assert "drew why.png: 2 of 3 hits" in ran.err
