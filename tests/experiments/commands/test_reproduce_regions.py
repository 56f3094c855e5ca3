"""`sightline reproduce regions` as people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sightline_experiments.datasets import msrc
from sightline_experiments.regions import plan as plans
from tests.experiments.command import reproduce
from tests.experiments.test_regions_run import PLAN
from tests.factories.corel5k import pack
from tests.factories.msrc import COUNTS, made_files
from tests.factories.photos import fingerprint


def sightline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return reproduce(capfd, "regions", *arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put the small set in the place of MSRC v2, in a zip, and make plans small."""
    monkeypatch.setattr(msrc, "Counts", lambda: COUNTS)
    monkeypatch.setattr(plans, "quick_plan", lambda: PLAN.with_options(splits=1))
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    pack(made_files(), data / "msrc_v2.zip")
    return data


def test_a_run_prints_draws_and_writes(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    code, out, err = sightline(
        capfd, "--data", str(small), "--quick", "--json", "f.json", "--workers", "1"
    )
    assert code == 0, err
    assert "Table 1 on MSRC v2, classic" in out and "cut into regions, classic: 24/24" in err
    drawn = {p.name for p in (tmp_path / "reproduce-regions").iterdir()}
    assert {"learning-classic.png", "growth-pictures.png", "growth-tags.png"} < drawn
    assert len(drawn) == 8 and "iterations" in out
    assert json.loads((tmp_path / "f.json").read_bytes())["experiment"] == "regions"
    assert fingerprint(small) == before


def test_data_that_is_not_there_is_said_and_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = sightline(capfd, "--data", str(tmp_path))
    assert code == 0 and "MSRC v2          data unavailable" in out and "msrc_v2.zip" in out


def test_unknown_features_and_places_inside_the_data_are_refused(
    small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, err = sightline(capfd, "--data", str(small), "--features", "nine")
    assert code == 2 and "classic, deep" in err
    code, _, err = sightline(capfd, "--data", str(small), "--out", str(small / "x"))
    assert code == 2 and "inside the data folder" in err
