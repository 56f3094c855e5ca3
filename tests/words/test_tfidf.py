"""Query vectors: every edge case of their definition."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import ParameterError
from sightline.words.tfidf import idf, query_values, query_vector
from tests.naive import words as naive

IDF = np.array([0.0, 1.0, 2.0, 0.5, 0.0])
IDS = st.lists(st.integers(0, 4), max_size=8)


def dense(ids: NDArray[np.int64], values: NDArray[np.float32]) -> dict[int, float]:
    return dict(zip(ids.tolist(), values.tolist(), strict=True))


@given(st.lists(st.integers(0, 50)), st.booleans())
def test_idf_equals_the_naive_one(counts: list[int], smooth: bool) -> None:
    expected = [naive.idf(count, 50, smooth) for count in counts]
    assert idf(counts, 50, smooth) == pytest.approx(expected, abs=1e-12)


def test_idf_at_its_edges() -> None:
    assert idf([4, 0, 1], 4, smooth=False).tolist() == [0.0, log(5) + 1, log(4)]
    assert idf([4, 0], 4).tolist() == [1.0, log(5) + 1]
    assert idf([0], 0, smooth=False).tolist() == idf([0], 0).tolist() == [1.0]
    assert idf([], 3).shape == (0,)


@pytest.mark.parametrize("count", [-1, 5])
def test_idf_refuses_counts_that_cannot_be(count: int) -> None:
    with pytest.raises(ParameterError, match=f"'document_counts' .* Got {count}"):
        idf([1, count], 4)


@given(IDS, st.data())
def test_a_query_equals_the_naive_one(ids: list[int], data: st.DataObject) -> None:
    positive = st.floats(0.01, 100)
    weights = data.draw(st.lists(positive, min_size=len(ids), max_size=len(ids)))
    expected = naive.query_vector(ids, IDF.tolist(), weights) if ids else {}
    found, values = query_vector(ids, IDF, weights)
    assert dense(found, values) == pytest.approx(expected, rel=1e-6)
    assert found.dtype == np.int64
    assert values.dtype == np.float32


@given(IDS.filter(bool), st.integers(0, 99))
def test_order_and_repetition_do_not_matter(ids: list[int], seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(ids * 2)
    assert dense(*query_vector(ids, IDF)) == dense(*query_vector(shuffled, IDF))


@given(IDS)
def test_the_length_is_one_or_zero(ids: list[int]) -> None:
    _, values = query_vector(ids, IDF)
    assert float(np.linalg.norm(values)) == pytest.approx(1.0 if ids else 0.0, abs=1e-6)


@given(st.integers(0, 4), st.floats(1e-300, 1e300))
def test_a_single_word_counts_exactly_one(term: int, weight: float) -> None:
    assert dense(*query_vector([term], IDF * 0.3, [weight])) == {term: 1.0}


@given(st.floats(1e-300, 1e300))
def test_any_idf_gives_a_single_word_exactly_one(value: float) -> None:
    assert dense(*query_vector([0, 0], np.array([value]))) == {0: 1.0}


def test_an_empty_query_is_zero() -> None:
    ids, values = query_vector([], IDF)
    assert ids.shape == values.shape == (0,)


def test_words_that_all_documents_hold_count_alike_among_themselves() -> None:
    assert dense(*query_vector([0, 4], IDF)) == pytest.approx({0: 0.5**0.5, 4: 0.5**0.5})
    assert dense(*query_vector([0, 4], IDF, [3.0, 4.0])) == pytest.approx({0: 0.6, 4: 0.8})


def test_words_that_count_nothing_are_left_out() -> None:
    assert dense(*query_vector([0, 1], IDF)) == {1: 1.0}
    assert dense(*query_vector([1, 2], IDF, [0.0, 1.0])) == {2: 1.0}
    assert dense(*query_vector([1, 2], IDF, [0.0, 0.0])) == {}


def test_weights_multiply_and_the_last_wins() -> None:
    ones = np.ones(2)
    assert dense(*query_vector([0, 1], ones, [3, 4])) == pytest.approx({0: 0.6, 1: 0.8})
    assert dense(*query_vector([0, 1, 0], ones, [9, 4, 3])) == pytest.approx({0: 0.6, 1: 0.8})


@given(IDS.filter(bool), st.floats(0.001, 1000))
def test_a_common_factor_changes_nothing(ids: list[int], factor: float) -> None:
    assume(IDF[ids].any())
    plain = dense(*query_vector(ids, IDF))
    assert dense(*query_vector(ids, IDF, [factor] * len(ids))) == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_impossible_weights_are_refused(weight: float) -> None:
    with pytest.raises(ParameterError, match=f"'weights' .* Got {weight}"):
        query_vector([0, 1], IDF, [1.0, weight])


def test_a_weight_for_each_word_is_needed() -> None:
    with pytest.raises(ParameterError, match=r"2 numbers. Got 1"):
        query_vector([0, 1], IDF, [1.0])


@pytest.mark.parametrize("term", [-1, 5])
def test_ids_outside_the_vocabulary_are_refused(term: int) -> None:
    with pytest.raises(ParameterError, match=f"'term_ids' .* Got {term}"):
        query_vector([0, term, 1], IDF)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_impossible_idf_is_refused(value: float) -> None:
    with pytest.raises(ParameterError, match=f"'idf' .* Got {value}"):
        query_vector([1], np.array([1.0, value]))


@given(st.lists(st.lists(st.integers(0, 4), unique=True)))
def test_many_queries_at_once_equal_one_by_one(queries: list[list[int]]) -> None:
    start = np.concatenate([[0], np.cumsum([len(q) for q in queries])]).astype(np.int64)
    terms = np.array([t for q in queries for t in sorted(q)], np.int64)
    values = query_values(start, IDF[terms])
    for i, q in enumerate(queries):
        mine = slice(start[i], start[i + 1])
        found = {
            t: v for t, v in zip(terms[mine].tolist(), values[mine].tolist(), strict=True) if v
        }
        assert found == pytest.approx(dense(*query_vector(q, IDF)))


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_many_queries_refuse_what_one_refuses(wrong: float) -> None:
    with pytest.raises(ParameterError, match="finite and not negative"):
        query_values(np.array([0, 2]), np.array([1.0, wrong]))
