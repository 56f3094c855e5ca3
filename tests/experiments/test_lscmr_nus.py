"""Paper C on a small NUS-WIDE: who is for what, what is measured, printed and drawn."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from sightline.errors import DataError, UsageError
from sightline.measures.figures import Figures
from sightline.progress import NoProgress
from sightline.rankers.low_rank import mean_avgp
from sightline_experiments.datasets.nuswide import NusWide
from sightline_experiments.lscmr import paper, report, run_nus, without_wikipedia
from sightline_experiments.lscmr.evaluation import PairTestSet
from sightline_experiments.lscmr.methods import METHODS, query_targets
from sightline_experiments.lscmr.nus import NusTask, Part, make_parts, make_tasks
from sightline_experiments.lscmr.nus_plan import NusPlan, full_nus_plan, quick_nus_plan
from sightline_experiments.lscmr.protocol import DIRECTIONS
from sightline_experiments.lscmr.report import draw_curves
from sightline_experiments.lscmr.results import NUS, LscmrResults, figures_of
from sightline_experiments.tuning import Search, tried
from tests.factories.nuswide import load_made

SEARCHES = {
    "CCA": Search({"n_components": 4, "kappa": 0.3}),
    "PAMIR": Search({"C": 0.1, "n_iter": None, "eval_every": 500, "patience": 1}),
    "SSI": Search({"n_components": 4, "eta": 0.1, "n_iter": 4000, "eval_every": 1000}),
    "LSCMR": Search({"n_components": 4, "lam": 0.003, "max_rounds": 15}, (tried("lam", 0.001),)),
}
PLAN = NusPlan((80, 60, 150), (20, 40), 10, SEARCHES, block=15)


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> NusWide:
    return load_made(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def found(c: NusWide) -> LscmrResults:
    results = without_wikipedia()
    run_nus(c, PLAN, NoProgress(), results)
    return results


def test_parts_have_the_sizes_of_the_plan_and_share_no_picture(c: NusWide) -> None:
    parts = make_parts(c, PLAN)
    assert [len(p.positions) for p in parts] == [80, 60, 150]
    assert [len(p.query_rows) for p in parts] == [80, 20, 40]
    together = np.concatenate([p.positions for p in parts])
    assert len(set(together.tolist())) == len(together)
    assert set(together.tolist()) <= set(c.positions.tolist())
    for p in parts:
        assert len(set(p.query_rows.tolist())) == len(p.query_rows) and p.query_rows.max() < len(
            p.positions
        )
        for rows in (p.pictures, p.texts):
            lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
            assert np.all((np.abs(lengths - 1) < 1e-6) | (lengths == 0))
    with pytest.raises(DataError, match=r"has \d+ pictures with a tag .* needs 133,208"):
        make_parts(c, full_nus_plan())


def test_what_is_learnt_does_not_depend_on_test_pictures(c: NusWide) -> None:
    train, validation, test = make_parts(c, PLAN)
    where = np.flatnonzero(np.isin(c.positions, test.positions))
    tags, pictures = c.tags.tolil(), c.pictures.tolil()
    tags[where], pictures[where] = 1.0, 7.0
    changed = NusWide(pictures.tocsr(), tags.tocsr(), c.concepts, c.names, c.positions)
    again = make_parts(changed, PLAN)
    for before, after in zip((train, validation), again, strict=False):
        assert np.array_equal(before.pictures.toarray(), after.pictures.toarray())
        assert np.array_equal(before.texts.toarray(), after.texts.toarray())
    assert not np.array_equal(test.texts.toarray(), again[2].texts.toarray())


def test_relevant_is_what_shares_a_concept_and_candidates_are_training_pictures(
    c: NusWide,
) -> None:
    train, validation, _ = make_parts(c, PLAN)
    place = {p: i for i, p in enumerate(c.positions.tolist())}
    own = c.concepts[[place[p] for p in train.positions.tolist()]]
    for task in make_tasks(train, validation, 10):
        candidates, relevance = task.lists()
        assert candidates.shape == relevance.shape == (80, 10) and candidates.max() < 80
        assert all(len(set(row)) == 10 for row in candidates.tolist())
        for q, (listed, flags) in enumerate(zip(candidates, relevance, strict=True)):
            assert flags.tolist() == [bool((own[q] & own[d]).any()) for d in listed]
    there, back = (train.sides(d) for d in DIRECTIONS)
    assert there[0].shape[1] == back[1].shape[1] == 16 and there[1].shape[1] == 24


def test_validation_in_blocks_is_validation_of_all(c: NusWide) -> None:
    train, validation, _ = make_parts(c, PLAN)
    for task in make_tasks(train, validation, 10):
        fitted = METHODS["CCA"](task, dict(SEARCHES["CCA"].start))
        queries, documents, relevant = task.held_out()
        assert queries.shape[0] == 20 and documents.shape[0] == 60
        whole = mean_avgp(fitted.scorer(queries, documents), relevant)
        assert task.value(fitted.scorer) == pytest.approx(whole)


def test_test_pictures_are_ranked_some_queries_at_a_time_and_asked_once(c: NusWide) -> None:
    train, validation, test = make_parts(c, PLAN)
    task = make_tasks(train, validation, 10)[0]
    scorer = METHODS["CCA"](task, dict(SEARCHES["CCA"].start)).scorer
    shapes = []

    def watched(queries: csr_array, documents: csr_array) -> np.ndarray:
        shapes.append((queries.shape[0], documents.shape[0]))
        return scorer(queries, documents)

    test_set = PairTestSet([test], Part.blocks)
    measured = test_set.measure("CCA", DIRECTIONS[0], 0, watched)
    assert shapes == [(15, 150), (15, 150), (10, 150)]
    one = replace(test, block=40)
    whole = PairTestSet([one], Part.blocks).measure("CCA", DIRECTIONS[0], 0, scorer)
    assert measured.avgp == pytest.approx(whole.avgp) and len(measured.avgp) == 40
    assert measured.precision == pytest.approx(whole.precision)
    with pytest.raises(UsageError, match="measured on the test pairs of split 0 before"):
        test_set.measure("CCA", DIRECTIONS[0], 0, scorer)


def test_scores_of_all_test_queries_are_never_held_together() -> None:
    n, asked, block = 20_000, 200, 10
    rows = csr_array((np.ones(n, np.float32), np.arange(n) % 5, np.arange(n + 1)), shape=(n, 5))
    concepts = np.eye(5, dtype=np.float32)[np.arange(n) % 5]
    part = Part(rows, rows, concepts, np.arange(asked), np.arange(n), block)
    everything = 4 * n * asked

    def scorer(queries: csr_array, documents: csr_array) -> np.ndarray:
        return np.asarray((queries @ documents.T).toarray(), dtype=np.float32)

    tracemalloc.start()
    try:
        measured = PairTestSet([part], Part.blocks).measure("x", DIRECTIONS[0], 0, scorer)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(measured.avgp) == asked and measured.avgp == pytest.approx(1.0)
    assert most < everything / 2, (most, everything)


@pytest.mark.parametrize("listed", [True, False])
def test_sparse_queries_are_the_same_targets_as_dense_ones(listed: bool) -> None:
    rng = np.random.default_rng(0)
    dense = rng.random((6, 8)).astype(np.float32) * (rng.random((6, 8)) < 0.4)
    candidates = np.sort(rng.random((6, 9)).argsort(axis=1)[:, :5], axis=1) if listed else None
    relevance = rng.random((6, 5 if listed else 9)) < 0.5
    a, b = (query_targets(q, 9, candidates, relevance) for q in (dense, csr_array(dense)))
    assert np.array_equal(a.queries.relevant, b.queries.relevant)
    assert np.array_equal(a.n_negative, b.n_negative) and np.array_equal(a.negative, b.negative)
    for i in range(len(a.queries)):
        row = np.zeros(8, np.float32)
        at = slice(b.queries.start[i], b.queries.start[i + 1])
        row[b.queries.term[at]] = b.queries.weight[at]
        assert np.array_equal(row, a.queries.weight[8 * i : 8 * i + 8])


def test_documents_that_are_all_listed_need_no_list() -> None:
    rng = np.random.default_rng(1)
    queries, relevance = rng.random((6, 4)), rng.random((6, 9)) < 0.5
    every = np.broadcast_to(np.arange(9), relevance.shape)
    told, untold = (query_targets(queries, 9, given, relevance) for given in (every, None))
    for name in ("start", "term", "weight", "relevant_start", "relevant"):
        assert np.array_equal(getattr(told.queries, name), getattr(untold.queries, name))
    assert np.array_equal(told.n_negative, untold.n_negative) and not len(untold.negative)


def test_every_method_is_chosen_by_validation_and_measured_once(found: LscmrResults) -> None:
    assert found.groups() == [(NUS, d) for d in DIRECTIONS]
    for direction in DIRECTIONS:
        ran = found.of(NUS, direction)
        assert list(ran) == list(SEARCHES) == list(paper.NUS_WIDE[direction, "MAP"])
        for r in ran.values():
            assert len(r.chosen) == len(r.outcomes) == 1 and len(r.outcomes[0].avgp) == 40
            assert r.chosen[0].value == max(t.value for t in r.trials)
            # A random order has .35; tags and visual words are drawn by concepts.
            assert r.mean("MAP") > 0.6, (r.name, r.mean("MAP"))
        assert len(ran["LSCMR"].trials) == 2


def test_figures_are_beside_the_papers(found: LscmrResults, tmp_path: Path) -> None:
    figures = figures_of(found)
    (row,) = figures.find(method="PAMIR", measure="MAP@50", protocol=NUS, subset="all",
                          direction="picture->text")  # fmt: skip
    assert row.paper == 0.5003 and row.n == 40
    assert row.value == found.of(NUS, "picture->text")["PAMIR"].mean("MAP@50")
    said = figures.settings["NUS-WIDE"]
    assert isinstance(said, dict)
    assert said["documents"] == {"train": 80, "validation": 60, "test": 150}
    assert said["queries"] == {"train": 80, "validation": 20, "test": 40}
    assert figures.settings["unavailable"] == ["Wikipedia"]
    figures.write(tmp_path / "f.json")
    assert Figures.read(tmp_path / "f.json").rows == figures.rows


def test_the_table_has_ours_and_the_papers(found: LscmrResults) -> None:
    lines = list(report.lines(found))
    at = lines.index("Table 3. NUS-WIDE, text->picture; settings by validation queries")
    (row,) = (line for line in lines[at : at + 6] if line.startswith("LSCMR "))
    ours = found.of(NUS, "text->picture")["LSCMR"]
    expected = [f"{ours.mean('MAP@50'):.4f}", "0.2781", f"{ours.mean('MAP'):.4f}", "0.1424"]
    assert row.split()[1:5] == expected
    text = "\n".join(lines)
    assert "Wikipedia        data unavailable" in text and "0.2208?" in text
    assert paper.NUS_DIFFERENCE in text and paper.DIFFERENCE not in text
    assert "pictures have a tag and a concept here, and 133,208 in the paper" in text
    assert "80 × 80 for training, 20 × 60 for validation, 40 × 150 for test" in text


def test_a_set_that_is_not_there_has_the_papers_figures_alone() -> None:
    found = LscmrResults({}, classes=("a",))
    run_nus(None, PLAN, NoProgress(), found)
    lines = list(report.lines(found))
    at = lines.index("NUS-WIDE         data unavailable")
    assert lines[at + 1] == "Table 3. NUS-WIDE, figures of the paper"
    rows = {line.split()[0]: line.split()[1:] for line in lines[at + 3 : at + 7]}
    assert rows["PAMIR"] == ["0.2046", "0.1184", "0.5003", "0.2410"]
    assert rows["LSCMR"] == ["0.2781", "0.1424", "0.4997", "0.2491"]
    figures = figures_of(found)
    assert figures.settings["unavailable"] == ["NUS-WIDE"] and figures.rows == []


def test_curves_are_drawn(found: LscmrResults, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = draw_curves(found, tmp_path)
    assert [f.name for f in files] == [
        "precision-recall-nus-wide-picture-to-text.png",
        "precision-recall-nus-wide-text-to-picture.png",
    ]
    assert all(f.read_bytes().startswith(b"\x89PNG") for f in files)


def test_plans_are_the_papers_protocol() -> None:
    full = full_nus_plan()
    assert full.documents == (2664, 23_977, 106_567) and sum(full.documents) == paper.NUS_PICTURES
    assert full.queries == (2000, 2000) and full.candidates == 40
    assert set(full.searches) == set(SEARCHES) <= set(METHODS)
    quick = quick_nus_plan()
    assert quick.documents == full.documents and not any(s.stages for s in quick.searches.values())


def test_a_task_without_validation_learns_all_it_is_given(c: NusWide) -> None:
    train = make_parts(c, PLAN)[0]
    task = NusTask(DIRECTIONS[0], train, None, 10)
    fitted = METHODS["SSI"](task, {**SEARCHES["SSI"].start, "n_iter": 1000})
    assert fitted.fixed == {"n_iter": 1000}
