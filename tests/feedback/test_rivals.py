"""Kernel PA, SVM, relevance score and Rocchio: the same as their twins, and their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.contracts import FeedbackLearner
from sightline.errors import DataError, MissingExtra, ParameterError, UsageError
from sightline.feedback.kernel_passive_aggressive import KernelPassiveAggressive
from sightline.feedback.nearness import squared_distances
from sightline.feedback.relevance_score import RelevanceScore
from sightline.feedback.rocchio import Rocchio
from sightline.feedback.svm import SVM
from tests.feedback.test_passive_aggressive import session
from tests.naive import feedback as naive

Floats = NDArray[np.float32]
NEAR: list[Any] = [
    KernelPassiveAggressive(),
    SVM(),
    RelevanceScore(),
    RelevanceScore(stabilised=True),
]
numbers = st.integers(-16, 16).map(lambda value: np.float32(value / 8))


@pytest.mark.parametrize("learner", [*NEAR, Rocchio()], ids=repr)
def test_learners_keep_the_contract(learner: Any) -> None:
    made = type(learner)(**learner.get_params()).start()
    assert isinstance(made, FeedbackLearner) and not made.ready
    with pytest.raises(UsageError, match=r"not fitted yet. Start it with a query"):
        made.decision_function(np.ones((1, 8)))
    X, y = session()
    scores = made.partial_fit(X, y).decision_function(X)
    assert made.ready and scores.dtype == np.float64
    assert scores[y > 0].mean() > scores[y < 0].mean()
    again = type(learner)(**learner.get_params()).partial_fit(X, y).decision_function(X)
    assert again.tobytes() == scores.tobytes()
    assert not made.start().ready


@pytest.mark.parametrize("learner", [*NEAR, Rocchio()], ids=repr)
def test_a_number_that_is_none_is_refused_by_name(learner: Any) -> None:
    X, y = session()
    X[4, 1] = np.nan
    with pytest.raises(DataError, match=f"Row 4 given to {type(learner).__name__}"):
        learner.partial_fit(X, y)


@pytest.mark.parametrize("learner", NEAR, ids=repr)
def test_distances_are_all_it_needs(learner: Any) -> None:
    X, y = session()
    asked = session(seed=1)[0]
    learner.start().partial_fit(X, y)
    by_distance = learner.scores_by_distance(squared_distances(asked, X))
    assert by_distance == pytest.approx(learner.decision_function(asked))
    with pytest.raises(DataError, match="20 judged pictures"):
        learner.scores_by_distance(np.ones((3, 4)))


def drawn(learner: KernelPassiveAggressive, n: int, number: int) -> list[int]:
    random = np.random.default_rng([learner.random_state, number])
    found: list[int] = random.integers(n, size=learner.n_draws).tolist()
    return found


@pytest.mark.parametrize("C", [0.2, 5.0])
def test_kernel_rounds_equal_their_twin(C: float) -> None:
    X, y = session(12, 3)
    learner = KernelPassiveAggressive(C=C, n_draws=25, s2=0.7).partial_fit(X, y)
    coef = naive.singles(list(X), y.tolist(), drawn(learner, 12, 0), C, naive.rbf(0.7))
    assert learner.coef_ == pytest.approx(coef, rel=1e-6, abs=1e-6)
    # Coefficients stay with their pictures, in whatever order these come.
    order = np.random.default_rng(0).permutation(12)
    before = learner.coef_.copy()
    kept = learner._retained(X[order], (y > 0)[order])
    assert kept.tolist() == before[order].tolist()
    learner.partial_fit(X, y)
    both = drawn(learner, 12, 0) + drawn(learner, 12, 1)
    coef = naive.singles(list(X), y.tolist(), both, C, naive.rbf(0.7))
    assert learner.coef_ == pytest.approx(coef, rel=1e-6, abs=1e-6)


def test_the_linear_kernel_is_linear_pa_over_single_pictures() -> None:
    X, y = session(12, 3)
    learner = KernelPassiveAggressive(C=0.5, kernel="linear").partial_fit(X, y)
    w = np.zeros(3)
    for t in drawn(learner, 12, 0):
        x = y[t] * X[t].astype(np.float64)
        w = naive.pairs(w, [(x, np.zeros(3))], 0.5)[-1]
    assert learner.decision_function(X) == pytest.approx(X @ w, abs=1e-9)
    with pytest.raises(ParameterError, match="kernel"):
        learner.scores_by_distance(np.ones((1, 12)))


def test_a_judgement_taken_back_or_changed_begins_anew() -> None:
    X, y = session(12, 3)
    learner = KernelPassiveAggressive(s2=0.7).partial_fit(X, y)
    flipped = y.copy()
    flipped[0] *= -1
    kept = learner._retained(X[:6], flipped[:6] > 0)
    assert kept[0] == 0.0 and kept[1:].tolist() == learner.coef_[1:6].tolist()
    twice = learner._retained(X[[1, 1]], y[[1, 1]] > 0)
    assert twice.tolist() == [learner.coef_[1], 0.0]


def test_one_kind_of_judgement_leaves_kernel_and_svm_as_they_were() -> None:
    X, _ = session()
    for learner in (KernelPassiveAggressive(), SVM()):
        assert not learner.start().partial_fit(X, np.ones(len(X))).ready
        assert not learner.start().partial_fit(X, -np.ones(len(X))).ready
        assert not learner.start(X[0]).partial_fit(np.zeros((0, 8)), []).ready


def test_svm_is_scikit_learns_with_the_kernel_of_kernel_pa() -> None:
    from sklearn.svm import SVC

    X, y = session(40, 3)
    twin = SVC(C=2.0, gamma=0.3, class_weight="balanced").fit(X, y)
    learner = SVM(C=2.0, gamma=0.3, balanced=True).partial_fit(X, y)
    assert learner.decision_function(X) == pytest.approx(twin.decision_function(X), abs=1e-2)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    X, y = session()
    with pytest.raises(MissingExtra, match=r"sightline\[baselines\]"):
        SVM().partial_fit(X, y)


ROWS = arrays(np.float32, st.tuples(st.integers(2, 9), st.just(2)), elements=numbers)


@given(ROWS, st.data())
def test_the_relevance_score_equals_its_twin(X: Floats, data: st.DataObject) -> None:
    y = np.array(data.draw(st.lists(st.sampled_from([1, -1]), min_size=len(X), max_size=len(X))))
    asked = np.concatenate([X, X + np.float32(0.25)])
    found = RelevanceScore().partial_fit(X, y).decision_function(asked)
    good, bad = list(X[y > 0]), list(X[y < 0])
    twin = [naive.relevance_score(x, good, bad) for x in asked]
    assert found == pytest.approx(twin, abs=1e-6)
    if good and bad:
        assert ((found >= 0) & (found <= 1)).all()
        # Scaling all rows changes no ratio.
        scaled = RelevanceScore().partial_fit(4 * X, y).decision_function(4 * asked)
        assert scaled == pytest.approx(found, abs=1e-6)


def test_the_order_is_that_of_the_ratio_and_judged_pictures_have_its_ends() -> None:
    X, y = session(30, 3)
    asked = session(50, 3, seed=2)[0]
    learner = RelevanceScore().partial_fit(X, y)
    d = np.sqrt(squared_distances(asked, X))
    ratio = d[:, y < 0].min(axis=1) / d[:, y > 0].min(axis=1)
    assert np.argsort(learner.decision_function(asked)).tolist() == np.argsort(ratio).tolist()
    assert learner.decision_function(X).tolist() == (y > 0).astype(float).tolist()


def test_the_stabilised_score_equals_its_twin() -> None:
    X, y = session(15, 3)
    asked = session(20, 3, seed=5)[0]
    found = RelevanceScore(stabilised=True).partial_fit(X, y).decision_function(asked)
    rows = X.astype(np.float64)
    twin = naive.stabilised(list(asked.astype(np.float64)), list(rows[y > 0]), list(rows[y < 0]))
    assert found == pytest.approx(twin, abs=1e-6)
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("stabilised", [False, True])
def test_the_relevance_score_of_one_kind_is_a_distance(stabilised: bool) -> None:
    X, _ = session(6, 2)
    learner = RelevanceScore(stabilised=stabilised)
    d = np.sqrt(squared_distances(X, X[:3])).min(axis=1)
    assert learner.partial_fit(X[:3], [1, 1, 1]).decision_function(X) == pytest.approx(-d)
    assert learner.partial_fit(X[:3], [-1, -1, -1]).decision_function(X) == pytest.approx(d)
    assert not learner.partial_fit(np.zeros((0, 2)), []).ready


def test_means_that_coincide_move_no_query() -> None:
    X = np.array([[0, 0], [2, 2], [1, 1]], dtype=np.float32)
    found = RelevanceScore(stabilised=True).partial_fit(X, [1, 1, -1]).decision_function(X)
    assert np.isfinite(found).all() and found[2] < found[0]


def test_rocchio_is_its_formula_and_leaves_out_what_is_not_there() -> None:
    X, y = session()
    q = np.arange(8.0)
    learner = Rocchio(a=2.0, b=0.5, c=0.25).start(q)
    mean, other = X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)
    assert learner.partial_fit(X, y).w_ == pytest.approx(
        2 * q + 0.5 * mean - 0.25 * other, abs=1e-6
    )
    only = learner.partial_fit(X[y > 0], np.ones((y > 0).sum())).w_
    assert only == pytest.approx(2 * q + 0.5 * mean, abs=1e-6)
    assert learner.partial_fit(np.zeros((0, 8)), []).w_ == pytest.approx(q)
    assert Rocchio().partial_fit(X, -np.ones(20)).w_ == pytest.approx(
        -0.15 * X.mean(axis=0), abs=1e-6
    )
    with pytest.raises(ParameterError, match="'b'"):
        Rocchio(b=-1).start()


def test_equal_rows_are_no_distance_apart() -> None:
    X = (session(50, 64)[0] * 100).astype(np.float32)
    assert np.diag(squared_distances(X, X)).max() == 0.0


def test_pictures_that_are_equal_keep_a_coefficient_each() -> None:
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    learner = KernelPassiveAggressive(C=0.2, n_draws=1, random_state=3).start()
    for _ in range(5):
        learner.partial_fit(X, [1, 1, -1])
    before = learner.coef_.copy()
    assert (before[:2] != 0).any()
    assert learner._retained(X, np.array([True, True, False])).tolist() == before.tolist()
