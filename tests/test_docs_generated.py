"""Pages that are generated agree with the code and the data they are made of."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import pytest

from sightline.cli import VERBS, reference
from sightline.settings import Settings
from sightline_experiments import pages

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"


def test_the_pages_of_results_are_those_of_their_data() -> None:
    assert pages.main(["--check", str(RESULTS)]) == 0


def test_the_reference_is_that_of_the_code() -> None:
    # In a process of its own: tests before this one may have added commands.
    check = [sys.executable, "-m", "sightline.cli.reference", "--check"]
    ran = subprocess.run([*check, str(ROOT / "docs" / "reference")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr + ran.stdout


def test_a_changed_figure_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "regions.json"
    results = json.loads(file.read_bytes())
    for row in results["rows"]:
        if (row["method"], row["measure"], row["subset"]) == ("latent model", "NMI", "all"):
            row["value"] += 0.1
    file.write_text(json.dumps(results), "utf-8")
    assert pages.main(["--check", str(tmp_path)]) == 1
    assert [Path(line.split(":")[0]).name for line in capsys.readouterr().out.splitlines()] == [
        "regions.md"
    ]
    assert pages.main([str(tmp_path)]) == 0
    assert pages.main(["--check", str(tmp_path)]) == 0


def test_a_changed_reference_is_noticed(tmp_path: Path) -> None:
    assert reference.main([str(tmp_path)]) == 0
    assert reference.main(["--check", str(tmp_path)]) == 0
    page = tmp_path / "cli.md"
    page.write_text(page.read_text("utf-8").replace("--features", "--feature"), "utf-8")
    assert reference.main(["--check", str(tmp_path)]) == 1


def test_a_figure_that_is_missing_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "feedback.json"
    results = json.loads(file.read_bytes())
    results["rows"] = [r for r in results["rows"] if r["measure"] != "gain kept"]
    file.write_text(json.dumps(results), "utf-8")
    with pytest.raises(ValueError, match="0 figures of feedback"):
        pages.render("feedback", tmp_path)


def test_the_results_say_how_they_were_made() -> None:
    for file in sorted(RESULTS.glob("*.json")):
        results = json.loads(file.read_bytes())
        assert results["settings"]["commit"], file.name
        assert file.name.startswith(results["experiment"]), file.name


def settings_of(name: str) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_bytes())["settings"]
    return settings


def test_the_numbers_of_splits_and_queries_in_the_texts_are_those_of_the_runs() -> None:
    for name in ("pamir-strict", "pamir-classic", "pamir-deep"):
        assert len(settings_of(name)["seeds"]) == 5
    for name in ("online-caltech101", "online-corel5k"):
        online = settings_of(name)
        assert (online["folds"], online["triplets"]) == (5, 200_000)
        assert online["folds"] * online["queries of a fold"]["test"] == 750
    assert settings_of("feedback")["queries"].startswith("500,")
    assert settings_of("feedback")["rounds"] == 9
    assert settings_of("lscmr")["random splits"] == 10
    regions = settings_of("regions")
    assert (regions["halves"], regions["scenes"]) == (5, 20)


def test_every_method_of_the_papers_is_in_its_table() -> None:
    tables = {
        name: set(re.findall(r"^\| (.+?) \|", (RESULTS / f"{name}.md").read_text("utf-8"), re.M))
        for name in ("pamir", "online", "feedback", "lscmr", "regions")
    }
    assert {"PAMIR", "SVM", "PLSA", "CMTT", "CMRM"} <= tables["pamir"]
    online = {"Best-Fea", "Uni-Con", "RankNet", "C-Ascent", "RankSVM", "λ-MART", "OPR", "OPAR-I"}
    assert online | {"OPAR-II", "OGDR"} <= tables["online"]
    assert {"PA", "PA blended", "kernel PA", "SVM", "RS", "Rocchio"} <= tables["feedback"]
    assert {"CCA", "PAMIR", "SSI", "LSCMR"} <= tables["lscmr"]
    assert {"latent model", "SVM", "pseudo-label + SVM", "K-means"} <= tables["regions"]


def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    for verb in (*VERBS, "reproduce", "store verify", "sessions revert", "import clicks"):
        assert re.search(rf"^#+ sightline {verb}$", page, re.M), verb
    assert "- `--help`" in page


@pytest.mark.parametrize("field", fields(Settings), ids=lambda f: f.name)
def test_every_setting_is_in_the_reference_with_its_default(field: Field[object]) -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    row = re.search(rf"^\| `{field.name}`(?:\\\*)? \| (.*?) \| .* \| (.+) \|$", page, re.M)
    assert row is not None
    assert row[1] == str(field.default).lower() and len(row[2]) > 10
