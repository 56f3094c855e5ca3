"""Unlabelled pictures that look like a word's own are passed over; all others count against it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.annotators.ridge import KernelRidge
from sightline.annotators.unlabelled import MOST_LEFT_OUT, fit_without, likely_positive
from sightline.errors import ParameterError
from sightline.measures.ranking import average_precision


def two_kinds(n: int = 120, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return pictures, a sixth of which are of a kind of their own."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 6
    centres = rng.normal(size=(6, 10))
    X = centres[kind] + 0.6 * rng.normal(size=(n, 10))
    return X.astype(np.float32), kind == 0


@given(st.integers(0, 50), st.integers(1, 6), st.integers(0, 4))
def test_at_most_a_fifth_is_passed_over_and_nothing_that_is_labelled(
    seed: int, positives: int, negatives: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(40, 2)).round(1)
    Y = np.zeros((40, 2))
    Y[:positives, 0] = 1
    unlabelled = Y == 0
    unlabelled[positives : positives + negatives, 0] = False
    found = likely_positive(scores, Y, unlabelled)
    assert not found[~unlabelled].any()
    assert not found[:, 1].any()  # No picture has the second word, so none looks like it.
    assert found[:, 0].sum() <= MOST_LEFT_OUT * unlabelled[:, 0].sum()
    own = scores[:positives, 0].min()
    assert (scores[found[:, 0], 0] >= own).all()


def test_a_fit_without_cells_is_a_fit_to_the_other_pictures() -> None:
    X, mine = two_kinds(40)
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 20).astype(np.float32)
    Y = np.column_stack([mine, ~mine]).astype(np.float32)
    passed = np.zeros(Y.shape, bool)
    passed[[3, 9, 12], 0] = True
    plain = np.linalg.solve(K.astype(np.float64) + 0.5 * np.eye(40), Y)
    dual, unseen = fit_without(K, Y, 0.5, passed, plain, np.zeros(Y.shape, np.float32))
    kept = np.flatnonzero(~passed[:, 0])
    own = np.linalg.solve(K[np.ix_(kept, kept)] + 0.5 * np.eye(len(kept)), Y[kept, 0])
    assert np.allclose(dual[kept, 0], own, atol=1e-5) and not dual[[3, 9, 12], 0].any()
    assert np.array_equal(dual[:, 1], plain[:, 1]) and not unseen[:, 1].any()
    assert np.allclose(unseen[[3, 9, 12], 0], (K @ dual[:, 0])[[3, 9, 12]], atol=1e-5)
    left = np.setdiff1d(kept, [0])
    without = np.linalg.solve(K[np.ix_(left, left)] + 0.5 * np.eye(len(left)), Y[left, 0])
    assert unseen[0, 0] == pytest.approx(float(K[0, left] @ without), abs=1e-4)


def test_hidden_positives_rank_higher_than_where_they_count_as_negatives() -> None:
    better = 0
    for seed in range(6):
        X, mine = two_kinds(seed=seed)
        marked = np.flatnonzero(mine)[:4]
        Y = np.zeros((len(X), 1))
        Y[marked] = 1
        rest = Y[:, 0] == 0
        plain = KernelRidge().fit(X, Y).decision_function(X)[rest, 0]
        spied = KernelRidge().fit(X, Y, unlabelled=Y == 0).decision_function(X)[rest, 0]
        hidden = mine[rest].astype(float)
        assert average_precision(spied, hidden) >= average_precision(plain, hidden) - 0.02
        better += spied[mine[rest]].mean() > 1.2 * plain[mine[rest]].mean()
    assert better >= 5


def test_where_landmarks_stand_for_pictures_it_is_refused() -> None:
    X, mine = two_kinds()
    Y = mine[:, None].astype(float)
    with pytest.raises(ParameterError, match="unlabelled"):
        KernelRidge(landmarks=20).fit(X, Y, unlabelled=Y == 0)
