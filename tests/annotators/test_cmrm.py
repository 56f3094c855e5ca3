"""CMRM: against the plain product of probabilities, its limits, and pictures left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from sightline.annotators import cmrm
from sightline.annotators.cmrm import CMRM
from tests.naive import media as naive
from tests.naive.media import problem

SHARES = st.sampled_from([0.0, 0.1, 0.5, 1.0])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), SHARES, SHARES, st.booleans(), st.integers(1, 12))
def test_it_equals_the_naive_one(seed: int, alpha: float, beta: float, joint: bool, n: int) -> None:
    X, Y = problem(n, 7, 4, seed)
    new = problem(5, 7, 4, seed + 1)[0]
    beta = beta or 0.01
    model = CMRM(alpha=alpha, beta=beta, joint_counts=joint).fit(X, Y)
    scores = model.decision_function(new)
    assert scores.dtype == np.float32
    assert scores == pytest.approx(naive.cmrm(X, Y, new, alpha, beta, joint), abs=1e-6)
    assert scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (scores >= 0).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), SHARES, st.booleans(), st.integers(2, 9))
def test_left_out_scores_are_those_of_a_fit_without_the_picture(
    seed: int, alpha: float, joint: bool, n: int
) -> None:
    X, Y = problem(n, 7, 4, seed)
    X[0] = 0
    if n > 3:
        Y[1] = 0
    model = CMRM(alpha=alpha, beta=0.1, joint_counts=joint).fit(X, Y)
    for i in range(n):
        kept = np.arange(n) != i
        if not Y[kept].any():
            continue
        expected = naive.cmrm(X[kept], Y[kept], X[i : i + 1], alpha, 0.1, joint)
        assert model.leave_one_out_[i] == pytest.approx(expected[0], abs=1e-6)


def test_many_pictures_are_left_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = problem(30)
    whole = CMRM().fit(X, Y).leave_one_out_
    monkeypatch.setattr(cmrm, "_CELLS", 100)
    assert CMRM().fit(X, Y).leave_one_out_ == pytest.approx(whole, abs=1e-7)


def test_a_second_fit_forgets_who_was_left_out_in_the_first() -> None:
    X, Y = problem(10)
    model = CMRM().fit(X, Y)
    first = model.leave_one_out_
    assert model.fit(X[:6], Y[:6]).leave_one_out_.shape == (6, 5)
    assert model.fit(X, Y).leave_one_out_.tobytes() == first.tobytes()


def test_the_only_picture_left_out_leaves_all_words_alike() -> None:
    assert CMRM().fit([[2, 1]], [[1, 0, 1, 0]]).leave_one_out_.tolist() == [[0.25] * 4]


def test_full_smoothing_of_visual_terms_gives_the_smoothed_prior() -> None:
    X, Y = problem()
    alpha = 0.3
    own = (Y / Y.sum(axis=1, keepdims=True)).mean(axis=0)
    prior = (1 - alpha) * own + alpha * Y.sum(axis=0) / Y.sum()
    scores = CMRM(alpha=alpha, beta=1).fit(X, Y).decision_function(X)
    assert scores == pytest.approx(np.tile(prior, (len(X), 1)), abs=1e-6)
    assert np.ptp(scores, axis=0).max() == 0


def test_full_smoothing_of_words_gives_their_shares() -> None:
    X, Y = problem()
    scores = CMRM(alpha=1).fit(X, Y).decision_function(X)
    assert scores == pytest.approx(np.tile(Y.sum(axis=0) / Y.sum(), (len(X), 1)), abs=1e-6)


def test_one_training_picture_speaks_for_all() -> None:
    scores = CMRM(alpha=0.4).fit([[2, 0, 1]], [[1, 1, 0]]).decision_function([[5, 0, 0], [0, 9, 0]])
    assert scores == pytest.approx(np.tile([0.5, 0.5, 0.0], (2, 1)))


def test_almost_no_smoothing_finds_the_picture_itself() -> None:
    X, Y = [[9, 1, 0], [1, 9, 0], [0, 1, 9]], np.eye(3)
    for beta in (1e-9, 1e-300, 5e-324):
        scores = CMRM(alpha=0, beta=beta).fit(X, Y).decision_function(X)
        assert scores == pytest.approx(np.eye(3), abs=1e-2)


@pytest.mark.parametrize("n_blocks", [1, 100, 10_000, 10_000_000])
def test_many_blocks_do_not_underflow(n_blocks: int) -> None:
    rng = np.random.default_rng(0)
    X = np.ones((6, 400)) + rng.integers(0, 3, (6, 400))
    model = CMRM(alpha=0).fit(X, np.eye(6))
    scores = model.decision_function(X * n_blocks)
    assert np.isfinite(scores).all()
    assert scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
    if n_blocks >= 100:
        assert scores == pytest.approx(np.eye(6), abs=1e-6)


def test_the_smoothing_of_words_puts_pictures_in_no_other_order() -> None:
    X, Y = problem(60, n_visterms=8)
    plain, smooth = (
        CMRM(alpha=alpha, beta=0.8).fit(X, Y).decision_function(X) for alpha in (0, 0.5)
    )
    shares = Y.sum(axis=0) / Y.sum()
    assert smooth == pytest.approx(0.5 * plain + 0.5 * shares, abs=1e-6)


def test_pictures_without_a_known_visual_term_have_the_prior() -> None:
    X, Y = problem()
    X[:, 3] = 0
    model = CMRM(alpha=0.3).fit(X, Y)
    prior = CMRM(alpha=0.3, beta=1).fit(X, Y).decision_function(X[:1])
    strange = np.zeros((2, 12))
    strange[1, 3] = 4
    assert model.decision_function(strange) == pytest.approx(np.vstack([prior, prior]), abs=1e-7)
    with_it = X[:1].copy()
    with_it[0, 3] = 7
    assert (model.decision_function(with_it) == model.decision_function(X[:1])).all()


def test_training_pictures_without_words_have_left_out_scores() -> None:
    X, Y = problem()
    Y[5:15] = 0
    model = CMRM().fit(X, Y)
    kept = Y.any(axis=1)
    without = CMRM().fit(X[kept], Y[kept])
    assert model.n_pictures_ == 30
    assert (model.leave_one_out_[kept] == without.leave_one_out_).all()
    assert (model.leave_one_out_[~kept] == model.decision_function(X[~kept])).all()


def test_counts_without_any_visual_term_give_the_prior() -> None:
    model = CMRM().fit(np.zeros((3, 2)), np.eye(3))
    assert model.decision_function([[0, 0], [1, 2]]) == pytest.approx(np.full((2, 3), 1 / 3))
    assert np.isfinite(model.leave_one_out_).all()


def test_sparse_and_dense_counts_have_the_same_left_out_scores() -> None:
    X, Y = problem()
    expected = CMRM().fit(X, Y)
    model = CMRM().fit(csr_matrix(X), csr_matrix(Y))
    assert model.leave_one_out_.tobytes() == expected.leave_one_out_.tobytes()
