"""`search WORDS --like PICTURE`: words and looks in one search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.test_commands import Shell
from tests.factories.photos import COLOURS, paint


@pytest.fixture
def shell(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.setenv("SIGHTLINE_WORKERS", "1")
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 36, True, 0)
    found = Shell(capfd, tmp_path / "photos", tmp_path / "store")
    found.index("color")
    return found


def test_pictures_of_that_word_and_look_come_first(shell: Shell, tmp_path: Path) -> None:
    blue = tmp_path / "blue.png"
    Image.new("RGB", (30, 30), COLOURS["blue"]).save(blue)
    said = shell("search", "cold", "--like", str(blue), "-t", "4", "--json")
    hits = json.loads(said.out)["hits"]
    assert said.code == 0 and {(h["picture"] - 1) % 6 for h in hits} == {2} and len(hits) == 4
    none = shell("search", "cold", "--like", str(blue), "--min-side", "4000")
    assert none.out == "" and "No picture fits" in none.err


def test_what_goes_not_together_is_said(shell: Shell, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    said = shell("search", "cold", "--like", str(broken))
    assert said.code != 0 and "broken.png cannot be read" in said.err
    assert shell("search", "cold", "--like", "1", "--why").code == 2
    assert shell("search", "--like", "1").code == 2


def test_words_and_pictures_of_both_signs_mix(shell: Shell, tmp_path: Path) -> None:
    for colour in ("blue", "green"):
        Image.new("RGB", (30, 30), COLOURS[colour]).save(tmp_path / f"{colour}.jpg")
    blue, green = str(tmp_path / "blue.jpg"), str(tmp_path / "green.jpg")
    by_flags = shell(
        "search", "cold", "--positive", blue, "--negative", green, "--negative", "white"
    )
    in_query = shell("search", f"cold -white {blue} -{green}")
    assert by_flags.code == 0 and by_flags.out == in_query.out
    assert "-white by tags" in by_flags.err
