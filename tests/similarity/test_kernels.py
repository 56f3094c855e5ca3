"""Kernels: their values, their exact symmetry, their blocks, their bandwidths."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.similarity.bags import Bags
from sightline.similarity.formulas import KERNELS, as_rows
from sightline.similarity.kernels import MeanKernel, _mirror, bandwidth, gram
from sightline.similarity.likelihood import GaussianBags, LikelihoodKernel, gaussian_rows
from tests.factories.fresh_python import imported_by
from tests.naive import similarity as naive

NAMES = sorted(KERNELS)
ROWS = arrays(np.float32, (5, 4), elements=st.floats(0, 8, width=32))


def rows_of(n: int, d: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).random((n, d), dtype=np.float32)


@pytest.mark.parametrize("name", NAMES)
@given(ROWS, ROWS, st.floats(0.3, 5))
def test_kernels_equal_the_naive_ones(
    name: str, a: NDArray[np.float32], b: NDArray[np.float32], s: float
) -> None:
    expected = [[naive.kernel(name, x, y, s) for y in b.tolist()] for x in a.tolist()]
    found = gram(a, b, kernel=name, bandwidth=s)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(expected), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [1, 4000, 1 << 26])
def test_a_kernel_with_itself_is_exactly_symmetric(name: str, budget: int) -> None:
    a = rows_of(40, 8)
    found = gram(a, kernel=name, bandwidth=0.7, budget=budget)
    assert np.array_equal(found, found.T)
    if KERNELS[name].unit:
        assert (found.diagonal() == 1.0).all()
    assert found == pytest.approx(gram(a, a, kernel=name, bandwidth=0.7), abs=1e-6)


def test_a_picture_is_like_itself_however_far_from_zero() -> None:
    a = rows_of(9, 300) + np.float32(1e4)
    assert (gram(a, kernel="exponential", bandwidth=1e-4).diagonal() == 1.0).all()


def test_what_products_leave_unequal_is_made_equal() -> None:
    square = rows_of(7, 7)
    expected = np.triu(square) + np.triu(square, 1).T
    _mirror(square)
    assert np.array_equal(square, expected)


@pytest.mark.parametrize("name", ["linear", "rbf", "exponential"])
def test_sparse_rows_give_what_dense_ones_give(name: str) -> None:
    from scipy.sparse import csr_matrix

    a, b = rows_of(20, 30), rows_of(9, 30, seed=1)
    a[a < 0.8] = 0
    b[b < 0.8] = 0
    dense = gram(a, b, kernel=name)
    assert gram(csr_matrix(a), csr_matrix(b), kernel=name, budget=5000) == pytest.approx(
        dense, abs=1e-6
    )
    own = gram(csr_matrix(a), kernel=name)
    assert np.array_equal(own, own.T)


@pytest.mark.parametrize("name", NAMES)
def test_gram_matrices_are_positive(name: str) -> None:
    found = gram(rows_of(60, 4), kernel=name, bandwidth=0.5)
    assert np.linalg.eigvalsh(found.astype(np.float64)).min() > -1e-5


def test_near_twins_far_from_zero_are_told_apart() -> None:
    a = np.full((2, 512), 100, dtype=np.float32)
    a[1, 0] += 0.01
    assert gram(a, bandwidth=0.01)[0, 1] == pytest.approx(np.exp(-0.5), rel=1e-2)


def test_memory_does_not_grow_beyond_the_budget() -> None:
    a, b = rows_of(3000, 50), rows_of(200, 50, seed=1)
    gram(a[:2], b)
    tracemalloc.start()
    out = gram(a, b, budget=1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - out.nbytes < 2 << 20


@pytest.mark.parametrize("name", ["rbf", "exponential", "chi2", "likelihood"])
@pytest.mark.parametrize("statistic", ["median", "mean"])
def test_bandwidths_equal_the_naive_ones(name: str, statistic: str) -> None:
    a = rows_of(30, 4)
    expected = naive.bandwidth(name, a.tolist(), statistic)
    found = bandwidth(a, name, statistic=statistic, factor=0.5)  # type: ignore[arg-type]
    assert found == pytest.approx(0.5 * expected, rel=1e-5)


def test_a_sampled_bandwidth_is_near_the_whole_and_follows_the_seed() -> None:
    a = rows_of(900, 6)
    whole = bandwidth(a)
    some = [bandwidth(a, sample=200, random_state=seed) for seed in (0, 0, 1)]
    assert some[0] == some[1] != some[2]
    assert some == pytest.approx([whole] * 3, rel=0.1)


@given(st.floats(0.01, 100))
def test_the_unit_of_a_feature_does_not_matter(unit: float) -> None:
    a = rows_of(20, 3)
    plain = gram(a, bandwidth=bandwidth(a))
    scaled = (a * unit).astype(np.float32)
    assert gram(scaled, bandwidth=bandwidth(scaled)) == pytest.approx(plain, abs=1e-4)


def test_pictures_that_are_all_alike_have_bandwidth_one() -> None:
    a = np.ones((5, 3), dtype=np.float32)
    assert bandwidth(a) == 1.0
    assert bandwidth(a[:1]) == 1.0
    assert (gram(a, bandwidth=bandwidth(a)) == 1.0).all()


def test_mostly_equal_pictures_take_the_distance_of_the_others() -> None:
    a = np.zeros((9, 1), dtype=np.float32)
    a[0] = 3
    assert bandwidth(a) == 3.0


def test_a_mean_kernel_is_the_mean_of_its_views() -> None:
    views = (rows_of(12, 3), rows_of(12, 5, seed=1), rows_of(12, 2, seed=2))
    names = ("rbf", "chi2", "linear")
    kernel = MeanKernel.of(views, names, factors=(1.0, 0.5, 1.0), weights=(2.0, 1.0, 1.0))
    assert kernel.weights == (0.5, 0.25, 0.25)
    parts = [
        gram(v, kernel=n, bandwidth=s)
        for v, n, s in zip(views, names, kernel.bandwidths, strict=True)
    ]
    expected = np.average(parts, axis=0, weights=kernel.weights)
    assert kernel(views) == pytest.approx(expected, abs=1e-6)
    some = tuple(v[3:5] for v in views)
    assert kernel(some, views) == pytest.approx(expected[3:5], abs=1e-6)


def test_a_mean_of_unit_kernels_has_an_exact_diagonal() -> None:
    views = (rows_of(5, 2),) * 3
    assert (MeanKernel.of(views, ("rbf",) * 3)(views).diagonal() == 1.0).all()


def test_permuting_pictures_permutes_their_similarities() -> None:
    a = rows_of(50, 6)
    order = np.random.default_rng(3).permutation(50)
    expected = gram(a, budget=4000)[np.ix_(order, order)]
    assert gram(a[order], budget=4000) == pytest.approx(expected, abs=1e-7)


def test_no_pictures_give_an_empty_answer() -> None:
    a = rows_of(3, 2)
    assert gram(a[:0], a).shape == (0, 3)
    assert gram(a[:0]).shape == (0, 0)


@pytest.mark.parametrize("largest", [1e25, -1e25])
def test_features_whose_products_are_beyond_floats_are_refused(largest: float) -> None:
    with pytest.raises(DataError, match=r"between -1e\+15 and 1e\+15.*Got 1e\+25; scale them"):
        as_rows([[0.0, largest]])
    assert as_rows([[0.0, 1e15]]).shape == (1, 2) and as_rows(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_features_must_be_finite(wrong: float) -> None:
    with pytest.raises(DataError, match="finite"):
        as_rows([[1.0, wrong]])


def test_what_cannot_be_compared_is_refused() -> None:
    a = rows_of(3, 2)
    with pytest.raises(ParameterError, match=r"'kernel'.* one of .*'rbf'.* Got 'rfb'"):
        gram(a, kernel="rfb")
    with pytest.raises(DataError, match=r"one length on both sides. Got 2 and 1"):
        gram(a, a[:, :1])
    with pytest.raises(DataError, match="Negative values in data passed to the chi2 kernel"):
        gram(-a, kernel="chi2")
    with pytest.raises(DataError, match=r"as many logarithms of variances.* Got 1 numbers a row"):
        gram(a[:, :1], kernel="likelihood")
    with pytest.raises(DataError, match=r"row for each sample. Got shape \(3,\)"):
        gram(a[:, 0])
    with pytest.raises(DataError, match=r"\[3, 2\] rows"):
        MeanKernel.of((a, a), ("rbf", "rbf"))((a, a[:2]))
    with pytest.raises(DataError, match=r"2 views, so names must be 2. Got 1"):
        MeanKernel.of((a, a), ("rbf",))
    with pytest.raises(ParameterError, match="'weights'"):
        MeanKernel.of((a, a), ("rbf", "rbf"), weights=(0.0, 0.0))
    with pytest.raises(ParameterError, match=r"'factor' .* Got -1"):
        bandwidth(a, factor=-1)
    with pytest.raises(ParameterError, match="'statistic'"):
        bandwidth(a, statistic="mode")  # type: ignore[arg-type]


def test_importing_kernels_needs_neither_scipy_nor_numba() -> None:
    assert not {"scipy", "numba", "sklearn"} & imported_by("sightline.similarity.kernels")


def test_gaussians_as_rows_have_the_expected_likelihood_kernel_of_bags() -> None:
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(i, 1 + i / 9, (20, 3)) for i in range(8)])
    pictures = GaussianBags.of(bags)
    expected = LikelihoodKernel(power=0.25)(pictures)
    found = gram(gaussian_rows(bags), kernel="likelihood", bandwidth=4.0)
    assert found == pytest.approx(expected, abs=1e-5)
