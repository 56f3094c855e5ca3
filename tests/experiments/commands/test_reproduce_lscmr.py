"""`sightline reproduce lscmr` as people use it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sightline_experiments.datasets import nuswide, wikipedia
from sightline_experiments.lscmr import nus_plan
from sightline_experiments.lscmr import plan as plans
from tests.experiments.command import data_here, reproduce
from tests.experiments.test_lscmr_nus import PLAN as NUS_PLAN
from tests.experiments.test_lscmr_run import PLAN
from tests.factories import nuswide as nuswide_made
from tests.factories.corel5k import pack, unpack
from tests.factories.photos import fingerprint
from tests.factories.wikipedia import COUNTS, made_files


def sightline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return reproduce(capfd, "lscmr", *arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put the small set in the place of the published one, in a zip, and make plans small."""
    monkeypatch.setattr(wikipedia, "COUNTS", COUNTS)
    few = {m: PLAN.searches[m] for m in ("CCA", "LSCMR")}
    made = replace(PLAN, searches=few, fixed=few)
    monkeypatch.setattr(plans, "quick_plan", lambda: made)
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
    assert "published split, picture->text, split 0: LSCMR" in err
    drawn = sorted(p.name for p in (tmp_path / "reproduce-lscmr").iterdir())
    assert len(drawn) == 5 and "dimensions.png" in drawn
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["experiment"] == "lscmr" and said["settings"]["random splits"] == 1
    assert "NUS-WIDE         data unavailable" in out and "0.5003" in out
    assert said["settings"]["unavailable"] == ["NUS-WIDE"]
    assert fingerprint(small) == before


@pytest.fixture
def nus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a small set in the place of NUS-WIDE, and make its plan small."""
    monkeypatch.setattr(nuswide, "COUNTS", nuswide_made.COUNTS)
    few = {m: NUS_PLAN.searches[m] for m in ("CCA", "LSCMR")}
    made = nus_plan.NusPlan(NUS_PLAN.documents, NUS_PLAN.queries, 10, few, 15)
    monkeypatch.setattr(nus_plan, "quick_nus_plan", lambda: made)


def test_nus_wide_is_measured_where_it_is_there(
    small: Path, nus: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unpack(nuswide_made.made_files(), small / "nuswide")
    before = fingerprint(small)
    code, out, err = sightline(
        capfd, "--data", str(small), "--quick", "--json", "f.json", "--splits", "1"
    )
    assert code == 0, err
    assert "Table 2. Wikipedia, text->picture" in out and "Table 3. NUS-WIDE, text->picture" in out
    assert "data unavailable" not in out.replace("Corel5K: data unavailable", "")
    assert "NUS-WIDE, AllTags1k.txt: 400/400" in err
    assert "NUS-WIDE, picture->text, split 0: LSCMR" in err
    drawn = {p.name for p in (tmp_path / "reproduce-lscmr").iterdir()}
    assert "precision-recall-nus-wide-text-to-picture.png" in drawn and len(drawn) == 7
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["settings"]["unavailable"] == []
    rows = [r for r in said["rows"] if r["protocol"] == "NUS-WIDE" and r["subset"] == "all"]
    assert {r["paper"] for r in rows if r["method"] == "LSCMR"} >= {0.2781, 0.1424, 0.4997, 0.2491}
    assert fingerprint(small) == before


def test_nus_wide_alone_is_enough(
    nus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    pack(nuswide_made.made_files(), tmp_path / "data" / "nuswide.zip")
    code, out, err = sightline(capfd, "--data", "data", "--quick")
    assert code == 0, err
    assert "Wikipedia        data unavailable" in out and "Table 3. NUS-WIDE, picture->text" in out


def test_too_few_pictures_are_told_before_anything_is_measured(
    small: Path, nus: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    unpack(nuswide_made.made_files(), small / "nuswide")
    monkeypatch.setattr(nus_plan, "quick_nus_plan", nus_plan.full_nus_plan)
    code, out, err = sightline(capfd, "--data", str(small), "--quick")
    assert code == 1 and "needs 133,208. Take it out of the data folder" in err
    assert "published split" not in err and "Table" not in out


def test_data_that_is_not_there_is_said_and_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = sightline(capfd, "--data", str(tmp_path))
    assert code == 0 and "Wikipedia        data unavailable" in out and "put wikipedia.zip" in out
    assert "NUS-WIDE         data unavailable" in out and "nuswide.zip" in out and "0.4997" in out


def test_another_set_is_an_error_that_says_what_was_expected(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unpack(made_files(), tmp_path / "wikipedia")
    code, _, err = sightline(capfd, "--data", str(tmp_path), "--quick")
    assert code == 1 and "90 training pairs instead of 2,173" in err
