"""What the command line offers before any picture has a word."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.models import requirements
from tests.cli.test_commands import Shell
from tests.factories.similar_collections import draw_stripes


@pytest.fixture
def shell(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """Return a shell in a collection of pictures that have neither words nor features."""
    monkeypatch.setattr(requirements, "quick_feature", lambda: "color")
    photos = draw_stripes(tmp_path / "photos", 8)
    for words in photos.rglob("*.txt"):
        words.unlink()
    shell = Shell(capfd, photos, tmp_path / "store")
    assert shell("index", "--workers", "1").code == 0
    return shell


def test_the_state_lists_what_works_now(shell: Shell) -> None:
    out = shell().out
    assert "No picture has a word yet" in out
    for verb in ("similar", "scenes", "duplicates", "judge"):
        assert f"sightline {verb}" in out


@pytest.mark.parametrize(
    "command",
    [
        ["similar", "across/000.png", "-k", "3", "--json"],
        ["search", "./across/000.png", "-k", "3", "--json"],
    ],
)
def test_similar_pictures_need_no_preparation(shell: Shell, command: list[str]) -> None:
    first = shell(*command)
    assert first.code == 0 and "Computed once, to compare pictures by: color" in first.err
    assert len(json.loads(first.out)["hits"]) == 3
    # A training still computes what it learns from.
    assert not Collection.open(shell.photos, store=shell.store).settings.features
    # The second time nothing is left to compute.
    again = shell(*command)
    assert again.out == first.out and "Computed" not in again.err


def test_scenes_and_sessions_need_no_preparation(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes = shell("scenes")
    assert scenes.code == 0 and "Grouped by similarity (color)" in scenes.err
    assert sum(int(line.split("\t")[1].split()[0]) for line in scenes.out.splitlines()) == 8
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    session = shell("judge", "--positive", "across/000.png", "--no-thumbnails")
    assert session.code == 0, session.err
