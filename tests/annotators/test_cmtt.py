"""CMTT: against cosines of the low-rank matrix itself, full rank, and terms that say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sightline.annotators import cmtt
from sightline.annotators.cmtt import CMTT, _directions, _without_rounding
from tests.naive import media as naive
from tests.naive.media import problem


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans(), st.sampled_from([9, 40]))
def test_it_equals_the_naive_one(seed: int, rank: int, idf: bool, n: int) -> None:
    X, Y = problem(n, 7, 4, seed)
    new = problem(5, 7, 4, seed + 1)[0]
    values = naive.singular_values(X, Y, idf)
    # Where two directions are equally strong, either may be kept.
    assume(values[rank - 1] - values[rank] > 1e-3 * values[0])
    model = CMTT(rank=rank, weighting="tf-idf" if idf else "tf").fit(X, Y)
    scores = model.decision_function(new)
    assert scores.dtype == np.float32
    assert scores == pytest.approx(naive.cmtt(X, Y, new, rank, idf), abs=1e-5)
    assert scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (scores >= 0).all()


@pytest.mark.parametrize("shape", [(8, 20), (50, 12)])
def test_full_rank_compares_the_columns_as_they_are(shape: tuple[int, int]) -> None:
    X, Y = problem(*shape)
    M = np.hstack([Y, X])
    M *= np.log(len(M) / np.maximum((M > 0).sum(axis=0), 1))
    lengths = np.linalg.norm(M, axis=0)
    unit = M / np.where(lengths > 0, lengths, 1)
    cosines = unit[:, 5:].T @ unit[:, :5]
    model = CMTT(rank=1000).fit(X, Y)
    assert model.rank_ <= min(M.shape)
    held = cosines.sum(axis=1) > 0
    expected = cosines[held] / cosines[held].sum(axis=1, keepdims=True)
    assert held.sum() > 5
    assert model.translation_[held] == pytest.approx(expected, abs=1e-6)


def test_few_directions_are_found_alike_by_iterating(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = problem(90, 60, 12)
    for pictures in (slice(0, 50), slice(0, 90)):
        exact = CMTT(rank=6).fit(X[pictures], Y[pictures])
        with monkeypatch.context() as patch:
            patch.setattr(cmtt, "_SMALL_SIDE", 10)
            patch.setattr(cmtt, "_FEW", 0.9)
            iterated = [CMTT(rank=6).fit(X[pictures], Y[pictures]) for _ in range(2)]
            other = CMTT(rank=6, random_state=7).fit(X[pictures], Y[pictures])
        assert iterated[0].translation_.tobytes() == iterated[1].translation_.tobytes()
        assert iterated[0].translation_ == pytest.approx(exact.translation_, abs=1e-6)
        assert other.translation_ == pytest.approx(exact.translation_, abs=1e-6)


def test_directions_are_orthogonal_in_falling_order_and_of_one_sign() -> None:
    M = csr_array(problem(30, 12)[0])
    U = _directions(M, 4, 0)
    products = U.T @ U
    assert products == pytest.approx(np.eye(4), abs=1e-9)
    assert np.linalg.norm(M.T @ U, axis=0) == pytest.approx(np.linalg.svd(M.toarray())[1][:4])
    assert (U.max(axis=0) == np.abs(U).max(axis=0)).all()


def test_the_basis_of_the_directions_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = problem()
    expected = CMTT(rank=4).fit(X, Y).translation_
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]

    def turned(*args: Any) -> Any:
        return -_directions(*args) @ turn

    monkeypatch.setattr(cmtt, "_directions", turned)
    assert CMTT(rank=4).fit(X, Y).translation_ == pytest.approx(expected, abs=1e-6)


def test_a_column_of_which_only_rounding_is_left_has_no_direction() -> None:
    rows = np.array([[3.0, 4.0], [1e-16, 0.0], [0.0, 0.0]])
    found = _without_rounding(rows, np.array([5.0, 1.0, 0.0]))
    assert found.tolist() == [[0.6, 0.8], [0.0, 0.0], [0.0, 0.0]]


def test_cosines_below_0_count_only_if_asked_for() -> None:
    X, Y = problem(60, 40, 12)
    clipped, plain = CMTT(rank=6).fit(X, Y), CMTT(rank=6, clip=False).fit(X, Y)
    assert (clipped.translation_ >= 0).all()
    assert (plain.translation_ < 0).any()
    for model in (clipped, plain):
        assert model.translation_.sum(axis=1) == pytest.approx(1, abs=1e-4)
    v = int(plain.translation_.min(axis=1).argmin())
    kept = np.maximum(plain.translation_[v], 0)
    assert clipped.translation_[v] == pytest.approx(kept / kept.sum(), abs=1e-5)


def test_a_visual_term_that_goes_with_no_word_has_all_words_alike() -> None:
    X = np.array([[1, 2, 0, 0], [1, 0, 3, 0], [1, 0, 0, 0]])
    table = CMTT(rank=10).fit(X, np.eye(3)[:, :2].tolist() + np.zeros((3, 2))).translation_
    assert table == pytest.approx(np.array([[0.5, 0.5], [1, 0], [0, 1], [0, 0]]), abs=1e-6)


def test_opposed_cosines_have_all_words_alike() -> None:
    model = CMTT()
    model.n_visterms_, model.n_words_ = 1, 2
    factors = np.array([[-1.0, 0.0], [-0.6, 0.8], [1.0, 0.0]])
    assert model._translated(factors).tolist() == [[0.5, 0.5]]
    model.clip = False
    assert model._translated(factors).tolist() == [[0.5, 0.5]]


def test_visual_terms_no_training_picture_has_are_dropped() -> None:
    X, Y = problem()
    X[:, 3] = 0
    model = CMTT(rank=5).fit(X, Y)
    strange = X[:2].copy()
    strange[:, 3] = 7
    assert model.decision_function(strange) == pytest.approx(model.decision_function(X[:2]))
    only = np.zeros((2, 12))
    only[1, 3] = 7
    assert model.decision_function(only) == pytest.approx(np.full((2, 5), 0.2))


@pytest.mark.parametrize("weighting", ["tf-idf", "tf"])
def test_all_words_on_one_picture_one_word_and_no_visual_term(weighting: Any) -> None:
    X = problem(4)[0]
    Y = np.zeros((4, 3))
    Y[2] = 1
    for counts in (X, X * 0):
        scores = CMTT(weighting=weighting).fit(counts, Y).decision_function(X)
        assert scores == pytest.approx(np.full((4, 3), 1 / 3))
    every = CMTT(weighting=weighting).fit(X, np.ones((4, 1)))
    assert every.decision_function(X) == pytest.approx(np.ones((4, 1)))


def test_words_on_every_picture_and_on_none_are_likely_nowhere() -> None:
    X, Y = problem()
    Y = np.hstack([Y, np.ones((40, 1)), np.zeros((40, 1))])
    scores = CMTT(rank=5).fit(X, Y).decision_function(X)
    assert (scores[:, 5:] == 0).all()
    assert scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
