"""PAMIR with a threshold: a virtual picture, the slow twin, and exact sets on easy data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.rankers.pamir import PAMIR
from sightline.rankers.threshold import ThresholdPAMIR
from sightline.solvers.pa_step import VARIANTS, Variant
from sightline.solvers.targets import from_indicator
from tests.factories.triplets import collection, drawn, query_matrix
from tests.naive import graded as naive

Matrix = NDArray[np.float64]
each_kind = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])


def twin(X: Matrix, y: Any, n: int, seed: int, variant: str) -> tuple[Matrix, Matrix]:
    """Learn from pictures and a virtual one, each triplet twice, by a margin of one half."""
    length = float(np.sqrt(np.mean(np.sum(X * X, axis=1))))
    rows = np.zeros((len(X) + 1, X.shape[1] + 1))
    rows[:-1, :-1], rows[-1, -1] = X, length
    t = from_indicator(y, len(X), max_len=3)
    virtual = len(X)
    triplets = [
        one for q, p, m in drawn(t, n // 2, seed=seed) for one in ((q, p, virtual), (q, virtual, m))
    ]
    W, mean = naive.learn(
        rows, query_matrix(t.queries, 5), triplets, [0.5] * n, [1.0] * n, 0.2, variant
    )
    for found in (W, mean):
        found[:, -1] *= length
    return W, mean


@each_kind
@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_to_the_slow_twin(kind: Any, variant: Variant) -> None:
    X, y = collection()
    for averaged, wanted in zip((False, True), twin(X, y, 1000, 5, variant), strict=True):
        ranker = ThresholdPAMIR(
            C=0.2, variant=variant, averaged=averaged, max_len=3, random_state=5
        )
        ranker.fit(kind(X), y, n_iter=1000)
        tolerance = 2e-4 * np.abs(wanted).max()
        np.testing.assert_allclose(ranker.W_, wanted[:, :-1], atol=tolerance)
        np.testing.assert_allclose(ranker.h_, wanted[:, -1], atol=tolerance)
        assert ranker.W_.flags.c_contiguous and ranker.W_.dtype == ranker.h_.dtype == np.float32
        assert ranker.n_iter_ == 1000


@each_kind
def test_perfect_data_gives_exact_sets(kind: Any) -> None:
    rng = np.random.default_rng(3)
    y = (rng.random((60, 6)) < 0.3).astype(int)
    X = np.hstack([y, 0.05 * rng.random((60, 4))]) + 0.01
    ranker = ThresholdPAMIR(max_len=1).fit(kind(X), y, n_iter=200_000)
    scores = ranker.decision_function(kind(X))
    thetas = np.array([ranker.threshold([t]) for t in range(6)])
    assert ((scores >= thetas) == (y > 0)).all()
    assert ranker.score(kind(X), y) == 1.0


def test_sets_of_several_words() -> None:
    rng = np.random.default_rng(4)
    y = (rng.random((80, 4)) < 0.5).astype(int)
    ranker = ThresholdPAMIR(max_len=2).fit(y, y, n_iter=200_000)
    for words in ([0], [2], [0, 1], [1, 3]):
        shown = y @ ranker.query(words) >= ranker.threshold(words)
        assert (shown == y[:, words].all(axis=1)).all()


def test_thresholds_are_linear_in_the_query() -> None:
    X, y = collection()
    ranker = ThresholdPAMIR(max_len=2).fit(X, y, n_iter=2000)
    once, twice = ranker.threshold([3, 1], [0.5, 2.0]), ranker.threshold([3, 1], [1.0, 4.0])
    assert 2 * once == pytest.approx(twice)
    assert once == pytest.approx(0.5 * ranker.h_[3] + 2.0 * ranker.h_[1])
    q = ranker.idf_[[1, 3]] / np.linalg.norm(ranker.idf_[[1, 3]])
    assert ranker.threshold([3, 1]) == pytest.approx(float(q @ ranker.h_[[1, 3]]), rel=1e-5)
    assert ranker.threshold([]) == 0.0
    with pytest.raises(DataError, match="2 terms need as many weights"):
        ranker.threshold([3, 1], [1.0])


@each_kind
def test_scaling_features_and_c_changes_no_set(kind: Any) -> None:
    X, y = collection()
    plain = ThresholdPAMIR(C=0.1).fit(kind(X), y, n_iter=3000)
    scaled = ThresholdPAMIR(C=0.1 / 64).fit(kind(8 * X), y, n_iter=3000)
    np.testing.assert_allclose(scaled.W_, plain.W_ / 8, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(scaled.h_, plain.h_, rtol=1e-4, atol=1e-6)


@each_kind
def test_going_on_stopping_and_keeping(kind: Any) -> None:
    X, y = collection()
    whole = ThresholdPAMIR(pairs_per_query=1).fit(kind(X), y, n_iter=900)
    parts = ThresholdPAMIR(pairs_per_query=1).partial_fit(kind(X), y, n_iter=400)
    parts.partial_fit(kind(X), y, n_iter=500)
    assert parts.W_.tobytes() == whole.W_.tobytes()
    assert parts.h_.tobytes() == whole.h_.tobytes()
    stopped = ThresholdPAMIR(eval_every=200, n_iter=1000, patience=9)
    stopped.fit(kind(X[:40]), y[:40], validation=(kind(X[40:]), y[40:]))
    assert stopped.best_score_ == stopped.score(kind(X[40:]), y[40:])
    again = ThresholdPAMIR.from_arrays(whole.to_arrays())
    assert again.threshold([1]) == whole.threshold([1])
    assert again.decision_function(kind(X)).tobytes() == whole.decision_function(kind(X)).tobytes()


def test_wide_sparse_rows_have_room_for_one_more_feature() -> None:
    X = sp.csr_array(([1.0, 1.0, 1.0], ([0, 1, 2], [65_535, 3, 65_535])), shape=(3, 65_536))
    ranker = ThresholdPAMIR(C=1.0).fit(X, [[1], [0], [1]], n_iter=200)
    scores = ranker.decision_function(X)[:, 0]
    assert (scores >= ranker.threshold([0])).tolist() == [True, False, True]


def test_it_ranks_nearly_as_well_as_pamir() -> None:
    X, y = collection(n=300)
    train, held = slice(0, 200), slice(200, None)
    plain = PAMIR(n_iter=20_000).fit(X[train], y[train])
    with_sets = ThresholdPAMIR(n_iter=40_000).fit(X[train], y[train])
    assert with_sets.score(X[held], y[held]) > plain.score(X[held], y[held]) - 0.05


def test_grades_are_refused() -> None:
    X, y = collection()
    with pytest.raises(ParameterError, match="'grades' parameter of ThresholdPAMIR"):
        ThresholdPAMIR(grades="linear").fit(X, y)
