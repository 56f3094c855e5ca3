"""The whole experiment on a small set: what is measured, printed, drawn and written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sightline.compute.inline import InlineCompute
from sightline.errors import MissingExtra
from sightline.measures.figures import Figures
from sightline.measures.significance import wilcoxon
from sightline.progress import NoProgress
from sightline_experiments.cache import temporary
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.pamir import paper, report, run
from sightline_experiments.pamir.evaluation import Shown
from sightline_experiments.pamir.kernels import KernelPlan
from sightline_experiments.pamir.methods import METHODS, Method
from sightline_experiments.pamir.plan import FEATURES, SHEETS, Plan, full_plan, quick_plan, views_of
from sightline_experiments.pamir.report import draw_curves, draw_sheets, sheet
from sightline_experiments.pamir.results import (
    PamirResults,
    SplitResult,
    compare,
    compared,
    figures_of,
)
from sightline_experiments.tuning import Search, Stage
from tests.factories.corel5k import N_DEVELOPMENT, N_TEST, load_made
from tests.factories.photos import fingerprint

N_TRAIN = 60
LEARNING = {"n_iter": 20_000, "eval_every": 5_000}
PLAN = Plan(
    {
        "classic-strict": {
            "PAMIR": Search(
                {"view": "b64_k30", **LEARNING},
                (
                    Stage(({"view": "b128_k30"},), first_split=True),
                    Stage(
                        ({"view": "g64", "kernel": "likelihood", "factor": 1.0},), first_split=True
                    ),
                    Stage(({"C": 1.0},)),
                ),
            ),
            "SVM": Search(
                {"block": 64, "terms": 30, "C": 1.0},
                (
                    Stage(
                        ({"view": "g64", "kernel": "likelihood", "factor": 1.0},), first_split=True
                    ),
                ),
            ),
            "CMRM": Search({"view": "b128_k30"}),
            "CMTT": Search({"view": "b64_k30", "rank": 5}),
        },
        "classic": {"kernel ridge": Search({"view": "b64_k30 & classic"})},
    },
    curve=(20, 40, 60, 4000),
    kernels=KernelPlan((("match", 0.5),), 128, ({"C": 1.0},), tuple(LEARNING.items())),
    splits=2,
    features=("classic-strict", "classic"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corel")


@pytest.fixture(scope="module")
def c(folder: Path) -> Corel5K:
    return load_made(folder)


@pytest.fixture(scope="module")
def found(c: Corel5K, folder: Path) -> PamirResults:
    before = fingerprint(folder)
    with temporary() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sightline_experiments.pamir.SHEETS", ("sea sky", "sea"))
        results = run(c, PLAN, InlineCompute(), cache, NoProgress(), n_train=N_TRAIN)
    assert fingerprint(folder) == before
    return results


@pytest.fixture(scope="module")
def figures(found: PamirResults) -> Figures:
    return figures_of(found)


def test_every_method_is_measured_on_every_split(found: PamirResults) -> None:
    assert [(r.features, r.method) for r in found.methods] == [
        ("classic-strict", "PAMIR"),
        ("classic-strict", "SVM"),
        ("classic-strict", "CMRM"),
        ("classic-strict", "CMTT"),
        ("classic", "kernel ridge"),
    ]
    for ran in found.methods:
        assert len(ran.chosen) == len(ran.outcomes) == 2
        assert np.mean(ran.means("AvgP")) > 0.3


def test_the_choice_is_the_best_on_validation_queries(found: PamirResults) -> None:
    for ran in found.methods:
        for trial in ran.chosen:
            tried = [t.value for t in ran.trials if t.split == trial.split]
            assert trial.value == max(tried)
    pamir = found.of("classic-strict")["PAMIR"]
    # Three views and another C on the first split; on the second the view is settled.
    assert [sum(t.split == s for t in pamir.trials) for s in (0, 1)] == [4, 2]


def test_rows_are_means_over_splits(found: PamirResults, figures: Figures) -> None:
    ran = found.of("classic-strict")["PAMIR"]
    for group in found.sizes:
        for measure, at in (("AvgP", "avgp"), ("P10", "p10"), ("BEP", "bep")):
            values = [getattr(o.measured, at)[o.groups[group]] for o in ran.outcomes]
            rows = figures.find(
                method="PAMIR", features="classic-strict", subset=group, measure=measure
            )
            if not all(len(v) for v in values):
                assert not rows
                continue
            means = [v.mean() for v in values]
            (row,) = rows
            assert row.value == pytest.approx(np.mean(means))
            assert row.spread == pytest.approx(np.std(means))
            assert row.n == round(np.mean([len(v) for v in values]))
            assert row.paper == paper.FIGURES.get(("PAMIR", group, measure))


def test_tests_compare_pamir_with_each_rival(found: PamirResults, figures: Figures) -> None:
    ran = found.of("classic-strict")
    a, b = (np.mean(ran[m].values("AvgP"), axis=0) for m in ("PAMIR", "CMTT"))
    (test,) = [
        t
        for t in figures.tests
        if (t.a, t.b, t.measure) == ("PAMIR (classic-strict)", "CMTT (classic-strict)", "AvgP")
    ]
    assert test.p == wilcoxon(a, b).p
    names = {t.b for t in figures.tests}
    assert {"CMRM (classic-strict, split 0)", "CMRM (classic-strict, split 1)"} <= names


def test_all_that_learn_to_rank_are_held_against_each_other_method(found: PamirResults) -> None:
    ran = found.of("classic-strict")
    # Under another name, one of the rivals is a second one.
    renamed = {**ran, "log-product": replace(ran["SVM"], method="log-product")}
    pairs = {(a.method, b.method) for a, b in compared(renamed)}
    others = set(renamed) - {"PAMIR", "log-product"}
    ours = {("PAMIR", "log-product"), ("log-product", "PAMIR")}
    assert pairs == ours | {(a, b) for a in ("PAMIR", "log-product") for b in others}
    text = list(report._wilcoxon(renamed))
    assert len([line for line in text if line.startswith("Wilcoxon, ")]) == 2


def test_figures_have_the_common_form(figures: Figures, tmp_path: Path) -> None:
    figures.write(tmp_path / "f.json")
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["experiment"] == "pamir"
    assert {r["features"] for r in said["rows"]} == {"classic-strict", "classic"}
    assert all(0 <= r["value"] <= 1 for r in said["rows"] if r["measure"] != "seconds")
    assert all(0 <= t["p"] <= 1 for t in said["tests"])
    settings = said["settings"]
    assert settings["statistics"]["test"]["pictures"] == N_TEST + 1
    assert settings["seeds"] == [0, 1] and len(settings["chosen"]) == 5
    assert Figures.read(tmp_path / "f.json").as_json() == figures.as_json()


def test_kernels_without_a_codebook_are_tried(found: PamirResults, figures: Figures) -> None:
    assert [k.kernel for k in found.kernels] == ["match"]
    for k in found.kernels:
        (row,) = figures.find(protocol=f"{k.kernel} kernel")
        assert row.value == k.avgp > 0.2 and row.subset == "validation"


def test_the_learning_curve_has_the_sizes_there_are(found: PamirResults) -> None:
    (points,) = found.curve.values()
    assert [n for n, _ in points] == [20, 40, 60]
    chosen = found.of("classic-strict")["PAMIR"].chosen[0]
    assert points[-1][1] == pytest.approx(chosen.value)


def test_tables_show_ours_and_the_papers_figures(found: PamirResults) -> None:
    text = "\n".join(report.lines(found))
    for number in ("I", "III", "IV", "V", "VI", "VII and VIII", "IX", "X", "XI", "XII"):
        assert f"Table {number}. " in text
    (row,) = [line for line in text.splitlines() if line.startswith("PAMIR") and "26.3" in line]
    mean = 100 * np.mean(found.of("classic-strict")["PAMIR"].means("AvgP"))
    assert f"{mean:.2f}" in row and "10.0" in row and "–" in row
    assert "match" in text and "Wilcoxon" in text
    trials = [t for t in found.of("classic-strict")["PAMIR"].trials if t.split == 0]
    for kernel, likely in (("visterm-linear", False), ("expected likelihood", True)):
        best = max(t.value for t in trials if ("kernel" in t.settings) == likely)
        (row,) = [line for line in text.splitlines() if line.startswith(kernel)]
        assert f"{100 * best:.2f}" in row
    ran = found.of("classic-strict")
    mine, theirs = (np.mean(ran[m].means("AvgP", "multi-word")) for m in ("PAMIR", "SVM"))
    (gains,) = [line for line in text.splitlines() if "[+22.3 %]" in line]
    assert gains.startswith("PAMIR over SVM") and f"{100 * (mine / theirs - 1):+.1f} %" in gains
    assert max(len(line) for line in text.splitlines()) < 300


def test_the_best_of_the_five_is_starred_only_if_it_differs(found: PamirResults) -> None:
    ran = found.of("classic-strict")
    means = {n: np.mean(r.means("AvgP")) for n, r in ran.items()}
    best = max(means, key=lambda n: means[n])
    for name in ran:
        star = report._star(ran, name, "AvgP", "all")
        tests = [
            wilcoxon(ran[name].averaged("AvgP"), ran[n].averaged("AvgP")) for n in ran if n != name
        ]
        better = all(t.p < 0.05 and t.helped > t.harmed for t in tests)
        assert star == ("*" if name == best and better else " ")


def test_no_star_for_a_mean_that_a_few_queries_made(found: PamirResults) -> None:
    ran = found.of("classic-strict")
    first, n = ran["PAMIR"].outcomes[0], len(ran["PAMIR"].outcomes[0].measured.avgp)
    worse = np.full(n, 0.5)
    mine = np.where(np.arange(n) % 10 < 4, 1.0, 0.4)
    assert mine.mean() > worse.mean() and wilcoxon(mine[:20], worse[:20]).p < 1

    def of(name: str, values: NDArray[np.float64]) -> SplitResult:
        measured = replace(first.measured, avgp=values)
        return replace(ran[name], outcomes=[replace(first, measured=measured)])

    made = {"PAMIR": of("PAMIR", mine), "SVM": of("SVM", worse)}
    test = compare(made["PAMIR"], made["SVM"], "AvgP")
    assert test.harmed > test.helped
    assert report._star(made, "PAMIR", "AvgP", "all") == " "
    made["SVM"] = of("SVM", np.full(n, 0.1))
    assert report._star(made, "PAMIR", "AvgP", "all") == "*"


def test_sheets_frame_what_is_relevant(c: Corel5K, found: PamirResults, tmp_path: Path) -> None:
    (file,) = draw_sheets(c, found, InlineCompute(), tmp_path)
    assert file.name == "figure4-classic-strict.png"
    with Image.open(file) as image:
        # Two queries of two methods each.
        assert image.width > 5 * 192 and image.height > 4 * 192
    grey = np.full((40, 60, 3), 128, np.uint8)
    row = [("sea", "PAMIR", Shown(3, ((1, True), (2, False))))]
    pixels = np.asarray(sheet(row, {1: grey, 2: grey}))
    green = (pixels == (0x2A, 0x9D, 0x4A)).all(axis=2)
    middle = 76 + 192 + 5
    assert green[:, :middle].any() and not green[:, middle:].any()


def test_curves_are_drawn(found: PamirResults, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = {f.name for f in draw_curves(found, tmp_path)}
    assert names == {
        "precision-recall-classic-strict.png",
        "precision-recall-classic.png",
        "learning-curve-classic-strict.png",
    }
    for name in names:
        with Image.open(tmp_path / name) as image:
            assert image.width > 400


def test_a_method_whose_package_is_missing_is_left_out_and_named(
    c: Corel5K, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: object) -> object:
        raise MissingExtra.of("The method", "some")

    monkeypatch.setitem(METHODS, "PLSA", Method("PLSA", missing))  # type: ignore[arg-type]
    plan = Plan(
        {"classic-strict": {m: Search({"view": "b128_k9"}) for m in ("PLSA", "CMRM")}},
        features=("classic-strict",),
    )
    with temporary() as cache:
        results = run(c, plan, InlineCompute(), cache, NoProgress(), n_train=N_TRAIN)
    assert [r.method for r in results.methods] == ["CMRM"]
    assert "sightline[some]" in results.notes[0]
    assert "Note: PLSA (classic-strict) was left out" in "\n".join(report.lines(results))


def test_features_whose_package_is_missing_are_left_out_and_named(
    c: Corel5K, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: object) -> str:
        raise MissingExtra.of("The feature", "deep")

    monkeypatch.setattr("sightline.plugins.place", missing)
    searches = {
        "deep": {"kernel ridge": Search({"view": "deep"})},
        "classic-strict": {"CMRM": Search({"view": "b128_k9"})},
    }
    with temporary() as cache:
        plan = Plan(searches, features=tuple(searches))
        results = run(c, plan, InlineCompute(), cache, NoProgress(), n_train=N_TRAIN)
    assert [r.features for r in results.methods] == ["classic-strict"]
    assert "sightline[deep]" in results.notes[0]


def test_plans_cover_the_five_and_name_known_features() -> None:
    for plan in (full_plan(), quick_plan().with_options(FEATURES)):
        assert set(plan.searches) == set(FEATURES)
        for features in ("classic-strict", "classic"):
            assert {"PAMIR", "SVM", "PLSA", "CMTT", "CMRM"} <= set(plan.searches[features])
    assert len(full_plan().seeds) >= 5 and len(quick_plan().seeds) == 1
    assert full_plan().with_options(splits=2).seeds == (0, 1)
    strict = quick_plan().searches["classic-strict"]
    assert all("&" not in v and "+" not in v for s in strict.values() for v in views_of(s))
    assert len(views_of(strict["PAMIR"])) < len(
        views_of(full_plan().searches["classic-strict"]["PAMIR"])
    )
    assert SHEETS == ("buildings cars", "petals") and N_DEVELOPMENT > N_TRAIN
