"""Laws of the ranking measures, and equality with their slow twins, ties included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.measures import (
    auc,
    average_precision,
    average_precision_at,
    map_at,
    measure,
    precision_at,
    rank,
    reciprocal_rank,
)
from tests.naive import measures as naive

NAMES = ["AvgP", "BEP", "MRR", "AUC", "NDCG@3", "P@3", "AP@3", "MAP@3", "AP@T"]


@dataclass(frozen=True)
class Query:
    scores: list[float]
    grades: list[float]


def queries(most: int, grade: int = 1, scores: int = 3) -> st.SearchStrategy[Query]:
    """Short lists with at least one relevant picture, few scores (ties) and few grades."""
    pairs = st.tuples(st.integers(0, scores), st.integers(0, grade))
    lists = st.lists(pairs, min_size=1, max_size=most).filter(lambda x: any(g for _, g in x))
    return lists.map(lambda x: Query([float(s) for s, _ in x], [float(g) for _, g in x]))


def twin(name: str, k: int) -> Callable[[list[float]], float]:
    return {
        "AvgP": naive.average_precision,
        "BEP": naive.break_even_point,
        "MRR": naive.reciprocal_rank,
        f"P@{k}": lambda x: naive.precision(x, k),
        f"AP@{k}": lambda x: naive.average_precision_at(x, k),
        f"MAP@{k}": lambda x: naive.map_at(x, k),
        f"NDCG@{k}": lambda x: naive.ndcg_at(x, k),
    }[name]


def twin_names(k: int) -> list[str]:
    return ["AvgP", "BEP", "MRR", f"P@{k}", f"AP@{k}", f"MAP@{k}", f"NDCG@{k}"]


@settings(deadline=None)
@given(queries(12, grade=3), st.integers(1, 14))
def test_equals_the_twin_with_ties_by_id(query: Query, k: int) -> None:
    ordered = naive.ranked(query.scores, query.grades)
    for name in twin_names(k):
        found = measure(name)(query.scores, query.grades)
        assert found == pytest.approx(twin(name, k)(ordered)), name
    older = measure(f"NDCG@{k}", discount="log2(r)")(query.scores, query.grades)
    assert older == pytest.approx(naive.ndcg_at(ordered, k, older=True))


@settings(deadline=None, max_examples=60)
@given(queries(6, grade=2, scores=1), st.integers(1, 7))
def test_mean_over_ties_equals_every_order_tried(query: Query, k: int) -> None:
    for name in twin_names(k):
        found = measure(name)(query.scores, query.grades, ties="mean")
        tried = naive.expected(twin(name, k), query.scores, query.grades)
        assert found == pytest.approx(tried), name


@settings(deadline=None)
@given(queries(12).filter(lambda q: not all(q.grades)))
def test_auc_equals_the_twin(query: Query) -> None:
    assert auc(query.scores, query.grades) == pytest.approx(naive.auc(query.scores, query.grades))


@settings(deadline=None)
@given(queries(12, grade=2), st.randoms(use_true_random=False))
def test_permuting_pictures_with_their_ids_changes_nothing(query: Query, random: object) -> None:
    n = len(query.scores)
    order = np.array(random.sample(range(n), n))  # type: ignore[attr-defined]
    scores, grades, ids = np.array(query.scores), np.array(query.grades), np.arange(n)
    for name in NAMES:
        before = measure(name)(scores, grades, ids=ids)
        after = measure(name)(scores[order], grades[order], ids=ids[order])
        assert after == before or (np.isnan(after) and np.isnan(before)), name


@settings(deadline=None)
@given(queries(12), st.sampled_from(["id", "mean"]))
def test_every_value_lies_between_0_and_1(query: Query, ties: str) -> None:
    for name in NAMES:
        value = measure(name)(query.scores, query.grades, ties=ties)  # type: ignore[arg-type]
        assert np.isnan(value) if name == "AUC" and all(query.grades) else 0 <= value <= 1 + 1e-12


@settings(deadline=None)
@given(queries(12))
def test_average_precision_is_1_exactly_when_all_relevant_come_first(query: Query) -> None:
    ordered = naive.ranked(query.scores, query.grades)
    first = ordered == sorted(ordered, reverse=True)
    assert (average_precision(query.scores, query.grades) == 1.0) is first


@settings(deadline=None)
@given(queries(12), st.integers(1, 12))
def test_ap_at_t_equals_average_precision_when_t_relevant_are_inside(query: Query, t: int) -> None:
    ranking = rank(query.scores, query.grades)
    inside = ranking.relevant[:t].sum() == ranking.n_relevant
    equal = average_precision_at(ranking, k=t) == pytest.approx(average_precision(ranking))
    # With at least one hit, equality needs the two divisors and the two sums to agree.
    if t == ranking.n_relevant:
        assert equal is bool(inside)
    elif inside:
        assert not equal


@settings(deadline=None)
@given(queries(12), st.integers(1, 12))
def test_map_at_r_is_0_exactly_when_the_top_r_holds_no_relevant(query: Query, r: int) -> None:
    ranking = rank(query.scores, query.grades)
    assert (map_at(ranking, k=r) == 0) is (not ranking.relevant[:r].any())


@settings(deadline=None)
@given(queries(12))
def test_without_ties_both_rules_agree(query: Query) -> None:
    distinct = [float(i) for i in np.argsort(np.argsort(query.scores, kind="stable"))]
    for name in NAMES:
        by_id = measure(name)(distinct, query.grades)
        mean = measure(name)(distinct, query.grades, ties="mean")
        assert mean == pytest.approx(by_id, nan_ok=True), name


def test_large_tied_groups_stay_finite_and_exact() -> None:
    n, relevant = 6000, 900
    scores, grades = np.zeros(n), np.arange(n) < relevant
    assert precision_at(scores, grades, k=50, ties="mean") == pytest.approx(0.15)
    # With nothing above the group, E[MAP@1] is the chance that the first is relevant.
    assert map_at(scores, grades, k=1, ties="mean") == pytest.approx(0.15)
    assert 0.15 < map_at(scores, grades, k=3000, ties="mean") < 0.16
    half = np.arange(n) < n // 2
    assert 0.5 < map_at(scores, half, k=n // 2, ties="mean") < 0.51
    one = reciprocal_rank(np.zeros(n), np.arange(n) < 1, ties="mean")
    assert one == pytest.approx(np.mean(1 / np.arange(1, n + 1)))


def test_random_lists_equal_the_twin_at_length() -> None:
    generator = np.random.default_rng(7)
    for _ in range(20):
        scores = generator.integers(0, 30, 120).astype(float)
        grades = generator.integers(0, 3, 120).astype(float)
        ids = generator.permutation(120)
        ordered = naive.ranked(list(scores), list(grades), list(ids))
        for name in twin_names(50):
            found = measure(name)(scores, grades, ids=ids)
            assert found == pytest.approx(twin(name, 50)(ordered)), name
