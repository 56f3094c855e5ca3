"""`sightline reproduce` as people use it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sightline.errors import UsageError
from sightline.settings import user_config
from sightline_experiments.datasets import corel5k
from sightline_experiments.pamir import plan as plans
from sightline_experiments.pamir import protocol
from sightline_experiments.tuning import Search
from tests.experiments.command import data_here, reproduce
from tests.factories.corel5k import COUNTS, made_files, unpack
from tests.factories.photos import fingerprint


def sightline(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return reproduce(capfd, "pamir", *arguments)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put the small set in the place of the real one, in a zip, and make plans small."""
    monkeypatch.setattr(corel5k, "COUNTS", COUNTS)
    monkeypatch.setattr(protocol, "TRAIN", 60)
    search = {
        "PAMIR": Search({"view": "b64_k20", "n_iter": 20_000, "eval_every": 5_000}),
        "CMRM": Search({"view": "b64_k20"}),
    }
    made = plans.Plan({"classic-strict": search}, curve=(30, 60), features=("classic-strict",))
    monkeypatch.setattr(plans, "quick_plan", lambda: made)
    return data_here(monkeypatch, tmp_path, made_files(), "corel5k.zip")


def test_a_run_prints_draws_and_writes(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    code, out, err = sightline(
        capfd, "--data", str(small), "--quick", "--json", "f.json", "--workers", "1"
    )
    assert code == 0, err
    assert "Table IX." in out and "PAMIR" in out and "26.3" in out
    assert "describe by b64_k20: 100/100" in err
    drawn = sorted(p.name for p in (tmp_path / "reproduce-pamir").iterdir())
    assert drawn == ["learning-curve-classic-strict.png", "precision-recall-classic-strict.png"]
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["experiment"] == "pamir" and said["rows"]
    assert fingerprint(small) == before
    # Features are kept for the next run.
    code, out, err = sightline(capfd, "--data", str(small), "--quick", "--workers", "1")
    assert code == 0 and "describe" not in err and "decode" not in err


def test_the_folder_can_come_from_the_environment_or_the_users_file(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIGHTLINE_DATA", str(tmp_path / "nowhere"))
    code, _, err = sightline(capfd, "--quick")
    assert code == 2 and f"There is no folder {tmp_path / 'nowhere'}" in err
    monkeypatch.delenv("SIGHTLINE_DATA")
    code, _, err = sightline(capfd, "--quick")
    assert code == 2 and "--data DIR" in err and "SIGHTLINE_DATA" in err
    file = user_config(os.environ)
    file.parent.mkdir(parents=True)
    file.write_text('data = "~/elsewhere"\n')
    code, _, err = sightline(capfd, "--quick")
    assert code == 2 and f"There is no folder {Path.home() / 'elsewhere'}" in err
    monkeypatch.setenv("SIGHTLINE_DATA", str(tmp_path / "nowhere"))
    code, _, err = sightline(capfd, "--quick")
    assert code == 2 and f"There is no folder {tmp_path / 'nowhere'}" in err
    code, _, err = sightline(capfd, "--quick", "--data", str(tmp_path / "flag"))
    assert code == 2 and f"There is no folder {tmp_path / 'flag'}" in err


def test_data_that_is_not_there_is_said_and_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = sightline(
        capfd, "--data", str(tmp_path), "--json", str(tmp_path.parent / "f.json")
    )
    assert code == 0
    assert "data unavailable" in out.splitlines()[0] and "put corel5k.zip" in out
    said = json.loads((tmp_path.parent / "f.json").read_bytes())
    assert said["rows"] == [] and said["settings"] == {"unavailable": ["corel5k"]}


def test_a_wrong_folder_is_an_error_that_says_what_was_expected(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unpack({"README.md": b"hello"}, tmp_path / "corel5k")
    code, _, err = sightline(capfd, "--data", str(tmp_path), "--quick")
    assert code == 1 and "labels/training_label" in err
    unpack(made_files(), tmp_path / "corel5k")
    code, _, err = sightline(capfd, "--data", str(tmp_path), "--quick")
    assert code == 1 and "80 development rows instead of 4,500" in err


@pytest.mark.parametrize("option", ["--out", "--json"])
def test_nothing_is_written_into_the_data_folder(
    option: str, small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = fingerprint(small)
    code, _, err = sightline(capfd, "--data", str(small), "--quick", option, str(small / "x"))
    assert code == 2 and "inside the data folder" in err
    assert fingerprint(small) == before


def test_the_current_folder_may_not_be_the_data_folder(
    small: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(small)
    code, _, err = sightline(capfd, "--data", ".", "--quick")
    assert code == 2 and "inside the data folder" in err


def test_unknown_features_are_named(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = sightline(capfd, "--data", str(small), "--features", "gist")
    assert code == 2 and "classic-strict, classic, deep" in err


def test_a_folder_that_cannot_be_is_refused_before_the_work(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    code, out, err = sightline(capfd, "--data", str(small), "--quick", "--out", "taken")
    assert code == 2 and "taken cannot be a folder for curves and sheets" in err
    assert "Table" not in out and "describe" not in err


def test_figures_are_written_before_anything_is_drawn(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*given: object) -> None:
        raise UsageError("No picture today.")

    monkeypatch.setattr("sightline_experiments.pamir.report.draw_sheets", fails)
    told = ("--data", str(small), "--quick", "--json", "f.json", "--workers", "1")
    code, _, err = sightline(capfd, *told)
    assert code == 2 and "No picture today." in err
    assert json.loads((tmp_path / "f.json").read_bytes())["rows"]
