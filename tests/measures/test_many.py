"""Measures of many queries: equal to those of one at a time, and to chance where all scores tie."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.measures import average_precision, break_even_point, precision_at
from sightline.measures.many import (
    Others,
    average_precisions,
    average_precisions_of_lists,
    measure_queries,
    query_scores,
    untrained_average_precision,
)
from sightline.records import QuerySet
from tests.factories.fresh_python import imported_by

Floats = NDArray[np.float32]


def queries_of(relevant: NDArray[np.bool_], n_words: int = 0, seed: int = 0) -> QuerySet:
    """Queries with the relevant pictures of each row; words and weights at random."""
    rng = np.random.default_rng(seed)
    terms = [np.sort(rng.choice(n_words, min(n_words, 1 + i % 3), replace=False))
             for i in range(len(relevant))]  # fmt: skip
    term = np.concatenate([*terms, np.zeros(0, np.int64)]).astype(np.int64)
    return QuerySet(
        np.cumsum([0, *map(len, terms)]),
        term,
        rng.uniform(0.1, 1, len(term)).astype(np.float32),
        np.cumsum([0, *relevant.sum(axis=1)]),
        np.nonzero(relevant)[1],
    )


def one_by_one(scores: Floats, relevant: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    rows = list(zip(scores, relevant.astype(int), strict=True))
    return [
        np.array([average_precision(s, r) for s, r in rows]),
        np.array([precision_at(s, r, k=10) for s, r in rows]),
        np.array([break_even_point(s, r) for s, r in rows]),
    ]


@pytest.mark.parametrize("n_pictures", [1, 2, 37, 500])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("levels", [1, 3, 10_000])
def test_equal_to_one_at_a_time(n_pictures: int, share: float, levels: int) -> None:
    rng = np.random.default_rng(n_pictures + levels)
    scores = rng.integers(0, levels, (12, n_pictures)).astype(np.float32) - levels / 2
    relevant = rng.random((12, n_pictures)) < share
    found = average_precisions(scores, queries_of(relevant))
    avgp, p10, bep = one_by_one(scores, relevant)
    np.testing.assert_allclose(found.avgp, avgp, rtol=1e-14)
    assert np.array_equal(found.p10, p10, equal_nan=True)
    assert np.array_equal(found.bep, bep, equal_nan=True)


@given(
    st.lists(
        st.tuples(st.sampled_from([-1.5, 0.0, 0.25, 2.0]), st.booleans()), min_size=1, max_size=12
    )
)
def test_ties_go_by_position(pictures: list[tuple[float, bool]]) -> None:
    scores = np.array([[s for s, _ in pictures]], dtype=np.float32)
    relevant = np.array([[r for _, r in pictures]])
    found = average_precisions(scores, queries_of(relevant))
    assert found.avgp[0] == pytest.approx(one_by_one(scores, relevant)[0][0], nan_ok=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [1, 4, 10_000])
def test_lists_of_different_lengths_equal_one_at_a_time(dtype: type, levels: int) -> None:
    rng = np.random.default_rng(levels)
    lengths = rng.integers(1, 200, 40)
    start = np.concatenate([[0], np.cumsum(lengths)])
    scores = rng.integers(0, levels, start[-1]).astype(dtype) - levels / 2
    relevant = rng.random(start[-1]) < np.repeat(rng.random(40) ** 2, lengths)
    relevant[: start[1]] = False
    found = average_precisions_of_lists(scores, relevant, start)
    expected = [
        average_precision(scores[a:b], relevant[a:b].astype(int))
        for a, b in itertools.pairwise(start)
    ]
    assert np.isnan(found[0])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_infinite_scores_have_a_place() -> None:
    scores = np.array([[-np.inf, np.inf, 0.0, np.inf]], dtype=np.float32)
    relevant = np.array([[True, False, True, True]])
    found = average_precisions(scores, queries_of(relevant))
    assert found.avgp[0] == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 3)


def test_k_may_differ() -> None:
    scores, relevant = np.array([[3.0, 2.0, 1.0]], np.float32), np.array([[True, False, True]])
    assert average_precisions(scores, queries_of(relevant), k=2).p10.tolist() == [0.5]
    with pytest.raises(ParameterError, match="'k' parameter"):
        average_precisions(scores, queries_of(relevant), k=0)


def test_listed_others_alone_compete() -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 5, (20, 30)).astype(np.float32)
    grade = rng.integers(0, 3, (20, 30))  # 0 other, 1 relevant, 2 not judged
    others = Others(np.cumsum([0, *(grade == 0).sum(axis=1)]), np.nonzero(grade == 0)[1])
    found = average_precisions(scores, queries_of(grade == 1), others)
    for i in range(20):
        judged = grade[i] < 2
        wanted = average_precision(scores[i, judged], grade[i, judged])
        assert found.avgp[i] == pytest.approx(wanted)


def test_word_scores_are_combined_in_blocks() -> None:
    rng = np.random.default_rng(6)
    by_word = rng.normal(size=(40, 7)).astype(np.float32)
    relevant = rng.random((600, 40)) < 0.1
    queries = queries_of(relevant, n_words=7)
    Q = np.zeros((600, 7))
    for i in range(600):
        Q[i, queries.terms_of(i)] = queries.weight[queries.start[i] : queries.start[i + 1]]
    blocks = [(first, part.copy()) for first, part in query_scores(by_word, queries)]
    assert [first for first, _ in blocks] == [0, 256, 512]
    scores = np.concatenate([part for _, part in blocks])
    np.testing.assert_allclose(scores, Q @ by_word.T, atol=1e-5)
    found = measure_queries(by_word, queries)
    np.testing.assert_allclose(found.avgp, average_precisions(scores, queries).avgp, rtol=1e-14)
    assert found.mean_avgp == pytest.approx(np.nanmean(found.avgp))


def test_queries_without_a_relevant_picture_are_left_out_of_the_mean() -> None:
    relevant = np.array([[False, False], [False, True]])
    found = average_precisions(np.array([[2, 1], [2, 1]]), queries_of(relevant))
    assert np.isnan([found.avgp[0], found.p10[0], found.bep[0]]).all()
    assert found.mean_avgp == 0.5
    nothing = average_precisions(np.array([[2, 1]]), queries_of(relevant[:1]))
    assert math.isnan(nothing.mean_avgp)


def test_wrong_scores_are_refused() -> None:
    relevant = np.array([[True, False], [False, True]])
    queries = queries_of(relevant, n_words=3)
    scores = np.array([[1.0, 2.0], [1.0, np.nan]])
    with pytest.raises(DataError, match="Query 1: a score is NaN"):
        average_precisions(scores, queries)
    with pytest.raises(DataError, match=r"a row for each of 2 queries. Got 1"):
        average_precisions(scores[:1], queries)
    with pytest.raises(DataError, match=r"must be a table. Got shape \(2,\)"):
        average_precisions(scores[0], queries)
    with pytest.raises(DataError, match="names picture 1, but 1 have scores"):
        average_precisions(scores[:, :1], queries)
    with pytest.raises(DataError, match="there are scores for 1 words only"):
        measure_queries(scores[:, :1], queries)


@pytest.mark.parametrize(("n_relevant", "n"), [(1, 1), (1, 2), (2, 5), (5, 5), (3, 40), (1, 400)])
def test_an_untrained_order_is_one_big_tie(n_relevant: int, n: int) -> None:
    relevance = np.arange(n) < n_relevant
    wanted = average_precision(np.zeros(n), relevance, ties="mean")
    assert untrained_average_precision(n_relevant, n) == pytest.approx(wanted, rel=1e-12)


def test_an_untrained_order_is_the_mean_of_random_ones() -> None:
    rng = np.random.default_rng(9)
    for n_relevant in (1, 4, 12):
        orders = np.array([rng.permutation(20) for _ in range(4000)], dtype=np.float32)
        relevant = np.broadcast_to(np.arange(20) < n_relevant, orders.shape)
        values = average_precisions(orders, queries_of(relevant)).avgp
        mean = float(untrained_average_precision(n_relevant, 20))
        assert abs(values.mean() - mean) < 4 * values.std() / len(values) ** 0.5


def test_untrained_edges() -> None:
    assert np.isnan(untrained_average_precision(0, 3))
    assert untrained_average_precision(np.array([[1], [3]]), 3).shape == (2, 1)
    for wrong, n in ((4, 3), (-1, 3), (0, 0)):
        with pytest.raises(ParameterError, match="'n_relevant' parameter"):
            untrained_average_precision(wrong, n)


def test_the_room_itself_brings_in_no_compiler() -> None:
    assert not {"numba"} & imported_by("sightline.measures")
