"""Kernel ridge: the closed forms against plain ones, landmarks, views, edges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.annotators._smoothers import Decomposed, Primal
from sightline.annotators.ridge import KernelRidge, inverse_root
from sightline.contracts import WordScorer
from sightline.errors import DataError, NotFittedError, ParameterError
from tests.factories.fresh_python import imported_by
from tests.naive import annotators as naive
from tests.naive.annotators import problem


def kernel_of(ridge: KernelRidge, X: Any) -> NDArray[np.float64]:
    return ridge.kernel_(X if isinstance(X, tuple) else (X,)).astype(np.float64)


@pytest.mark.parametrize("kernel", ["rbf", "exponential", "linear"])
@pytest.mark.parametrize("alpha", [0.01, 1.0, "auto"])
def test_it_equals_the_naive_one(kernel: str, alpha: Any) -> None:
    X, Y = problem()
    ridge = KernelRidge(kernel=kernel, alpha=alpha).fit(X, Y)
    K = kernel_of(ridge, X)
    a = ridge.alpha_ * K.diagonal().mean()
    dual = naive.ridge(K, Y.astype(np.float64), a)
    assert ridge.dual_ == pytest.approx(dual, rel=1e-3, abs=1e-3)
    assert ridge.decision_function(X) == pytest.approx(K @ dual, abs=1e-4)
    expected = naive.ridge_left_out(K, Y.astype(np.float64), a)
    assert ridge.leave_one_out_ == pytest.approx(expected, abs=1e-4)
    assert ridge.leave_one_out_.dtype == ridge.dual_.dtype == np.float32


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([1e-4, 0.1, 100.0]), st.integers(2, 12))
def test_left_out_scores_are_those_of_a_fit_without_the_picture(
    seed: int, alpha: float, n: int
) -> None:
    X, Y = problem(n, 3, 2, seed)
    ridge = KernelRidge(alpha=alpha).fit(X, Y)
    expected = naive.ridge_left_out(kernel_of(ridge, X), Y.astype(np.float64), alpha)
    assert ridge.leave_one_out_ == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_a_fixed_alpha_gives_what_the_same_alpha_chosen_gives() -> None:
    X, Y = problem()
    for kernel in ("rbf", "linear"):
        chosen = KernelRidge(kernel=kernel).fit(X, Y)
        fixed = KernelRidge(kernel=kernel, alpha=chosen.alpha_).fit(X, Y)
        assert fixed.dual_ == pytest.approx(chosen.dual_, rel=1e-4, abs=1e-4)
        assert fixed.leave_one_out_ == pytest.approx(chosen.leave_one_out_, abs=1e-5)


@pytest.mark.parametrize("alpha", [0.03, 1.0])
def test_landmarks_that_are_all_pictures_change_nothing(alpha: float) -> None:
    X, Y = problem(80)
    K = KernelRidge().fit(X, Y).kernel_((X,))
    root = inverse_root(K)

    def blocks() -> Iterator[tuple[slice, NDArray[np.float64]]]:
        for rows in (slice(0, 30), slice(30, 80)):
            yield rows, K[rows] @ root

    exact, landmarks = Decomposed(K, Y), Primal(blocks, Y)
    dual = root @ landmarks.coefficients(alpha)
    assert K @ dual == pytest.approx(K @ exact.coefficients(alpha), abs=1e-4)
    expected = exact.left_out(alpha)
    assert landmarks.left_out(alpha) == pytest.approx(expected, abs=1e-4)
    some = landmarks.some(np.array([3, 40, 41])).left_out(alpha, np.array([1, 4]))
    assert some == pytest.approx(expected[[3, 40, 41]][:, [1, 4]], abs=1e-4)


def test_fewer_landmarks_solve_the_problem_of_the_landmarks() -> None:
    X, Y = problem(90, n_words=3)
    ridge = KernelRidge(alpha=0.2, landmarks=25).fit(X, Y)
    marks = ridge.landmarks_
    K_nm = ridge.kernel_((X,), marks).astype(np.float64)
    K_mm = ridge.kernel_(marks).astype(np.float64)
    dual = naive.landmark_ridge(K_nm, K_mm, Y.astype(np.float64), 0.2)
    assert ridge.dual_.shape == (25, 3)
    assert ridge.decision_function(X) == pytest.approx(K_nm @ dual, abs=2e-3)
    for i in (0, 40, 89):
        kept = np.arange(90) != i
        without = naive.landmark_ridge(K_nm[kept], K_mm, Y[kept].astype(np.float64), 0.2)
        assert ridge.leave_one_out_[i] == pytest.approx(K_nm[i] @ without, abs=2e-3)


def test_a_linear_kernel_with_many_pictures_finds_the_same_weights() -> None:
    from scipy.sparse import csr_matrix

    X, Y = problem(70, d=9)
    exact = KernelRidge(kernel="linear", alpha=0.1).fit(X, Y)
    weights = KernelRidge(kernel="linear", alpha=0.1, landmarks=10).fit(X, Y)
    assert weights.W_.shape == exact.W_.shape == (5, 9)
    assert np.abs(weights.W_ - exact.W_).max() < 1e-5
    assert weights.leave_one_out_ == pytest.approx(exact.leave_one_out_, abs=1e-4)
    assert weights.decision_function(X) == pytest.approx(X @ exact.W_.T, abs=1e-5)
    sparse = KernelRidge(kernel="linear", alpha=0.1, landmarks=10).fit(csr_matrix(X), csr_matrix(Y))
    assert np.abs(sparse.W_ - exact.W_).max() < 1e-5
    assert sparse.decision_function(csr_matrix(X)) == pytest.approx(X @ exact.W_.T, abs=1e-5)


def test_views_are_averaged() -> None:
    X, Y = problem()
    a, b = X[:, :3].copy(), np.abs(X[:, 3:])
    ridge = KernelRidge(kernel=("rbf", "chi2"), factor=(0.5, 2.0), weights=(3.0, 1.0)).fit(
        (a, b), Y
    )
    assert len(ridge.bandwidths_) == 2
    dual = naive.ridge(kernel_of(ridge, (a, b)), Y.astype(np.float64), ridge.alpha_)
    assert ridge.dual_ == pytest.approx(dual, rel=1e-3, abs=1e-3)
    some = ridge.decision_function((a[:7], b[:7]))
    assert some == pytest.approx(ridge.decision_function((a, b))[:7], abs=1e-6)
    twice = KernelRidge(alpha=0.1).fit((X, X), Y).decision_function((X, X))
    assert twice == pytest.approx(KernelRidge(alpha=0.1).fit(X, Y).decision_function(X), abs=1e-5)


@pytest.mark.parametrize("landmarks", [None, 20])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_same_data_and_seed_give_the_same_bytes(landmarks: int | None, kernel: str) -> None:
    X, Y = problem()
    made = [
        KernelRidge(kernel=kernel, landmarks=landmarks, random_state=3).fit(X, Y) for _ in range(2)
    ]
    assert made[0].dual_.tobytes() == made[1].dual_.tobytes()
    assert made[0].leave_one_out_.tobytes() == made[1].leave_one_out_.tobytes()
    assert made[0].alpha_ == made[1].alpha_


def test_found_weights_and_balance_give_the_same_bytes_too() -> None:
    X, Y = problem(80, n_words=12)
    views = (X[:, :2].copy(), X[:, 2:].copy())
    made = [KernelRidge(weights="auto", balance=0.5).fit(views, Y) for _ in range(2)]
    assert made[0].kernel_ == made[1].kernel_
    assert made[0].dual_.tobytes() == made[1].dual_.tobytes()


def test_permuting_pictures_permutes_their_scores() -> None:
    X, Y = problem()
    order = np.random.default_rng(2).permutation(len(X))
    plain, shuffled = KernelRidge().fit(X, Y), KernelRidge().fit(X[order], Y[order])
    assert shuffled.alpha_ == plain.alpha_
    assert shuffled.leave_one_out_ == pytest.approx(plain.leave_one_out_[order], abs=1e-5)
    assert shuffled.decision_function(X) == pytest.approx(plain.decision_function(X), abs=1e-5)


def test_words_do_not_touch_each_other() -> None:
    X, Y = problem()
    together = KernelRidge(alpha=0.1).fit(X, Y)
    alone = KernelRidge(alpha=0.1).fit(X, Y[:, 2:3])
    assert alone.dual_[:, 0] == pytest.approx(together.dual_[:, 2], abs=1e-5)


def test_sparse_and_boolean_words_are_the_same_as_dense_ones() -> None:
    from scipy.sparse import csr_matrix

    X, Y = problem()
    expected = KernelRidge().fit(X, Y).dual_.tobytes()
    for same in (csr_matrix(Y), Y.astype(bool), Y.astype(np.int64), Y.tolist()):
        assert KernelRidge().fit(X, same).dual_.tobytes() == expected


def test_it_learns_what_can_be_learnt() -> None:
    X, Y = problem(400)
    ridge = KernelRidge().fit(X[:300], Y[:300])
    assert isinstance(ridge, WordScorer)
    assert ridge.score(X[300:], Y[300:]) > 0.9
    shuffled = np.random.default_rng(0).permutation(Y[300:])
    assert ridge.score(X[300:], shuffled) < 0.5


def test_scikit_learn_can_search_its_parameters() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, Y = problem(90)
    grid = {"kernelridge__factor": [0.02, 1.0], "kernelridge__alpha": [0.1]}
    search = GridSearchCV(make_pipeline(StandardScaler(), KernelRidge()), grid, cv=3)
    search.fit(X, Y)
    assert search.best_params_["kernelridge__factor"] == 1.0
    assert repr(clone(KernelRidge(alpha=0.3))) == "KernelRidge(alpha=0.3)"


def test_pictures_that_are_all_alike_get_equal_scores() -> None:
    X, Y = np.ones((6, 3), dtype=np.float32), problem(6)[1]
    for landmarks in (None, 2):
        ridge = KernelRidge(landmarks=landmarks).fit(X, Y)
        assert ridge.bandwidths_ == (1.0,)
        scores = ridge.decision_function(X)
        assert np.isfinite(ridge.leave_one_out_).all()
        assert np.ptp(scores, axis=0) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_features_that_are_all_zero_teach_nothing(kernel: str) -> None:
    scores = (
        KernelRidge(kernel=kernel).fit(np.zeros((4, 2)), np.eye(4)).decision_function([[0.0, 0.0]])
    )
    assert np.ptp(scores) == pytest.approx(0, abs=1e-6)


def test_one_picture_is_enough() -> None:
    ridge = KernelRidge().fit([[1.0, 2.0]], [[1, 0]])
    tagged, lacked = ridge.decision_function([[1.0, 2.0]])[0]
    assert tagged > 0.5
    assert lacked == 0
    assert ridge.leave_one_out_.tolist() == [[0.0, 0.0]]


def test_words_on_every_picture_and_on_none_are_learnt_as_such() -> None:
    X, _ = problem(40)
    Y = np.tile([1.0, 0.0], (40, 1))
    ridge = KernelRidge().fit(X, Y)
    scores = ridge.decision_function(X)
    assert (scores[:, 0] > 0.5).all()
    assert (scores[:, 1] == 0).all()
    assert ridge.score(X, Y) == 1.0


def test_twins_do_not_break_the_factorisation() -> None:
    X, Y = problem(30)
    twice = KernelRidge(alpha=1e-4).fit(np.vstack((X, X)), np.vstack((Y, Y)))
    assert np.isfinite(twice.leave_one_out_).all()


@pytest.mark.parametrize("alpha", [0, -1, float("nan"), float("inf"), "big", True])
def test_impossible_alphas_are_refused(alpha: Any) -> None:
    with pytest.raises(ParameterError, match="The 'alpha' parameter of KernelRidge must be"):
        KernelRidge(alpha=alpha).fit(*problem(5))


def test_other_impossible_parameters_are_refused() -> None:
    X, Y = problem(5)
    with pytest.raises(ParameterError, match="'criterion'"):
        KernelRidge(criterion="luck").fit(X, Y)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'landmarks' .* Got 0"):
        KernelRidge(landmarks=0).fit(X, Y)
    with pytest.raises(ParameterError, match="'kernel'"):
        KernelRidge(kernel="cubic").fit(X, Y)
    with pytest.raises(ParameterError, match=r"'balance' .* from 0 to 1. Got 2"):
        KernelRidge(balance=2).fit(X, Y)
    with pytest.raises(ParameterError, match=r"0 where 3 landmarks stand for 5 pictures. Got 1"):
        KernelRidge(balance=1, landmarks=3).fit(X, Y)
    with pytest.raises(DataError, match=r"2 kernels need 2 views. Got 1"):
        KernelRidge(kernel=("rbf", "rbf")).fit(X, Y)
    with pytest.raises(ParameterError, match="'weights'"):
        KernelRidge(weights="best").fit((X, X), Y)  # type: ignore[arg-type]
    with pytest.raises(NotFittedError, match="not fitted"):
        KernelRidge().decision_function(X)


def test_impossible_data_is_refused() -> None:
    X, Y = problem(5)
    with pytest.raises(DataError, match=r"NaN or inf"):
        KernelRidge().fit(X * np.nan, Y)
    with pytest.raises(DataError, match=r"each of the 5 pictures. Got shape \(4, 5\)"):
        KernelRidge().fit(X, Y[:4])
    with pytest.raises(DataError, match="no word to learn"):
        KernelRidge().fit(X, Y[:, :0])
    with pytest.raises(DataError, match="no picture to learn from"):
        KernelRidge().fit(X[:0], Y[:0])
    with pytest.raises(DataError, match=r"else 0. Got 0.5"):
        KernelRidge().fit(X, Y * 0.5)
    with pytest.raises(DataError, match="X has 2 features, but KernelRidge is expecting 6"):
        KernelRidge().fit(X, Y).decision_function(X[:, :2])


def test_importing_it_does_not_import_scipy() -> None:
    assert not {"scipy"} & imported_by("sightline.annotators.ridge")
