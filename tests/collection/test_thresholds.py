"""Thresholds of words: against brute force, with ties, with too little to tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.collection.tagging.thresholds import Z, thresholds, wilson_lower
from sightline.errors import ParameterError
from sightline.words.calibration import calibrate


def slow_lower(right: int, n: int) -> float:
    """Return the lower end by its definition: the least share that reaches what was seen."""
    low, high = 0.0, right / n
    for _ in range(60):
        middle = (low + high) / 2
        reaches = middle + Z * np.sqrt(middle * (1 - middle) / n) >= right / n
        low, high = (low, middle) if reaches else (middle, high)
    return high


@given(st.integers(1, 200), st.data())
def test_the_lower_end_is_wilsons(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    found = float(wilson_lower(np.array([float(right)]), np.array([float(n)]))[0])
    assert found == pytest.approx(slow_lower(right, n), abs=1e-9)


@given(st.integers(0, 1 << 30), st.sampled_from([0.7, 0.9]))
def test_no_lower_threshold_keeps_the_promise(seed: int, precision: float) -> None:
    rng = np.random.default_rng(seed)
    tagged = rng.random((160, 2)) < 0.4
    # Rounded, so that margins tie.
    margins = (tagged * 2.0 - 1 + rng.normal(0, 0.8, tagged.shape)).round(1)
    found = thresholds(margins, tagged, precision)
    slope, offset = calibrate(margins.astype(np.float32), tagged)
    for j in range(2):
        keeps = []
        for at in np.unique(margins[:, j]):
            yes = tagged[margins[:, j] >= at, j]
            low = slow_lower(int(yes.sum()), len(yes))
            if low >= precision and slope[j] * at + offset[j] >= 0:
                keeps.append((float(at), len(yes), int(yes.sum())))
        least = min(keeps, default=(np.inf, 0, 0))
        assert (found.give[j], found.n_proposed[j], found.right[j]) == least


def test_a_word_on_few_pictures_is_never_given_however_well_it_is_told() -> None:
    tagged = np.zeros((300, 2), bool)
    tagged[:24, 0] = tagged[:25, 1] = True
    found = thresholds(np.where(tagged, 3.0, -3.0), tagged, 0.9)
    assert found.give[0] == np.inf and found.n_proposed[0] == 0
    assert found.give[1] == 3.0 and found.n_proposed[1] == found.right[1] == 25
    assert found.n_tagged.tolist() == [24, 25]


def test_nothing_is_given_that_is_likelier_wrong_than_right() -> None:
    # The surest 400 are all right, so the promise would bear dozens of wrong ones.
    margins = np.concatenate([np.full(400, 5.0), np.full(400, -5.0)])[:, None]
    found = thresholds(margins, margins > 0, 0.6)
    assert found.give[0] == 5.0


def test_tags_are_doubted_only_as_exceptions() -> None:
    tagged = np.zeros((400, 2), bool)
    tagged[:100] = True
    margins = np.where(tagged, 3.0, -3.0)
    margins[0, 0] = -3.5  # has the word and looks like those that do not
    margins[:20, 1] = -3.5  # so many do that the model is wrong, not they
    found = thresholds(margins, tagged, 0.9)
    assert found.doubt[0] == -3.0 and found.doubt[1] == -np.inf
    few = thresholds(margins[95:], tagged[95:], 0.9)
    assert (few.doubt == -np.inf).all()


def test_a_precision_that_cannot_be_promised_is_refused() -> None:
    for precision in (0.4, 1.0, float("nan")):
        with pytest.raises(ParameterError, match="'precision' parameter of tag must be from"):
            thresholds(np.zeros((4, 1)), np.zeros((4, 1), bool), precision)
