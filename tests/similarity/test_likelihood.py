"""The expected likelihood kernel: its integral, its slow twin, its mixtures, and its extremes."""

from __future__ import annotations

from math import exp, pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from sightline.errors import DataError, ParameterError
from sightline.similarity import _likelihood_fast
from sightline.similarity._mixtures import expectation, mixture, moments
from sightline.similarity.bags import Bags
from sightline.similarity.grams import spectrum
from sightline.similarity.likelihood import (
    GaussianBags,
    LikelihoodKernel,
    gaussian_rows,
    variance_floor,
)
from tests.naive import kernels_of_bags as naive
from tests.similarity.test_bags import bags_of

NUMBERS = st.floats(-2, 2)
SPREADS = st.floats(0.05, 3)


def gaussians(rng: np.random.Generator, n: int, each: int, dim: int) -> GaussianBags:
    """Pictures of any mixtures, the last of which has a component less."""
    weight = rng.random((n, each)) + 0.2
    if each > 1:
        weight[-1, -1] = 0.0
    with np.errstate(divide="ignore"):
        log_weight = np.log(weight / weight.sum(axis=1, keepdims=True))
    mean, variance = rng.normal(size=(n, each, dim)), 0.3 + rng.random((n, each, dim))
    return GaussianBags(log_weight, mean, variance, np.full(dim, 1e-4))


def components(pictures: GaussianBags, i: int) -> list[tuple[float, list[float], list[float]]]:
    parts = zip(np.exp(pictures.log_weight[i]), pictures.mean[i], pictures.variance[i], strict=True)
    return [(float(w), m.tolist(), v.tolist()) for w, m, v in parts if w > 0]


def density(x: float, mean: float, variance: float) -> float:
    return exp(-((x - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance)


@pytest.mark.parametrize("rho", [1.0, 0.5, 0.3, 1.7])
@given(NUMBERS, NUMBERS, SPREADS, SPREADS)
def test_one_gaussian_equals_the_integral(
    rho: float, m: float, n: float, v: float, w: float
) -> None:
    wanted, _ = quad(
        lambda x: (density(x, m, v) * density(x, n, w)) ** rho, -60, 60, points=[m, n], limit=200
    )
    pictures = GaussianBags(
        np.zeros((2, 1)), np.array([[[m]], [[n]]]), np.array([[[v]], [[w]]]), np.full(1, 1e-4)
    )
    found = LikelihoodKernel(rho, normalised=False)(pictures)
    assert found[0, 1] == found[1, 0] == pytest.approx(wanted, rel=1e-5)


def test_mixtures_equal_a_sum_over_drawn_points() -> None:
    rng = np.random.default_rng(0)
    pictures = gaussians(rng, 2, 3, 2)
    n = 400_000
    which = rng.choice(3, n, p=np.exp(pictures.log_weight[0]))
    points = rng.normal(pictures.mean[0, which], np.sqrt(pictures.variance[0, which]))
    likelihood = np.zeros(n)
    for w, m, v in components(pictures, 1):
        apart = ((points - m) ** 2 / v).sum(axis=1)
        likelihood += w * np.exp(-0.5 * apart) / (2 * pi * np.sqrt(np.prod(v)))
    found = LikelihoodKernel(normalised=False)(pictures)[0, 1]
    assert found == pytest.approx(likelihood.mean(), abs=5 * likelihood.std() / sqrt(n))


@pytest.mark.parametrize("rho", [1.0, 0.4])
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("budget", [1, 32 << 20])
def test_equal_to_the_slow_twin(rho: float, each: int, budget: int) -> None:
    rng = np.random.default_rng(3)
    a, b = gaussians(rng, 4, each, 10), gaussians(rng, 3, each, 10)
    own = [naive.likelihood(components(a, i), components(a, i), rho) for i in range(4)]
    theirs = [naive.likelihood(components(b, i), components(b, i), rho) for i in range(3)]
    plain = np.array(
        [[naive.likelihood(components(a, i), components(b, j), rho) for j in range(3)]
         for i in range(4)]
    )  # fmt: skip
    scaled = [[naive.normalised(plain[i, j], own[i], theirs[j]) for j in range(3)]
              for i in range(4)]  # fmt: skip
    kernel = LikelihoodKernel(rho, normalised=False)
    assert kernel(a, b, budget=budget) == pytest.approx(plain, rel=1e-5)
    assert kernel.logs(a, b, budget=budget) == pytest.approx(np.log(plain), rel=1e-9)
    assert LikelihoodKernel(rho)(a, b, budget=budget) == pytest.approx(np.array(scaled), rel=1e-5)
    mild = LikelihoodKernel(rho, power=0.25)(a, b)
    assert mild == pytest.approx(np.array(scaled) ** 0.25, rel=1e-5)


@given(st.integers(0, 10_000), st.integers(1, 20), st.floats(0.1, 2))
def test_the_compiled_loop_sums_every_number(seed: int, dim: int, rho: float) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.normal(size=(2, 3, dim))
    v, w = 10.0 ** rng.uniform(-4, 1, size=(2, 3, dim))
    out = np.empty((3, 3))
    _likelihood_fast.log_overlaps(m, v, n, w, rho, out)
    for i in range(3):
        for j in range(3):
            wanted = naive.component(m[i], v[i], n[j], w[j], rho)
            wanted -= 0.5 * naive.component(m[i], v[i], m[i], v[i], rho)
            wanted -= 0.5 * naive.component(n[j], w[j], n[j], w[j], rho)
            # The general formula cancels large numbers; ours does not.
            assert out[i, j] == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("budget", [1, 600, 32 << 20])
def test_a_kernel_with_itself_is_exactly_symmetric(each: int, budget: int) -> None:
    pictures = GaussianBags.of(bags_of([5, 1, 0, 9, 30, 4], dim=7), each)
    found = LikelihoodKernel()(pictures, budget=budget)
    assert np.array_equal(found, found.T)
    assert found.diagonal().tolist() == [1, 1, 0, 1, 1, 1]
    assert not found[2].any() and found.max() == 1.0
    raw = LikelihoodKernel(normalised=False).logs(pictures, budget=budget)
    assert np.array_equal(raw, raw.T) and np.isneginf(raw[2]).all()
    again = LikelihoodKernel().logs(pictures, pictures, budget=budget)
    assert np.exp(again) == pytest.approx(found, rel=1e-5, abs=1e-7)


def test_it_is_positive_definite_without_a_power() -> None:
    pictures = GaussianBags.of(bags_of([6] * 60, dim=4))
    for rho in (1.0, 0.5, 0.1):
        assert spectrum(LikelihoodKernel(rho)(pictures)).n_negative == 0


def test_one_gaussian_has_the_moments_of_its_descriptors() -> None:
    bags = bags_of([8, 1, 0], dim=3)
    pictures = GaussianBags.of(bags)
    assert pictures.mean[0, 0] == pytest.approx(bags[0].mean(axis=0), rel=1e-6)
    assert pictures.variance[0, 0] == pytest.approx(bags[0].var(axis=0), rel=1e-5)
    assert pictures.floor == pytest.approx(1e-4 * bags.values.var(axis=0), rel=1e-5)
    assert np.array_equal(pictures.variance[1, 0], pictures.floor), "one descriptor has the floor"
    assert np.isneginf(pictures.log_weight[2]).all()
    rows = gaussian_rows(bags)
    assert rows.shape == (3, 6) and rows.dtype == np.float32 and not rows[2].any()
    assert rows[0] == pytest.approx(
        np.hstack([bags[0].mean(axis=0), np.log(bags[0].var(axis=0))]), rel=1e-4
    )
    some = GaussianBags.of(bags[1:2], floor=pictures.floor)
    assert np.array_equal(some.variance[0], pictures.variance[1])
    assert np.array_equal(gaussian_rows(bags[:1], floor=pictures.floor)[0], rows[0])


def test_numbers_that_never_vary_have_a_floor_too() -> None:
    bags = Bags.from_list([[[1.0, 5.0], [3.0, 5.0]], [[2.0, 5.0]]])
    floor = variance_floor(bags)
    assert floor[0] == floor[1] == pytest.approx(1e-4 * 2 / 3)
    assert variance_floor(Bags.from_list([[[2.0]]])).tolist() == [1e-4]
    assert variance_floor(Bags.from_list([[]], dim=2)).tolist() == [1e-4, 1e-4]
    assert np.isfinite(LikelihoodKernel()(GaussianBags.of(bags))).all()


def clusters(seed: int, n: int = 60) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(c, 0.2, size=(n // 3, 2)) for c in ((0, 0), (4, 0), (0, 6))])


def test_a_mixture_finds_clusters() -> None:
    points = clusters(0)
    log_weight, mean, variance = mixture(points, 3, np.full(2, 1e-4), 50, 0)
    order, groups = np.argsort(mean @ [1, 2]), points.reshape(3, 20, 2)
    assert np.exp(log_weight) == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert mean[order] == pytest.approx(groups.mean(axis=1), abs=1e-6)
    assert variance[order] == pytest.approx(groups.var(axis=1), abs=1e-6)


@given(st.integers(0, 1000), st.integers(2, 5), st.floats(1e-6, 0.5))
def test_steps_of_em_never_lower_the_likelihood(seed: int, each: int, floor: float) -> None:
    points = clusters(seed, 30)
    least = np.full(2, floor)
    shares = np.random.default_rng(seed).dirichlet(np.ones(each), size=len(points))
    before = -np.inf
    for _ in range(15):
        found = moments(points, shares, least)
        assert (found[2] >= least).all()
        assert np.exp(found[0]).sum() == pytest.approx(1)
        after, shares = expectation(points, *found)
        assert after >= before - 1e-9
        before = after


def test_mixtures_follow_the_seed_and_not_the_other_pictures() -> None:
    bags = bags_of([40, 2, 30], dim=5)
    both = [GaussianBags.of(bags, 3, random_state=seed) for seed in (0, 0, 1)]
    assert both[0].mean.tobytes() == both[1].mean.tobytes() != both[2].mean.tobytes()
    alone = GaussianBags.of(bags[2:], 3, floor=both[0].floor)
    assert alone.mean[0].tobytes() == both[0].mean[2].tobytes()
    assert np.exp(both[0].log_weight).sum(axis=1) == pytest.approx(np.ones(3))
    assert np.isneginf(both[0].log_weight[1]).sum() == 1, "two descriptors make two components"
    twins = GaussianBags.of(Bags.from_list([np.ones((9, 2)), clusters(0)]), 3)
    assert np.isfinite(twins.log_weight[0]).sum() == 1


def test_a_hundred_dimensions_are_extreme_and_a_power_helps() -> None:
    rng = np.random.default_rng(0)
    scale = rng.random((50, 1, 109)) * 0.2
    bags = Bags.from_list(list(rng.normal(rng.random((50, 1, 109)), scale, size=(50, 77, 109))))
    pictures = GaussianBags.of(bags)
    off = np.triu_indices(50, 1)
    assert np.median(LikelihoodKernel()(pictures)[off]) < 1e-30
    assert np.isfinite(LikelihoodKernel(normalised=False).logs(pictures)).all()
    with pytest.raises(DataError, match="Set normalised=True"):
        LikelihoodKernel(normalised=False)(pictures)
    for factor in (1.0, 2.0):
        kernel = LikelihoodKernel.of(pictures, factor=factor)
        assert np.median(kernel(pictures)[off]) == pytest.approx(exp(-factor), rel=1e-4)
    some = [LikelihoodKernel.of(pictures, sample=20, random_state=s).power for s in (0, 0, 1)]
    assert some[0] == some[1] != some[2]
    assert LikelihoodKernel.of(pictures[:1]).power == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LikelihoodKernel(temper=0.0), "'temper' parameter of LikelihoodKernel"),
        (lambda: LikelihoodKernel(power=-1.0), "'power' parameter of LikelihoodKernel"),
        (lambda: GaussianBags.of(bags_of([2]), 0), "'n_components' parameter of GaussianBags"),
        (lambda: GaussianBags.of(bags_of([2]), floor=0.0), "'floor' parameter of GaussianBags"),
        (lambda: LikelihoodKernel.of(GaussianBags.of(bags_of([2])), factor=0), "'factor'"),
    ],
)
def test_wrong_parameters(call: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        call()


def test_what_cannot_be_compared_is_refused() -> None:
    a, b = GaussianBags.of(bags_of([2], dim=3)), GaussianBags.of(bags_of([2], dim=2))
    with pytest.raises(DataError, match=r"one length on both sides. Got 3 and 2"):
        LikelihoodKernel()(a, b)
    assert LikelihoodKernel()(a[:0], a).shape == (0, 1)
    empty = GaussianBags.of(bags_of([0, 0]))
    assert LikelihoodKernel()(empty).tolist() == [[0, 0], [0, 0]]
