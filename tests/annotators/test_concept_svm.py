"""Concept SVMs: the machines against other solvers, the choice of C, fusing words, edges."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.annotators import concept_svm as module
from sightline.annotators.concept_svm import ConceptSVM
from sightline.contracts import WordScorer
from sightline.errors import DataError, MissingExtra, ParameterError, UsageError
from tests.factories.fresh_python import imported_by
from tests.naive.annotators import problem

Doubles = NDArray[np.float64]


@pytest.fixture(scope="module")
def fused() -> ConceptSVM:
    """Machines for five words, the last of which has none."""
    X, Y = problem(40)
    Y[:, 4] = 0
    return ConceptSVM(C=1.0).fit(X, Y)


def objective(
    K: Doubles, y: NDArray[np.bool_], C: float, loss: str, weight: Doubles, dual: Doubles, b: float
) -> float:
    """Return what a machine minimises, by its formula."""
    slack = np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * (K @ dual + b))
    return float(
        0.5 * dual @ K @ dual + C * weight @ slack ** (2 if loss == "squared_hinge" else 1)
    )


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_machines_are_the_optimum(kernel: str, loss: Any, class_weight: Any) -> None:
    X, Y = problem(50)
    svm = ConceptSVM(kernel=kernel, C=0.7, loss=loss, class_weight=class_weight).fit(X, Y)
    K = svm.kernel_((X,)).astype(np.float64)
    scores = svm.decision_function(X).astype(np.float64)
    rng = np.random.default_rng(0)
    for t in range(5):
        y, b = Y[:, t] > 0, float(svm.intercept_[t])
        dual = np.linalg.lstsq(K, scores[:, t] - b, rcond=1e-9)[0].astype(np.float64)
        weight: Doubles = np.ones(50)
        if class_weight:
            weight = np.where(y, 25 / y.sum(), 25 / (~y).sum()).astype(np.float64)
        found = objective(K, y, 0.7, loss, weight, dual, b)
        for size in (0.1, 0.01, 0.001):
            for _ in range(50):
                moved, at = dual + size * rng.normal(size=50), b + size * rng.normal()
                assert found <= objective(K, y, 0.7, loss, weight, moved, at) + 2e-3


def test_the_hinge_machine_is_that_of_scikit_learn() -> None:
    from sklearn.svm import SVC

    X, Y = problem(60)
    svm = ConceptSVM(kernel="rbf", C=3.0, loss="hinge").fit(X, Y)
    gamma = 0.5 / svm.kernel_.bandwidths[0] ** 2
    for t in range(5):
        theirs = SVC(C=3.0, gamma=gamma).fit(X.astype(np.float64), Y[:, t])
        expected = theirs.decision_function(X.astype(np.float64))
        assert svm.decision_function(X)[:, t] == pytest.approx(expected, abs=5e-3)


def test_the_squared_machine_is_that_of_scikit_learn() -> None:
    from sklearn.svm import LinearSVC

    X, Y = problem(60)
    svm = ConceptSVM(C=0.5).fit(X, Y)
    for t in range(5):
        # A large constant feature makes the penalty on the offset small.
        theirs = LinearSVC(C=0.5, intercept_scaling=30.0, tol=1e-8, max_iter=100_000, dual=False)
        theirs.fit(X.astype(np.float64), Y[:, t])
        assert svm.W_[t] == pytest.approx(theirs.coef_[0], abs=0.01)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("sparse", [False, True])
def test_many_pictures_with_a_linear_kernel_give_nearly_the_same(
    monkeypatch: pytest.MonkeyPatch, loss: Any, sparse: bool
) -> None:
    from scipy.sparse import csr_matrix

    X, Y = problem(120)
    small = ConceptSVM(C=(0.3, 1.0), loss=loss).fit(X, Y)
    monkeypatch.setattr(module, "_LIMIT", 100)
    rows = csr_matrix(X) if sparse else X
    large = ConceptSVM(C=(0.3, 1.0), loss=loss).fit(rows, Y)
    assert large.W_.shape == small.W_.shape == (5, 6)
    for a, b in zip(small.decision_function(X).T, large.decision_function(rows).T, strict=True):
        assert np.corrcoef(a, b)[0, 1] > 0.99
    assert large.trials_ == pytest.approx(small.trials_, abs=0.06)


def test_a_kernel_of_too_many_pictures_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.zeros((20_000, 1), dtype=np.float32)
    said = r"rbf SVM of 20,000 pictures needs 4.8 GB .* at most 6,000. Use kernel='linear', or Kern"
    with pytest.raises(DataError, match=said):
        ConceptSVM(kernel="rbf", C=1.0).fit(X, np.eye(20_000, 2))
    monkeypatch.setattr(module, "_LIMIT", 30)
    with pytest.raises(DataError, match="linear SVM of 40"):
        ConceptSVM(kernel=("linear", "linear")).fit((problem(40)[0],) * 2, problem(40)[1])


def needy() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return pictures of a word that needs a large C, and of one that needs a small one.

    Each word has a strong feature and a weak one. The first word goes by the weak one, which only a
    machine that hardly allows slack looks at; the labels of the second are partly wrong in
    training, so that such a machine learns the mistakes by heart.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 60)).astype(np.float32)
    X[:, 0] *= 0.05
    Y = np.column_stack((X[:, 0] > 0.02, X[:, 1] > 0.4)).astype(np.float32)
    wrong = rng.random(80) < 0.25
    noisy = Y[:80].copy()
    noisy[wrong, 1] = 1 - noisy[wrong, 1]
    return (X[:80], noisy), (X[80:], Y[80:])


def test_each_word_takes_the_c_that_is_best_on_validation_pictures() -> None:
    (X, Y), validation = needy()
    tried = (0.001, 1.0, 1000.0)
    svm = ConceptSVM(C=tried).fit(X, Y, validation=validation)
    assert svm.C_[0] > svm.C_[1]
    by_hand = np.array([ConceptSVM(C=C).fit(X, Y).decision_function(validation[0]) for C in tried])
    from sightline.measures.ranking import average_precision

    for t in range(2):
        found = [average_precision(scores[:, t], validation[1][:, t]) for scores in by_hand]
        assert svm.trials_[:, t] == pytest.approx(found, abs=1e-6)
        at = int(np.argmax(found))
        assert svm.C_[t] == tried[at]
        assert svm.decision_function(X)[:, t] == pytest.approx(
            ConceptSVM(C=tried[at]).fit(X, Y).decision_function(X)[:, t], abs=1e-5
        )


def test_other_validation_pictures_choose_otherwise() -> None:
    (X, Y), (X_val, Y_val) = needy()
    judged = ConceptSVM(C=(0.001, 1000.0)).fit(X, Y, validation=(X_val, Y_val))
    flipped = ConceptSVM(C=(0.001, 1000.0)).fit(X, Y, validation=(X_val, 1 - Y_val))
    assert (judged.C_ != flipped.C_).any()


def test_without_validation_some_pictures_are_held_out_and_all_learnt_from() -> None:
    X, Y = problem(100)
    svm = ConceptSVM(kernel="rbf", C=(0.1, 10.0)).fit(X, Y)
    assert svm.trials_.shape == (2, 5)
    fixed = [ConceptSVM(kernel="rbf", C=C).fit(X, Y).decision_function(X) for C in (0.1, 10.0)]
    for t in range(5):
        expected = fixed[int(svm.C_[t] == 10.0)][:, t]
        assert svm.decision_function(X)[:, t] == pytest.approx(expected, abs=1e-5)
    learnt, held = module._split(100, 0)
    assert len(held) == 20
    assert sorted([*learnt, *held]) == list(range(100))
    linear = ConceptSVM(C=(0.1, 10.0)).fit(X, Y)
    judged = ConceptSVM(C=(0.1, 10.0)).fit(X[learnt], Y[learnt], validation=(X[held], Y[held]))
    assert linear.trials_ == pytest.approx(judged.trials_, abs=1e-6)
    seeds = [
        ConceptSVM(kernel="rbf", C=(0.1, 10.0), random_state=s).fit(X, Y).trials_ for s in (0, 1)
    ]
    assert not np.array_equal(seeds[0], seeds[1])


def test_a_word_without_a_validation_picture_takes_what_is_best_for_the_others() -> None:
    (X, Y), (X_val, Y_val) = needy()
    both = ConceptSVM(C=(0.001, 1.0, 1000.0)).fit(X, Y, validation=(X_val, Y_val))
    for t in range(2):
        only = Y_val.copy()
        only[:, t] = 0
        svm = ConceptSVM(C=(0.001, 1.0, 1000.0)).fit(X, Y, validation=(X_val, only))
        assert np.isnan(svm.trials_[:, t]).all()
        assert svm.C_[t] == svm.C_[1 - t] == both.C_[1 - t]
    Y_val[:] = 0
    nobody = ConceptSVM(C=(1000.0, 0.001, 1.0)).fit(X, Y, validation=(X_val, Y_val))
    assert nobody.C_.tolist() == [1.0, 1.0]


scores_of_words = st.lists(
    st.lists(st.integers(-50, 50), min_size=5, max_size=5), min_size=1, max_size=12
).map(lambda rows: np.array(rows, dtype=np.float32))


@settings(max_examples=60)
@given(scores_of_words, st.integers(0, 3))
def test_a_single_word_keeps_its_order(fused: ConceptSVM, scores: Any, word: int) -> None:
    z = fused.fuse(scores, [word])
    raw = scores[:, word]
    assert np.array_equal(np.argsort(-z, kind="stable"), np.argsort(-raw, kind="stable"))


@settings(max_examples=60)
@given(
    scores_of_words, st.sets(st.integers(0, 3), min_size=1), st.integers(0, 3),
    st.sampled_from([0.25, 3.0, 64.0]), st.sampled_from([-8.0, 0.0, 100.0]),
)  # fmt: skip
def test_rescaling_a_word_changes_no_query(
    fused: ConceptSVM, scores: Any, words: set[int], t: int, a: float, b: float
) -> None:
    plain = fused.fuse(scores, sorted(words))
    scores[:, t] = a * scores[:, t] + b
    assert fused.fuse(scores, sorted(words)) == pytest.approx(plain, abs=1e-5)


def test_fusing_is_the_mean_of_what_is_normalised_over_the_pictures_ranked(
    fused: ConceptSVM,
) -> None:
    scores = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    z = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    assert fused.fuse(scores, [0, 2]) == pytest.approx((z[:, 0] + z[:, 2]) / 2, abs=1e-5)
    assert fused.fuse(scores, [2, 0, 2]) == pytest.approx(fused.fuse(scores, [0, 2]))
    # The statistics are those of the pictures given, so a part of them is ranked anew.
    part = (scores[:4] - scores[:4].mean(axis=0)) / scores[:4].std(axis=0)
    assert fused.fuse(scores[:4], [1, 3]) == pytest.approx((part[:, 1] + part[:, 3]) / 2, abs=1e-5)


def test_words_without_a_machine_are_passed_over(fused: ConceptSVM) -> None:
    scores = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    assert np.array_equal(fused.fuse(scores, [1, 4]), fused.fuse(scores, [1]))
    for nothing in ([4], []):
        with pytest.raises(DataError, match="has a machine for none of these words"):
            fused.fuse(scores, nothing)
    with pytest.raises(DataError, match=r"from 0 to 4. Got 5"):
        fused.fuse(scores, [5])
    with pytest.raises(DataError, match=r"of 5 words. Got shape \(9, 3\)"):
        fused.fuse(scores[:, :3], [0])


def test_a_word_whose_scores_are_alike_says_nothing(fused: ConceptSVM) -> None:
    scores = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    scores[:, 1] = 0.1
    assert fused.fuse(scores, [1]).tolist() == [0.0] * 9
    assert fused.fuse(scores, [0, 1]) == pytest.approx(fused.fuse(scores, [0]) / 2)
    assert fused.fuse(scores[:1], [0, 2]).tolist() == [0.0]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_words_on_no_picture_and_on_all_have_no_machine(kernel: str) -> None:
    X, Y = problem(40)
    Y[:, 1], Y[:, 3] = 0, 1
    svm = ConceptSVM(kernel=kernel).fit(X, Y)
    assert svm.trained_.tolist() == [True, False, True, False, True]
    assert np.isnan(svm.C_).tolist() == [False, True, False, True, False]
    assert (svm.decision_function(X)[:, [1, 3]] == 0).all()
    assert (svm.decision_function(X)[:, [0, 2, 4]] != 0).all()
    nothing = ConceptSVM(kernel=kernel).fit(X, np.zeros((40, 2)))
    assert (nothing.decision_function(X) == 0).all()
    one = ConceptSVM(kernel=kernel).fit(X[:1], Y[:1])
    assert (one.decision_function(X) == 0).all()


def test_a_word_whose_pictures_are_all_held_out_is_learnt_in_the_end() -> None:
    X, _ = problem(40)
    for i in range(40):
        Y = np.zeros((40, 1))
        Y[i] = 1
        svm = ConceptSVM(kernel="rbf", C=(1.0, 10.0)).fit(X, Y)
        assert svm.trained_.all()
        assert svm.decision_function(X)[:, 0].argmax() == i


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_and_words_are_the_same_as_dense_ones(kernel: str) -> None:
    from scipy.sparse import csr_matrix

    X, Y = problem(60)
    X[X < 0.3] = 0
    dense = ConceptSVM(kernel=kernel).fit(X, Y)
    sparse = ConceptSVM(kernel=kernel).fit(csr_matrix(X), csr_matrix(Y))
    assert sparse.C_.tolist() == dense.C_.tolist()
    assert sparse.decision_function(csr_matrix(X)) == pytest.approx(
        dense.decision_function(X), abs=2e-3
    )


def test_views_are_averaged() -> None:
    X, Y = problem(60)
    a, b = X[:, :3].copy(), np.abs(X[:, 3:])
    svm = ConceptSVM(kernel=("rbf", "chi2"), factor=(0.5, 2.0), weights=(3.0, 1.0), C=1.0).fit(
        (a, b), Y
    )
    assert svm.kernel_.weights == (0.75, 0.25)
    K = svm.kernel_((a, b), svm.landmarks_).astype(np.float64)
    expected = K @ svm.dual_ + svm.intercept_
    assert svm.decision_function((a, b)) == pytest.approx(expected, abs=1e-5)
    assert svm.score((a, b), Y) > 0.9


@pytest.mark.parametrize("kernel", ["rbf", "exponential", "linear"])
def test_what_is_kept_scores_the_same_and_twice_gives_the_same_bytes(kernel: str) -> None:
    from scipy.sparse import csr_matrix

    X, Y = problem(50)
    for rows in (X, csr_matrix(X)):
        made = [ConceptSVM(kernel=kernel, random_state=2).fit(rows, Y) for _ in range(2)]
        arrays = made[0].to_arrays()
        assert all(a.dtype.kind in "iuf" for a in arrays.values())
        assert all(a.tobytes() == made[1].to_arrays()[n].tobytes() for n, a in arrays.items())
        again = ConceptSVM.from_arrays({n: a.copy() for n, a in arrays.items()})
        scores = made[0].decision_function(rows)
        assert again.decision_function(rows).tobytes() == scores.tobytes()
        assert np.array_equal(again.fuse(scores, [0, 1]), made[0].fuse(scores, [0, 1]))
        words = np.array([3, 0])
        assert again.decision_function(rows, words) == pytest.approx(scores[:, words], abs=1e-6)


def test_it_learns_what_can_be_learnt() -> None:
    X, Y = problem(400)
    for kernel in ("linear", "rbf"):
        svm = ConceptSVM(kernel=kernel).fit(X[:300], Y[:300])
        assert isinstance(svm, WordScorer)
        assert svm.decision_function(X[300:]).dtype == np.float32
        assert svm.score(X[300:], Y[300:]) > 0.9


def test_scikit_learn_can_copy_it_and_search_its_parameters() -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    X, Y = problem(90)
    search = GridSearchCV(ConceptSVM(kernel="rbf", C=1.0), {"factor": [0.02, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_["factor"] == 1.0
    assert (
        repr(clone(ConceptSVM(kernel="rbf", C=(1.0, 2.0))))
        == "ConceptSVM(C=(1.0, 2.0), kernel='rbf')"
    )


@pytest.mark.parametrize("C", [0, -1.0, float("nan"), float("inf"), "big", True, (), (1.0, 0.0)])
def test_impossible_cs_are_refused(C: Any) -> None:
    with pytest.raises(ParameterError, match="The 'C' parameter of ConceptSVM must be"):
        ConceptSVM(C=C).fit(*problem(5))


def test_other_impossible_things_are_refused() -> None:
    X, Y = problem(8)
    with pytest.raises(ParameterError, match="'loss'"):
        ConceptSVM(loss="squares").fit(X, Y)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'class_weight'"):
        ConceptSVM(class_weight="fair").fit(X, Y)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'kernel'"):
        ConceptSVM(kernel="cubic").fit(X, Y)
    with pytest.raises(ParameterError, match=r"'validation' .* \(X, Y\)"):
        ConceptSVM().fit(X, Y, validation=X)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"must have 5 words, as in Y. Got 2"):
        ConceptSVM().fit(X, Y, validation=(X, Y[:, :2]))
    with pytest.raises(DataError, match=r"NaN or inf"):
        ConceptSVM().fit(X * np.nan, Y)
    with pytest.raises(DataError, match=r"X has 2 features, but ConceptSVM is expecting 6"):
        ConceptSVM().fit(X, Y).decision_function(X[:, :2])
    for use in (lambda: ConceptSVM().decision_function(X), lambda: ConceptSVM().to_arrays()):
        with pytest.raises(UsageError, match="Call fit first"):
            use()


def test_a_missing_scikit_learn_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sightline\[baselines\]'"):
        ConceptSVM().fit(*problem(5))


def test_importing_it_does_not_import_scikit_learn() -> None:
    assert not {"sklearn", "scipy"} & imported_by("sightline.annotators.concept_svm")
