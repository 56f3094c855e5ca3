"""Kernel PAMIR: equal to its slow twin and, with a linear kernel, to linear PAMIR."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.rankers import _kernel_pamir_fast, training
from sightline.rankers.kernel_pamir import KernelPAMIR
from sightline.rankers.pamir import PAMIR
from sightline.records import QuerySet
from sightline.similarity.bags import Bags
from sightline.similarity.grams import nearest_psd, spectrum
from sightline.similarity.kernels import gram
from sightline.similarity.match import MatchKernel
from sightline.solvers.pa_step import N_OUTCOMES, VARIANTS, Variant
from sightline.solvers.targets import from_indicator, query_set
from tests.factories.fresh_python import output_of, output_without_compiler
from tests.factories.triplets import collection, drawn, query_matrix
from tests.naive import kernel_pamir as naive

Matrix = NDArray[np.float64]
Floats = NDArray[np.float32]


def learn(
    K: Any, queries: QuerySet, triplets: NDArray[np.int32], alpha: Floats, C: float = 0.2
) -> tuple[list[int], Floats]:
    """Run the compiled loop on given triplets; return what became of them, and the scores kept."""
    lengths = np.add.reduceat(queries.weight.astype(np.float64) ** 2, queries.start[:-1])
    counts, negative = np.zeros(N_OUTCOMES, np.int64), np.zeros(1, np.int64)
    table = np.ascontiguousarray(K, np.float32)
    scores = np.asarray(alpha @ table, dtype=np.float32)
    query, plus, minus = np.ascontiguousarray(triplets.T)
    _kernel_pamir_fast.learn(
        alpha, np.zeros((0, 0)), 0, table, scores, negative,
        queries.start, queries.term, queries.weight, lengths,
        query, plus, minus, C, 1, np.zeros(0, np.float32), counts,
    )  # fmt: skip
    return [*counts.tolist(), *negative.tolist()], scores


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("pairs", [1, 8])
def test_equal_to_the_slow_twin(variant: Variant, pairs: int) -> None:
    X, y = collection(n=30)
    targets = from_indicator(y, len(X), max_len=3)
    triplets = drawn(targets, 500, pairs_per_query=pairs, seed=5)
    K = gram(X, bandwidth=0.6)
    Q = query_matrix(targets.queries, 5)
    alpha, mean = naive.kernel_pamir(K.astype(np.float64), Q, triplets, 0.2, variant)
    how: dict[str, Any] = {"C": 0.2, "variant": variant, "pairs_per_query": pairs, "max_len": 3}
    for averaged, wanted in ((False, alpha), (True, mean)):
        ranker = KernelPAMIR(kernel="precomputed", averaged=averaged, random_state=5, **how)
        ranker.fit(K, y, n_iter=500)
        assert ranker.support_.tolist() == np.flatnonzero(wanted.any(axis=0)).tolist()
        found = ranker.alpha_
        assert found == pytest.approx(
            wanted[:, ranker.support_], abs=2e-4 * float(np.abs(wanted).max())
        )
        assert found.dtype == np.float32 and found.flags.c_contiguous


def test_the_scores_kept_are_those_of_the_weights() -> None:
    X, y = collection()
    targets = from_indicator(y, len(X), max_len=3)
    triplets = np.array(drawn(targets, 4000), dtype=np.int32)
    K, alpha = gram(X, bandwidth=0.6), np.zeros((5, len(X)), np.float32)
    counts, scores = learn(K, targets.queries, triplets, alpha)
    assert counts[1] > 100 and sum(counts[:4]) == 4000
    assert scores == pytest.approx(alpha @ K, abs=1e-4 * float(np.abs(scores).max()))


@pytest.mark.parametrize("pairs", [1, 8])
@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_linear_kernel_is_linear_pamir(pairs: int, averaged: bool, kind: Any) -> None:
    X, y = collection(n=90)
    train, held = slice(0, 60), slice(60, None)
    how: dict[str, Any] = {
        "max_len": 3, "pairs_per_query": pairs, "averaged": averaged, "random_state": 3,
        "n_iter": 4000, "eval_every": 500, "patience": 3,
    }  # fmt: skip
    given = kind(X[train]), y[train]
    asked = (kind(X[held]), y[held])
    linear = PAMIR(**how).fit(*given, validation=asked)
    kernel = KernelPAMIR(kernel="linear", **how).fit(*given, validation=asked)
    assert kernel.best_iter_ == linear.best_iter_ and kernel.n_iter_ == linear.n_iter_
    assert kernel.n_updates_ == pytest.approx(linear.n_updates_, abs=3)
    scores, wanted = kernel.decision_function(asked[0]), linear.decision_function(asked[0])
    assert scores == pytest.approx(wanted, abs=1e-4 * float(np.abs(wanted).max()))
    weights = kernel.alpha_ @ X[train][kernel.support_]
    assert weights == pytest.approx(linear.W_, abs=1e-4 * float(np.abs(linear.W_).max()))
    assert kernel.score(*asked) == pytest.approx(linear.score(*asked), abs=1e-6)
    assert kernel.best_score_ == pytest.approx(linear.best_score_, abs=1e-6)
    assert kernel.idf_.tolist() == linear.idf_.tolist()


def test_single_words_are_rankers_of_their_own_exactly() -> None:
    X, y = collection()
    K, targets = gram(X, bandwidth=0.6), from_indicator(y, len(X))
    triplets = np.array(drawn(targets, 3000, pairs_per_query=1), dtype=np.int32)
    together = np.zeros((5, len(X)), np.float32)
    learn(K, targets.queries, triplets, together)
    for word in range(5):
        alone = np.zeros((5, len(X)), np.float32)
        learn(K, targets.queries, triplets[triplets[:, 0] == word], alone)
        assert alone[word].any()
        assert alone[word].tobytes() == together[word].tobytes()
        assert not np.delete(alone, word, axis=0).any()


@pytest.mark.parametrize("name", ["linear", "rbf", "exponential", "chi2"])
def test_equal_pictures_never_change_anything(name: str) -> None:
    X, _ = collection()
    twins = np.concatenate([X, X])
    queries = query_set([([0, 1], range(len(X)))], np.ones(2))
    triplets = np.array([(0, p, p + len(X)) for p in range(len(X))], dtype=np.int32)
    alpha = np.random.default_rng(0).normal(size=(2, len(twins))).astype(np.float32)
    before = alpha.tobytes()
    counts, _ = learn(gram(twins, kernel=name), queries, triplets, alpha)
    assert alpha.tobytes() == before
    assert counts == [0, 0, len(X), 0, 0]
    ranker = KernelPAMIR(kernel=name).fit(np.ones((4, 3)), [[1], [0], [1], [0]], n_iter=100)  # type: ignore[arg-type]
    assert ranker.alpha_.shape == (1, 0) and not len(ranker.support_)
    assert (ranker.n_zero_, ranker.n_updates_, ranker.n_negative_) == (100, 0, 0)
    assert ranker.decision_function(np.ones((2, 3))).tolist() == [[0], [0]]
    assert ranker.query([0]).shape == (0,) and ranker.score(np.ones((2, 3)), [[1], [0]]) == 1.0


def test_squared_distances_below_zero_are_skipped_and_counted() -> None:
    # Each picture is less like itself than like the other.
    K = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    queries = query_set([([0], [0])], np.ones(1))
    triplets = np.array([(0, 0, 1)] * 7 + [(0, 0, 2)] * 2, dtype=np.int32)
    alpha = np.zeros((1, 3), np.float32)
    counts, _ = learn(K, queries, triplets, alpha, C=0.1)
    assert counts == [0, 2, 7, 0, 7]
    assert alpha.tolist() == [[pytest.approx(0.2), 0.0, pytest.approx(-0.2)]]


@pytest.mark.parametrize("size", [1.0, 1e-4, 300.0])
def test_what_rounding_hides_is_no_distance(size: float) -> None:
    ulp = float(np.finfo(np.float32).eps) / 2
    queries = query_set([([0], [0])], np.ones(1))
    triplets = np.array([(0, 0, 1)], dtype=np.int32)
    for gap, outcome in ((0, 2), (1, 2), (-1, 2), (200, 1), (-200, 4)):
        K = size * np.array([[1.0, 1.0 - gap * ulp], [1.0 - gap * ulp, 1.0]])
        counts, _ = learn(K, queries, triplets, np.zeros((1, 2), np.float32))
        assert counts[outcome] == 1, gap
        assert counts[4] == (outcome == 4) and counts[2] == (outcome != 1)


def bags_and_words(n: int = 60) -> tuple[Bags, Any]:
    """Pictures of two to six descriptors, some of which belong to the words they have."""
    rng = np.random.default_rng(4)
    y = (rng.random((n, 4)) < 0.3).astype(int)
    centers = rng.normal(size=(5, 3)) * 3
    own = [np.flatnonzero(row) for row in y]
    bags = [np.vstack([centers[c], centers[4:]]) + 0.3 * rng.normal(size=(len(c) + 1, 3))
            for c in own]  # fmt: skip
    return Bags.from_list(bags), y


def test_a_kernel_that_is_no_inner_product_is_borne() -> None:
    bags, y = bags_and_words()
    kernel = MatchKernel.of(bags, factor=2.0)
    K = kernel(bags)
    assert spectrum(K).n_negative > 0
    ranker = KernelPAMIR(kernel="precomputed", C=1.0).fit(K, y)
    assert ranker.score(K, y) > 0.95 and np.isfinite(ranker.alpha_).all()
    mended = KernelPAMIR(kernel="precomputed", C=1.0).fit(nearest_psd(K), y)
    assert mended.n_negative_ == 0
    landmarks = KernelPAMIR(kernel="precomputed", C=1.0, landmarks=40).fit(K, y)
    assert landmarks.score(K, y) > 0.9
    some = kernel(bags.some([3, 1]), bags)
    assert ranker.decision_function(some) == pytest.approx(
        ranker.decision_function(K)[[3, 1]], abs=1e-3
    )


@given(st.integers(0, 10_000))
def test_any_symmetric_table_leaves_finite_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(12, 12))
    y = (rng.random((12, 3)) < 0.5).astype(int)
    y[0], y[1] = 1, 0
    ranker = KernelPAMIR(kernel="precomputed", max_len=2).fit((table + table.T) / 2, y, n_iter=300)
    assert np.isfinite(ranker.alpha_).all()
    total = ranker.n_updates_ + ranker.n_zero_ + ranker.n_rejected_
    assert ranker.n_negative_ <= ranker.n_zero_ and total <= 300


def test_what_no_line_can_part_is_learnt_by_a_kernel() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.stack([np.linalg.norm(X, axis=1) < 1.0, X[:, 0] * X[:, 1] > 0], axis=1).astype(int)
    fit, held = slice(0, 100), slice(100, None)
    linear = PAMIR(C=1.0).fit(X[fit], y[fit]).score(X[held], y[held])
    kernel = KernelPAMIR(C=1.0, factor=0.5).fit(X[fit], y[fit])
    assert kernel.score(X[held], y[held]) > 0.9 > linear + 0.1
    assert kernel.score(X[fit], y[fit]) == 1.0


def test_supports_are_the_pictures_with_weights() -> None:
    X, y = collection()
    wide = np.hstack([y, np.zeros((len(y), 1), int)])
    ranker = KernelPAMIR(C=1.0).fit(X, wide, n_iter=60)
    whole = np.zeros((6, len(X)), np.float32)
    whole[:, ranker.support_] = ranker.alpha_
    assert 0 < len(ranker.support_) < len(X)
    assert ranker.support_rows_[0].tobytes() == X[ranker.support_].astype(np.float32).tobytes()
    union = set()
    for word in range(6):
        assert ranker.support_of(word).tolist() == np.flatnonzero(whole[word]).tolist()
        union |= set(ranker.support_of(word).tolist())
    assert union == set(ranker.support_.tolist())
    assert not len(ranker.support_of(5)) and not ranker.query([5]).any()
    # Only triplets of a word give it support.
    triplets = drawn(from_indicator(wide, len(X)), 60)
    for word in range(5):
        drawn_for = {p for q, *pair in triplets for p in pair if q == word}
        assert set(ranker.support_of(word).tolist()) <= drawn_for


@pytest.mark.parametrize("averaged", [False, True])
def test_early_stopping_returns_the_best_and_not_the_last(
    averaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = collection()
    truth = iter([0.2, 0.5, 0.4, 0.3, 0.45, 0.9])
    seen: list[Floats] = []

    def look(self: training.ValidationSet, W: Floats) -> float:
        seen.append(W.copy())
        return next(truth)

    monkeypatch.setattr(training.ValidationSet, "mean_avgp", look)
    ranker = KernelPAMIR(eval_every=100, patience=3, averaged=averaged)
    ranker.fit(X, y, validation=(X, y))
    assert ranker.history_ == [(100, 0.2), (200, 0.5), (300, 0.4), (400, 0.3), (500, 0.45)]
    assert (ranker.best_score_, ranker.best_iter_, ranker.n_iter_) == (0.5, 200, 500)
    assert ranker.alpha_.tobytes() == seen[1][:, ranker.support_].tobytes()
    assert seen[1].tobytes() != seen[-1].tobytes()


@pytest.mark.parametrize("landmarks", [60, 1000])
def test_all_pictures_as_landmarks_are_the_kernel_itself(landmarks: int) -> None:
    X, y = collection(n=90)
    train, held = slice(0, 60), slice(60, None)
    how: dict[str, Any] = {"max_len": 2, "n_iter": 3000, "eval_every": 500, "factor": 0.5}
    whole = KernelPAMIR(**how).fit(X[train], y[train], validation=(X[held], y[held]))
    marked = KernelPAMIR(landmarks=landmarks, **how)
    marked.fit(X[train], y[train], validation=(X[held], y[held]))
    assert marked.best_iter_ == whole.best_iter_ and marked.alpha_.shape == (5, 60)
    wanted, found = whole.decision_function(X[held]), marked.decision_function(X[held])
    assert found == pytest.approx(wanted, abs=1e-3 * float(np.abs(wanted).max()))
    assert marked.score(X[held], y[held]) == pytest.approx(marked.best_score_, abs=1e-3)


def test_landmarks_leave_negative_directions_out() -> None:
    bags, y = bags_and_words()
    K = MatchKernel.of(bags, factor=2.0)(bags)
    marked = KernelPAMIR(kernel="precomputed", C=1.0, landmarks=len(K)).fit(K, y, n_iter=5000)
    mended = KernelPAMIR(kernel="precomputed", C=1.0).fit(nearest_psd(K), y, n_iter=5000)
    assert (marked.n_negative_, mended.n_negative_) == (0, 0)
    wanted = mended.decision_function(nearest_psd(K))
    found = marked.decision_function(K)
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.99


def test_landmarks_learn_from_all_pictures_and_follow_the_seed() -> None:
    X, y = collection(n=200)
    few = [
        KernelPAMIR(landmarks=30, random_state=seed).fit(X, y, n_iter=5000) for seed in (0, 0, 1)
    ]
    assert few[0].support_.tolist() == few[1].support_.tolist() != few[2].support_.tolist()
    assert len(few[0].support_) == 30 and few[0].alpha_.tobytes() == few[1].alpha_.tobytes()
    alone = few[0].support_
    only = KernelPAMIR().fit(X[alone], y[alone], n_iter=5000)
    assert few[0].score(X, y) > only.score(X, y)
    table = gram(X, bandwidth=few[0].kernel_.bandwidths[0])  # type: ignore[union-attr]
    precomputed = KernelPAMIR(kernel="precomputed", landmarks=30).fit(table, y, n_iter=5000)
    largest = float(np.abs(few[0].alpha_).max())
    assert precomputed.alpha_ == pytest.approx(few[0].alpha_, abs=1e-3 * largest)


def fingerprint() -> str:
    X, y = collection()
    found = [
        KernelPAMIR(max_len=3, random_state=seed, averaged=a, landmarks=m).fit(X, y, n_iter=5000)
        for seed in range(2)
        for a in (False, True)
        for m in (None, 20)
    ]
    assert len({r.alpha_.tobytes() for r in found}) == len(found)
    return hashlib.sha256(b"".join(r.alpha_.tobytes() for r in found)).hexdigest()


def test_same_seed_same_bytes_in_a_fresh_process() -> None:
    code = "from tests.rankers.test_kernel_pamir import fingerprint; print(fingerprint())"
    assert output_of(code).strip() == fingerprint() == fingerprint()


def test_the_loop_runs_with_the_compiler_off() -> None:
    X, y = collection(n=12, n_features=6)
    code = (
        "import numpy as np\n"
        "from tests.factories.triplets import collection\n"
        "from sightline.rankers.kernel_pamir import KernelPAMIR\n"
        "X, y = collection(n=12, n_features=6)\n"
        "r = KernelPAMIR(max_len=2, averaged=True).fit(X, y, n_iter=150, validation=(X, y))\n"
        "print(r.alpha_.round(3).tolist())\n"
    )
    same = KernelPAMIR(max_len=2, averaged=True).fit(X, y, n_iter=150, validation=(X, y))
    assert output_without_compiler(code).strip() == str(same.alpha_.round(3).tolist())
