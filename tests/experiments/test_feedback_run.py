"""The whole experiment of paper B on a small set: what is measured, printed, drawn and written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.compute.inline import InlineCompute
from sightline.errors import MissingExtra
from sightline.measures.figures import Figures
from sightline.measures.significance import wilcoxon
from sightline.progress import NoProgress
from sightline.similarity.scaling import KINDS
from sightline_experiments.cache import temporary
from sightline_experiments.feedback import report, run
from sightline_experiments.feedback.methods import LINEAR, METHODS, REDUCED, SHIPPED
from sightline_experiments.feedback.plan import FEATURES, full_plan, quick_plan
from sightline_experiments.feedback.report import draw_curves
from sightline_experiments.feedback.results import (
    HEADLINE,
    PAPERS_WAY,
    FeedbackResults,
    compared,
    figures_of,
)
from tests.factories.classed import load_made
from tests.factories.photos import fingerprint

PLAN = replace(
    full_plan(),
    queries=12,
    rounds=3,
    shown=4,
    most=10,
    features=("ehd", "cedd"),
    sweep=(0.01, 1.0),
    background=20,
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FeedbackResults:
    folder = tmp_path_factory.mktemp("made")
    c = load_made(folder)
    before = fingerprint(folder)

    def missing(C: float, weight: object) -> None:
        raise MissingExtra.of("The SVM of feedback", "baselines")

    with temporary() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sightline.feedback.svm._classifier", missing)
        results = run(c, PLAN, InlineCompute(), cache, NoProgress())
    assert fingerprint(folder) == before
    return results


@pytest.fixture(scope="module")
def figures(found: FeedbackResults) -> Figures:
    return figures_of(found)


def test_every_method_is_measured_but_what_is_not_installed(found: FeedbackResults) -> None:
    assert [ran.features for ran in found.features] == ["ehd", "cedd"]
    for ran in found.features:
        assert list(ran.tracks) == [m for m in METHODS if m != "SVM"]
        assert ran.sweep[1.0] is ran.tracks[LINEAR] and list(ran.sweep) == [0.01, 1.0]
        assert ran.noisy is not None
        first = [t.average[0].tolist() for name, t in ran.tracks.items() if name != REDUCED]
        assert all(a == first[0] for a in first), "all in one scaling begin with the same ranking"
    assert len(found.notes) == 2 and "sightline[baselines]" in found.notes[0]


def test_feedback_helps_where_classes_differ(found: FeedbackResults) -> None:
    for ran in found.features:
        assert ran.tracks[SHIPPED].gain() > 0


def test_figures_are_means_over_queries(found: FeedbackResults, figures: Figures) -> None:
    ran = found.features[0]
    (row,) = figures.find(method=LINEAR, features="ehd", measure="AP@T", at=3, protocol=HEADLINE)
    assert row.value == pytest.approx(ran.tracks[LINEAR].average[3].mean())
    assert row.n == 12 and row.direction == "picture->picture"
    assert len(figures.find(method=LINEAR, features="ehd", protocol=PAPERS_WAY)) == 8
    (kept,) = figures.find(features="cedd", measure="gain kept")
    assert found.features[1].noisy is not None
    clean = found.features[1].tracks[SHIPPED].gain()
    assert kept.value == pytest.approx(found.features[1].noisy.gain() / clean)
    assert len(figures.find(measure="AP@T", protocol="C = 0.01")) == 2
    a, b = compared(ran)[0]
    ends = (ran.tracks[m].average[-1] for m in (a, b))
    assert figures.tests[0].p == wilcoxon(*ends).p
    assert figures.tests[0].a == f"{a} (ehd)"


def test_figures_are_written_and_read(figures: Figures, tmp_path: Path) -> None:
    figures.write(tmp_path / "feedback.json")
    said = json.loads((tmp_path / "feedback.json").read_text())
    assert said["experiment"] == "feedback"
    wanted = {"P@20", "AP@T", "unjudged P@20", "harmed", "seconds", "gain kept"}
    assert {r["measure"] for r in said["rows"]} == wanted
    assert Figures.read(tmp_path / "feedback.json").rows == figures.rows


def test_tables_say_what_was_found(found: FeedbackResults) -> None:
    text = "\n".join(report.lines(found))
    value = np.mean(found.features[0].tracks[LINEAR].average[-1])
    assert f"{value:>9.3f}" in text
    for said in ("ehd: query left out", "PA by C", "Wilcoxon", "of the clean gain", "left out"):
        assert said in text
    assert "ImageNet" not in text


def test_curves_are_drawn(found: FeedbackResults, tmp_path: Path) -> None:
    files = draw_curves(found, tmp_path, "Made")
    assert [f.name for f in files][:3] == ["ehd-p20.png", "ehd-apt.png", "ehd-unjudged.png"]
    assert len(files) == 7 and all(f.stat().st_size > 5000 for f in files)


def test_the_full_plan_is_the_papers() -> None:
    plan = full_plan()
    assert (plan.queries, plan.rounds, plan.shown, plan.most) == (500, 9, 20, 180)
    assert plan.features == FEATURES and plan.methods == tuple(METHODS)
    assert (min(plan.sweep), max(plan.sweep)) == (0.001, 1000.0) and plan.flipped == 0.1
    assert {plan.scaling, *(METHODS[m].scaling or plan.scaling for m in plan.methods)} <= set(KINDS)
    assert plan.features == FEATURES
    assert quick_plan().queries < plan.queries
    assert plan.with_options(("ehd",)).features == ("ehd",)
