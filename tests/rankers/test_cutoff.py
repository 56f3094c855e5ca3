"""Cut-offs: exact sets on perfect data, the laws of scale, and never worse than one for all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone

from sightline.errors import DataError, ParameterError, UsageError
from sightline.rankers import _cutoff_fast
from sightline.rankers._shown_sets import FittedThreshold, ShownSets
from sightline.rankers.cutoff import By, CutOff
from sightline.records import QuerySet
from sightline.solvers.targets import query_set
from tests.naive import cutoff as naive

Matrix = NDArray[np.float64]
FORMS: tuple[By, ...] = ("none", "words", "best", "both", "auto")


def lists(queries: QuerySet) -> list[naive.Query]:
    return [
        (queries.terms_of(i).tolist(),
         queries.weight[queries.start[i] : queries.start[i + 1]].tolist(),
         queries.relevant_to(i).tolist())
        for i in range(len(queries))
    ]  # fmt: skip


def mean_f1(cut: CutOff, table: Matrix, queries: QuerySet) -> float:
    found = []
    for words, weights, fit in lists(queries):
        s = naive.scores(table, (words, weights, fit))
        shown = set(np.flatnonzero(cut.shown(s, words, weights)).tolist())
        found.append(2 * len(shown & set(fit)) / (len(shown) + len(fit)))
    return float(np.mean(found))


def by_query(table: Matrix, queries: QuerySet) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return scores for a weight of 1, and which pictures are relevant, (queries, pictures)."""
    asked = lists(queries)
    scored = [naive.scores(table, q) / sum(q[1]) for q in asked]
    return np.array(scored), np.array([np.isin(np.arange(len(table)), q[2]) for q in asked])


def global_f1(fitted: tuple[Matrix, QuerySet], judged: tuple[Matrix, QuerySet]) -> float:
    """Return the mean F1 that the one best threshold for all queries gives on other pictures."""

    cut, _ = naive.best_for_all(*by_query(*fitted))
    pairs = zip(*by_query(*judged), strict=True)
    return float(np.mean([naive.f1(s, np.flatnonzero(r).tolist(), cut) for s, r in pairs]))


def planted(
    seed: int, n: int = 120, n_words: int = 8, noise: float = 0.3, levels: float = 3.0
) -> tuple[Matrix, QuerySet]:
    """Word scores whose pictures stand above others, at a height of each word's own."""
    rng = np.random.default_rng(seed)
    height = np.linspace(-levels, levels, n_words)
    tagged = rng.random((n, n_words)) < 0.15
    table = height + np.where(tagged, 1.0, -1.0) + noise * rng.normal(size=(n, n_words))
    asked: list[tuple[tuple[int, ...], Any]]
    asked = [((t,), np.flatnonzero(tagged[:, t])) for t in range(n_words)]
    asked += [
        ((t, u), np.flatnonzero(tagged[:, t] & tagged[:, u]))
        for t in range(n_words)
        for u in range(t)
    ]
    queries = query_set([(w, fit) for w, fit in asked if len(fit)], np.ones(n_words))
    return table, queries


def simple(seed: int, n: int = 12) -> tuple[Matrix, QuerySet]:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 4)).astype(np.float32).astype(np.float64)
    asked = [(rng.choice(4, size=k, replace=False), rng.choice(n, size=2, replace=False))
             for k in (1, 1, 2, 3, 2)]  # fmt: skip
    return table, query_set([(sorted(w), sorted(f)) for w, f in asked], np.arange(1.0, 5.0))


@pytest.mark.parametrize("by", ["words", "both", "auto"])
def test_perfect_scores_give_exact_sets(by: By) -> None:
    table, queries = planted(0, noise=0.05)
    single = query_set([(w, f) for w, _, f in lists(queries) if len(w) == 1], np.ones(8))
    cut = CutOff(by=by).fit(table, single)
    assert cut.f1_ == mean_f1(cut, table, single) == 1.0
    other, asked = planted(1, noise=0.05)
    ones = query_set([(w, f) for w, _, f in lists(asked) if len(w) == 1], np.ones(8))
    assert mean_f1(cut, other, ones) == 1.0


def test_words_that_need_different_thresholds_get_them() -> None:
    fitted, judged = planted(2), planted(3)
    before = global_f1(fitted, judged)
    found = {by: mean_f1(CutOff(by=by).fit(*fitted), *judged) for by in FORMS}
    assert found["words"] > before + 0.2
    assert found["auto"] > before + 0.2


@pytest.mark.parametrize("seed", range(4))
def test_where_one_threshold_serves_all_words_nothing_is_lost(seed: int) -> None:
    how: dict[str, Any] = {"n": 300, "n_words": 14, "levels": 0.0, "noise": 0.6}
    fitted, judged = planted(seed, **how), planted(seed + 50, **how)
    before = global_f1(fitted, judged)
    assert mean_f1(CutOff(by="none").fit(*fitted), *judged) > before - 0.02
    assert mean_f1(CutOff().fit(*fitted), *judged) > before - 0.03


def test_following_the_best_helps_where_queries_differ_in_height() -> None:
    rng = np.random.default_rng(5)

    def made() -> tuple[Matrix, QuerySet]:
        n, n_words = 60, 30
        tagged = rng.random((n, n_words)) < 0.06
        tagged[0] |= ~tagged.any(axis=0)
        height = rng.normal(size=n_words) * 3
        table = height + np.where(tagged, 1.0, -1.0) + 0.2 * rng.normal(size=(n, n_words))
        return table, query_set(
            [((t,), np.flatnonzero(tagged[:, t])) for t in range(n_words)], np.ones(n_words)
        )

    fitted, judged = made(), made()
    cut = CutOff().fit(*fitted)
    assert cut.by_ in ("best", "both") and cut.follow_ > 0
    assert mean_f1(CutOff(by="best").fit(*fitted), *judged) > 0.9
    assert mean_f1(CutOff(by="words").fit(*fitted), *judged) < 0.6, "heights are new each time"


@pytest.mark.parametrize("by", FORMS)
@pytest.mark.parametrize("scale", [0.25, 8.0])
def test_scaling_all_scores_scales_thresholds(by: By, scale: float) -> None:
    table, queries = planted(4)
    plain, scaled = CutOff(by=by).fit(table, queries), CutOff(by=by).fit(table * scale, queries)
    assert plain.by_ == scaled.by_
    for words, weights, fit in lists(queries):
        s = naive.scores(table, (words, weights, fit))
        theta = plain.threshold(words, weights, float(s.max()))
        assert scaled.threshold(words, weights, scale * s.max()) == pytest.approx(scale * theta)
        shown = plain.shown(s, words, weights)
        assert (scaled.shown(scale * s, words, weights) == shown).all()


@pytest.mark.parametrize("by", FORMS)
def test_a_query_asked_for_twice_as_loudly_shows_the_same(by: By) -> None:
    table, queries = planted(4)
    cut = CutOff(by=by).fit(table, queries)
    for words, weights, fit in lists(queries):
        s = naive.scores(table, (words, weights, fit))
        louder = [2 * w for w in weights]
        assert (cut.shown(2 * s, words, louder) == cut.shown(s, words, weights)).all()


@pytest.mark.parametrize("by", FORMS)
def test_moving_all_scores_changes_no_set_of_single_words(by: By) -> None:
    table, queries = planted(6)
    single = query_set([(w, f) for w, _, f in lists(queries) if len(w) == 1], np.ones(8))
    plain, moved = CutOff(by=by).fit(table, single), CutOff(by=by).fit(table + 4.0, single)
    if plain.follow_ == moved.follow_:
        for words, weights, _ in lists(single):
            shown = plain.shown(table[:, words[0]], words, weights)
            assert (moved.shown(table[:, words[0]] + 4.0, words, weights) == shown).all()


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.9, 1.0]))
def test_offsets_are_the_best_there_are(seed: int, follow: float) -> None:
    table, queries = simple(seed)
    h = np.random.default_rng(seed + 1_000_000).normal(size=4)
    sets = ShownSets.of(table.astype(np.float32), queries, 3)
    found = sets.with_best_offsets(FittedThreshold(h, np.zeros(3), follow))
    shape = found.offsets / found.offsets[0]
    np.testing.assert_allclose(shape, [1, 1, 1] if follow else [1, 2, 3])
    wanted = naive.best_f1(table, lists(queries), h, follow)
    assert sets.mean_f1(found) == pytest.approx(wanted, abs=1e-6)


@given(st.integers(0, 10_000))
def test_without_more_to_go_by_it_is_the_global_threshold(seed: int) -> None:
    table, queries = simple(seed)
    cut = CutOff(by="none").fit(table, queries)
    _, wanted = naive.best_for_all(*by_query(table, queries))
    assert cut.f1_ == pytest.approx(wanted, abs=1e-6)
    assert cut.follow_ == 0.0 and not cut.h_.any()


@given(st.integers(0, 10_000))
def test_pictures_with_equal_scores_are_shown_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, size=(10, 2)).astype(float)
    queries = query_set(
        [([t], sorted(rng.choice(10, 3, replace=False))) for t in (0, 1)], np.ones(2)
    )
    cut = CutOff(by="none").fit(table, queries)
    wanted = naive.best_f1(table, lists(queries), np.zeros(2), 0.0)
    assert cut.f1_ == pytest.approx(wanted, abs=1e-6)
    assert cut.f1_ == pytest.approx(mean_f1(cut, table, queries), abs=1e-6)


@pytest.mark.parametrize("follow", [0.0, 1.0])
def test_thresholds_and_f1_are_the_slow_twins(follow: float) -> None:
    table, queries = simple(3)
    rng = np.random.default_rng(0)
    learnt = FittedThreshold(rng.normal(size=4), rng.normal(size=3), follow)
    sets = ShownSets.of(table.astype(np.float32), queries, 3)
    cut = CutOff()
    cut.h_, cut.offsets_, cut.follow_ = learnt
    wanted = []
    for i, query in enumerate(lists(queries)):
        s = naive.scores(table, query)
        theta = naive.threshold(query, *learnt, float(s.max()))
        assert sets.thresholds(learnt)[i] == pytest.approx(theta, abs=1e-5)
        assert cut.threshold(query[0], query[1], float(s.max())) == pytest.approx(theta)
        wanted.append(naive.f1(s, query[2], theta))
    assert sets.mean_f1(learnt) == pytest.approx(np.mean(wanted), abs=1e-6)


def test_words_are_learnt_as_the_slow_twin_does() -> None:
    rng = np.random.default_rng(2)
    _, queries = simple(1)
    relevant = [rng.normal(size=2) + 1 for _ in range(5)]
    others = rng.normal(size=(5, 3)) - 1
    state = np.array([77], dtype=np.uint64)
    h, U = np.zeros(4), np.zeros(4)
    _cutoff_fast.learn_words(
        state, np.concatenate(relevant), queries.relevant_start, others, queries.start,
        queries.term, queries.weight, 0.05, 0.25, 400, h, U,
    )  # fmt: skip
    last, mean = naive.learn_words(
        77, [r.tolist() for r in relevant], others.tolist(), lists(queries), 0.05, 0.25, 400, 4
    )
    np.testing.assert_allclose(h, last, atol=1e-9)
    np.testing.assert_allclose(h - U / 400, mean, atol=1e-9)


def test_arrays_and_seeds() -> None:
    table, queries = planted(7)
    cut = CutOff(by="both").fit(table, queries)
    again = CutOff.from_arrays(cut.to_arrays())
    assert again.threshold([1, 3], [0.6, 0.8], 2.0) == cut.threshold([1, 3], [0.6, 0.8], 2.0)
    same = CutOff(by="both").fit(table, queries).to_arrays()
    assert all(same[k].tobytes() == a.tobytes() for k, a in cut.to_arrays().items())
    other = CutOff(by="both", random_state=1).fit(table, queries)
    assert other.h_.tobytes() != cut.h_.tobytes()
    with pytest.raises(DataError, match="'offsets' is missing"):
        CutOff.from_arrays({"h": cut.h_, "follow": np.ones(1)})
    assert repr(CutOff(by="best")) == "CutOff(by='best')"
    assert clone(CutOff(C=2.0)).get_params()["C"] == 2.0


def test_edges_are_defined() -> None:
    one = query_set([([0], [0])], np.ones(3))
    cut = CutOff().fit([[0.5, 0.0, 0.0]], one)
    assert cut.f1_ == 1.0 and cut.shown([0.5], [0], [1.0]).tolist() == [True]
    assert cut.threshold([], []) == math.inf
    everywhere = query_set([([0], [0, 1, 2])], np.ones(1))
    for by in FORMS:
        all_fit = CutOff(by=by).fit([[0.1], [0.2], [0.3]], everywhere)
        assert all_fit.shown([0.1, 0.2, 0.3], [0], [1.0]).all()
        assert np.isfinite(all_fit.h_).all() and np.isfinite(all_fit.offsets_).all()
        flat = CutOff(by=by).fit(np.ones((6, 2)), query_set([([0], [1]), ([1], [2])], np.ones(2)))
        assert flat.f1_ == pytest.approx(2 / 7)
        assert np.isfinite(flat.threshold([1], [1.0], 1.0))
    some = query_set([([0], [0]), ([], [1]), ([1], [])], np.ones(2))
    assert CutOff(by="words").fit([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], some).n_dropped_ == 2
    seldom = CutOff(by="words").fit(*planted(0))
    assert seldom.h_.any()
    wider = CutOff(by="words").fit(np.hstack((planted(0)[0], np.ones((120, 1)))), planted(0)[1])
    assert wider.h_[8] == 0.0, "a word that nobody asked for"


def test_wrong_calls() -> None:
    table, queries = planted(0)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"by": "luck"}, "'by' parameter of CutOff must be 'auto'"),
        ({"C": 0}, "'C' parameter of CutOff must be greater than 0"),
        ({"margin": -1}, "'margin' parameter of CutOff must be greater than 0"),
        ({"n_iter": 0}, "'n_iter' parameter of CutOff must be a whole number"),
    ]
    for parameters, message in wrong:
        with pytest.raises(ParameterError, match=message):
            CutOff(**parameters).fit(table, queries)
    holes = table.copy()
    holes[3, 3] = np.nan
    with pytest.raises(DataError, match="finite, of which 1 are not"):
        CutOff().fit(holes, queries)
    with pytest.raises(DataError, match="pictures by words"):
        CutOff().fit(table[0], queries)
    with pytest.raises(DataError, match="words below 4"):
        CutOff().fit(table[:, :4], queries)
    with pytest.raises(DataError, match="but 9 pictures have scores"):
        CutOff().fit(table[:9], queries)
    with pytest.raises(DataError, match="No query has both"):
        CutOff().fit(table, query_set([([1], [])], np.ones(2)))
    with pytest.raises(UsageError, match="is not fitted yet"):
        CutOff().threshold([0], [1.0])
    cut = CutOff(by="best").fit(table, queries)
    with pytest.raises(UsageError, match=r"must be given. Got None"):
        cut.threshold([0], [1.0])
    with pytest.raises(DataError, match="2 terms need as many weights"):
        cut.threshold([0, 1], [1.0], 1.0)
    with pytest.raises(DataError, match="CutOff was fitted to 8 words"):
        cut.threshold([8], [1.0], 1.0)
