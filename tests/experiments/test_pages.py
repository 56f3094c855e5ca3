"""Pages of results state what their data shows; a changed figure changes or refuses a sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline_experiments import pages
from sightline_experiments.statements import Comparison, columns_with, rank, verdicts

RESULTS = Path(__file__).parent.parent.parent / "docs" / "results"

Change = Callable[[dict[str, Any]], None]


def scale(factor: float, **where: object) -> Change:
    """Return a change of every row with these attributes."""

    def change(results: dict[str, Any]) -> None:
        rows = [r for r in results["rows"] if all(r[k] == v for k, v in where.items())]
        assert rows
        for row in rows:
            row["value"] *= factor

    return change


def p_of(a: str, b: str, p: float) -> Change:
    """Return a change of the p-value of a test."""

    def change(results: dict[str, Any]) -> None:
        (test,) = (t for t in results["tests"] if (t["a"], t["b"]) == (a, b) and _is_headline(t))
        test["p"] = p

    return change


def _is_headline(test: dict[str, Any]) -> bool:
    return test["measure"] in ("AvgP", "mAP", "AP@T", "MAP", "F")


def rename_best(results: dict[str, Any]) -> None:
    results["tests"][0]["a"] = "OPR (Caltech-101, nine)"


def add_scenes(results: dict[str, Any]) -> None:
    """Give the plain latent model more than one scene."""
    for row in results["rows"]:
        if (row["method"], row["measure"]) == ("latent model, plain", "NMI"):
            row["value"] += 0.2


def render(folder: Path, page: str, file: str, change: Change) -> str:
    shutil.copytree(RESULTS, folder, dirs_exist_ok=True)
    results = json.loads((folder / file).read_bytes())
    change(results)
    (folder / file).write_text(json.dumps(results), "utf-8")
    return pages.render(page, folder)


STATEMENTS = [
    ("pamir", "pamir-strict.json", "PAMIR is first of 5 with one block size",
     scale(0.9, method="PAMIR", measure="AvgP", subset="all"),
     "PAMIR is second of 5 with one block size"),
    ("pamir", "pamir-deep.json", "significantly above SVM with networks (p .011)",
     p_of("PAMIR (deep)", "SVM (deep)", 0.2), "and with networks (p .20)"),
    ("pamir", "pamir-strict.json", "significantly above PLSA, CMTT and CMRM (p < .0001)",
     p_of("PAMIR (classic-strict)", "PLSA (classic-strict)", 0.3),
     "not significantly above PLSA (p .30)"),
    ("pamir", "pamir-deep.json", "queries of several words (every column)",
     scale(0.9, method="PAMIR", measure="AvgP", subset="multi-word"),
     "queries of several words (with networks)"),
    ("pamir", "pamir-deep.json", "significantly above kernel ridge with `classic`",
     scale(0.9, method="log-product", measure="AvgP", subset="all"),
     "significantly below kernel ridge with networks"),
    ("online", "online-caltech101.json", "significantly above the best single descriptor",
     p_of("OPAR-II averaged (Caltech-101, nine)", "Best-Fea (Caltech-101, nine)", 0.5),
     "not significantly above the best single descriptor (p .50)"),
    ("online", "online-corel5k.json", "on Corel with a network) and equal weights",
     scale(0.5, method="Best-Fea", measure="mAP", features="nine+deep", at=None),
     "below the best single descriptor (on Caltech-101 with a network) and equal weights"),
    ("online", "online-corel5k.json", "Figures on Corel are 38 to",
     scale(0.5, measure="mAP", features="nine", at=None), "Figures on Corel are 69 to"),
    ("feedback", "feedback.json", "third in AP@T and fourth in P@20 on EHD",
     scale(1.2, method="PA", measure="AP@T", features="ehd", protocol="query left out"),
     "first in AP@T and fourth in P@20 on EHD"),
    ("feedback", "feedback.json", "C = 1 on CEDD",
     scale(1.2, method="PA", protocol="C = 10", features="cedd"), "C = 10 on CEDD"),
    ("lscmr", "lscmr.json", "none reach the target",
     scale(1.1, method="LSCMR", protocol="random splits", measure="MAP", subset="all"),
     "2 of 8 reach the target"),
    ("lscmr", "lscmr.json", "1.2 % below and 2.4 % above the best of them",
     scale(1.1, method="LSCMR", protocol="random splits", measure="MAP@50"),
     "8.7 % above and 12.6 % above the best of them"),
    ("lscmr", "lscmr.json", "not significantly above those without picture→text (p .14)",
     p_of("LSCMR stacked (published split, picture->text)",
             "LSCMR stacked, words (published split, picture->text)", 0.01),
     "significantly above those without picture→text (p .010)"),
    ("lscmr", "lscmr.json", "25 dimensions cost at most 3.7 %",
     scale(0.5, method="LSCMR", protocol="Corel5K by disc", features="deep", at=25),
     "25 dimensions cost at most 51.9 %"),
    ("regions", "regions.json", "19.7 % above SVM",
     scale(0.5, method="latent model", measure="F", features="classic", subset="all"),
     "40.1 % below SVM"),
    ("regions", "regions.json", "in F, NMI and pixel accuracy;",
     scale(0.5, method="latent model", measure="NMI", features="deep", subset="all"),
     "in F and pixel accuracy;"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "file", "before", "change", "after"), STATEMENTS)
def test_a_changed_figure_changes_the_sentence(
    page: str, file: str, before: str, change: Change, after: str, tmp_path: Path
) -> None:
    text = pages.render(page, RESULTS)
    assert before in text and after not in text
    assert after in render(tmp_path, page, file, change)


REFUSED = [
    ("online", "online-caltech101.json", rename_best, "names one best learner"),
    ("online", "online-corel5k.json", scale(5.0, measure="mAP", features="nine", at=None),
     "below the paper's for all methods"),
    ("regions", "regions.json", add_scenes, "one scene"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "file", "change", "message"), REFUSED)
def test_a_sentence_that_is_no_longer_true_is_refused(
    page: str, file: str, change: Change, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        render(tmp_path, page, file, change)


def test_the_solutions_of_the_programme_are_counted(tmp_path: Path) -> None:
    def change(results: dict[str, Any]) -> None:
        for row in results["rows"]:
            if row["measure"] == "fractional" and row["features"] == "deep":
                row["value"] = 0.5

    assert "integral solution in all of 1,600" in pages.render("regions", RESULTS)
    assert "integral solution in 75.0 % of 1,600" in render(
        tmp_path, "regions", "regions.json", change
    )


def test_equal_methods_share_a_rank_and_are_neither_above_nor_below() -> None:
    assert rank({"a": 1.0, "b": 1.0, "c": 0.5}, "b") == "first"
    equal = Comparison("SVM", 1.0, 1.0, 0.001)
    assert verdicts([equal]) == "equal to SVM"
    assert columns_with("above", {"easy": [equal]}) == "none"
