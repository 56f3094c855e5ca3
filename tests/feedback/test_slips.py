"""Slips of the hand: found where the judgements tell the kinds apart, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.feedback.label_noise import mislabel_probabilities

Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]


def judged(apart: float, seed: int, n: int = 40) -> tuple[Doubles, Bools]:
    """Scores of two kinds, so far apart."""
    random = np.random.default_rng(seed)
    relevant = np.arange(n) < n // 2
    return np.where(relevant, apart, 0.0) + random.normal(size=n), relevant


@pytest.mark.parametrize("seed", range(5))
def test_flipped_judgements_stand_out_where_kinds_lie_apart(seed: int) -> None:
    scores, relevant = judged(8.0, seed)
    assert mislabel_probabilities(scores, relevant).max() < 0.1
    said = relevant.copy()
    said[[2, 7, 30]] ^= True
    found = mislabel_probabilities(scores, said)
    assert np.flatnonzero(found > 0.5).tolist() == [2, 7, 30]


@pytest.mark.parametrize("seed", range(5))
def test_where_scores_overlap_hardly_anything_is_doubted(seed: int) -> None:
    scores, relevant = judged(0.5, seed)
    assert (mislabel_probabilities(scores, relevant) > 0.5).mean() <= 0.1


def test_upside_down_scores_say_nothing() -> None:
    scores, relevant = judged(-8.0, 0)
    assert not mislabel_probabilities(scores, relevant).any()


def test_few_judgements_and_those_of_one_kind_are_not_doubted() -> None:
    assert not mislabel_probabilities(np.array([9.0, 9.0, 0.0, 0.0, 9.0]), np.arange(5) < 2).any()
    assert not mislabel_probabilities(
        np.array([9.0, 9.0, 0.0, 0.0, 9.0, 9.0]), np.arange(6) < 2
    ).any()
    assert not mislabel_probabilities(np.arange(9.0), np.ones(9, dtype=bool)).any()


def test_what_is_sure_is_no_slip() -> None:
    scores, relevant = judged(8.0, 1)
    relevant[2] = False
    sure = np.arange(len(scores)) == 2
    assert mislabel_probabilities(scores, relevant)[2] > 0.5
    assert mislabel_probabilities(scores, relevant, sure)[2] == 0.0


@given(st.integers(0, 1_000), st.floats(-3.0, 12.0))
def test_they_are_likelihoods_and_do_not_depend_on_the_order(seed: int, apart: float) -> None:
    scores, relevant = judged(apart, seed, 14)
    relevant[::5] ^= True
    found = mislabel_probabilities(scores, relevant)
    assert ((found >= 0) & (found <= 1)).all()
    order = np.random.default_rng(seed).permutation(14)
    assert mislabel_probabilities(scores[order], relevant[order]) == pytest.approx(
        found[order], abs=1e-6
    )
