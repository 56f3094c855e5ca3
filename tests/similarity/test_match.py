"""The match kernel: equal to its slow twin, symmetric, no inner product, and bearing bad bags."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError, ParameterError
from sightline.similarity import _match_fast
from sightline.similarity.bags import Bags
from sightline.similarity.grams import nearest_psd, spectrum
from sightline.similarity.likelihood import GaussianBags, LikelihoodKernel
from sightline.similarity.match import MINORS, MatchKernel, Minor
from tests.factories.fresh_python import imported_by, output_without_compiler
from tests.naive import kernels_of_bags as naive
from tests.similarity.test_bags import bags_of

NUMBERS = st.floats(-3, 3, width=32)
BAGS = st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("minor", "degree", "offset"),
    [
        ("rbf", 2, 1.0),
        ("linear", 2, 1.0),
        ("polynomial", 1, 0.0),
        ("polynomial", 2, 1.0),
        ("polynomial", 3, -0.5),
        ("polynomial", 4, 0.25),
    ],
)
@given(BAGS, BAGS, st.floats(0.3, 5), st.sampled_from([1, 64, 1 << 20]))
def test_equal_to_the_slow_twin(
    minor: Minor, degree: int, offset: float, a: Any, b: Any, s: float, budget: int
) -> None:
    kernel = MatchKernel(minor, s, degree, offset)
    found = kernel(Bags.from_list(a, 2), Bags.from_list(b, 2), budget=budget)
    wanted = [[naive.match(p, q, minor, s, degree, offset) for q in b] for p in a]
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(wanted), rel=1e-4, abs=2e-3 if degree > 2 else 1e-4)


@given(st.integers(0, 10_000), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_the_compiled_loop_takes_the_largest_of_each_segment(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    rows = np.cumsum([0, *sizes])
    columns = np.cumsum([0, *sizes[::-1], 3])
    table = rng.normal(size=(rows[-1], columns[-1])).astype(np.float32)
    by_row = np.empty((len(table), len(columns) - 1), np.float32)
    by_column = np.empty((len(rows) - 1, table.shape[1]), np.float32)
    _match_fast.segment_best(table, rows, columns, by_row, by_column)
    wanted = naive.segment_best(table.astype(np.float64), rows.tolist(), columns.tolist())
    assert (by_row.tolist(), by_column.tolist()) == wanted
    means = np.zeros((len(rows) - 1, by_row.shape[1]))
    _match_fast.mean_of_rows(by_row.astype(np.float64), rows, means)
    parts = [by_row[b:e].mean(axis=0) for b, e in pairwise(rows)]
    assert means == pytest.approx(np.array(parts), rel=1e-5)


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("budget", [1, 3000, 1 << 22])
def test_a_kernel_with_itself_is_exactly_symmetric(minor: Minor, budget: int) -> None:
    bags = bags_of([3, 7, 0, 1, 12, 5, 5, 2], dim=9)
    kernel = MatchKernel(minor, 0.7)
    found = kernel(bags, budget=budget)
    assert np.array_equal(found, found.T)
    assert not found[2].any() and not found[:, 2].any()
    assert found == pytest.approx(kernel(bags, bags, budget=budget), rel=1e-5, abs=1e-6)
    if minor == "rbf":
        assert found.diagonal().tolist() == [1, 1, 0, 1, 1, 1, 1, 1]
        assert found.max() <= 1.0 and (np.delete(np.delete(found, 2, 0), 2, 1) > 0).all()


def test_known_values() -> None:
    bags = Bags.from_list([[[0.0], [2.0]], [[0.0]]])
    # Of the first picture, one descriptor matches wholly and one at distance 2.
    assert MatchKernel(bandwidth=2.0)(bags)[0, 1] == pytest.approx(((1 + np.exp(-0.5)) / 2 + 1) / 2)
    assert MatchKernel("linear")(bags).tolist() == [[2.0, 0.0], [0.0, 0.0]]
    signed = Bags.from_list([[[-3.0]], [[2.0], [0.5]]])
    # An even power makes the most negative product the best one.
    assert MatchKernel("polynomial", degree=2, offset=0.0)(signed)[0, 1] == pytest.approx(
        (36 + (36 + 2.25) / 2) / 2
    )


def test_the_order_of_descriptors_does_not_matter_nor_does_repeating_all() -> None:
    rng = np.random.default_rng(1)
    p, q = rng.random((6, 4)), rng.random((5, 4))
    kernel = MatchKernel(bandwidth=0.4)
    wanted = kernel(Bags.from_list([p]), Bags.from_list([q]))
    other = kernel(Bags.from_list([rng.permutation(p)]), Bags.from_list([np.vstack([q, q])]))
    assert other == pytest.approx(wanted, rel=1e-5)


def test_it_is_no_inner_product_and_can_be_mended() -> None:
    # A picture that matches two others wholly, which do not match each other.
    bags = Bags.from_list([[[0.0], [9.0]], [[0.0]], [[9.0]]])
    table = MatchKernel(bandwidth=0.5)(bags)
    found = spectrum(table)
    assert found.n_negative == 1 and found.smallest == pytest.approx(1 - 0.75 * 2**0.5, abs=1e-6)
    assert found.worst == pytest.approx(-found.smallest / found.largest)
    assert np.linalg.eigvalsh(nearest_psd(table).astype(np.float64)).min() > -1e-6


def test_near_twins_far_from_zero_are_told_apart() -> None:
    near = np.full((2, 50), 1000, dtype=np.float32)
    near[1, 0] += 0.25
    found = MatchKernel(bandwidth=0.25)(Bags.from_list([near[:1]]), Bags.from_list([near[1:]]))
    assert found[0, 0] == pytest.approx(np.exp(-0.5), rel=1e-3)


def test_bandwidths_follow_the_descriptors() -> None:
    bags = bags_of([30, 0, 50, 20], dim=4)
    found = MatchKernel.of(bags)
    assert found.bandwidth == pytest.approx(2 * MatchKernel.of(bags, factor=0.5).bandwidth)
    apart = np.linalg.norm(bags.values[:, None] - bags.values, axis=2)
    assert found.bandwidth == pytest.approx(np.median(apart[np.triu_indices(100, 1)]), rel=1e-5)
    some = [MatchKernel.of(bags, sample=40, random_state=seed).bandwidth for seed in (0, 0, 1)]
    assert some[0] == some[1] != some[2]
    scaled = Bags(bags.values * 7, bags.start)
    assert MatchKernel.of(scaled)(scaled) == pytest.approx(found(bags), abs=1e-4)


def test_memory_stays_within_the_budget() -> None:
    bags = bags_of([20] * 200, dim=8)
    kernel = MatchKernel()
    kernel(bags[:2])
    tracemalloc.start()
    out = kernel(bags, budget=1 << 18)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - out.nbytes < 4 << 18


def test_nothing_to_compare() -> None:
    bags, empty = bags_of([2, 1]), Bags.from_list([[], []], dim=7)
    kernel = MatchKernel()
    assert kernel(bags, empty).tolist() == [[0, 0], [0, 0]]
    assert kernel(empty).tolist() == [[0, 0], [0, 0]]
    assert kernel(bags[:0], bags).shape == (0, 2)


def test_what_cannot_be_compared_is_refused() -> None:
    bags = bags_of([2, 1])
    with pytest.raises(DataError, match=r"one length on both sides. Got 3 and 2"):
        MatchKernel()(bags, bags_of([1], dim=2))
    huge = Bags(bags.values * np.float32(1e30), bags.start)
    for kernel in (MatchKernel(), MatchKernel("linear"), MatchKernel("polynomial")):
        with pytest.raises(DataError, match="Scale them down"):
            kernel(huge)
    large = Bags(bags.values * np.float32(1e9), bags.start)
    with pytest.raises(DataError, match="Scale them down"):
        MatchKernel("polynomial", degree=5)(large)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"minor": "chi2"}, "'minor' parameter of MatchKernel must be one of"),
        ({"bandwidth": 0.0}, "'bandwidth' parameter of MatchKernel must be greater than 0. Got 0"),
        ({"bandwidth": float("nan")}, "greater than 0. Got nan"),
        ({"degree": 0}, "'degree' parameter of MatchKernel must be a whole number"),
        ({"degree": 1.5}, "Got 1.5"),
        ({"offset": float("inf")}, "'offset' parameter of MatchKernel must be finite. Got inf"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        MatchKernel(**parameters)
    assert message in str(error.value)


def test_the_loops_run_with_the_compiler_off() -> None:
    code = "from tests.similarity.test_match import shown; print(shown())"
    assert output_without_compiler(code).strip() == shown()


def shown() -> str:
    bags = bags_of([3, 1, 4])
    found = [MatchKernel(bandwidth=0.5)(bags), LikelihoodKernel()(GaussianBags.of(bags, 2))]
    return str([table.round(4).tolist() for table in found])


def test_importing_kernels_of_bags_needs_neither_scipy_nor_numba() -> None:
    names = ("bags", "grams", "likelihood", "match")
    found = imported_by(*(f"sightline.similarity.{name}" for name in names))
    assert not {"scipy", "numba", "sklearn"} & found
