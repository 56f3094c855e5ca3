"""The whole experiment of paper E on a small set: what is measured, printed, drawn and written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.compute.inline import InlineCompute
from sightline.errors import MissingExtra, UsageError
from sightline.progress import NoProgress
from sightline.regions.segment import Segmenter
from sightline_experiments.cache import ArrayCache, temporary
from sightline_experiments.datasets.msrc import MSRC
from sightline_experiments.regions import judging, paper, report, run
from sightline_experiments.regions.evaluation import MSRCTestSet
from sightline_experiments.regions.growth import shared_out
from sightline_experiments.regions.judging import f_of_each, pixels_per_class
from sightline_experiments.regions.methods import Fitted, Predictions, ridge_weights, svm_weights
from sightline_experiments.regions.plan import FEATURES, Plan, full_plan, quick_plan
from sightline_experiments.regions.pool import Pool
from sightline_experiments.regions.protocol import RegionInputs, make_halves, never_designed_on
from sightline_experiments.regions.report import draw_curves, draw_sheets, overlay, palette
from sightline_experiments.regions.results import RegionResults, figures_of
from sightline_experiments.tuning import Search, tried
from tests.factories.msrc import load_made
from tests.factories.photos import fingerprint

CUT = Segmenter(scale=60.0, sigma=0.4, smallest=0.01)
PLAN = Plan(
    splits=2,
    scenes=2,
    cuts={"classic": CUT, "deep": CUT},
    reduced=8,
    searches={
        "classic": {
            paper.LATENT: Search({"C": 0.1, "max_iterations": 8}, (tried("lean", 0.2),)),
            paper.PLAIN: Search({"C": 0.1, "max_iterations": 8}),
            paper.SVM: Search({"C": 1.0}, (tried("C", 0.1),)),
            paper.PSEUDO_LABEL: Search({"C": 1.0}),
            paper.PSEUDO_TAGS: Search({"C": 1.0}),
            paper.K_MEANS: Search({}),
            paper.RIDGE: Search({"alpha": 0.1, "threshold": 0.4}),
        }
    },
    features=("classic",),
    relaxed=2,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made")


@pytest.fixture(scope="module")
def c(folder: Path) -> MSRC:
    return load_made(folder)


@pytest.fixture(scope="module")
def found(c: MSRC) -> RegionResults:
    with temporary() as cache:
        return run(c, PLAN, InlineCompute(), cache, NoProgress())


def test_every_method_is_measured_by_what_it_speaks_of(found: RegionResults) -> None:
    ran = found.of("classic")
    assert list(ran) == list(PLAN.searches["classic"])
    for name, r in ran.items():
        assert len(r.outcomes) == len(r.chosen) == 2
        spoken = set(r.outcomes[0].measures)
        if name in (paper.PSEUDO_LABEL, paper.PSEUDO_TAGS, paper.K_MEANS):
            assert spoken == {judging.NMI}
        elif name == paper.SVM:
            assert spoken == {judging.F, judging.F_PICTURE, judging.F_5}
        else:
            assert spoken == set(judging.MEASURES)
        assert all(0 <= v <= 1 for o in r.outcomes for v in o.measures.values())
    # Colours tell which tags there are. Where they lie, nine pictures that all have sky do not say.
    assert np.mean(ran[paper.LATENT].values(judging.F)) > 0.8


def test_pictures_that_nothing_was_designed_on_are_measured_apart(
    c: MSRC, found: RegionResults
) -> None:
    halves, tests = make_halves(c.scenes, 2)
    clean = never_designed_on(tests)
    assert not set(clean.tolist()) & {p for h in halves for p in h.development.tolist()}
    assert len(clean) > 0
    for r in found.of("classic").values():
        for o in r.outcomes:
            assert o.n_clean == len(clean) and set(o.clean) == set(o.measures)
    rows = [r for r in figures_of(found).rows if r.subset == "never designed on"]
    assert {r.measure for r in rows} == {"F", "F@5", "NMI", "pixel accuracy"}
    assert "nothing was designed on, latent model" in "\n".join(report.lines(found))


def test_what_was_said_of_some_pictures() -> None:
    said = Predictions(np.eye(3, dtype=bool), None, np.arange(3), [np.full(n, n) for n in range(3)])
    some = said.only(np.array([2, 0]))
    assert some.tags is not None and some.tags.tolist() == [
        [False, False, True],
        [True] + [False] * 2,
    ]
    assert some.scores is None and some.scenes is not None and some.scenes.tolist() == [2, 0]
    assert some.regions is not None and [len(r) for r in some.regions] == [2, 0]


def test_tables_name_every_method_and_the_papers_figures(found: RegionResults) -> None:
    text = "\n".join(report.lines(found))
    for name in PLAN.searches["classic"]:
        assert name in text
    assert "0.4552 / 0.5295" in text and "(paper +10.7%)" in text
    assert "fractional in" in text and "Wilcoxon against SVM" in text


def test_figures_are_of_one_form(found: RegionResults, tmp_path: Path) -> None:
    figures_of(found).write(tmp_path / "f.json")
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert said["experiment"] == "regions"
    rows = [r for r in said["rows"] if r["method"] == paper.LATENT and r["measure"] == "F"]
    (main,) = [r for r in rows if r["at"] is None and r["subset"] == "all"]
    assert main["paper"] == 0.4552 and main["n"] == 24
    assert main["value"] == pytest.approx(np.mean(found.of("classic")[paper.LATENT].values("F")))
    assert {t["b"] for t in said["tests"]} == {
        "SVM (classic)", "ridge (classic)", "latent model, plain (classic)",
    }  # fmt: skip
    assert said["settings"]["chosen"]["latent model (classic)"][0]["C"] == 0.1


def test_drawings_show_scenes_masks_and_pictures(
    c: MSRC, found: RegionResults, tmp_path: Path
) -> None:
    files = draw_sheets(c, found, InlineCompute(), tmp_path)
    assert sorted(f.name for f in files) == [
        "figure3-classic.png", "figure4-classic.png", "figure5-classic-latent.png",
        "figure5-classic-ridge.png",
    ]  # fmt: skip
    assert all(f.stat().st_size > 500 for f in files)
    red = overlay(np.zeros((2, 2, 3), np.uint8), np.array([[0, 0], [-1, -1]]), palette(["sign"]))
    assert np.ptp(red[0, 0]) > 0 == np.ptp(red[1, 0])
    colors = palette(c.words)
    assert len(set(colors)) == len(c.words)


def test_curves_of_growth_have_every_size(
    found: RegionResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[dict[str, tuple[list[float], list[float]]]] = []
    monkeypatch.setattr(report, "draw_lines", lambda file, lines, *_: drawn.append(lines))
    draw_curves(found, tmp_path)
    pictures, tags = ([len(x) for x, _ in lines.values()] for lines in drawn[-2:])
    assert pictures == [5, 5] and min(tags) >= 4


def test_curves_show_learning_and_growth(found: RegionResults, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = draw_curves(found, tmp_path)
    assert [f.name for f in files] == [
        "learning-classic.png", "learning-f-classic.png", "growth-pictures.png", "growth-tags.png",
    ]  # fmt: skip
    course = found.models["classic"][0].course
    assert course and course[-1].f >= course[0].f - 0.2
    assert all(f.stat().st_size > 5000 for f in files)
    sizes = {(g.pictures, g.tags) for g in found.growth}
    assert len({p for p, _ in sizes}) == 5 and len({t for _, t in sizes}) >= 4
    rows = [r for r in figures_of(found).rows if r.protocol == "learning, half 0"]
    assert {r.measure for r in rows} == {"objective", "gap", "F"} and len(rows) == 3 * len(course)


def test_more_tags_share_the_pictures_of_each_out() -> None:
    Y = np.random.default_rng(0).random((30, 3)) < 0.5
    more = shared_out(Y, 6)
    assert more.shape == (30, 6) and (more.sum(axis=1) == Y.sum(axis=1)).all()
    assert (shared_out(Y, 2) == Y[:, :2]).all()


def test_halves_share_every_scene_out_and_never_meet() -> None:
    scenes = [0] * 30 + [1] * 21 + [2] * 11
    halves, tests = make_halves(scenes, 3)
    for half, test in zip(halves, tests, strict=True):
        parts = [set(p.tolist()) for p in (half.train, half.validation, test)]
        assert sum(len(p) for p in parts) == len(set().union(*parts)) == 62
        counts = np.bincount(np.asarray(scenes)[test])
        assert (np.abs(counts - np.array([15, 10.5, 5.5])) <= 0.5).all()
        assert abs(len(half.validation) - len(half.development) / 5) <= 2
    assert tests[0].tolist() != tests[1].tolist()
    assert make_halves(scenes, 1)[1][0].tolist() == tests[0].tolist()


def test_test_pictures_are_looked_at_once_and_their_tags_are_hidden(c: MSRC, folder: Path) -> None:
    before = fingerprint(folder)
    halves, tests = make_halves(c.scenes, 1)
    with temporary() as cache:
        pool = Pool(c, InlineCompute(), cache, NoProgress())
        seen = RegionInputs(c, pool, dict(PLAN.cuts), 8).of_half("classic", halves[0])
        # What was found is kept for the next run.
        again = Pool(c, InlineCompute(), cache, NoProgress()).classic(CUT)
    assert not seen.tags[tests[0]].any()
    assert all((a.labels == b).all() for a, b in zip(again, seen.labels, strict=True))
    test_set = MSRCTestSet(c, tests)
    mute = Fitted(lambda seen, of: Predictions(scenes=np.zeros(len(of), np.int64)))
    assert test_set.measure("mute", "classic", mute, seen).measures == {judging.NMI: 0.0}
    with pytest.raises(UsageError, match="before"):
        test_set.measure("mute", "classic", mute, seen)
    assert fingerprint(folder) == before


def test_deep_regions_are_learnt_from(c: MSRC) -> None:
    pytest.importorskip("onnxruntime")
    few = {m: PLAN.searches["classic"][m] for m in (paper.LATENT, paper.RIDGE)}
    plan = replace(PLAN, splits=1, features=("deep",), searches={"deep": few})
    with temporary() as cache:
        found = run(c, plan, InlineCompute(), cache, NoProgress())
    assert found.features() == ["deep"] and "ImageNet" in "\n".join(report.lines(found))
    assert found.of("deep")[paper.RIDGE].values(judging.F)[0] > 0.5


def test_what_is_not_installed_is_left_out_and_said(
    c: MSRC, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise MissingExtra.of("The network", "deep")

    monkeypatch.setattr(Pool, "deep", missing)
    with temporary() as cache:
        plan = replace(PLAN, features=("deep",), searches={"deep": {}})
        found = run(c, plan, InlineCompute(), cache, NoProgress())
    assert "sightline[deep]" in found.notes[0] and not found.methods


def test_plans_know_every_method() -> None:
    for plan in (full_plan(), quick_plan()):
        assert plan.features == FEATURES and plan.scenes == 20
        for features, methods in plan.searches.items():
            more = {paper.PLAIN, paper.SVM_CHI2, paper.PSEUDO_LABEL_CHI2}
            own = more if features == "classic" else set()
            assert {*paper.F, *paper.NMI, paper.RIDGE} | own == set(methods)
    assert full_plan().splits == 5 and quick_plan().splits == 1
    assert full_plan().with_options(("deep",), 2).features == ("deep",)


def test_measures_of_pixels_and_pictures() -> None:
    truth = [np.array([[0, 0], [1, -1]])]
    assert pixels_per_class([np.array([[0, 1], [1, 1]])], truth, 2) == pytest.approx(0.75)
    assert pixels_per_class([np.full((2, 2), -1)], truth, 3) == 0.0
    nothing = np.zeros((1, 2), bool)
    assert f_of_each(nothing, nothing).tolist() == [1.0]


def test_rivals_separate_what_can_be_separated() -> None:
    X = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.2]])
    Y = np.array([[1, 0, 1], [1, 0, 1], [0, 0, 1], [0, 0, 1]], bool)
    for W, constant in (svm_weights(X, Y, 10.0), ridge_weights(X, Y, 1e-3)):
        scores = X @ W + constant
        assert (scores[:2, 0].min() > scores[2:, 0].max()) and (scores[:, 2] > scores[:, 1]).all()


def test_an_empty_cache_keeps_what_was_cut(c: MSRC, tmp_path: Path) -> None:
    cache = ArrayCache(tmp_path)
    Pool(c, InlineCompute(), cache, NoProgress()).classic(CUT)
    assert len(list(tmp_path.iterdir())) == 1
