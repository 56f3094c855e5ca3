"""From pictures without any word to a learned one, at the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_commands import Shell
from tests.factories.photos import COLOURS, paint
from tests.factories.plugins import plugged


@pytest.fixture(autouse=True)
def _plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SIGHTLINE_WORKERS", "1")
    with plugged(monkeypatch):
        yield


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    """Return a shell beside 90 pictures of one colour each, without words."""
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 90, False, 0)
    shell = Shell(capfd, tmp_path / "photos", tmp_path / "store")
    shell.index("mean-colour")
    return shell


def is_red(path: str) -> bool:
    return list(COLOURS)[int(Path(path).name[:3]) % len(COLOURS)] == "red"


def test_judge_save_train_and_search(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = shell("train")
    assert ran.code == 1 and "sightline judge --like PICTURE --save-as WORD" in ran.err
    like = str(shell.photos / "000_x.png")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    judge = ("judge", "--like", like, "--feature", "mean-colour", "-t", "60", "--json")
    hits = json.loads(shell(*judge).out.splitlines()[0])["hits"]
    fit = [h["hit"] for h in hits if is_red(h["path"])][:3]
    unfit = [h["hit"] for h in hits if not is_red(h["path"])][:3]
    answers = "".join(f"{i} y\n" for i in fit) + "".join(f"{i} n\n" for i in unfit)
    monkeypatch.setattr("sys.stdin", io.StringIO(answers + "q\n"))
    ran = shell(*judge, "--save-as", "scarlet")
    assert ran.code == 0 and "3 pictures with the word 'scarlet' now" in ran.err
    ran = shell("train")
    assert ran.code == 0, ran.err
    assert "Learned against pictures without tags: 'scarlet' is on 3 pictures" in ran.out
    assert "Tag or judge more pictures." in ran.out
    assert "Trained 1 word on 90 pictures" in ran.out
    ran = shell("search", "scarlet", "-t", "40")
    lines = [line.split("\t") for line in ran.out.splitlines()]
    assert [label for label, _ in lines[:3]] == ["exact"] * 3
    assert "not yet proven: scarlet (learned from 3 pictures)" in ran.err
    predicted = [path for label, path in lines if label == "not yet proven"]
    assert len(predicted) >= 5 and sum(map(is_red, predicted)) >= 0.9 * len(predicted)
    said = json.loads(shell("train", "--json", "--dry-run").out)
    (saved,) = said["saved"]
    assert (saved["word"], saved["pictures"], saved["negatives"]) == ("scarlet", 3, 3)
