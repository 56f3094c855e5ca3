"""Reliability of probabilities, and what chance ranks, against plain loops and by their laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.measures.many import untrained_average_precision, untrained_lower_bound
from sightline.measures.reliability import reliability

EVENTS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


@given(EVENTS)
def test_the_calibration_error_is_that_of_a_plain_loop(events: list[tuple[float, bool]]) -> None:
    p, y = (list(values) for values in zip(*events, strict=True))
    found = reliability(p, y, [0.5] * len(p))
    error = 0.0
    for low in range(10):
        inside = [i for i, q in enumerate(p) if min(int(q * 10), 9) == low]
        error += abs(sum(p[i] - y[i] for i in inside))
    assert found.ece == pytest.approx(error / len(p), abs=1e-9)
    assert sum(b.n for b in found.bins) == found.n == len(p)
    assert all(b.low - 1e-9 <= b.mean <= b.high + 1e-9 for b in found.bins)
    # Ten means are never further off than the single values are.
    assert found.ece <= math.sqrt(found.brier) + 1e-9


def test_true_probabilities_are_reliable_and_skilled_and_shifted_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    y = rng.random(20_000) < p
    base = np.full(20_000, 0.5)
    assert reliability(p, y, base).ece < 0.015
    assert reliability(p, y, base).skill == pytest.approx(1 / 3, abs=0.02)
    assert reliability(np.clip(p + 0.2, 0, 1), y, base).ece > 0.15
    assert reliability(base, y, base).skill == 0


def test_lines_say_how_many_were_right() -> None:
    found = reliability([0.85, 0.85, 0.05], [1, 0, 0], [0.1] * 3)
    assert found.lines() == [
        "of 1 hits shown at 0-10 %, 0 % were right",
        "of 2 hits shown at 80-90 %, 50 % were right",
    ]


def test_nothing_has_no_figures_and_json_has_no_nan() -> None:
    assert reliability([], [], []).to_dict()["ece"] is None
    assert reliability([0.2], [0], [0.0]).to_dict()["brier_skill"] is None


def test_impossible_input_is_refused() -> None:
    with pytest.raises(DataError, match="one outcome and one base rate"):
        reliability([0.1, 0.2], [1], [0.1, 0.1])
    with pytest.raises(DataError, match=r"between 0 and 1. Got 0.1 to 1.2"):
        reliability([0.1, 1.2], [1, 0], [0.1, 0.1])


@pytest.mark.parametrize("n", [40, 200])
def test_one_in_twenty_random_orders_is_worse_than_chance(n: int) -> None:
    """By draws of their own, whatever the number of relevant pictures."""
    counts = np.array([1, 2, 5, 20])
    bound = untrained_lower_bound(counts, n)
    rng = np.random.default_rng(7)
    for count, least in zip(counts.tolist(), bound.tolist(), strict=True):
        ranks = np.sort(np.argsort(rng.random((4000, n)), axis=1)[:, :count] + 1, axis=1)
        avgp = (np.arange(1, count + 1) / ranks).mean(axis=1)
        assert 0.02 < (avgp < least - 1e-12).mean() < 0.075
    assert (bound < untrained_average_precision(counts, n)).all()
