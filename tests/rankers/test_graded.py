"""Grades: only pictures of different grades make a pair, by a margin that grows with them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.measures import ndcg_at
from sightline.rankers import ndcg
from sightline.rankers.pamir import PAMIR
from sightline.rankers.training import judged_scores
from sightline.rankers.warp import WARP
from sightline.solvers.graded import Grading
from sightline.solvers.pa_step import VARIANTS, Variant
from sightline.solvers.rows import as_rows
from sightline.solvers.targets import Targets, from_judgements
from sightline.solvers.triplets import Sampling, TripletSampler
from tests.factories.triplets import drawn, query_matrix
from tests.naive import graded as naive

Matrix = NDArray[np.float64]
Int = NDArray[np.int64]


def judged(seed: int = 0, n: int = 90, grades: int = 5) -> tuple[Matrix, Int, NDArray[np.str_]]:
    """Rows judged for one of three queries, in grades that their features hint at."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 10)) * (rng.random((n, 10)) < 0.6)
    qid = np.array(["red", "red sea", "sea"])[np.arange(n) % 3]
    hint = X[np.arange(n), np.arange(n) % 3] + 0.2 * rng.normal(size=n)
    y = np.digitize(hint, np.quantile(hint, np.linspace(0, 1, grades + 1)[1:-1]))
    return X, y, qid


def targets(y: Any, qid: Any, how: Grading = "exponential") -> Targets:
    return from_judgements(y, qid, len(y), grades=how)


def margins(t: Targets, triplets: list[naive.Triplet]) -> Any:
    assert t.graded is not None
    return [t.graded.gains[p] - t.graded.gains[m] for _, p, m in triplets]


@pytest.mark.parametrize("ranker", [PAMIR, WARP])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("how", ["linear", "exponential"])
@pytest.mark.parametrize("higher", [1, 3])
def test_two_grades_are_the_case_without_grades(
    ranker: Any, kind: Any, how: Grading, higher: int
) -> None:
    X, y, qid = judged(grades=2)
    for pairs in (1, 8):
        for sampling in ("query", "triplet"):
            given_: dict[str, Any] = {"pairs_per_query": pairs, "sampling": sampling}
            given_ |= {"averaged": True, "random_state": 4}
            plain = ranker(**given_).fit(kind(X), y, qid, n_iter=3000)
            graded = ranker(grades=how, **given_).fit(kind(X), y * higher, qid, n_iter=3000)
            assert plain.W_.any()
            assert graded.W_.tobytes() == plain.W_.tobytes()
            assert graded.n_dropped_ == plain.n_dropped_


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("how", ["linear", "exponential"])
def test_equal_to_the_slow_twin(kind: Any, variant: Variant, how: Grading) -> None:
    X, y, qid = judged()
    t = targets(y, qid, how)
    triplets = drawn(t, 1200, seed=5)
    rho = naive.margins(triplets, y.tolist(), (np.arange(len(y)) % 3).tolist(), how)
    np.testing.assert_allclose(margins(t, triplets), rho)
    Q = query_matrix(t.queries, 2)
    W, mean = naive.learn(X, Q, triplets, rho, [1.0] * len(rho), 0.2, variant)
    for averaged, wanted in ((False, W), (True, mean)):
        ranker = PAMIR(C=0.2, variant=variant, averaged=averaged, random_state=5, grades=how)
        ranker.fit(kind(X), y, qid, n_iter=1200)
        np.testing.assert_allclose(ranker.W_, wanted, atol=2e-4 * np.abs(wanted).max())


def test_draws_are_the_naive_ones() -> None:
    _, y, qid = judged(n=30)
    sampler = TripletSampler(targets(y, qid), pairs_per_query=1, seed=3)
    wanted = naive.draws(int(sampler.state[0]), y.tolist(), (np.arange(30) % 3).tolist(), 150)
    assert list(zip(*(p.tolist() for p in sampler.draw(150)), strict=True)) == wanted


@pytest.mark.parametrize("pairs", [1, 8])
@pytest.mark.parametrize("sampling", ["query", "triplet"])
def test_by_which_law_pairs_are_drawn(pairs: int, sampling: Sampling) -> None:
    grades, qid = [0, 1, 2, 2, 1, 3, 5, 5], ["a", "a", "a", "a", "b", "b", "c", "c"]
    which = [0, 0, 0, 0, 1, 1, 2, 2]
    everyone = naive.pairs(grades, which)
    n = 40_000
    sampler = TripletSampler(targets(grades, qid), sampling, pairs, seed=1)
    assert sampler.n_dropped == 1, "all pictures of c are alike"
    found = Counter(zip(*(p.tolist() for p in sampler.draw(n)), strict=True))
    assert set(found) == set(everyone)
    upper = {q: {p for query, p, _ in everyone if query == q} for q in (0, 1)}
    for triplet in everyone:
        q, p, _ = triplet
        lower = sum(1 for query, row, _ in everyone if (query, row) == (q, p))
        wanted = 1 / len(everyone) if sampling == "triplet" else 1 / (2 * len(upper[q]) * lower)
        assert abs(found[triplet] / n - wanted) < 5 * (wanted / n) ** 0.5


@given(
    st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 3)), min_size=2, max_size=25),
    st.sampled_from(["linear", "exponential"]),
)
def test_pairs_are_all_that_differ_and_no_others(rows: list[tuple[int, int]], how: Grading) -> None:
    grades, qid = [g for g, _ in rows], [q for _, q in rows]
    which = np.unique(qid, return_inverse=True)[1].tolist()
    t = from_judgements(grades, qid, len(rows), grades=how)
    assert t.graded is not None
    g, found = t.graded, []
    for q in range(len(t.queries)):
        for p in g.upper[g.upper_start[q] : g.upper_start[q + 1]].tolist():
            first = g.lower_start[q]
            found += [(q, p, m) for m in g.lower[first : first + g.n_lower[p]].tolist()]
    assert sorted(found) == sorted(naive.pairs(grades, which))
    assert t.n_triplets.tolist() == [
        sum(1 for q, _, _ in found if q == i) for i in range(len(t.queries))
    ]
    wanted = naive.margins(found, grades, which, how)
    np.testing.assert_allclose(margins(t, found), wanted)
    assert max(wanted, default=1.0) == pytest.approx(1.0)


def planted(n: int, seed: int) -> tuple[Matrix, Int, Int]:
    """Few pictures of high grades, told apart by another feature than relevant from other."""
    rng = np.random.default_rng(seed)
    y = rng.choice(5, size=n, p=[0.5, 0.3, 0.1, 0.06, 0.04])
    X = rng.normal(size=(n, 12))
    X[:, 0] += 1.2 * (y > 0)
    X[:, 1] += 1.2 * np.maximum(y - 1, 0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, np.zeros(n, dtype=np.int64)


@pytest.mark.parametrize(("ranker", "more"), [(PAMIR, {}), (PAMIR, {"weight": "ndcg"}), (WARP, {})])
def test_grades_raise_ndcg_where_there_are_grades(ranker: Any, more: dict[str, Any]) -> None:
    X, y, qid = planted(900, 0)
    held, truth, _ = planted(900, 1)
    how: dict[str, Any] = {"C": 0.01, "averaged": True}
    binary = ranker(**how).fit(X, y, qid, n_iter=30_000)
    graded = ranker(grades="exponential", **how, **more).fit(X, y, qid, n_iter=30_000)
    before, after = (
        ndcg_at(r.decision_function(held)[:, 0], truth, k=50) for r in (binary, graded)
    )
    assert after > before + 0.05


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_swaps_are_worth_what_ndcg_says(kind: Any) -> None:
    X, y, qid = judged(n=45)
    t = targets(y, qid)
    W = np.random.default_rng(0).normal(size=(2, X.shape[1])).astype(np.float32)
    rows = as_rows(kind(X), "PAMIR")
    scores = judged_scores(rows, W, t)
    wanted = np.einsum("ij,ij->i", X @ W.T, query_matrix(t.queries, 2)[np.arange(45) % 3])
    np.testing.assert_allclose(scores, wanted, atol=1e-5)
    triplets = np.array(naive.pairs(y.tolist(), (np.arange(45) % 3).tolist()), dtype=np.int32)
    found = ndcg.Swaps(rows, t).shares(tuple(triplets.T), W)
    for q in range(3):
        mine = np.flatnonzero(np.arange(45) % 3 == q)
        here = triplets[:, 0] == q
        changes = [
            naive.swap_change(scores[mine].tolist(), y[mine].tolist(), p // 3, m // 3)
            for _, p, m in triplets[here].tolist()
        ]
        ratio = found[here] / changes
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
        assert found[here].min() > 0 and found[here].max() <= 1.0


def test_the_largest_swap_counts_in_full() -> None:
    t = targets([0, 1, 4], ["a", "a", "a"])
    W = np.array([[0.0, 2.0]], dtype=np.float32)
    rows = as_rows([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0]], "PAMIR")
    drawn_ = tuple(np.array([v], dtype=np.int32) for v in (0, 2, 0))
    assert ndcg.Swaps(rows, t).shares(drawn_, W).tolist() == [1.0]


def test_weighing_by_ndcg_is_the_slow_twin_with_shares() -> None:
    X, y, qid = judged()
    t = targets(y, qid)
    triplets = drawn(t, 1000, seed=7)
    none = np.zeros((2, X.shape[1]), dtype=np.float32)
    parts = tuple(np.array(part, dtype=np.int32) for part in zip(*triplets, strict=True))
    share = ndcg.Swaps(as_rows(X, "PAMIR"), t).shares(parts, none)
    rho = margins(t, triplets)
    wanted, _ = naive.learn(X, query_matrix(t.queries, 2), triplets, rho, share, 0.1)
    ranker = PAMIR(C=0.1, random_state=7, grades="exponential", weight="ndcg")
    ranker.fit(X, y, qid, n_iter=1000)
    np.testing.assert_allclose(ranker.W_, wanted, atol=2e-4 * np.abs(wanted).max())
    plain = PAMIR(C=0.1, random_state=7, grades="exponential").fit(X, y, qid, n_iter=1000)
    assert plain.W_.tobytes() != ranker.W_.tobytes()


def test_ndcg_judges_where_there_are_grades() -> None:
    X, y, qid = judged(n=150)
    ranker = PAMIR(grades="linear", eval_every=500, n_iter=2000, patience=9)
    ranker.fit(X[:90], y[:90], qid[:90], validation=(X[90:], y[90:], qid[90:]))
    wanted = []
    for query in np.unique(qid):
        mine = np.flatnonzero(qid[90:] == query) + 90
        wanted.append(ndcg_at(X[mine] @ ranker.query(str(query).split()), y[mine]))
    assert ranker.score(X[90:], y[90:], qid[90:]) == pytest.approx(np.mean(wanted), abs=1e-5)
    assert ranker.best_score_ == ranker.score(X[90:], y[90:], qid[90:])
    assert ranker.best_score_ == max(s for _, s in ranker.history_)
    binary = PAMIR().fit(X, y, qid, n_iter=500)
    assert binary.score(X, y, qid) != ranker.score(X, y, qid)


def test_an_unknown_query_counts_what_chance_would() -> None:
    X, y, qid = judged()
    ranker = PAMIR(grades="linear").fit(X, y, qid, n_iter=500)
    other = np.where(qid == "red", "moon", qid)
    mine = qid == "red"
    chance = ndcg_at(np.zeros(mine.sum()), y[mine], ties="mean")
    rest = 3 * ranker.score(X, y, qid) - ranker.score(X[mine], y[mine], qid[mine])
    assert ranker.score(X, y, other) == pytest.approx((rest + chance) / 3)


def test_going_on_keeps_the_unit_of_grades() -> None:
    X, y, qid = judged()
    how: dict[str, Any] = {"grades": "linear", "pairs_per_query": 1}
    whole = PAMIR(**how).fit(X, y, qid, n_iter=900)
    parts = PAMIR(**how).partial_fit(X, y, qid, n_iter=400).partial_fit(X, y, qid, n_iter=500)
    assert parts.W_.tobytes() == whole.W_.tobytes()
    low = y <= 1
    narrow = parts._targets(
        as_rows(X[low], "x"), y[low], qid[low], None, None, parts._query_words()
    )
    assert narrow.graded is not None and narrow.graded.unit == 4.0


def test_tables_and_queries_have_no_grades() -> None:
    X, y, _ = judged()
    table = (y[:, None] > np.array([1, 2])).astype(int)
    graded = PAMIR(grades="exponential").fit(X, table, n_iter=500)
    assert graded.W_.tobytes() == PAMIR().fit(X, table, n_iter=500).W_.tobytes()


def test_wrong_grades() -> None:
    X, y, qid = judged()
    with pytest.raises(ParameterError, match=r"'grades' parameter of PAMIR .* Got 'stars'"):
        PAMIR(grades="stars").fit(X, y, qid)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'weight' parameter of PAMIR .* Got 'ndcg'"):
        PAMIR(weight="ndcg").fit(X, y, qid)
    with pytest.raises(DataError, match=r"at most 50 where 2\^grade counts. Got 60"):
        PAMIR(grades="exponential").fit(X, np.where(y == 4, 60, y), qid)
    assert PAMIR(grades="linear").fit(X, np.where(y == 4, 60, y), qid, n_iter=9).W_.any()
    with pytest.raises(DataError, match="nothing to learn"):
        PAMIR(grades="linear").fit(X, np.full(len(X), 2), qid)
    ones = PAMIR(grades="linear").fit(X, y + 1, qid, n_iter=500)
    assert ones.W_.tobytes() == PAMIR(grades="linear").fit(X, y, qid, n_iter=500).W_.tobytes()
