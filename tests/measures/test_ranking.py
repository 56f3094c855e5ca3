"""Known values, rules and consequences of the ranking measures."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from sightline.errors import DataError, ParameterError
from sightline.measures import (
    Ranking,
    auc,
    average_precision,
    average_precision_at,
    break_even_point,
    evaluate,
    map_at,
    ndcg_at,
    precision_at,
    rank,
    rankings,
    reciprocal_rank,
)

ALL: list[Callable[..., float]] = [
    average_precision,
    break_even_point,
    reciprocal_rank,
    auc,
    ndcg_at,
    lambda *a, **kw: precision_at(*a, k=2, **kw),
    lambda *a, **kw: average_precision_at(*a, k=2, **kw),
    lambda *a, **kw: map_at(*a, k=2, **kw),
]


def test_known_values() -> None:
    assert average_precision([1, 0, 1, 0]) == pytest.approx((1 + 2 / 3) / 2)
    assert precision_at([1, 0, 1, 0], k=2) == 0.5
    assert break_even_point([1, 0, 1, 0]) == 0.5
    assert average_precision([0, 1]) == 0.5
    assert reciprocal_rank([0, 1]) == 0.5


def test_golden_numbers_worked_by_hand() -> None:
    grades = [0, 2, 1, 0, 1]
    assert average_precision(grades) == pytest.approx((1 / 2 + 2 / 3 + 3 / 5) / 3)
    assert average_precision_at(grades, k=4) == pytest.approx((1 / 2 + 2 / 3) / 4)
    assert map_at(grades, k=4) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert auc(grades) == pytest.approx(2 / 6)
    dcg = 3 / math.log2(3) + 1 / 2 + 1 / math.log2(6)
    assert ndcg_at(grades) == pytest.approx(dcg / (3 + 1 / math.log2(3) + 1 / 2))


def test_the_older_discount_is_1_at_the_first_two_ranks() -> None:
    older = 3 + 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 3 + 1 + 1 / math.log2(3)
    assert ndcg_at([0, 2, 1, 0, 1], discount="log2(r)") == pytest.approx(older / ideal)
    assert ndcg_at([1, 0, 0], discount="log2(r)") == ndcg_at([0, 1, 0], discount="log2(r)") == 1
    assert ndcg_at([0, 0, 1], k=2, discount="log2(r)") == 0


def test_a_list_shorter_than_k_is_still_divided_by_k() -> None:
    assert precision_at([1, 1], k=10) == pytest.approx(0.2)
    assert average_precision_at([1, 1], k=10) == pytest.approx(0.2)


def test_precision_at_10_has_the_ceiling_of_few_relevant_pictures() -> None:
    sizes = [1, 2, 5, 30]
    perfect = [[1] * n + [0] * (40 - n) for n in sizes]
    (found,) = evaluate((rank(p) for p in perfect), ["P10"])
    assert found.mean == pytest.approx(np.mean([min(n, 10) / 10 for n in sizes]))


def test_map_at_r_is_not_bounded_by_the_whole_list() -> None:
    grades = [1, 0, 0, 0, 0, 1, 0, 1]
    assert map_at(grades, k=3) == 1.0 > average_precision(grades)
    assert map_at(grades, k=len(grades)) == average_precision(grades)


def test_map_at_r_is_usually_larger_than_the_whole_list() -> None:
    generator = np.random.default_rng(0)
    lists = [generator.permutation([1] * 40 + [0] * 160) for _ in range(100)]
    at, whole = evaluate((rank(x) for x in lists), ["MAP@10", "MAP"])
    assert np.mean(at.values > whole.values) > 0.5


def test_map_at_r_without_a_relevant_picture_in_the_top_r_is_0_and_counts() -> None:
    (found,) = evaluate([rank([0, 0, 1]), rank([1, 0, 0])], ["MAP@2"])
    assert (found.mean, found.n, found.skipped) == (0.5, 2, 0)


@pytest.mark.parametrize("measure", ALL)
def test_no_relevant_picture_has_no_value(measure: Callable[..., float]) -> None:
    assert math.isnan(measure([3, 2, 1], [0, 0, 0]))
    assert math.isnan(measure([], []))


def test_auc_has_no_value_without_another_picture() -> None:
    assert math.isnan(auc([2, 1], [1, 1]))


def test_ties_go_by_id_ascending() -> None:
    scores, relevance = [1.0, 1.0, 1.0], [0, 0, 1]
    assert reciprocal_rank(scores, relevance) == pytest.approx(1 / 3)
    assert reciprocal_rank(scores, relevance, ids=[5, 9, 2]) == 1.0
    assert reciprocal_rank(scores, relevance, ids=["b", "a", "ab"]) == 0.5


def test_auc_counts_a_tie_one_half_under_either_rule() -> None:
    assert auc([1, 1], [0, 1]) == auc([1, 1], [0, 1], ids=[2, 1]) == 0.5
    assert auc([1, 1], [0, 1], ties="mean") == 0.5


def test_nan_score_is_named() -> None:
    with pytest.raises(DataError, match=r"position 2 is NaN \(1 in all\)"):
        average_precision([1.0, 0.5, math.nan], [1, 0, 0])
    with pytest.raises(DataError, match="Query 1: The score at position 0 is NaN"):
        list(rankings([[1.0], [math.nan]], [[1], [1]]))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_relevance_must_be_finite(bad: float) -> None:
    with pytest.raises(DataError, match="relevance at position 1"):
        rank([2, 1], [1, bad])
    with pytest.raises(DataError, match="relevance at position 0"):
        rank([bad, 1])


def test_infinite_scores_rank_first_and_last_and_tie() -> None:
    ranking = rank([0.0, -math.inf, math.inf, -math.inf], [0, 2, 1, 3])
    assert ranking.grades.tolist() == [1, 0, 2, 3]
    assert ranking.starts.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["uint8", "uint64", "int64", "float32", "bool"])
def test_every_kind_of_number_ranks(kind: str) -> None:
    scores = np.array([0, 1, 0], dtype=kind)
    assert rank(scores, [1, 2, 3]).grades.tolist() == [2, 1, 3]
    assert rank(scores, [1, 2, 3], ids=[9, 1, 3]).grades.tolist() == [2, 3, 1]


def test_large_whole_scores_do_not_tie() -> None:
    scores = np.array([2**60, 2**60 + 1])
    assert rank(scores, [1, 2]).grades.tolist() == [2, 1]


def test_missing_pictures_count_as_relevant_but_never_found() -> None:
    ranking = rank([2, 1], [1, 0], missing=[1, 3, 0, -1])
    assert ranking.n_relevant == 3
    assert average_precision(ranking) == pytest.approx(1 / 3)
    assert break_even_point(ranking) == pytest.approx(1 / 3)
    assert auc(ranking) == pytest.approx(1 / 3)
    ideal = 7 + 1 / math.log2(3) + 1 / 2
    assert ndcg_at(ranking) == pytest.approx(1 / ideal)
    assert reciprocal_rank(rank([2, 1], [0, 0], missing=[1])) == 0.0


def test_grades_below_0_are_not_relevant() -> None:
    assert average_precision([-1, 1]) == 0.5
    assert ndcg_at([-2, 1]) == pytest.approx(1 / math.log2(3))


def test_grades_too_large_for_ndcg_are_refused() -> None:
    with pytest.raises(DataError, match="at most 50"):
        ndcg_at([1, 2000])


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
@pytest.mark.parametrize("function", [precision_at, average_precision_at, map_at, ndcg_at])
def test_depth_must_be_a_whole_number(function: Callable[..., float], k: float) -> None:
    with pytest.raises(ParameterError, match="'k' parameter"):
        function([1, 0], k=k)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(DataError, match=r"one length\. Got 2 and 1"):
        rank([2, 1], [1])
    with pytest.raises(DataError, match="shape"):
        rank([[2, 1]], [[1, 0]])
    with pytest.raises(DataError, match="one row of numbers"):
        rank([1], [[1]])
    with pytest.raises(DataError, match="must be numbers"):
        rank([1], ["no"])
    with pytest.raises(DataError, match="Got 7 more than once"):
        rank([2, 1], [1, 0], ids=[7, 7])
    with pytest.raises(DataError, match="Ids must be 2"):
        rank([2, 1], [1, 0], ids=[7])
    with pytest.raises(ParameterError, match="'ties' parameter"):
        rank([2, 1], [1, 0], ties="random")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'discount' parameter"):
        ndcg_at([1, 0], discount="ln")  # type: ignore[arg-type]


def test_a_ranking_brings_its_own_rule() -> None:
    ranking: Ranking = rank([1, 1], [1, 0], ties="mean")
    assert average_precision(ranking) == average_precision(ranking, ties="mean") == 0.75
    with pytest.raises(ParameterError, match="brings its own"):
        average_precision(ranking, [1, 0])
    with pytest.raises(ParameterError, match="brings its own"):
        average_precision(rank([1, 1], [1, 0]), ties="mean")
