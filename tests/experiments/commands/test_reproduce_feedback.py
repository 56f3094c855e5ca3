"""`sightline reproduce feedback` as people use it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sightline_experiments.datasets import classed
from sightline_experiments.feedback import plan as plans
from tests.experiments.command import data_here, reproduce
from tests.experiments.test_feedback_run import PLAN
from tests.factories.classed import KIND, made_files
from tests.factories.photos import fingerprint


def sightline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return reproduce(capfd, "feedback", *arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put the small set in the place of Caltech-101, in a zip, and make plans small."""
    monkeypatch.setattr(classed, "CALTECH", KIND)
    few = replace(PLAN, methods=("PA", "Rocchio"), sweep=(), features=("ehd",))
    monkeypatch.setattr(plans, "quick_plan", lambda: few)
    return data_here(monkeypatch, tmp_path, made_files(), "made.zip")


def test_a_run_prints_draws_and_writes(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    code, out, err = sightline(
        capfd, "--data", str(small), "--quick", "--json", "f.json", "--workers", "1"
    )
    assert code == 0, err
    assert "ehd: query left out" in out and "Figures written to f.json" in out
    drawn = sorted(p.name for p in (tmp_path / "reproduce-feedback").iterdir())
    assert drawn == ["ehd-apt.png", "ehd-p20.png", "ehd-unjudged.png"]
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["experiment"] == "feedback" and said["settings"]["rounds"] == 3
    assert fingerprint(small) == before


def test_data_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    code, out, _ = sightline(capfd, "--data", "empty", "--json", "f.json")
    assert code == 0 and "Caltech-101      data unavailable" in out
    assert json.loads((tmp_path / "f.json").read_bytes())["rows"] == []
    assert not (tmp_path / "reproduce-feedback").exists()


def test_unknown_features_and_places_inside_the_data_are_refused(
    small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, err = sightline(capfd, "--data", str(small), "--features", "ehd,sift")
    assert code == 2 and "no features 'sift'. Known: ehd, cedd, deep" in err
    code, _, err = sightline(capfd, "--data", str(small), "--quick", "--out", str(small / "out"))
    assert code == 2 and "inside the data folder" in err
