"""The scale of scores: the same ranking in other units is the same, and no spread blows up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.feedback.scale import LARGEST, Scale

Doubles = NDArray[np.float64]

finite = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True)
anything = arrays(np.float64, st.integers(0, 40), elements=finite)
plain = arrays(np.float64, st.integers(2, 40), elements=st.integers(-1000, 1000).map(float))


@given(anything, anything)
def test_whatever_the_scores_are_z_is_finite_and_bounded(scores: Doubles, others: Doubles) -> None:
    scale = Scale.of(scores)
    z = scale(scores)
    assert np.isfinite(z).all() and np.isfinite([scale.mean, scale.width, scale.spread]).all()
    assert np.abs(z).max(initial=0.0) <= LARGEST * (1 + 1e-6)
    assert 0.0 <= scale.spread <= 1.0 + 1e-9
    assert scale.flat == (scale.width == 0.0)
    with np.errstate(over="ignore"):
        elsewhere = scale.bounded(others)
    assert np.abs(elsewhere).max(initial=0.0) <= LARGEST


@given(plain, st.integers(-1000, 1000), st.integers(-20, 20))
def test_neither_unit_nor_constant_counts(scores: Doubles, constant: int, power: int) -> None:
    other = (scores + constant) * 2.0**power
    z, same = Scale.of(scores)(scores), Scale.of(other)(other)
    assert same == pytest.approx(z, abs=1e-9)
    assert Scale.of(other).spread == pytest.approx(Scale.of(scores).spread)


@given(plain)
def test_z_has_mean_0_and_the_deviation_that_is_told(scores: Doubles) -> None:
    scale = Scale.of(scores)
    z = scale(scores)
    assert z.mean() == pytest.approx(0.0, abs=1e-9)
    assert z.std() == pytest.approx(scale.spread, abs=1e-9)
    if np.ptp(scores) > 0 and len(scores) <= 100:
        # Of few scores none can be an outlier: the deviation alone is the width.
        assert scale.spread == pytest.approx(1.0) and not scale.flat


@given(st.floats(-1e300, 1e300), st.integers(1, 50))
def test_equal_scores_are_flat_whatever_rounding_makes_of_their_deviation(
    value: float, n: int
) -> None:
    scale = Scale.of([value] * n)
    assert scale.flat and scale([value, value + 1.0]).tolist() == [0.0, 0.0]


@given(st.integers(2, 20_000), st.floats(1e-30, 1e300))
def test_one_score_that_differs_lies_within_the_bound(n: int, height: float) -> None:
    scores = np.zeros(n)
    scores[-1] = height
    z = Scale.of(scores)(scores)
    assert z[-1] - z[0] == pytest.approx(min(LARGEST * n / (n - 1), n / math.sqrt(n - 1)))


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300, 1e-45])
def test_spreads_that_cannot_be_divided_by_are_flat(tiny: float) -> None:
    assert Scale.of([0.0, tiny]).flat


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e-7))
def test_differences_below_the_resolution_of_a_score_are_flat(value: float, part: float) -> None:
    assume(abs(value) > 1e-3)
    assert Scale.of([value, value * (1.0 + part)]).flat


def test_no_scores_are_flat() -> None:
    assert Scale.of([]).flat and Scale.of([])([]).tolist() == [] and Scale.of([3.0]).flat
