"""The whole experiment of paper D on a small set: what is measured, printed, drawn and written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sightline.compute.inline import InlineCompute
from sightline.errors import MissingExtra
from sightline.measures.figures import Figures
from sightline.measures.significance import wilcoxon
from sightline.progress import NoProgress
from sightline_experiments.cache import ArrayCache, temporary
from sightline_experiments.datasets.classed import Classed
from sightline_experiments.online import paper, report, run
from sightline_experiments.online.methods import BATCH, METHODS, ONLINE
from sightline_experiments.online.plan import FEATURES, Plan, full_plan, quick_plan
from sightline_experiments.online.pool import NINE, Describer
from sightline_experiments.online.protocol import make_folds
from sightline_experiments.online.report import draw_curves
from sightline_experiments.online.results import OnlineResults, best, compared, figures_of
from sightline_experiments.tuning import Search, tried
from tests.factories.classed import load_made
from tests.factories.photos import fingerprint

LAW = {"law": "queries"}
PLAN = Plan(
    splits=2,
    triplets=600,
    validation=8,
    test=6,
    scalings=("plain", "ranks"),
    scaling_queries=4,
    sample=20,
    searches={
        "Best-Fea": Search({}),
        "Uni-Con": Search({}),
        "RankNet": Search({**LAW, "n_epochs": 2}),
        "C-Ascent": Search({**LAW, "max_rounds": 1, "n_steps": 3, "n_restarts": 0}),
        "RankSVM": Search({**LAW, "C": 1e-3}, (tried("C", 1e-2),)),
        "λ-MART": Search({**LAW, "n_trees": 5}),
        "OPR": Search(LAW, (tried("law", "pairs"),)),
        "OPAR-II averaged": Search({**LAW, "C": 0.1}),
    },
    features=("nine",),
    times=(100, 600),
    large=1500,
    distractors=(20, 60),
    distracted=3,
    simulated=6,
    refit=3,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made")


@pytest.fixture(scope="module")
def c(folder: Path) -> Classed:
    return load_made(folder)


@pytest.fixture(scope="module")
def found(c: Classed, folder: Path) -> OnlineResults:
    before = fingerprint(folder)

    def missing() -> None:
        raise MissingExtra.of("LambdaMART", "baselines")

    with temporary() as cache, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sightline.combiners.lambdamart._lightgbm", missing)
        results = run({"Made": (c, cache), "Corel": None}, PLAN, InlineCompute(), NoProgress())
    assert fingerprint(folder) == before
    return results


@pytest.fixture(scope="module")
def figures(found: OnlineResults) -> Figures:
    return figures_of(found)


def test_every_method_is_measured_on_every_fold(found: OnlineResults) -> None:
    ran = found.of("Made", "nine")
    assert list(ran) == [m for m in PLAN.searches if m != "λ-MART"]
    for r in ran.values():
        assert len(r.chosen) == len(r.outcomes) == 2 and all(len(a) == 6 for a in r.outcomes)
        for trial in r.chosen:
            assert trial.value == max(t.value for t in r.trials if t.split == trial.split)
        assert np.mean(r.means()) > 0.3
    assert len(ran["RankSVM"].trials) == len(ran["OPR"].trials) == 4


def test_a_rival_that_is_not_installed_is_named_and_the_rest_is_measured(
    found: OnlineResults,
) -> None:
    assert [n for n in found.notes if n.startswith("λ-MART was left out")] == found.notes
    assert "sightline[baselines]" in found.notes[0]


def test_the_best_online_learner_is_chosen_by_validation_queries(found: OnlineResults) -> None:
    ran = found.of("Made", "nine")
    mine = best(ran, ONLINE)
    assert mine is not None
    assert mine.validation() == max(ran[m].validation() for m in ONLINE if m in ran)
    assert [b.method for _, b in compared(ran)] == [m for m in ran if m != mine.method]


def test_figures_are_means_over_folds(found: OnlineResults, figures: Figures) -> None:
    ran = found.of("Made", "nine")["OPR"]
    (row,) = figures.find(method="OPR", measure="mAP", protocol="Made, 2 folds", at=None)
    assert row.value == pytest.approx(np.mean([a.mean() for a in ran.outcomes]))
    assert row.n == 12 and row.direction == "picture->picture"
    first = figures.tests[0]
    assert (
        first.p
        == wilcoxon(*(np.concatenate(r.outcomes) for r in compared(found.of("Made", "nine"))[0])).p
    )
    assert figures.settings["unavailable"] == ["Corel"]


def test_figures_are_written_and_read(figures: Figures, tmp_path: Path) -> None:
    figures.write(tmp_path / "online.json")
    said = json.loads((tmp_path / "online.json").read_text())
    assert said["experiment"] == "online"
    assert {r["measure"] for r in said["rows"]} == {"mAP", "seconds", "NDCG@50"}
    assert Figures.read(tmp_path / "online.json").rows == figures.rows


def test_what_is_beside_the_table_is_measured_once(found: OnlineResults) -> None:
    (extras,) = found.extras
    assert [n for n, _ in extras.times["C-Ascent"]] == [100, 600]
    assert set(extras.large) == {"RankSVM", "OPR", "OPAR-II averaged"}
    assert [n for n, _ in extras.distracted["Uni-Con"]] == [0, 20, 60]
    assert extras.simulated is not None and len(extras.simulated.ndcg["OPR"]) == 6


def test_tables_say_what_was_found(found: OnlineResults) -> None:
    text = "\n".join(report.lines(found))
    ran = found.of("Made", "nine")["OPR"]
    assert f"{np.mean(ran.means()):.4f} ± {np.std(ran.means()):.4f}" in text
    assert "Corel            data unavailable" in text
    for said in ("Table 2", "Table 3. 1,500 triplets", "one by one", "which are made", "Wilcoxon"):
        assert said in text
    assert "trained on ImageNet" not in text


def test_the_papers_figures_stand_beside_ours(found: OnlineResults) -> None:
    for r in found.methods:
        r.group = ("Caltech-101", r.features)
    try:
        text = "\n".join(report.lines(found))
        rows = figures_of(found).find(method="OPR", measure="mAP", at=None, features="nine")
    finally:
        for r in found.methods:
            r.group = ("Made", r.features)
    assert "0.3285" in text and rows[0].paper == 0.3285


def test_curves_are_drawn(found: OnlineResults, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = draw_curves(found, tmp_path)
    assert [f.name for f in files] == [
        "time-made.png",
        "distractors-made.png",
        "online-gain-made.png",
        "online-time-made.png",
    ]
    assert all(f.read_bytes().startswith(b"\x89PNG") for f in files)


def test_a_second_run_describes_nothing(c: Classed, tmp_path: Path) -> None:
    class Refusing(InlineCompute):
        def run(self, *given: object) -> object:  # type: ignore[override]
            raise AssertionError("Nothing is to be described again.")

    folds, _ = make_folds(c.labels, 2, 8, 6)
    cache = ArrayCache(tmp_path)
    first = Describer(c, InlineCompute(), cache, NoProgress()).describe(folds, NINE)
    again = Describer(c, Refusing(), cache, NoProgress()).describe(folds, NINE)  # type: ignore[arg-type]
    for a, b in zip(first, again, strict=True):
        assert list(a) == list(NINE) and all(np.array_equal(a[n], b[n]) for n in NINE)
        assert all(len(rows) == len(c) for rows in a.values())
    # Bags have a codebook of each fold; features of the whole picture are shared.
    assert not np.array_equal(first[0]["dense-sift-200"], first[1]["dense-sift-200"])
    assert first[0]["gist"] is first[1]["gist"]


def test_plans_name_every_method_of_the_paper() -> None:
    for plan in (full_plan(), quick_plan()):
        assert list(plan.searches) == list(METHODS)
        assert set(plan.features) <= set(FEATURES)
        for name, search in plan.searches.items():
            own = {k: v for k, v in search.start.items() if k != "law"}
            assert own.items() <= METHODS[name].combiner(dict(search.start)).get_params().items()
    assert set(paper.MAP["Corel"]) == set(METHODS) & set(paper.MAP["Corel"])
    assert len(paper.MAP["Caltech-101"]) == 10 and set(BATCH) < set(paper.MAP["Corel"])
    assert quick_plan().with_options(splits=3).splits == 3
    full = full_plan()
    assert (full.splits, full.triplets, full.large) == (5, 200_000, 3_000_000)
    assert (full.validation, full.test, full.simulated) == (300, 150, 2000)
