"""Kernel ridge from blocks of pictures: the slow twin, the fit in memory, flat memory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.annotators._alpha import sample
from sightline.annotators.landmarks import LandmarkRidge, bytes_needed
from sightline.annotators.ridge import KernelRidge
from sightline.similarity.kernels import MeanKernel
from sightline.similarity.landmark_kernel import LandmarkKernel
from sightline.vectors import l2_normalize
from tests.naive import annotators as naive

N, LANDMARKS = 300, 60


@pytest.fixture(scope="module")
def fitted() -> tuple[KernelRidge, LandmarkRidge, np.ndarray, csr_matrix]:
    X, Y = naive.problem(N, 8)
    X = l2_normalize(X)
    whole = KernelRidge(landmarks=LANDMARKS).fit(X, Y)
    labels = csr_matrix(Y)
    ridge = LandmarkRidge(whole.kernel_, (X[sample(np.arange(N), LANDMARKS, 0)],), Y.shape[1])
    for start in range(0, N, 70):
        rows = slice(start, start + 70)
        ridge.partial_fit((X[rows],), labels[rows])
    return whole, ridge, X, labels


def test_blocks_give_what_the_slow_twin_gives(fitted) -> None:  # type: ignore[no-untyped-def]
    whole, ridge, X, labels = fitted
    dual = naive.landmark_ridge(
        whole.kernel_((X,), ridge.landmarks).astype(np.float64),
        whole.kernel_(ridge.landmarks).astype(np.float64),
        labels.toarray().astype(np.float64),
        0.3,
    )
    expected = whole.kernel_((X,), ridge.landmarks) @ dual
    scores = KernelRidge.from_arrays(ridge.solve().arrays(0.3)).decision_function(X)
    assert scores == pytest.approx(expected, abs=1e-4)


def test_blocks_give_the_alpha_and_the_scores_of_a_fit_in_memory(fitted) -> None:  # type: ignore[no-untyped-def]
    whole, ridge, X, labels = fitted
    solution = ridge.solve()
    judged = solution.left_out((X,), labels)
    assert solution.best_alpha(judged) == whole.alpha_
    again = KernelRidge.from_arrays(solution.arrays(whole.alpha_))
    assert again.decision_function(X) == pytest.approx(whole.decision_function(X), abs=1e-4)
    unseen = judged.left_out(solution.scaled(whole.alpha_))
    assert unseen == pytest.approx(whole.leave_one_out_, abs=1e-4)


def test_more_blocks_go_on_where_earlier_ones_ended(fitted) -> None:  # type: ignore[no-untyped-def]
    whole, _, X, labels = fitted
    landmarks = (X[:LANDMARKS],)
    half, at_once = (LandmarkRidge(whole.kernel_, landmarks, labels.shape[1]) for _ in range(2))
    half.partial_fit((X[:150],), labels[:150])
    first = half.solve().arrays(0.1)["dual"].copy()
    half.partial_fit((X[150:],), labels[150:])
    at_once.partial_fit((X,), labels)
    assert half.n == at_once.n == N
    assert not np.allclose(first, half.solve().arrays(0.1)["dual"])
    scores = [
        KernelRidge.from_arrays(r.solve().arrays(0.1)).decision_function(X) for r in (half, at_once)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_memory_does_not_depend_on_the_pictures_but_on_landmarks_and_words() -> None:
    few, many = bytes_needed(500, 1_000, 512), bytes_needed(4_000, 1_000, 512)
    assert few < many < bytes_needed(4_000, 20_000, 512)


@pytest.mark.parametrize("factor", [1.0, 50.0])
def test_similarities_are_those_of_float64_for_short_rows_and_for_long_ones(factor: float) -> None:
    rng = np.random.default_rng(0)
    rows = (factor * l2_normalize(rng.normal(size=(40, 30)) + 20 * (factor > 1))).astype(np.float32)
    kernel = MeanKernel(("rbf", "rbf"), (0.9, 0.7), (0.5, 0.5))
    views, landmarks = (rows, rows[:, :9]), (rows[:7], rows[:7, :9])
    expected = kernel(views, landmarks)
    assert LandmarkKernel(kernel, landmarks)(views) == pytest.approx(expected, abs=2e-6)


def test_other_kernels_and_sparse_rows_are_computed_as_ever() -> None:
    rows = np.abs(np.random.default_rng(1).normal(size=(9, 5))).astype(np.float32)
    for name, view in (("chi2", rows), ("rbf", csr_matrix(rows))):
        kernel = MeanKernel((name,), (1.0,), (1.0,))
        landmarks = (view[:3],)
        assert np.array_equal(
            LandmarkKernel(kernel, landmarks)((view,)), kernel((view,), landmarks)
        )
