"""`sightline reproduce lscmr` as people use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sightline.datasets import wikipedia
from sightline.reproduce.lscmr import plan as plans
from tests.corel_made import unpack
from tests.experiments import data_here, reproduce
from tests.photos import fingerprint
from tests.reproduce.test_lscmr_run import PLAN
from tests.wikipedia_made import COUNTS, made_files


def sightline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return reproduce(capfd, "lscmr", *arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put the small set in the place of the published one, in a zip, and make plans small."""
    monkeypatch.setattr(wikipedia, "COUNTS", COUNTS)
    few = {m: PLAN.searches[m] for m in ("CCA", "LSCMR")}
    made = {f: getattr(PLAN, f) for f in PLAN.__slots__} | {"searches": few, "fixed": few}
    monkeypatch.setattr(plans, "quick_plan", lambda: plans.Plan(**made))
    return data_here(monkeypatch, tmp_path, made_files(), "wikipedia.zip")


def test_a_run_prints_draws_and_writes(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    code, out, err = sightline(
        capfd, "--data", str(small), "--quick", "--json", "f.json", "--splits", "1"
    )
    assert code == 0, err
    assert "Table 2. Wikipedia, text->picture, random splits" in out
    assert "published split, picture->text, 0: LSCMR" in err
    drawn = sorted(p.name for p in (tmp_path / "reproduce-lscmr").iterdir())
    assert len(drawn) == 5 and "dimensions.png" in drawn
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["experiment"] == "lscmr" and said["settings"]["random splits"] == 1
    assert fingerprint(small) == before


def test_data_that_is_not_there_is_said_and_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = sightline(capfd, "--data", str(tmp_path))
    assert code == 0 and "Wikipedia        data unavailable" in out and "put wikipedia.zip" in out


def test_another_set_is_an_error_that_says_what_was_expected(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unpack(made_files(), tmp_path / "wikipedia")
    code, _, err = sightline(capfd, "--data", str(tmp_path), "--quick")
    assert code == 1 and "90 training pairs instead of 2,173" in err
