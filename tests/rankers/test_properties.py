"""Laws of linear rankers: bounds, scaling, symmetry, interruption, memory and odd collections."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from sightline.errors import DataError, ParameterError
from sightline.progress import NoProgress
from sightline.rankers.kernel_pamir import KernelPAMIR
from sightline.rankers.pamir import PAMIR
from sightline.rankers.training import bytes_of_weights
from sightline.rankers.warp import WARP
from sightline.solvers.pa_step import VARIANTS, Variant
from sightline.solvers.targets import from_indicator, from_judgements
from tests.factories.recorded_progress import RecordedProgress
from tests.factories.triplets import collection, drawn, query_matrix
from tests.naive import rankers as naive

Matrix = NDArray[np.float64]
each_ranker = pytest.mark.parametrize("ranker", [PAMIR, WARP])
each_kind = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("variant", ["PA-I", "PA-II"])
@pytest.mark.parametrize("C", [0.03, 0.5, 20.0])
def test_a_step_of_the_ranker_minimises_its_objective(variant: Variant, C: float) -> None:
    """With a slack variable both objectives are smooth, and a solver finds their minimum."""
    for seed in range(4):
        X, y = collection(seed, n=10, n_features=4)
        how: dict[str, Any] = {"pairs_per_query": 1, "max_len": 2, "random_state": seed}
        ranker = PAMIR(C=C, variant=variant, **how).fit(X, y, n_iter=6)
        t = from_indicator(y, len(X), max_len=2)
        q, plus, minus = drawn(t, 7, pairs_per_query=1, seed=seed)[-1]
        x = np.outer(query_matrix(t.queries, 5)[q], X[plus] - X[minus]).reshape(-1)
        old = ranker.W_.astype(np.float64).reshape(-1)
        power = 1 if variant == "PA-I" else 2

        def price(z: Matrix, old: Matrix = old, power: int = power) -> float:
            return float(0.5 * np.sum((z[:-1] - old) ** 2) + C * z[-1] ** power)

        enough = {"type": "ineq", "fun": lambda z, x=x: z[-1] + z[:-1] @ x - 1}
        some = {"type": "ineq", "fun": lambda z: z[-1]}
        best = minimize(price, np.append(old, 2.0), constraints=[enough, some], method="SLSQP",
                        options={"ftol": 1e-13, "maxiter": 500}).x[:-1]  # fmt: skip
        ranker.partial_fit(X, y, n_iter=1)
        np.testing.assert_allclose(ranker.W_.reshape(-1), best, atol=2e-4)


@given(seeds, st.floats(0.01, 5.0), st.integers(1, 60))
def test_weights_stay_within_the_papers_bound(seed: int, C: float, n: int) -> None:
    X, y = collection(seed, n=15, n_features=6)
    if not (y.any(axis=0) & ~y.all(axis=0)).any():
        return
    t = from_indicator(y, len(X), max_len=3)
    radius = max(np.linalg.norm(X, axis=1)) * max(
        np.linalg.norm(q) for q in query_matrix(t.queries, 5)
    )
    length = np.linalg.norm(PAMIR(C=C, max_len=3, random_state=seed).fit(X, y, n_iter=n).W_)
    assert length <= 2 * C * radius * n * (1 + 1e-5)
    # Unit vectors without negative numbers are at most the square root of 2 apart.
    assert length <= math.sqrt(2) * C * n * (1 + 1e-5)
    signed = np.where(np.arange(6) % 2 == 0, X, -X)
    lengthier = np.linalg.norm(PAMIR(C=C, max_len=3).fit(signed, y, n_iter=n).W_)
    assert lengthier <= 2 * C * radius * n * (1 + 1e-5)


@each_ranker
@each_kind
@pytest.mark.parametrize("a", [0.25, 4.0])
def test_scaling_features_and_c_scales_weights(ranker: Any, kind: Any, a: float) -> None:
    """Powers of two round nowhere, so the law holds to the last bit."""
    X, y = collection()
    how: dict[str, Any] = {"max_len": 2, "averaged": True}
    plain = ranker(C=0.25, **how).fit(kind(X), y, n_iter=3000)
    scaled = ranker(C=0.25 / a**2, **how).fit(kind(a * X), y, n_iter=3000)
    assert (a * scaled.W_).astype(np.float32).tobytes() == plain.W_.tobytes()
    np.testing.assert_allclose(
        scaled.decision_function(kind(a * X)), plain.decision_function(kind(X)), rtol=1e-6
    )


@given(seeds, st.sampled_from(VARIANTS))
@settings(max_examples=25)
def test_averages_and_rows_are_the_naive_ones(seed: int, variant: Variant) -> None:
    X, y = collection(seed, n=20, n_features=8)
    t = from_indicator(y, len(X), max_len=2)
    triplets = drawn(t, 200, seed=seed)
    wanted = naive.pamir(X, query_matrix(t.queries, 5), triplets, 0.3, variant)
    for averaged, W in zip((False, True), wanted, strict=True):
        how: dict[str, Any] = {"averaged": averaged, "max_len": 2, "random_state": seed}
        for kind in (np.asarray, sp.csr_array):
            found = PAMIR(C=0.3, variant=variant, **how).fit(kind(X), y, n_iter=200).W_
            np.testing.assert_allclose(found, W, atol=3e-4 * max(1.0, np.abs(W).max()))


@given(seeds, st.floats(-5, 5, width=32))
@settings(max_examples=25)
def test_scores_are_linear_in_the_query(seed: int, a: float) -> None:
    X, y = collection(seed, n=20, n_features=8)
    ranker = PAMIR(max_len=2).fit(X, y, n_iter=200)
    q = np.random.default_rng(seed).normal(size=3).astype(np.float32)
    once, more = ranker.query([0, 2, 4], q), ranker.query([0, 2, 4], a * q)
    np.testing.assert_allclose(X @ more, a * (X @ once), rtol=1e-4, atol=1e-4)


@each_kind
def test_pictures_in_another_order_score_the_same(kind: Any) -> None:
    X, y = collection()
    ranker = PAMIR(max_len=2).fit(kind(X), y, n_iter=2000)
    order = np.random.default_rng(0).permutation(len(X))
    scores = ranker.decision_function(kind(X))
    np.testing.assert_allclose(ranker.decision_function(kind(X[order])), scores[order], rtol=1e-5,
                               atol=1e-6)  # fmt: skip
    some = ranker.decision_function(kind(X), np.array([4, 0]))
    np.testing.assert_allclose(some, scores[:, [4, 0]], rtol=1e-5, atol=1e-6)
    again = PAMIR.from_arrays(ranker.to_arrays())
    assert again.decision_function(kind(X)).tobytes() == scores.tobytes()


class Impatient(NoProgress):
    """Stops training in the middle of a block."""

    def advance(self, n: int = 1) -> None:
        raise KeyboardInterrupt


@each_ranker
def test_an_interrupted_fit_leaves_what_there_was(ranker: Any) -> None:
    X, y = collection()
    before = ranker(averaged=True).fit(X, y, n_iter=3000)
    kept = {k: v for k, v in vars(before).items() if k.endswith("_")}
    bytes_before = before.W_.tobytes()
    wider = np.hstack([y, y[:, :2]])
    with pytest.raises(KeyboardInterrupt):
        before.fit(X[:, :9], wider, n_iter=3000, progress=Impatient())
    assert {k: v for k, v in vars(before).items() if k.endswith("_")} == kept
    assert before.W_.tobytes() == bytes_before
    untouched = ranker(averaged=True).fit(X, y, n_iter=3000).partial_fit(X, y, n_iter=500)
    assert before.partial_fit(X, y, n_iter=500).W_.tobytes() == untouched.W_.tobytes()
    fresh = ranker()
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y, progress=Impatient())
    assert not any(name.endswith("_") for name in vars(fresh))


@each_ranker
@each_kind
def test_separable_pictures_end_in_perfect_order_and_without_loss(ranker: Any, kind: Any) -> None:
    rng = np.random.default_rng(3)
    y = (rng.random((40, 6)) < 0.4).astype(int)
    X = np.hstack([y, 0.2 * rng.random((40, 4))])
    fitted = ranker(max_len=3).fit(kind(X), y)
    assert fitted.score(kind(X), y) == 1.0
    fitted.partial_fit(kind(X), y, n_iter=80_000)
    updates = fitted.n_updates_
    fitted.partial_fit(kind(X), y, n_iter=20_000)
    assert fitted.n_updates_ == updates, "nothing is left to learn"


@each_ranker
@each_kind
@pytest.mark.parametrize("averaged", [False, True])
def test_going_on_is_as_if_it_had_not_stopped(ranker: Any, kind: Any, averaged: bool) -> None:
    X, y = collection()
    X = kind(X)
    how: dict[str, Any] = {"pairs_per_query": 1, "averaged": averaged}
    whole = ranker(**how).fit(X, y, n_iter=900)
    parts = ranker(**how).partial_fit(X, y, n_iter=400)
    kept = parts.W_
    before = kept.tobytes()
    parts.partial_fit(X, y, n_iter=500)
    assert parts.W_.tobytes() == whole.W_.tobytes()
    assert (parts.n_iter_, parts.n_updates_) == (900, whole.n_updates_)
    assert kept.tobytes() == before, "weights handed out earlier do not change"


@each_ranker
def test_the_same_seed_gives_the_same_bytes_and_another_other_ones(ranker: Any) -> None:
    X, y = collection()
    one, same, other = (ranker(random_state=s).fit(X, y).W_.tobytes() for s in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize("ranker", [PAMIR, WARP, KernelPAMIR])
def test_progress_is_told(ranker: Any) -> None:
    X, y = collection()
    told = RecordedProgress()
    ranker().fit(X, y, n_iter=40_000, progress=told)
    assert told.all() == ("training", 40_000, 40_000, True)


@each_ranker
def test_queries_that_order_nothing_are_dropped_and_counted(ranker: Any) -> None:
    X, y = collection()
    odd = np.hstack([y, np.ones((60, 1), int), np.zeros((60, 1), int)])
    fitted = ranker().fit(X, odd, n_iter=2000)
    assert fitted.n_dropped_ == 1, "a word that nobody has is no query at all"
    assert not fitted.W_[5:].any() and fitted.W_[:5].any(axis=1).all()
    scores = fitted.decision_function(X)
    assert not scores[:, 5:].any() and np.isfinite(scores).all()
    assert fitted.W_[:5].tobytes() == ranker().fit(X, y, n_iter=2000).W_.tobytes()
    judged = from_judgements([1, 1, 0, 1], ["a", "a", "b", "b"], 4)
    assert judged.n_negative.tolist() == [0, 1]


@each_ranker
@each_kind
def test_one_picture_twice_with_different_words(ranker: Any, kind: Any) -> None:
    X = np.array([[1.0, 0.0, 0.0]] * 2 + [[0.0, 1.0, 0.0]] * 2 + [[0.0, 0.0, 1.0]])
    y = np.array([[1, 0], [0, 1], [1, 0], [1, 0], [0, 1]])
    fitted = ranker(C=1.0).fit(kind(X), y, n_iter=20_000)
    scores = fitted.decision_function(kind(X))
    assert np.isfinite(scores).all() and fitted.n_zero_ > 0
    assert (scores[0] == scores[1]).all(), "the same features, the same scores"
    assert scores[2, 0] > scores[0, 0] > scores[4, 0], "half its copies have the word"
    alike = ranker().fit(kind(np.ones((5, 3))), y, n_iter=500)
    assert not alike.W_.any() and alike.n_updates_ == 0


@each_ranker
def test_nothing_and_the_unknown(ranker: Any) -> None:
    X, y = collection()
    fitted = ranker().fit(X, y, n_iter=500)
    assert not fitted.query([]).any() and fitted.query([]).shape == (X.shape[1],)
    with pytest.raises(DataError, match="was fitted to 5 words"):
        fitted.query([5])
    assert fitted.decision_function(np.zeros((2, X.shape[1]))).tolist() == [[0.0] * 5] * 2
    for wrong in (np.nan, np.inf):
        bad = X.copy()
        bad[1, 1] = wrong
        with pytest.raises(DataError, match="finite numbers"):
            fitted.decision_function(bad)
        with pytest.raises(DataError, match="finite numbers"):
            ranker().fit(bad, y)
    again = [ranker(random_state=3).fit(X, y, n_iter=700).W_.tobytes() for _ in range(2)]
    assert again[0] == again[1]


@each_ranker
def test_too_much_memory_is_refused_before_it_is_taken(ranker: Any) -> None:
    words = sp.csr_array(([1, 1], ([0, 1], [3, 99_999])), shape=(3, 100_000))
    X = sp.csr_array(([1.0, 1.0, 1.0], ([0, 1, 2], [0, 1, 2])), shape=(3, 20_000))
    with pytest.raises(DataError) as error:
        ranker().fit(X, words)
    said = str(error.value)
    assert "100,000 words over 20,000 features would take 8,000,000,000 bytes" in said
    assert f"{ranker.__name__} may take 2,147,483,648" in said
    assert "fewer words" in said and "shorter features" in said and "'max_bytes'" in said
    with pytest.raises(DataError, match="would take 24,000,000,000 bytes"):
        ranker().fit(X, words, validation=(X, words))
    with pytest.raises(DataError, match="would take 64,000,000,000 bytes"):
        ranker(averaged=True).fit(X, words)
    small = X[:, :10]
    assert ranker(max_bytes=4_000_000).fit(small, words, n_iter=10).W_.shape == (100_000, 10)
    with pytest.raises(DataError, match="would take 4,000,000 bytes"):
        ranker(max_bytes=3_999_999).partial_fit(small, words, n_iter=10)
    with pytest.raises(ParameterError, match="'max_bytes' parameter"):
        ranker(max_bytes=0).fit(small, words)


def test_what_weights_take() -> None:
    assert bytes_of_weights(10, 100, averaged=False, judged=False) == 4_000
    assert bytes_of_weights(10, 100, averaged=False, judged=True) == 12_000
    assert bytes_of_weights(10, 100, averaged=True, judged=False) == 32_000
    assert bytes_of_weights(10, 100, averaged=True, judged=True) == 56_000


def test_a_hundred_thousand_words_are_learnt_within_the_budget() -> None:
    rng = np.random.default_rng(0)
    n, n_words, n_features = 20_000, 100_000, 120
    which = np.arange(n) % 60
    values = (np.ones(2 * n), (np.repeat(np.arange(n), 2), np.stack(
        (which, 60 + which), axis=1).reshape(-1)))  # fmt: skip
    X = sp.csr_array(values, shape=(n, n_features))
    rare = rng.integers(60, n_words, size=n)
    words = sp.csr_array(
        (np.ones(2 * n), (np.tile(np.arange(n), 2), np.concatenate((which, rare)))),
        shape=(n, n_words),
    )
    words.data[:] = 1
    ranker = PAMIR().fit(X, words, n_iter=300_000)
    assert ranker.W_.shape == (n_words, n_features) and ranker.W_.nbytes == 48_000_000
    asked = np.flatnonzero(np.asarray((words != 0).sum(axis=0)).reshape(-1))
    absent = np.setdiff1d(np.arange(n_words), asked)
    assert not ranker.W_[absent].any()
    learnt = asked[ranker.W_[asked].any(axis=1)]
    assert len(learnt) > 0.9 * len(asked)
    top = ranker.decision_function(X[:60], np.arange(60)).argmax(axis=0)
    assert (top == np.arange(60)).mean() > 0.9
