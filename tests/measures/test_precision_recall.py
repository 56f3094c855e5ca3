"""Precision-recall curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import ParameterError
from sightline.measures import average_precision, eleven_points, precision_recall_curve, rank
from tests.naive import measures as naive

LISTS = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=25).filter(any)


@settings(deadline=None)
@given(LISTS)
def test_the_area_is_average_precision(grades: list[float]) -> None:
    assert precision_recall_curve(grades).area() == pytest.approx(average_precision(grades))


@settings(deadline=None)
@given(LISTS)
def test_interpolated_equals_the_twin_and_never_rises(grades: list[float]) -> None:
    found = eleven_points(grades)
    twin = [naive.interpolated_precision(grades, i / 10) for i in range(11)]
    assert found.precision == pytest.approx(twin)
    assert np.all(np.diff(found.precision) <= 0)


def test_points_lie_at_the_relevant_pictures() -> None:
    curve = precision_recall_curve([3, 2, 2, 1], [1, 1, 0, 1], ids=[1, 9, 2, 3])
    assert curve.recall == pytest.approx([1 / 3, 2 / 3, 1])
    assert curve.precision == pytest.approx([1, 2 / 3, 3 / 4])


def test_a_list_that_misses_pictures_never_reaches_full_recall() -> None:
    ranking = rank([1], missing=[1])
    assert precision_recall_curve(ranking).recall.tolist() == [0.5]
    assert eleven_points(ranking).precision.tolist() == [1] * 6 + [0] * 5


def test_no_relevant_picture() -> None:
    assert precision_recall_curve([0, 0]).recall.size == 0
    assert np.isnan(eleven_points([0, 0]).precision).all()


def test_a_curve_has_no_mean_over_ties() -> None:
    with pytest.raises(ParameterError, match="'ties' parameter"):
        precision_recall_curve(rank([1, 1], [1, 0], ties="mean"))
