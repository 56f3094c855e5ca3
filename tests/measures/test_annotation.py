"""Annotation quality and the F-measure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError, ParameterError
from sightline.measures import annotation_quality, f_measure, top_words
from tests.naive import measures as naive


def tables(shape: tuple[int, int]) -> st.SearchStrategy[list[list[int]]]:
    row = st.lists(st.integers(0, 1), min_size=shape[1], max_size=shape[1])
    return st.lists(row, min_size=shape[0], max_size=shape[0])


def test_golden_numbers_worked_by_hand() -> None:
    truth = [[1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]]
    given_ = [[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0]]
    found = annotation_quality(truth, given_)
    assert found.word_precision[:3] == pytest.approx([1, 1 / 2, 0])
    assert found.word_recall[:3] == pytest.approx([2 / 3, 1, 0])
    assert math.isnan(found.word_recall[3])
    p, r = 1.5 / 3, (5 / 3) / 3
    assert (found.precision, found.recall) == pytest.approx((p, r))
    assert found.f1 == pytest.approx(2 * p * r / (p + r))
    assert (found.n_plus, found.n, found.skipped) == (2, 3, 1)


def test_f1_is_of_the_means_not_the_mean_of_the_words() -> None:
    found = annotation_quality([[1, 1], [1, 0]], [[1, 1], [0, 1]])
    # Each word alone has F 2/3: precision and recall are 1 and 1/2, and the other way round.
    assert found.f1 == pytest.approx(0.75)


@settings(deadline=None)
@given(tables((4, 3)).filter(lambda t: any(map(any, t))), tables((4, 3)))
def test_equals_the_twin(truth: list[list[int]], predicted: list[list[int]]) -> None:
    found = annotation_quality(truth, predicted)
    twin = naive.annotation(truth, predicted)
    assert (found.precision, found.recall, found.f1, found.n_plus) == pytest.approx(twin)
    f = f_measure(truth, predicted)
    assert (f.micro, f.macro) == pytest.approx(naive.f_measure(truth, predicted))


def test_f_measure_over_decisions_and_over_pictures() -> None:
    truth = [[1, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    predicted = [[1, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]]
    found = f_measure(truth, predicted)
    assert found.micro == pytest.approx(2 * 2 / (2 * 2 + 1 + 2))
    assert found.macro == pytest.approx((0.5 + 1 + 0) / 3)
    assert (found.n, found.skipped) == (3, 1)


def test_nothing_to_measure_has_no_value() -> None:
    nothing = f_measure([[0, 0]], [[0, 0]])
    assert math.isnan(nothing.micro)
    assert math.isnan(nothing.macro)
    found = annotation_quality([[0, 0]], [[1, 0]])
    assert math.isnan(found.precision)
    assert (found.n, found.skipped, found.n_plus) == (0, 2, 0)
    assert annotation_quality([[1]], [[0]]).f1 == 0


def test_five_words_by_default_ties_to_the_lower_number() -> None:
    scores = np.zeros((1, 8))
    scores[0, 7] = 1
    assert top_words(scores).tolist() == [[True] * 4 + [False] * 3 + [True]]
    assert top_words([[0.3, 0.1]]).all()


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(DataError, match="word 1 for picture 0 is NaN"):
        top_words([[0.1, math.nan]])
    with pytest.raises(DataError, match="pictures by words"):
        top_words([0.1])
    with pytest.raises(ParameterError, match="'k' parameter"):
        top_words([[0.1]], k=0)
    with pytest.raises(DataError, match="one shape"):
        annotation_quality([[1, 0]], [[1, 0, 0]])
    with pytest.raises(DataError, match="only 0 and 1"):
        annotation_quality([[1, 0]], [[0.2, 0.8]])
    with pytest.raises(DataError, match="only 0 and 1"):
        f_measure([[1, 0]], [[1, math.nan]])
