"""PAMIR: equal to its slow twin, and to what the method promises."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.measures.many import measure_queries
from sightline.rankers import _pamir_fast, training
from sightline.rankers.pamir import PAMIR
from sightline.records import QuerySet
from sightline.solvers.pa_step import N_OUTCOMES, VARIANTS, Variant
from sightline.solvers.rows import SparseMatrix, as_rows
from sightline.solvers.targets import from_indicator, query_set
from tests.factories.fresh_python import output_of, output_without_compiler
from tests.factories.triplets import collection, drawn, query_matrix
from tests.naive import rankers as naive

Matrix = NDArray[np.float64]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("pairs", [1, 8])
def test_equal_to_the_slow_twin(kind: Any, variant: Variant, pairs: int) -> None:
    X, y = collection()
    targets = from_indicator(y, len(X), max_len=3)
    triplets = drawn(targets, 1500, pairs_per_query=pairs, seed=5)
    W, mean = naive.pamir(X, query_matrix(targets.queries, 5), triplets, 0.2, variant)
    how: dict[str, Any] = {"C": 0.2, "variant": variant, "pairs_per_query": pairs}
    for averaged, wanted in ((False, W), (True, mean)):
        ranker = PAMIR(max_len=3, random_state=5, averaged=averaged, **how)
        ranker.fit(kind(X), y, n_iter=1500)
        np.testing.assert_allclose(ranker.W_, wanted, atol=2e-4 * np.abs(wanted).max())
        assert ranker.W_.dtype == np.float32 and ranker.W_.flags.c_contiguous


def learn(rows: Any, queries: QuerySet, triplets: NDArray[np.int32], W: NDArray[np.float32]) -> Any:
    """Run the compiled loop on given triplets."""
    lengths = np.add.reduceat(queries.weight.astype(np.float64) ** 2, queries.start[:-1])
    counts = np.zeros(N_OUTCOMES, np.int64)
    asked = (queries.start, queries.term, queries.weight, lengths)
    how = (*np.ascontiguousarray(triplets.T), 0.2, 1, np.zeros(W.shape[1], np.float32), counts)
    if isinstance(rows, SparseMatrix):
        norms = _pamir_fast.squared_lengths(rows.start, rows.values)
        pictures = (rows.start, rows.indices, rows.values, norms)
        _pamir_fast.learn_sparse(W, np.zeros((0, 0)), 0, *pictures, *asked, *how)
    else:
        _pamir_fast.learn_dense(W, np.zeros((0, 0)), 0, rows, *asked, *how)
    return counts


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_single_words_are_rankers_of_their_own_exactly(kind: Any) -> None:
    X, y = collection()
    rows, targets = as_rows(kind(X), "PAMIR"), from_indicator(y, len(X))
    triplets = np.array(drawn(targets, 3000, pairs_per_query=1), dtype=np.int32)
    together = np.zeros((5, X.shape[1]), np.float32)
    learn(rows, targets.queries, triplets, together)
    for word in range(5):
        alone = np.zeros((5, X.shape[1]), np.float32)
        learn(rows, targets.queries, triplets[triplets[:, 0] == word], alone)
        assert alone[word].any()
        assert alone[word].tobytes() == together[word].tobytes()
        assert not np.delete(alone, word, axis=0).any()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_equal_pictures_never_change_anything(kind: Any) -> None:
    X, _ = collection()
    twins = np.concatenate([X, X])
    queries = query_set([([0, 1], range(len(X)))], np.ones(2))
    triplets = np.array([(0, p, p + len(X)) for p in range(len(X))], dtype=np.int32)
    W = np.random.default_rng(0).normal(size=(2, X.shape[1])).astype(np.float32)
    before = W.tobytes()
    counts = learn(as_rows(kind(twins), "PAMIR"), queries, triplets, W)
    assert W.tobytes() == before
    assert counts.tolist() == [0, 0, len(X), 0]
    ranker = PAMIR().fit(kind(np.ones((4, 3))), [[1], [0], [1], [0]], n_iter=100)
    assert not ranker.W_.any()
    assert (ranker.n_zero_, ranker.n_updates_) == (100, 0)


def test_overflow_is_rejected_and_counted() -> None:
    X = np.array([[3e38, 0.0], [-3e38, 0.0], [0.0, 1.0]])
    for kind in (np.asarray, sp.csr_array):
        ranker = PAMIR(C=0.1).fit(kind(X), [[1], [0], [0]], n_iter=200)
        assert np.isfinite(ranker.W_).all() or ranker.n_rejected_ > 0


@given(st.integers(0, 10_000), st.sampled_from(VARIANTS))
def test_a_step_never_raises_its_triplets_loss(seed: int, variant: Variant) -> None:
    X, y = collection(seed, n=12, n_features=6)
    targets = from_indicator(y, len(X), max_len=3)
    Q = query_matrix(targets.queries, 5)
    how: dict[str, Any] = {"max_len": 3, "random_state": seed, "pairs_per_query": 1}
    ranker = PAMIR(C=0.3, variant=variant, **how).fit(X, y, n_iter=20)
    q, plus, minus = drawn(targets, 21, pairs_per_query=1, seed=seed)[-1]
    x = np.outer(Q[q], (X[plus] - X[minus]).astype(np.float32))
    before = max(0.0, 1 - float(np.sum(ranker.W_ * x)))
    ranker.partial_fit(X, y, n_iter=1)
    after = max(0.0, 1 - float(np.sum(ranker.W_ * x)))
    assert after <= before + 1e-5
    if variant == "PA" and before > 0 and np.sum(x * x) > 1e-3:
        assert after == pytest.approx(0.0, abs=1e-4)


def test_weights_stay_within_the_papers_bound() -> None:
    X, y = collection()
    targets = from_indicator(y, len(X), max_len=3)
    radius = max(np.linalg.norm(X, axis=1)) * max(
        np.linalg.norm(q) for q in query_matrix(targets.queries, 5)
    )
    ranker = PAMIR(C=0.05, max_len=3)
    for i in range(1, 200):
        ranker.partial_fit(X, y, n_iter=1)
        length = np.linalg.norm(ranker.W_)
        assert length <= 2 * 0.05 * radius * i + 1e-6
        # Unit vectors without negative numbers are at most the square root of 2 apart.
        assert length <= math.sqrt(2) * 0.05 * i + 1e-6


def test_words_that_are_never_asked_for_keep_zeros() -> None:
    X, y = collection()
    wide = np.hstack([y, np.zeros((len(y), 2), int)])
    ranker = PAMIR().fit(X, wide, n_iter=2000)
    assert ranker.W_.shape == (7, X.shape[1])
    assert ranker.W_[:5].any(axis=1).all() and not ranker.W_[5:].any()
    assert not ranker.query([6]).any()


@pytest.mark.parametrize("averaged", [False, True])
def test_early_stopping_returns_the_best_and_not_the_last(
    averaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = collection()
    truth = iter([0.2, 0.5, 0.4, 0.3, 0.45, 0.9])
    seen: list[bytes] = []

    def look(self: training.ValidationSet, W: NDArray[np.float32]) -> float:
        seen.append(W.tobytes())
        return next(truth)

    monkeypatch.setattr(training.ValidationSet, "mean_avgp", look)
    ranker = PAMIR(eval_every=100, patience=3, averaged=averaged).fit(X, y, validation=(X, y))
    assert ranker.history_ == [(100, 0.2), (200, 0.5), (300, 0.4), (400, 0.3), (500, 0.45)]
    assert (ranker.best_score_, ranker.best_iter_, ranker.n_iter_) == (0.5, 200, 500)
    assert ranker.W_.tobytes() == seen[1] != seen[-1]


def test_validation_is_the_mean_avgp_of_its_queries() -> None:
    X, y = collection(n=90)
    train, held = slice(0, 60), slice(60, None)
    ranker = PAMIR(max_len=3, eval_every=500, n_iter=3000, patience=9)
    ranker.fit(X[train], y[train], validation=(X[held], y[held]))
    assert [n for n, _ in ranker.history_] == [500, 1000, 1500, 2000, 2500, 3000]
    assert ranker.best_score_ == max(s for _, s in ranker.history_)
    queries = from_indicator(y[held], 30, 3, ranker._query_words()).queries
    wanted = measure_queries(ranker.decision_function(X[held]), queries).mean_avgp
    assert ranker.best_score_ == ranker.score(X[held], y[held]) == pytest.approx(wanted)
    same = copy.deepcopy(ranker).fit(X[train], y[train], validation=(X[held], queries))
    assert same.history_ == ranker.history_
    assert ranker.score(X[held], queries) == ranker.best_score_


def test_without_validation_steps_follow_the_relevant_pictures() -> None:
    X, y = collection(n=600)
    assert PAMIR().fit(X[:60], y[:60]).n_iter_ == 20_000
    assert PAMIR().fit(X, y).n_iter_ == 64 * y.sum()
    ranker = PAMIR(n_iter=700).fit(X, y)
    assert (ranker.n_iter_, ranker.best_iter_, ranker.history_) == (700, 700, [])
    assert math.isnan(ranker.best_score_)


def test_same_seed_same_bytes_in_fresh_processes() -> None:
    code = (
        "import hashlib, sys, scipy.sparse as sp\n"
        "from tests.factories.triplets import collection\n"
        "from sightline.rankers.pamir import PAMIR\n"
        "X, y = collection()\n"
        "found = [PAMIR(max_len=3, random_state=seed, averaged=a).fit(kind(X), y, n_iter=20_000)\n"
        "         for seed in range(5) for a in (False, True) for kind in (sp.csr_array, list)]\n"
        "print(hashlib.sha256(b''.join(r.W_.tobytes() for r in found)).hexdigest())\n"
    )
    assert output_of(code) == output_of(code)


def test_the_loops_run_with_the_compiler_off() -> None:
    code = (
        "import numpy as np, scipy.sparse as sp\n"
        "from tests.factories.triplets import collection\n"
        "from sightline.rankers.pamir import PAMIR\n"
        "X, y = collection(n=12, n_features=6)\n"
        "how = dict(max_len=2, sampling='triplet')\n"
        "for kind in (np.asarray, sp.csr_array):\n"
        "    for pairs in (1, 4):\n"
        "        r = PAMIR(pairs_per_query=pairs, averaged=True, **how)\n"
        "        r.fit(kind(X), y, n_iter=150, validation=(kind(X), y))\n"
        "        print(np.array2string(r.W_, precision=3, suppress_small=True))\n"
    )
    assert output_without_compiler(code) == output_of(code)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_scores_are_linear_in_the_query(kind: Any) -> None:
    X, y = collection()
    ranker = PAMIR(max_len=2).fit(kind(X), y, n_iter=3000)
    scores = ranker.decision_function(kind(X))
    assert scores.shape == (60, 5) and scores.dtype == np.float32
    np.testing.assert_allclose(scores, X @ ranker.W_.T, atol=1e-4)
    once, thrice = ranker.query([3, 1], [0.5, 2.0]), ranker.query([3, 1], [1.5, 6.0])
    np.testing.assert_allclose(3 * once, thrice, rtol=1e-6)
    np.testing.assert_allclose(X @ once, 0.5 * scores[:, 3] + 2 * scores[:, 1], atol=1e-4)
    q = ranker.idf_[[1, 3]] / np.linalg.norm(ranker.idf_[[1, 3]])
    np.testing.assert_allclose(ranker.query([3, 1, 3]), q @ ranker.W_[[1, 3]], rtol=1e-5)
    assert not ranker.query([]).any()


def test_queries_from_elsewhere_are_as_good_as_a_table() -> None:
    X, y = collection()
    queries = from_indicator(y, len(X), 3).queries
    table = PAMIR(max_len=3).fit(X, y, n_iter=2000)
    given_ones = PAMIR().fit(X, queries=queries, n_words=9, n_iter=2000)
    assert given_ones.W_.shape == (9, X.shape[1])
    assert given_ones.W_[:5].tobytes() == table.W_.tobytes()
    assert PAMIR().fit(X, queries, n_iter=2000).W_.tobytes() == table.W_.tobytes()
