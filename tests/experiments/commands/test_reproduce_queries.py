"""`sightline reproduce queries` as people use it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sightline_experiments.datasets import corel5k
from sightline_experiments.queries import plan as plans
from tests.experiments.command import data_here, reproduce
from tests.experiments.test_queries_run import PLAN
from tests.factories.corel5k import COUNTS, made_files
from tests.factories.photos import fingerprint


def sightline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return reproduce(capfd, "queries", *arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put the small set in the place of Corel5K, in a zip, and make plans small."""
    monkeypatch.setattr(corel5k, "COUNTS", COUNTS)
    made = replace(PLAN, sizes=(30,), draws=1)
    monkeypatch.setattr(plans, "quick_plan", lambda: made)
    return data_here(monkeypatch, tmp_path, made_files(), "corel5k.zip")


def test_a_run_prints_draws_and_writes(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    given = ("--data", str(small), "--quick", "--json", "f.json", "--workers", "1")
    code, out, err = sightline(capfd, *given, "--only", "calibration", "--sizes", "20")
    assert code == 0, err
    assert "calibration of the first 20 shown hits" in out and "one word" not in out
    assert "Caltech-101      data unavailable" in out
    assert [p.name for p in (tmp_path / "reproduce-queries").iterdir()] == [
        "reliability-corel5k.png"
    ]
    written = json.loads((tmp_path / "f.json").read_bytes())
    assert written["experiment"] == "queries"
    assert {r["subset"] for r in written["rows"]} == {"calibration"}
    assert fingerprint(small) == before
    # The collection without words is kept for the next run, which measures on withheld pictures.
    given = ("--data", str(small), "--quick", "--json", "f.json", "--workers", "1")
    code, out, err = sightline(
        capfd, *given, "--only", "signs", "--collection", "corel5k", "--withhold", "20",
        "--rankers", "ridge",
    )  # fmt: skip
    assert code == 0 and "unavailable" not in out and "describe" not in err, err
    assert "minus" in out and "60 tagged pictures, 20 measured on" in out
    written = json.loads((tmp_path / "f.json").read_bytes())
    assert written["settings"]["measured on"] == "20 withheld tagged pictures"


def test_missing_data_is_reported_and_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = sightline(capfd, "--data", str(tmp_path), "--out", str(tmp_path / "../x"))
    assert code == 0 and out.count("data unavailable") == 2 and "put corel5k.zip" in out


@pytest.mark.parametrize(
    ("option", "value", "known"),
    [("--only", "colours", "words, signs"), ("--collection", "holidays", "corel5k, caltech101"),
     ("--sizes", "30,many", "Got '30,many'")],
)  # fmt: skip
def test_unknown_names_are_errors(
    option: str, value: str, known: str, small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, err = sightline(capfd, "--data", str(small), option, value)
    assert code == 2 and known in err
