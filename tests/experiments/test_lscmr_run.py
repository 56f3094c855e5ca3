"""The experiments of paper C on a small set: what is measured, printed, drawn and written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sightline.contracts import Json
from sightline.errors import MissingExtra, UsageError
from sightline.measures.figures import Figures
from sightline.measures.significance import wilcoxon
from sightline.progress import NoProgress
from sightline_experiments.datasets.wikipedia import Wikipedia
from sightline_experiments.lscmr import paper, report, run
from sightline_experiments.lscmr.evaluation import PairTestSet
from sightline_experiments.lscmr.methods import BASELINES, METHODS, STACKED, SVM, WORDS
from sightline_experiments.lscmr.plan import Plan, full_plan, quick_plan
from sightline_experiments.lscmr.protocol import DIRECTIONS, Task, make_lists, make_splits, sides
from sightline_experiments.lscmr.report import draw_curves
from sightline_experiments.lscmr.results import (
    FIXED,
    RANDOM,
    LscmrResults,
    compared,
    figures_of,
    gain,
)
from sightline_experiments.tuning import Search, tried
from tests.factories.wikipedia import N_TEST, load_made

LINEAR = {
    "CCA": Search({"n_components": 3, "kappa": 0.1}, (tried("kappa", 1.0, one_shot=True),)),
    "PAMIR": Search({"C": 0.1, "n_iter": None, "eval_every": 500, "patience": 1}),
    "SSI": Search({"n_components": 3, "eta": 0.05, "n_iter": 2000, "eval_every": 1000}),
    "LSCMR": Search({"n_components": 3, "lam": 0.01, "max_rounds": 10},
                    (tried("lam", 0.001),)),
}  # fmt: skip
CLASSIFIERS: dict[str, Json] = {
    "strengths": [0.3, 1.0],
    "factors": [1.0],
    "teaching": 0.5,
    "shapes": True,
}
STACK: dict[str, Json] = {**CLASSIFIERS, "n_candidates": 10, "lam": 0.01, "max_rounds": 5}
OVER_PROBABILITIES = {
    "CCA stacked": Search({**CLASSIFIERS, "n_components": 2}),
    "PAMIR stacked": Search({**CLASSIFIERS, **LINEAR["PAMIR"].start}),
    "SSI stacked": Search({**CLASSIFIERS, **LINEAR["SSI"].start}),
    STACKED: Search({**CLASSIFIERS, "lam": 0.01, "max_rounds": 5}),
}
PLAN = Plan(
    splits=2,
    sizes=(60, 24, 36),
    candidates=10,
    searches={**LINEAR, **OVER_PROBABILITIES},
    dimensions=(1, 3),
    share=0.25,
    fixed={
        **LINEAR,
        "SM logistic": Search({"model": "logistic"}),
        SVM: Search({"model": "chi2-svm"}),
        "SM chi2-SVM, words": Search({"model": "chi2-svm", "shapes": False}),
        STACKED: Search(STACK),
        WORDS: Search({**STACK, "shapes": False}),
    },
)


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Wikipedia:
    return load_made(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def found(c: Wikipedia) -> LscmrResults:
    def missing(*given: object) -> None:
        raise MissingExtra.of("A support vector machine", "baselines")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sightline.rankers.posteriors._machines_on", missing)
        return run(c, PLAN, NoProgress())


@pytest.fixture(scope="module")
def figures(found: LscmrResults) -> Figures:
    return figures_of(found)


def test_splits_share_the_pairs_out_and_lists_have_candidates_once() -> None:
    splits, tests = make_splits(120, (60, 24, 36), 3)
    for split, test in zip(splits, tests, strict=True):
        together = np.concatenate([split.train, split.validation, test])
        assert sorted(together.tolist()) == list(range(120))
    assert not np.array_equal(splits[0].train, splits[1].train)
    classes = np.arange(50) % 4
    candidates, relevant = make_lists(classes, classes, 10, 0)
    assert candidates.shape == relevant.shape == (50, 10)
    assert all(len(set(row)) == 10 for row in candidates.tolist())
    assert np.array_equal(relevant, classes[candidates] == classes[:, None])
    assert not np.array_equal(candidates, make_lists(classes, classes, 10, 1)[0])


def test_directions_are_each_others_mirror_and_inputs_know_training_pairs_alone(
    c: Wikipedia,
) -> None:
    there, back = (sides(c.test, d) for d in DIRECTIONS)
    assert there[0] is back[1] is c.test.pictures and there[1] is back[0] is c.test.texts
    task = Task.both(0, c.train, None, 10)[0]
    q, d = task.seen(*task.rows())
    for learnt, seen in zip(task.training(), (q, d), strict=True):
        assert learnt == pytest.approx(seen, abs=1e-4)
    for rows in (q, d):
        assert rows.mean(axis=0) == pytest.approx(0, abs=1e-9)
        assert np.sum(rows**2, axis=1).mean() == pytest.approx(1)
    assert q.shape[1] <= 300 and d.shape[1] <= 100


def test_every_method_is_measured_once_in_every_split_and_direction(found: LscmrResults) -> None:
    for direction in DIRECTIONS:
        assert list(found.of(RANDOM, direction)) == [*LINEAR, *OVER_PROBABILITIES]
        published = found.of(FIXED, direction)
        assert list(published) == [*LINEAR, "SM logistic", STACKED, WORDS]
        for r in [*published.values(), *found.of(RANDOM, direction).values()]:
            n = 2 if r.protocol == RANDOM else 1
            assert len(r.chosen) == len(r.outcomes) == n
            for trial in r.chosen:
                assert trial.value == max(t.value for t in r.trials if t.split == trial.split)
            assert r.mean("MAP") > 0.45, r.name
        assert len(published["LSCMR"].outcomes[0].avgp) == N_TEST
    assert len(found.of(RANDOM, DIRECTIONS[0])["CCA"].trials) == 3


def test_baselines_that_are_not_installed_are_named_once(found: LscmrResults) -> None:
    assert len(found.notes) == 2
    for note, name in zip(found.notes, (SVM, "SM chi2-SVM, words"), strict=True):
        assert note.startswith(f"{name} was left out") and "sightline[baselines]" in note


def test_test_pairs_are_asked_once(c: Wikipedia) -> None:
    test_set = PairTestSet([c.test])
    measured = test_set.measure("x", DIRECTIONS[0], 0, lambda q, d: np.zeros((30, 30), np.float32))
    assert measured.avgp.shape == measured.at_50.shape == (30,) and len(measured.precision) == 11
    with pytest.raises(UsageError, match="measured on the test pairs of split 0 before"):
        test_set.measure("x", DIRECTIONS[0], 0, lambda q, d: np.zeros((30, 30), np.float32))


def test_figures_are_means_over_splits_beside_the_papers(
    found: LscmrResults, figures: Figures
) -> None:
    r = found.of(RANDOM, "text->picture")["LSCMR"]
    (row,) = figures.find(method="LSCMR", measure="MAP@50", protocol=RANDOM, subset="all",
                          direction="text->picture")  # fmt: skip
    assert row.value == pytest.approx(np.mean([m.at_50.mean() for m in r.outcomes]))
    assert row.paper == 0.3663 and row.n == 72
    (row,) = figures.find(method=STACKED, measure="MAP", protocol=FIXED, subset="all",
                          direction="picture->text")  # fmt: skip
    assert row.paper is None and row.n == N_TEST
    mine, baseline = compared(found.of(RANDOM, "picture->text"), RANDOM)[0]
    expected = wilcoxon(*(np.concatenate([m.avgp for m in x.outcomes]) for x in (mine, baseline)))
    told = [t for t in figures.tests if (t.a, t.b) == (mine.name, baseline.name)]
    assert [t.p for t in told] == [expected.p]


def test_figures_are_written_and_read(figures: Figures, tmp_path: Path) -> None:
    figures.write(tmp_path / "lscmr.json")
    said = json.loads((tmp_path / "lscmr.json").read_text())
    assert said["experiment"] == "lscmr"
    assert {r["measure"] for r in said["rows"]} == {"MAP", "MAP@50", "seconds"}
    assert Figures.read(tmp_path / "lscmr.json").rows == figures.rows


def test_tables_say_what_was_found(found: LscmrResults) -> None:
    text = "\n".join(report.lines(found))
    r = found.of(RANDOM, "picture->text")["CCA"]
    assert f"{np.mean(r.means('MAP')):.4f} ± {np.std(r.means('MAP')):.4f}" in text
    for part in ("Table 2", "Published split", "0.2208?", "Wilcoxon", "figure 3", "not published"):
        assert part in text
    baseline, share = gain(found.of(RANDOM, "picture->text"), "MAP") or ("", 0.0)
    word = "above" if share >= 0 else "below"
    assert f"MAP: LSCMR is {abs(share):.1%} {word} the best baseline, {baseline}" in text
    ran = found.of(RANDOM, "text->picture")
    baseline, share = gain(ran, "MAP@50", STACKED, " stacked") or ("", 0.0)
    assert baseline.endswith(" stacked")
    assert share == pytest.approx(ran[STACKED].mean("MAP@50") / ran[baseline].mean("MAP@50") - 1)
    assert max(ran[f"{m} stacked"].mean("MAP@50") for m in BASELINES) == ran[baseline].mean(
        "MAP@50"
    )
    for shown in (f"the best baseline, {baseline}; ", "which sees other inputs"):
        assert shown in text


def test_curves_are_drawn(found: LscmrResults, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = draw_curves(found, tmp_path)
    assert [f.name for f in files] == [
        "precision-recall-published-split-picture-to-text.png",
        "precision-recall-published-split-text-to-picture.png",
        "precision-recall-random-splits-picture-to-text.png",
        "precision-recall-random-splits-text-to-picture.png",
        "dimensions.png",
    ]
    assert all(f.read_bytes().startswith(b"\x89PNG") for f in files)


def test_plans_name_known_methods_and_the_papers_protocol() -> None:
    full = full_plan()
    assert full.sizes == (1500, 500, 866) and full.candidates == 40 and full.splits == 10
    assert {*full.fixed, *full.searches} == set(METHODS)
    assert list(full.searches) == [*LINEAR, *OVER_PROBABILITIES]
    assert not any("n_candidates" in s.start for s in full.searches.values())
    assert (
        set(quick_plan().fixed) < set(METHODS) and quick_plan().with_options(splits=5).splits == 5
    )
    for measures in paper.WIKIPEDIA.values():
        assert set(measures) == set(LINEAR)
