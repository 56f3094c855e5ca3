"""Mixtures: passes of EM against loops, likelihoods that never fall, gradients by differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.features.local.mixture import Mixture, improved
from tests.naive import fisher as naive

Floats = NDArray[np.float32]
FLOOR = np.full(3, 0.01)


def drawn(n: int, seed: int = 0) -> Floats:
    """Points around three places."""
    rng = np.random.default_rng(seed)
    places = np.array([[0, 0, 0], [3, 1, 0], [-2, 4, 1]])
    kinds = rng.integers(0, 3, n)
    spreads = np.array([0.5, 1.0, 0.3])[kinds, None]
    return (places[kinds] + spreads * rng.standard_normal((n, 3))).astype(np.float32)


def some(n_components: int = 4, seed: int = 0) -> Mixture:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n_components, 5.0)).astype(np.float32)
    means = rng.normal(0, 2, (n_components, 3)).astype(np.float32)
    return Mixture(weights, means, rng.uniform(0.5, 2, (n_components, 3)).astype(np.float32))


def wide(mixture: Mixture) -> tuple[NDArray[np.float64], ...]:
    found = (mixture.weights, mixture.means, mixture.variances)
    return tuple(a.astype(np.float64) for a in found)


def objective(mixture: Mixture, points: Floats) -> float:
    likelihood = mixture.log_likelihoods(points).sum(dtype=np.float64)
    return float(likelihood + np.log(mixture.weights.astype(np.float64)).sum())


def test_probabilities_and_likelihoods_equal_their_twins() -> None:
    points, mixture = drawn(30), some()
    slow = naive.posteriors(points.astype(np.float64), *wide(mixture))
    np.testing.assert_allclose(mixture.posteriors(points), slow, atol=1e-5)
    likelihoods = [naive.log_likelihood(x, *wide(mixture)) for x in points.astype(np.float64)]
    np.testing.assert_allclose(mixture.log_likelihoods(points), likelihoods, rtol=1e-5)


def test_a_pass_equals_its_twin() -> None:
    points, mixture = drawn(60), some()
    shares = naive.posteriors(points.astype(np.float64), *wide(mixture))
    slow = naive.maximized(points.astype(np.float64), shares, FLOOR)
    better = mixture.improved_for(points, FLOOR)
    for fast, twin in zip(wide(better), slow, strict=True):
        np.testing.assert_allclose(fast, twin, rtol=1e-3, atol=1e-5)


def test_blocks_of_points_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    points = drawn(1000)
    whole = some().improved_for(points, FLOOR)
    monkeypatch.setattr("sightline.features.local.mixture._BLOCK", 64)
    parts = some().improved_for(points, FLOOR)
    for a, b in zip(wide(whole), wide(parts), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@given(st.integers(0, 1000), st.integers(1, 6))
@settings(deadline=None, max_examples=25)
def test_no_pass_lowers_the_objective(seed: int, n_components: int) -> None:
    points, mixture = drawn(150, seed), some(n_components, seed)
    before = objective(mixture, points)
    for _ in range(6):
        mixture = mixture.improved_for(points, FLOOR)
        after = objective(mixture, points)
        assert after >= before - 1e-5 * abs(before)
        before = after


def test_fitting_finds_planted_components() -> None:
    mixture = Mixture.fit(drawn(3000), 3)
    order = np.argsort(mixture.means[:, 1])
    np.testing.assert_allclose(mixture.means[order], [[0, 0, 0], [3, 1, 0], [-2, 4, 1]], atol=0.15)
    np.testing.assert_allclose(
        np.sqrt(mixture.variances[order]).mean(axis=1), [0.5, 1, 0.3], atol=0.1
    )
    np.testing.assert_allclose(mixture.weights, 1 / 3, atol=0.05)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_passes_equal_those_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.mixture")
    points, mixture = drawn(50_000), some()
    weights, means, variances = wide(mixture)
    theirs = sklearn.GaussianMixture(
        4, covariance_type="diag", reg_covar=0, tol=0, max_iter=8, means_init=means,
        weights_init=weights / weights.sum(), precisions_init=1 / variances,
    ).fit(points)  # fmt: skip
    for _ in range(8):
        mixture = mixture.improved_for(points, np.zeros(3))
    # A point more for each component changes weights by about 1 in 50,000.
    np.testing.assert_allclose(mixture.weights, theirs.weights_, atol=1e-3)
    np.testing.assert_allclose(mixture.means, theirs.means_, atol=3e-3)
    np.testing.assert_allclose(mixture.variances, theirs.covariances_, atol=3e-3)


def test_the_same_seed_gives_the_same_bytes() -> None:
    points = drawn(500)
    one, other = Mixture.fit(points, 5, seed=3), Mixture.fit(points.copy(), 5, seed=3)
    assert [a.tobytes() for a in wide(one)] == [a.tobytes() for a in wide(other)]
    assert Mixture.fit(points, 5, seed=4).means.tobytes() != one.means.tobytes()


def test_points_that_agree_keep_finite_components() -> None:
    points = np.full((50, 3), 2, np.float32)
    mixture = Mixture.fit(points, 4)
    assert len(mixture.weights) == 1 and (mixture.variances > 0).all()
    assert np.isfinite(mixture.fisher_vector(drawn(9))).all()
    assert not mixture.fisher_vector(points)[:3].any()


def test_a_component_that_wins_nothing_stays_where_it_is() -> None:
    far = np.array([[0, 0, 0], [1e3, 1e3, 1e3]], np.float32)
    mixture = Mixture(np.full(2, 0.5, np.float32), far, np.ones((2, 3), np.float32))
    points = drawn(40)
    better = mixture.improved_for(points, FLOOR)
    assert np.array_equal(better.means[1], far[1]) and (better.variances[1] == 1).all()
    assert better.weights[1] == pytest.approx(1 / 42)


@pytest.mark.parametrize("seed", range(3))
def test_fisher_vectors_are_derivatives_of_the_likelihood(seed: int) -> None:
    points, mixture = drawn(12, seed), some(3, seed)
    slow = naive.fisher_vector(points.astype(np.float64), *wide(mixture))
    fast = mixture.fisher_vector(points, negligible=0)
    np.testing.assert_allclose(fast, slow, atol=2e-4)
    assert fast.shape == (mixture.length,) == (2 * 3 * 3,)
    assert np.abs(mixture.fisher_vector(points) - fast).max() < 1e-3


def test_negligible_probabilities_count_as_zero() -> None:
    points, mixture = drawn(5), some()
    shares = mixture.posteriors(points)
    limit = float(np.sort(shares.ravel())[-2])
    cut = mixture.fisher_vector(points, negligible=limit * 1.001).reshape(2, 4, 3)
    touched = np.abs(cut).sum(axis=(0, 2)) > 0
    assert touched.sum() == 1 and touched[shares.max(axis=0).argmax()]


def test_points_drawn_from_the_mixture_have_a_small_vector() -> None:
    mixture = Mixture.fit(drawn(4000), 3)
    usual, odd = mixture.fisher_vector(drawn(4000)), mixture.fisher_vector(drawn(4000) + 1)
    assert np.abs(usual).max() < 0.02 < 0.5 < np.abs(odd).max()


def test_how_many_points_there_are_does_not_matter() -> None:
    points, mixture = drawn(20), some()
    twice = mixture.fisher_vector(np.concatenate([points, points]))
    np.testing.assert_allclose(twice, mixture.fisher_vector(points), atol=1e-6)


@given(arrays(np.float32, 7, elements=st.floats(-1e3, 1e3, width=32)))
def test_improved_vectors_keep_signs_and_have_length_one(vector: Floats) -> None:
    found = improved(vector)
    assert found.dtype == np.float32
    large = np.abs(vector) > 1e-6 * np.abs(vector).max()
    assert np.array_equal(np.sign(found)[large], np.sign(vector)[large])
    length = np.linalg.norm(found.astype(np.float64))
    assert length == pytest.approx(1, abs=1e-4) if vector.any() else length == 0
    if np.abs(vector).max() > 1e-3:
        roots = np.sign(vector) * np.sqrt(np.abs(vector.astype(np.float64)))
        np.testing.assert_allclose(found, roots / np.linalg.norm(roots), atol=1e-5)


def test_what_makes_no_sense_is_refused() -> None:
    one = np.ones((1, 3), np.float32)
    with pytest.raises(DataError, match="for each component"):
        Mixture(np.ones(2, np.float32), one, one)
    with pytest.raises(DataError, match="above 0"):
        Mixture(np.ones(1, np.float32), one, 0 * one)
    with pytest.raises(DataError, match="finite"):
        Mixture(np.ones(1, np.float32), one * np.nan, one)
    with pytest.raises(ParameterError, match="n_components"):
        Mixture.fit(one, 0)
    with pytest.raises(DataError, match="3 columns"):
        some().fisher_vector(np.zeros((4, 2), np.float32))
    with pytest.raises(DataError, match="not be empty"):
        some().fisher_vector(np.zeros((0, 3), np.float32))
    with pytest.raises(DataError, match="finite"):
        Mixture.fit(one * np.inf, 1)
