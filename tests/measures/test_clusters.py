"""Normalised mutual information."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.measures import normalized_mutual_information
from tests.naive import measures as naive

PAIRS = st.lists(st.tuples(st.integers(-2, 2), st.sampled_from("abc")), min_size=1, max_size=30)


@settings(deadline=None)
@given(PAIRS)
def test_equals_the_twin_is_symmetric_and_bounded(pairs: list[tuple[int, str]]) -> None:
    clusters, classes = [a for a, _ in pairs], [b for _, b in pairs]
    found = normalized_mutual_information(clusters, classes)
    assert found == pytest.approx(naive.normalized_mutual_information(clusters, classes), abs=1e-12)
    assert found == pytest.approx(normalized_mutual_information(classes, clusters), abs=1e-12)
    assert 0 <= found <= 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_renaming_the_groups_changes_nothing(labels: list[int]) -> None:
    renamed = [f"group {7 - label}" for label in labels]
    assert normalized_mutual_information(labels, renamed) == pytest.approx(1)


def test_golden_number_worked_by_hand() -> None:
    # Joint shares 1/2, 1/4, 1/4: H(clusters) = ln 2, H(classes) = H(3/4, 1/4).
    h_classes = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    joint = -(0.5 * math.log(0.5) + 0.5 * math.log(0.25))
    wanted = (math.log(2) + h_classes - joint) / ((math.log(2) + h_classes) / 2)
    found = normalized_mutual_information([0, 0, 1, 1], [0, 0, 0, 1])
    assert found == pytest.approx(wanted)


def test_one_single_group() -> None:
    assert normalized_mutual_information([4, 4], ["x", "x"]) == 1
    assert normalized_mutual_information([4, 4], ["x", "y"]) == 0
    assert normalized_mutual_information([1, 2], ["x", "x"]) == 0


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(DataError, match="at least one picture"):
        normalized_mutual_information([], [])
    with pytest.raises(DataError, match="Got 2 and 1"):
        normalized_mutual_information([1, 2], [1])
    with pytest.raises(DataError, match="position 1 of classes is NaN"):
        normalized_mutual_information([1, 2], [1.0, math.nan])
