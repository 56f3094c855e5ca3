"""`sightline reproduce online` as people use it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sightline_experiments.datasets import classed
from sightline_experiments.online import plan as plans
from tests.experiments.command import data_here, reproduce
from tests.experiments.test_online_run import PLAN
from tests.factories.classed import KIND, made_files
from tests.factories.corel5k import unpack
from tests.factories.photos import fingerprint


def sightline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return reproduce(capfd, "online", *arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put the small set in the place of Caltech-101, in a zip, and make plans small."""
    monkeypatch.setattr(classed, "CALTECH", KIND)
    few = {m: PLAN.searches[m] for m in ("Uni-Con", "OPR")}
    made = replace(PLAN, searches=few, splits=1)
    monkeypatch.setattr(plans, "quick_plan", lambda: made)
    return data_here(monkeypatch, tmp_path, made_files(), "made.zip")


def test_a_run_prints_draws_and_writes(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    code, out, err = sightline(
        capfd, "--data", str(small), "--quick", "--json", "f.json", "--workers", "1"
    )
    assert code == 0, err
    assert "Table 2. mAP on Made, nine" in out and "Corel            data unavailable" in out
    assert "Made: describe, bags of words: 80/80" in err and "fold 0: choose scalings" in err
    drawn = sorted(p.name for p in (tmp_path / "reproduce-online").iterdir())
    assert drawn == ["distractors-made.png", "online-gain-made.png", "online-time-made.png",
                     "time-made.png"]  # fmt: skip
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["experiment"] == "online" and said["settings"]["unavailable"] == ["Corel"]
    assert fingerprint(small) == before
    # Features are kept for the next run, which may be told to look at one dataset alone.
    code, out, err = sightline(
        capfd, "--data", str(small), "--quick", "--workers", "1", "--only", "made"
    )
    assert code == 0 and "describe" not in err and "unavailable" not in out


def test_data_that_is_not_there_is_said_and_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path.parent / "online.json"
    code, out, _ = sightline(capfd, "--data", str(tmp_path), "--json", str(file))
    assert code == 0 and out.count("data unavailable") == 2 and "put caltech101.zip" in out
    said = json.loads(file.read_bytes())
    assert said["rows"] == []
    assert said["settings"] == {"unavailable": ["caltech101", "corel5k"]}


def test_a_wrong_folder_is_an_error_that_says_what_was_expected(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unpack(made_files(), tmp_path / "caltech101")
    code, _, err = sightline(capfd, "--data", str(tmp_path), "--quick")
    assert code == 1 and "80 pictures instead of 8,677" in err


@pytest.mark.parametrize("option", ["--out", "--json"])
def test_nothing_is_written_into_the_data_folder(
    option: str, small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    code, _, err = sightline(capfd, "--data", str(small), "--quick", option, str(small / "x"))
    assert code == 2 and "inside the data folder" in err
    assert fingerprint(small) == before


@pytest.mark.parametrize(
    ("option", "given", "known"),
    [("--features", "gist", "nine, nine+deep"), ("--only", "holidays", "made, corel5k")],
)
def test_unknown_names_are_refused(
    option: str, given: str, known: str, small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, err = sightline(capfd, "--data", str(small), option, given)
    assert code == 2 and known in err
