"""Separation oracles: against all orders of short lists, and against each other on long ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.solvers import _oracles_fast
from sightline.solvers.oracles import CandidateLists, Criterion, Separated, separate
from tests.naive import lscmr as naive

MEASURES = ("map", "ndcg", "ndcg@2", "ndcg@3", "p@1", "p@3", "mrr", "auc")
FAST = ("map", "auc", "mrr")


def one(scores: list[float], relevant: list[bool], name: str, exact: bool = False) -> Separated:
    lists = CandidateLists.of([list(range(len(scores)))], [relevant])
    return separate(scores, lists, Criterion.named(name), exact)


def drawn(rng: np.random.Generator, n: int, ties: bool) -> tuple[list[float], list[bool]]:
    relevant = rng.random(n) < 0.4
    relevant[0], relevant[1] = True, False
    scores = rng.normal(scale=0.7, size=n)
    if ties:
        scores = np.round(scores * 2) / 2
    order = rng.permutation(n)
    return scores[order].tolist(), relevant[order].tolist()


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("exact", [False, True])
def test_the_oracle_equals_brute_force_over_all_orders(name: str, exact: bool) -> None:
    rng = np.random.default_rng(0)
    for trial in range(24):
        n = 2 + trial % 5 if trial < 22 else 7
        scores, relevant = drawn(rng, n, ties=trial % 3 == 0)
        found = one(scores, relevant, name, exact)
        assert found.values[0] == pytest.approx(naive.most_violated(scores, relevant, name))


@pytest.mark.parametrize("name", MEASURES)
def test_counts_are_the_inversions_of_an_order_with_that_loss_and_value(name: str) -> None:
    rng = np.random.default_rng(1)
    for trial in range(30):
        scores, relevant = drawn(rng, 9, ties=trial % 2 == 0)
        found = one(scores, relevant, name)
        order = naive.order_of(found.counts.tolist(), scores, relevant)
        assert sorted(order) == list(range(9))
        loss = 1 - naive.measured(order, relevant, name)
        assert found.losses[0] == pytest.approx(loss, abs=1e-12)
        difference = naive.delta_f(order, scores, relevant)
        assert found.values[0] == pytest.approx(loss - difference)
        pairs = sum(relevant) * (9 - sum(relevant))
        assert difference == pytest.approx(2 / pairs * float(found.counts @ np.array(scores)))


@pytest.mark.parametrize("scale", [0.0, 0.02, 0.5, 5.0])
def test_long_lists_are_halved_to_the_same_orders(scale: float) -> None:
    rng = np.random.default_rng(3)
    for n in (50, 130, 400):
        scores = rng.normal(scale=scale, size=n)
        relevant = rng.random(n) < rng.choice([0.1, 0.5, 0.9])
        relevant[:2] = True, False
        assert relevant.sum() * (~relevant).sum() > 0
        lists = CandidateLists.of([np.arange(n)], [relevant])
        fast, exact = (separate(scores, lists, Criterion.named("map"), e) for e in (False, True))
        assert fast.values == pytest.approx(exact.values, abs=1e-12)
        assert fast.losses == pytest.approx(exact.losses, abs=1e-9)
        a, b = np.sort(scores[relevant])[::-1], np.sort(scores[~relevant])[::-1]
        assert _oracles_above(a, b, halves=True) == _oracles_above(a, b, halves=False)


def _oracles_above(a: NDArray[np.float64], b: NDArray[np.float64], halves: bool) -> list[int]:
    """Return how many others each form puts above each relevant candidate."""
    n, m = len(a), len(b)
    r = np.arange(n + m + 1, dtype=np.float64)
    above = np.empty(n, np.int64)
    if halves:
        harmonic = np.concatenate([[0.0], np.cumsum(1 / r[1:])])
        _oracles_fast.ap_halves(a, b, n, m, harmonic, np.empty(n + 1), above)
    else:
        inverse = np.concatenate([[0.0, 0.0], 1 / (r[2:] * (r[2:] - 1))])
        _oracles_fast.ap_greedy(a, b, n, m, inverse, above)
    return above.tolist()


@pytest.mark.parametrize("name", FAST)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 150), scale=st.floats(0.0, 5.0))
def test_fast_forms_equal_the_programme(name: str, seed: int, n: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    scores, relevant = drawn(rng, n, ties=seed % 4 == 0)
    scores = [scale * s for s in scores]
    fast, exact = one(scores, relevant, name), one(scores, relevant, name, exact=True)
    assert fast.values[0] == pytest.approx(exact.values[0], abs=1e-9)


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60))
def test_losses_are_shares_and_no_simple_order_is_worse(name: str, seed: int, n: int) -> None:
    scores, relevant = drawn(np.random.default_rng(seed), n, ties=seed % 2 == 0)
    found = one(scores, relevant, name)
    assert -1e-12 <= found.losses[0] <= 1
    # The true order has loss 0 and delta F 0; the predicted one is sorted by score.
    assert found.values[0] >= -1e-12
    by_score = sorted(range(n), key=lambda d: -scores[d])
    value = 1 - naive.measured(by_score, relevant, name) - naive.delta_f(by_score, scores, relevant)
    assert found.values[0] >= value - 1e-9


def test_ragged_lists_are_separated_one_by_one() -> None:
    rng = np.random.default_rng(3)
    made = [drawn(rng, n, ties=False) for n in (3, 90, 2, 40)]
    lists = CandidateLists.of([np.arange(len(s)) for s, _ in made], [r for _, r in made])
    for name in MEASURES:
        scores = np.concatenate([s for s, _ in made])
        together = separate(scores, lists, Criterion.named(name))
        alone = [one(s, r, name) for s, r in made]
        assert together.counts.tolist() == [c for a in alone for c in a.counts.tolist()]
        assert together.losses.tolist() == [a.losses[0] for a in alone]


def test_lists_that_rank_nothing_are_dropped_and_counted() -> None:
    lists = CandidateLists.of(
        [[5, 6], [1, 2], [3, 4], []], [[1, 1], [0, 1], [0, 0], []], [7, 8, 9, 9]
    )
    assert (len(lists), lists.n_dropped) == (1, 3)
    assert lists.candidate.tolist() == [1, 2] and lists.query.tolist() == [8]
    assert lists.pairs().tolist() == [1.0]
    with pytest.raises(DataError, match="both a relevant and an other"):
        CandidateLists.of([[0, 1]], [[1, 1]])


@pytest.mark.parametrize(
    ("candidates", "relevance", "query", "said"),
    [
        ([[0, 1]], [], None, "relevance of as many"),
        ([[0, 1]], [[1]], None, "List 0 has candidates"),
        ([[0, 1]], [[1, 0]], [1, 2], "as many queries"),
    ],
)
def test_lists_that_do_not_agree_are_refused(
    candidates: object, relevance: object, query: list[int] | None, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        CandidateLists.of(candidates, relevance, query)


def test_scores_that_are_no_numbers_or_too_few_are_refused() -> None:
    with pytest.raises(DataError, match="must be finite"):
        one([0.0, float("nan")], [True, False], "map")
    with pytest.raises(DataError, match="2 candidates need"):
        separate([1.0], CandidateLists.of([[0, 1]], [[1, 0]]), Criterion.named("map"))


@pytest.mark.parametrize("name", ["ap", "ndcg@0", "p", "p@-1", "map@3", "mrr "])
def test_unknown_measures_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="'ndcg@k'"):
        Criterion.named(name)
