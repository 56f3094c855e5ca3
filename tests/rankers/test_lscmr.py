"""LSCMR: planes against double sums, factors, training, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from sightline.errors import DataError, ParameterError, UsageError
from sightline.rankers._lscmr_planes import Counted, Formed, Planes, planes_of
from sightline.rankers.lscmr import LSCMR, Factors, Solver, balanced, projected
from sightline.solvers.oracles import CandidateLists, Criterion
from tests.factories.recorded_progress import RecordedProgress
from tests.naive import lscmr as naive

Doubles = NDArray[np.float64]
MAP = Criterion.named("map")


def made(seed: int = 0, n: int = 60, noise: float = 0.3) -> dict[str, Any]:
    """Three classes seen from two sides of 4 and 6 columns; lists of 8 candidates."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n)
    Q = rng.normal(size=(3, 4))[classes] + noise * rng.normal(size=(n, 4))
    D = rng.normal(size=(3, 6))[classes] + noise * rng.normal(size=(n, 6))
    candidates = np.array([rng.permutation(n)[:8] for _ in range(n)])
    return {
        "Q": Q, "D": D, "candidates": candidates,
        "relevance": classes[candidates] == classes[:, None],
        "classes": classes,
    }  # fmt: skip


def given(data: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    return data["Q"], data["D"], data["candidates"], data["relevance"]


def random_factors(k: int = 3) -> tuple[Doubles, Doubles]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(k, 4)), rng.normal(size=(k, 6))


@pytest.mark.parametrize("form", [Formed, Counted])
def test_planes_equal_the_double_sum_over_pairs(form: type[Planes]) -> None:
    data = made()
    Q, D, candidates, relevance = given(data)
    lists = CandidateLists.of(candidates, relevance)
    planes = form(Q, D, lists, MAP)
    U, V = random_factors()
    plane = planes.separate(U, V)
    counted = Counted(Q, D, lists, MAP).separate(U, V)
    M, loss = np.zeros((4, 6)), []
    for i, q in enumerate(lists.query):
        part = slice(lists.start[i], lists.start[i + 1])
        own, relevant = D[lists.candidate[part]], lists.relevant[part].tolist()
        scores = (own @ V.T @ (U @ Q[q])).tolist()
        order = naive.order_of(counted.row[part].tolist(), scores, relevant)
        M += naive.delta_psi(Q[q], own, order, relevant) / len(lists)
        loss.append(1 - naive.measured(order, relevant, "map"))
    together = planes.together([plane, plane])
    expected = np.mean(loss) - np.sum((U.T @ V) * M)
    assert together.violations(U, V) == pytest.approx([expected, expected])
    assert together.toward_u(1, V) == pytest.approx(V @ M.T)
    assert together.toward_v(0, U) == pytest.approx(U @ M)


def test_sparse_sides_give_the_same_planes_as_dense_ones() -> None:
    data = made()
    Q, D, candidates, relevance = given(data)
    lists = CandidateLists.of(candidates, relevance)
    dense = Counted(Q, D, lists, MAP)
    thin = planes_of(sparse.csr_array(Q), sparse.csr_matrix(D), lists, MAP)
    assert isinstance(thin, Counted) and isinstance(planes_of(Q, D, lists, MAP), Formed)
    U, V = random_factors()
    a, b = (p.together([p.separate(U, V)]) for p in (dense, thin))
    assert a.violations(U, V) == pytest.approx(b.violations(U, V))
    assert a.toward_u(0, V) == pytest.approx(b.toward_u(0, V))
    assert a.toward_v(0, U) == pytest.approx(b.toward_v(0, U))


def test_balancing_keeps_the_product_and_projecting_twice_is_projecting_once() -> None:
    U, V = random_factors()
    u, v = balanced(U, 9 * V)
    assert u.T @ v == pytest.approx(U.T @ (9 * V))
    assert np.linalg.norm(u) == pytest.approx(np.linalg.norm(v))
    once = projected(U, 1.0)
    assert np.linalg.norm(once) == pytest.approx(1) and projected(once, 1.0) == pytest.approx(once)
    zero = np.zeros((3, 6))
    assert balanced(U, zero)[0] is U


@pytest.mark.parametrize("solver", ["descent", "planes"])
def test_training_does_not_collapse_and_ends_below_the_start_and_below_zero(
    solver: Solver,
) -> None:
    data = made()
    ranker = LSCMR(n_components=3, lam=0.01, solver=solver, max_rounds=40, n_steps=200).fit(
        *given(data)
    )
    start = ranker.rounds_[0]
    lists = CandidateLists.of(data["candidates"], data["relevance"])
    planes = planes_of(data["Q"], data["D"], lists, MAP)
    nothing = planes.separate(np.zeros((3, 4)), np.zeros((3, 6))).loss
    assert ranker.objective_ < 0.8 * start.objective and ranker.objective_ < 0.8 * nothing
    assert np.linalg.norm(ranker.U_.T @ ranker.V_) > 0.1
    assert ranker.objective_ <= min(r.objective for r in ranker.rounds_)
    # The violation of the worst orders bounds the loss of the predicted ones.
    U, V = ranker.U_.astype(float), ranker.V_.astype(float)
    scores = planes.scores(U, V)
    losses = []
    for i in range(len(lists)):
        part = slice(lists.start[i], lists.start[i + 1])
        order = np.argsort(-scores[part], kind="stable").tolist()
        losses.append(1 - naive.measured(order, lists.relevant[part].tolist(), "map"))
    assert np.mean(losses) <= ranker.violation_ + 1e-5
    if ranker.stop_reason_ == "converged":
        last = ranker.rounds_[-1]
        assert last.violation <= last.xi + 0.01


@pytest.mark.parametrize("optimise", ["map", "ndcg", "ndcg@3", "p@2", "mrr", "auc"])
def test_every_measure_can_be_optimised(optimise: str) -> None:
    data = made()
    relevant = data["classes"][:, None] == data["classes"]
    ranker = LSCMR(n_components=3, lam=0.01, optimise=optimise, max_rounds=15, n_steps=100)
    quality = ranker.fit(*given(data)).score(data["Q"], data["D"], relevant)
    assert quality > 0.8


def test_what_is_learnt_holds_for_others_and_both_forms_learn_it() -> None:
    data = made(n=120)
    train = {k: v[:60] for k, v in data.items()}
    rng = np.random.default_rng(1)
    candidates = rng.integers(0, 60, (60, 10))
    relevance = train["classes"][candidates] == train["classes"][:, None]
    dense = LSCMR(n_components=3, lam=0.01, max_rounds=15, n_steps=100)
    dense.fit(train["Q"], train["D"], candidates, relevance)
    thin = LSCMR(n_components=3, lam=0.01, max_rounds=15, n_steps=100)
    thin.fit(sparse.csr_matrix(train["Q"]), sparse.csr_matrix(train["D"]), candidates, relevance)
    others = data["classes"][60:, None] == data["classes"][60:]
    for ranker in (dense, thin):
        assert ranker.score(data["Q"][60:], data["D"][60:], others) > 0.75
    assert thin.objective_ == pytest.approx(dense.objective_, abs=0.02)


def test_the_same_seed_gives_the_same_bytes_and_a_saved_ranker_scores_the_same() -> None:
    data = made()
    a, b = (LSCMR(n_components=2, max_rounds=5, n_steps=50).fit(*given(data)) for _ in range(2))
    assert a.U_.tobytes() == b.U_.tobytes() and a.V_.tobytes() == b.V_.tobytes()
    again = LSCMR.from_arrays(a.to_arrays())
    scores = a.decision_function(data["Q"], data["D"])
    assert np.array_equal(again.decision_function(data["Q"], data["D"]), scores)
    weights = a.query(data["Q"][4])
    assert weights.shape == (2,) and a.embed(data["D"]) @ weights == pytest.approx(scores[4])
    assert a.query(sparse.csr_matrix(data["Q"][4:5])) == pytest.approx(weights)


def test_rounds_are_told_as_they_end() -> None:
    told, heard = RecordedProgress(), list[Any]()
    data = made()
    ranker = LSCMR(n_components=2, max_rounds=4, n_steps=20).fit(
        *given(data), progress=told, on_round=heard.append
    )
    assert tuple(heard) == ranker.rounds_[1:] and told.done == len(heard) and told.finished
    assert ranker.stop_reason_ in ("converged", "stalled", "max_rounds")


def test_lists_that_say_nothing_are_dropped_and_counted() -> None:
    data = made()
    Q, D, candidates, relevance = given(data)
    Q, D, relevance = Q.copy(), D.copy(), relevance.copy()
    kept = np.flatnonzero(relevance.any(axis=1) & ~relevance.all(axis=1))
    before = LSCMR(n_components=2, max_rounds=2, n_steps=5).fit(*given(data)).n_dropped_
    assert before == len(Q) - len(kept)
    all_relevant, none_relevant, without_words = kept[:3]
    relevance[all_relevant], relevance[none_relevant] = 1, 0
    Q[without_words], D[7] = 0, 0
    ranker = LSCMR(n_components=2, max_rounds=2, n_steps=5).fit(Q, D, candidates, relevance)
    assert ranker.n_dropped_ - before == 3 and ranker.n_empty_ == 1
    assert not ranker.decision_function(Q[[without_words]], D).any()
    assert not ranker.decision_function(Q, D)[:, 7].any()
    with pytest.raises(DataError, match="all zeros, so LSCMR can put nothing in order"):
        ranker.query(Q[without_words])


def test_rows_of_either_side_that_are_in_no_list_change_nothing() -> None:
    data = made()
    Q, D, candidates, relevance = given(data)
    rng = np.random.default_rng(2)
    alone = LSCMR(n_components=2, max_rounds=4).fit(Q, D, candidates, relevance)
    more = np.vstack([Q, rng.normal(size=(9, 4))]), np.vstack([D, rng.normal(size=(5, 6))])
    beside = LSCMR(n_components=2, max_rounds=4).fit(*more, candidates, relevance)
    assert pytest.approx(alone.U_, abs=1e-6) == beside.U_
    assert pytest.approx(alone.V_, abs=1e-6) == beside.V_
    assert beside.n_dropped_ == alone.n_dropped_


def test_lists_may_belong_to_queries_in_any_order_and_sides_need_no_pairs() -> None:
    data = made()
    Q, D, candidates, _ = given(data)
    which = np.array([5, 5, 3])
    relevant = data["classes"][candidates[:3]] == data["classes"][which][:, None]
    ranker = LSCMR(n_components=2, max_rounds=3, n_steps=20).fit(
        Q[:10], D, candidates[:3], relevant, which
    )
    assert ranker.decision_function(Q, D).shape == (60, 60)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Q": np.zeros((60, 4))}, "Every query is all zeros"),
        ({"D": np.zeros((60, 6))}, "Every document is all zeros"),
        ({"candidates": np.full((60, 8), 60)}, "documents from 0 to 59"),
        ({"query": np.full(60, 60)}, "queries from 0 to 59"),
        ({"query": [0]}, "as many queries"),
        ({"Q": np.full((60, 4), np.nan)}, "finite"),
        ({"Q": [["word"]]}, "table of numbers"),
        ({"Q": np.zeros(3)}, "a row for each sample"),
        ({"relevance": np.ones((60, 8))}, "both a relevant and an other"),
    ],
)
def test_lists_that_cannot_be_learnt_from_are_refused(change: dict[str, Any], said: str) -> None:
    data = made()
    named = dict(zip(("Q", "D", "candidates", "relevance"), given(data), strict=True))
    with pytest.raises(DataError, match=said):
        LSCMR(n_components=2).fit(**{**named, **change})


def test_more_dimensions_than_there_are_columns_are_refused() -> None:
    with pytest.raises(DataError, match=r"cannot learn 5 dimensions.*at most 4"):
        LSCMR(n_components=5).fit(*given(made()))


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": 0.0},
        {"n_components": 0},
        {"eps": -1.0},
        {"max_rounds": 0},
        {"optimise": "bleu"},
        {"solver": "guess"},
    ],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"'{name}' parameter of LSCMR"):
        LSCMR(**{"n_components": 2, **wrong}).fit(*given(made()))


def test_other_dimensions_and_unfitted_rankers_are_refused() -> None:
    data = made()
    ranker = LSCMR(n_components=2, max_rounds=1, n_steps=5).fit(*given(data))
    with pytest.raises(DataError, match="Q has 6 features, but LSCMR is expecting 4"):
        ranker.embed_queries(data["D"])
    with pytest.raises(DataError, match="D has 4 features, but LSCMR is expecting 6"):
        ranker.embed(data["Q"])
    with pytest.raises(DataError, match="A query is one row"):
        ranker.query(data["Q"])
    with pytest.raises(UsageError, match="is not fitted yet"):
        LSCMR().embed(data["D"])


def test_dimensions_and_columns_can_be_read() -> None:
    U = np.array([[3.0, -1.0, 2.0, 0.0], [0.0, 1.0, 0.1, 0.0]], dtype=np.float32)
    ranker = LSCMR.from_arrays({"U": U, "V": np.eye(2, 6, dtype=np.float32)})
    assert ranker.topic(0, 2).tolist() == [0, 2]
    assert ranker.topic(0, 1, lowest=True).tolist() == [1]
    assert ranker.nearest_columns(0).tolist() == [2, 3, 1]
    with pytest.raises(DataError, match="dimensions from 0 to 1"):
        ranker.topic(2)
    with pytest.raises(DataError, match="columns from 0 to 3"):
        ranker.nearest_columns(-1)


def test_the_slope_is_that_of_finite_differences_and_descent_ends_below_planes() -> None:
    data = made(noise=1.0)
    lists = CandidateLists.of(data["candidates"], data["relevance"])
    planes = planes_of(data["Q"], data["D"], lists, MAP)
    factors = Factors(planes, 2, 0.05, 60, np.random.default_rng(0))
    at, batch = factors.parameters(), factors.separate()
    slope = factors.slope(batch)
    for i in (0, 5, 9, 17):
        beside = []
        for step in (-1e-6, 1e-6):
            factors.put(at + step * np.eye(len(at))[i])
            beside.append(factors.penalty() + factors.violations([batch])[0])
        assert slope[i] == pytest.approx((beside[1] - beside[0]) / 2e-6, abs=1e-6)
    ended = [
        LSCMR(n_components=2, lam=0.01, solver=solver, n_steps=100).fit(*given(data)).objective_
        for solver in ("descent", "planes")
    ]
    assert ended[0] < ended[1]


def test_a_start_that_is_given_is_begun_with() -> None:
    data = made()
    before = LSCMR(n_components=2, lam=0.01).fit(*given(data))
    after = LSCMR(n_components=2, lam=0.01, max_rounds=3).fit(
        *given(data), start=(before.U_, before.V_)
    )
    assert after.rounds_[0].objective == pytest.approx(before.objective_, abs=1e-4)
    with pytest.raises(DataError, match=r"of shape \(2, 4\) here"):
        LSCMR(n_components=2).fit(*given(data), start=(np.eye(3), np.eye(3)))


def test_the_inner_solver_never_ends_worse_than_it_began() -> None:
    data = made()
    lists = CandidateLists.of(data["candidates"], data["relevance"])
    planes = planes_of(data["Q"], data["D"], lists, MAP)
    factors = Factors(planes, 2, 0.05, 60, np.random.default_rng(0))
    batches = [factors.separate()]
    before = factors.penalty() + max(0.0, factors.violations(batches)[0])
    factors.solve(batches)
    assert factors.penalty() + max(0.0, factors.violations(batches)[0]) <= before
