"""Folds, scalings, lists, distractors and the one-shot test set of paper D's protocol."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.combiners.fixed import Uniform
from sightline.combiners.linear import LinearCombiner
from sightline.combiners.opar import OPARII, OPR
from sightline.errors import DataError, UsageError
from sightline.measures import average_precision
from sightline.progress import NoProgress
from sightline.similarity.pairs import Phi
from sightline.similarity.scaling import SCALINGS
from sightline_experiments.online.distractors import distracted
from sightline_experiments.online.evaluation import FoldTestSet
from sightline_experiments.online.methods import METHODS, ONLINE
from sightline_experiments.online.protocol import (
    N_PARTS,
    Task,
    choose_scalings,
    choose_task,
    make_folds,
    ranked_lists,
    scaled_rows,
)
from sightline_experiments.online.simulation import UNIFORM, equal_start, simulate
from sightline_experiments.online.timing import learn_from_many, time_methods
from sightline_experiments.tuning import Settings

N_CLASSES, EACH = 6, 25
LABELS = np.repeat(np.arange(N_CLASSES), EACH)


def made_views(seed: int = 0) -> tuple[np.ndarray, ...]:
    """One view that tells classes apart, and one of noise."""
    rng = np.random.default_rng(seed)
    centres = rng.random((N_CLASSES, 8))
    good = centres[LABELS] + rng.normal(0, 0.25, (len(LABELS), 8))
    noise = rng.random((len(LABELS), 8))
    return tuple(np.abs(v).astype(np.float32) for v in (good, noise))


def made_task(n_triplets: int = 3000) -> tuple[Task, FoldTestSet]:
    folds, tests = make_folds(LABELS.tolist(), 2, 12, 10)
    return Task(folds[0], LABELS, made_views(), n_triplets), FoldTestSet(tests)


@pytest.fixture(scope="module")
def task() -> Task:
    return made_task()[0]


def test_folds_share_pictures_out() -> None:
    folds, tests = make_folds(LABELS.tolist(), N_PARTS, 20, 15)
    for fold, test in zip(folds, tests, strict=True):
        assert not set(fold.train) & set(fold.validation)
        assert not set(fold.train) & set(test) and not set(fold.validation) & set(test)
        assert len(fold.train) == len(LABELS) * 3 // 5
        assert len(fold.validation) == 20 and len(test) == 15
    assert len(set(np.concatenate(tests).tolist())) == N_PARTS * 15
    # The same again, and test queries do not depend on how many there are for validation.
    few, same = make_folds(LABELS.tolist(), N_PARTS, 5, 15)
    assert all(np.array_equal(a, b) for a, b in zip(tests, same, strict=True))
    assert all(set(a.validation) < set(b.validation) for a, b in zip(few, folds, strict=True))
    again, _ = make_folds(LABELS.tolist(), N_PARTS, 20, 15)
    assert all(np.array_equal(a.train, b.train) for a, b in zip(folds, again, strict=True))


def test_a_picture_without_another_of_its_class_is_no_query() -> None:
    labels = [0, 1] * 40 + list(range(2, 22))
    folds, tests = make_folds(labels, N_PARTS, 1000, 1000)
    asked = np.concatenate([*tests, *(f.validation for f in folds)])
    assert asked.max() < 80
    with pytest.raises(DataError, match="none with another"):
        make_folds(list(range(30)), 1)


def test_a_query_ranks_all_others_and_not_itself(task: Task) -> None:
    queries = np.array([0, 70, len(LABELS) - 1])
    lists = ranked_lists(task.phi, task.views, LABELS, queries)
    phi = task.phi(tuple(v[queries] for v in task.views), task.views)
    for i, q in enumerate(queries):
        part = slice(lists.start[i], lists.start[i + 1])
        others = np.arange(len(LABELS)) != q
        assert np.allclose(lists.rows[part], phi[i, others], atol=1e-5)
        assert np.array_equal(lists.relevance[part] > 0, LABELS[others] == LABELS[q])


def test_lists_are_the_same_in_small_blocks(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = np.array([3, 64, 149])
    whole = ranked_lists(task.phi, task.views, LABELS, queries)
    monkeypatch.setattr(Phi, "_sides", lambda self, budget: (7, 2))
    parts = ranked_lists(task.phi, task.views, LABELS, queries)
    assert np.allclose(parts.rows, whole.rows, atol=1e-5)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scalings_are_fitted_to_training_pictures(task: Task, scaling: str) -> None:
    rows = task.views[0]
    found = scaled_rows(rows, scaling, task.fold)
    half = scaling == "reduced"
    assert found.shape == (len(rows), 4 if half else 8) and found.dtype == np.float32
    assert np.isfinite(found).all()
    other = rows.copy()
    outside = np.setdiff1d(np.arange(len(rows)), task.fold.train)
    other[outside[0]] *= 5.0
    again = scaled_rows(other, scaling, task.fold)
    assert np.allclose(again[task.fold.train], found[task.fold.train], atol=1e-6)


def test_reduced_rows_are_those_of_a_singular_value_decomposition(task: Task) -> None:
    rows = np.abs(np.random.default_rng(4).normal(1, 0.5, (len(LABELS), 6))).astype(np.float32)
    found = scaled_rows(rows, "reduced", task.fold)
    own = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    centred = own - own[task.fold.train].mean(axis=0)
    strongest = np.linalg.svd(centred[task.fold.train])[2][:3]
    want = centred @ strongest.T
    want /= np.linalg.norm(want, axis=1, keepdims=True)
    # A direction may be turned round.
    assert np.allclose(found @ found.T, want @ want.T, atol=1e-4)


def test_rooted_rows_are_damped_square_roots(task: Task) -> None:
    rows = task.views[0] - 0.2
    roots = scaled_rows(rows, "root", task.fold)
    found = scaled_rows(rows, "rooted", task.fold)
    assert np.allclose(found, scaled_rows(roots, "damped", task.fold), atol=1e-6)
    assert not np.allclose(found, scaled_rows(rows, "damped", task.fold), atol=1e-2)


def test_a_constant_number_becomes_zero_when_standardised(task: Task) -> None:
    rows = np.column_stack([task.views[0][:, 0], np.full(len(LABELS), 0.3, np.float32)])
    found = scaled_rows(rows.astype(np.float32), "standard", task.fold)
    assert (found[:, 1] == 0).all() and abs(found[task.fold.train, 0].mean()) < 0.05


def test_the_scaling_that_ranks_best_is_chosen(task: Task) -> None:
    # One number outweighs all others and says nothing, until it is scaled.
    rng = np.random.default_rng(1)
    loud = np.column_stack([task.views[0], 1000 * rng.random(len(LABELS))]).astype(np.float32)
    chosen = choose_scalings({"loud": loud}, LABELS, task.fold, NoProgress())
    assert chosen["loud"] in ("standard", "ranks", "damped", "rooted", "reduced")


def test_what_is_usual_is_looked_at_where_it_helps() -> None:
    """A picture that is near to all others stands high in every ranking, unless that counts."""
    rng = np.random.default_rng(2)
    views = made_views()
    near = rng.random(len(LABELS)) < 0.3
    hubs = np.where(near[:, None], views[0].mean(axis=0), views[0]).astype(np.float32)
    folds, _ = make_folds(LABELS.tolist(), 1, 20, 10)
    plain = Task(folds[0], LABELS, (hubs, views[0]), 500)
    assert plain.source.n_components == plain.phi.n_components
    chosen = choose_task(plain, folds[0].validation)
    usual = Task(folds[0], LABELS, plain.views, 500, in_context=True)
    worth = [t.validation.mean_avgp(t.validation.rows.sum(axis=1)) for t in (plain, usual)]
    assert chosen.in_context == (worth[1] > worth[0])
    assert usual.usual is not None and plain.usual is None
    t = usual.drawn("queries").triplets
    want = usual.usual(plain.source.rows(t.query, t.first), t.first)
    want -= usual.usual(plain.source.rows(t.query, t.second), t.second)
    assert np.allclose(usual.drawn("queries").differences, want, atol=1e-3)
    q = int(folds[0].validation[0])
    others = np.arange(len(LABELS)) != q
    phi = plain.phi(tuple(v[[q]] for v in plain.views), plain.views)[0][others]
    rows = usual.validation.rows[: len(phi)]
    assert np.allclose(rows, usual.usual(phi, np.flatnonzero(others)), atol=1e-3)


def test_triplets_are_of_training_pictures(task: Task) -> None:
    for law in ("pairs", "queries"):
        t = task.drawn(law).triplets
        train = set(task.fold.train.tolist())
        assert set(t.query.tolist()) | set(t.first.tolist()) | set(t.second.tolist()) <= train
        assert (LABELS[t.query] == LABELS[t.first]).all()
        assert (LABELS[t.query] != LABELS[t.second]).all()
        assert len(task.drawn(law).differences) == len(t)
    assert task.drawn("pairs") is task.drawn("pairs")


def test_learners_weigh_what_tells_classes_apart(task: Task) -> None:
    uniform = METHODS["Uni-Con"].fit(task, {})[0]
    single = METHODS["Best-Fea"].fit(task, {})[0]
    lists = task.validation
    least = min(lists.mean_avgp(c.decision_function(lists.rows)) for c in (uniform, single))
    for name in ONLINE:
        made, seconds = METHODS[name].fit(task, {"law": "queries"})
        assert lists.mean_avgp(made.decision_function(lists.rows)) > least and seconds >= 0
        assert isinstance(made, LinearCombiner)
        good = np.abs(made.w_[:4]).sum()
        assert good > np.abs(made.w_[4:]).sum()


def test_short_lists_are_of_validation_queries(task: Task) -> None:
    X, y, qid = task.short
    assert len(X) == len(y) == len(qid) and len(np.unique(qid)) == len(task.fold.validation)
    assert y.sum() == task.validation.relevance.sum()


def test_test_queries_are_asked_once() -> None:
    task, test_set = made_task()
    uniform = Uniform().fit(np.zeros((1, task.phi.n_components)))
    avgp = test_set.measure("Uni-Con", "nine", uniform, task)
    queries = make_folds(LABELS.tolist(), 2, 12, 10)[1][0]
    for q, value in zip(queries, avgp, strict=True):
        phi = task.phi(tuple(v[[q]] for v in task.views), task.views)[0]
        others = np.arange(len(LABELS)) != q
        want = average_precision(phi[others].sum(axis=1), LABELS[others] == LABELS[q])
        assert value == pytest.approx(want, abs=1e-6)
    with pytest.raises(UsageError, match="was measured"):
        test_set.measure("Uni-Con", "nine", uniform, task)
    assert len(test_set.measure("other", "nine", uniform, task)) == len(avgp)
    with pytest.raises(UsageError, match="distracted"):
        for _ in range(2):
            test_set.distract({"a": uniform.w_}, "nine", task, (5,), 3, NoProgress())


def test_distractors_are_counted_as_if_all_were_ranked(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[np.ndarray, ...]] = []
    bases: list[np.ndarray] = []
    import sightline_experiments.online.distractors as module

    scores_of = module._scores

    def keep(*given: Any) -> Any:
        made.append(given[2])
        return scores_of(*given)

    class Seen:
        def __init__(self, seed: int) -> None:
            self.random = np.random.Generator(np.random.PCG64(seed))

        def choice(self, pool: np.ndarray, n: int) -> np.ndarray:
            bases.append(self.random.choice(pool, n))
            return bases[-1]

        def standard_normal(self, *given: Any, **named: Any) -> Any:
            return self.random.standard_normal(*given, **named)

    monkeypatch.setattr(module, "_scores", keep)
    monkeypatch.setattr(module, "_BLOCK", 16)
    monkeypatch.setattr(np.random, "default_rng", Seen)
    rng = np.random.Generator(np.random.PCG64(3))
    weights = {"ones": np.ones(8), "some": rng.random(8)}
    queries = np.array([4, 80])
    found = distracted(weights, task, queries, (20, 50), NoProgress())
    assert [n for n, _ in found["ones"]] == [0, 20, 50]
    base = np.concatenate(bases)
    rows = tuple(np.concatenate(parts) for parts in zip(*made, strict=True))
    assert len(base) == 50 and set(base.tolist()) <= set(task.fold.train.tolist())
    for name, w in weights.items():
        for n, value in found[name]:
            each = []
            for q in queries:
                others = np.arange(len(LABELS)) != q
                there = np.flatnonzero(LABELS[base[:n]] != LABELS[q])
                one = tuple(v[[q]] for v in task.views)
                real = task.phi(one, task.views)[0][others] @ w
                more = task.phi(one, tuple(v[:n][there] for v in rows))[0] @ w if len(there) else []
                fits = np.append(LABELS[others] == LABELS[q], np.zeros(len(there), bool))
                each.append(average_precision(np.append(real, more), fits))
            assert value == pytest.approx(np.mean(each), abs=1e-3)
        assert found[name][0][1] >= found[name][-1][1]


def test_the_simulation_learns_from_what_was_judged() -> None:
    task = made_task()[0]
    chosen: dict[str, Settings] = {
        "OPAR-II averaged": {"C": 0.1},
        "RankSVM": {"C": 0.01},
        "Uni-Con": {},
        "λ-MART": {},
    }
    found = simulate(task, chosen, 40, 10, NoProgress())
    assert set(found.ndcg) == {UNIFORM, "OPAR-II averaged", "RankSVM"}
    for name in chosen:
        if name not in found.seconds:
            continue
        # All begin as the uniform combination, and then get better than it.
        assert found.ndcg[name][0] == pytest.approx(found.ndcg[UNIFORM][0])
        assert found.gains(name)[-1] > 0.01
        assert (np.diff(found.seconds[name]) >= 0).all() and len(found.gains(name)) == 40


def test_a_learner_can_begin_with_equal_weights() -> None:
    begun = equal_start(OPARII(C=0.5, averaged=True), 4)
    assert begun.w_.tolist() == [0.25] * 4 and begun.get_params()["C"] == 0.5
    assert equal_start(OPR(), 4).partial_fit([[1.0, 0, 0, 0]]).w_.tolist() == [0.25] * 4
    assert equal_start(OPR(), 4).partial_fit([[-1.0, 0, 0, 0]]).w_.tolist() == [
        -0.75,
        0.25,
        0.25,
        0.25,
    ]


def test_many_triplets_are_learnt_in_portions(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sightline_experiments.online.timing._PORTION", 400)
    chosen: dict[str, Settings] = {
        "OPAR-II": {"C": 0.01, "law": "queries"},
        "Uni-Con": {},
        "RankSVM": {"C": 0.01},
    }
    large, comparing = learn_from_many(task, chosen, 1000, NoProgress())
    found = {one.method: one for one in large}
    assert set(found) == {"OPAR-II", "RankSVM"} and comparing > 0
    t, source = task.triplets("queries", 1000), task.phi.over(task.views)
    want = OPARII(C=0.01).fit(source.differences(t.query, t.first, t.second, t.y))
    assert np.allclose(found["OPAR-II"].combiner.w_, want.w_)  # type: ignore[attr-defined]


def test_times_are_of_as_many_triplets_as_there_are(task: Task) -> None:
    found = time_methods(task, {"OPR": {"law": "queries"}, "Uni-Con": {}}, (100, 1000, 9999),
                         NoProgress())  # fmt: skip
    assert [n for n, _ in found["OPR"]] == [100, 1000] and set(found) == {"OPR"}
