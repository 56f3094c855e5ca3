"""Measures of two rows: their values, of all with all and of listed pairs, and their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sightline._typing import Doubles, Floats
from sightline.errors import ParameterError
from sightline.similarity import _distances_fast as fast
from sightline.similarity.distances import FOUR, MEASURES, PairMeasure, Range, check_measures
from tests.factories.fresh_python import imported_by, output_without_compiler
from tests.naive import similarity as naive

NAMES = sorted(MEASURES)
ROWS = arrays(np.float32, (4, 3), elements=st.floats(0, 8, width=32))
SCALE = 1.5


def compared(measure: PairMeasure, a: Floats, b: Floats) -> Doubles:
    return measure.similarities(measure.compare(a, b), SCALE)


@pytest.mark.parametrize("name", NAMES)
@given(ROWS, ROWS)
def test_measures_equal_the_naive_ones(name: str, a: Floats, b: Floats) -> None:
    expected = [[naive.similarity(name, x, y, SCALE) for y in b.tolist()] for x in a.tolist()]
    found = compared(MEASURES[name], a, b)
    assert found == pytest.approx(np.array(expected), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_listed_pairs_equal_all_with_all(name: str) -> None:
    random = np.random.default_rng(1)
    a, b = (random.random((n, 300), dtype=np.float32) for n in (70, 90))
    left, right = random.integers(70, size=500), random.integers(90, size=500)
    measure = MEASURES[name]
    listed = measure.similarities(measure.of_pairs(a, b, left, right), SCALE * 50)
    table = measure.similarities(measure.compare(a, b), SCALE * 50)
    assert listed == pytest.approx(table[left, right], rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_measures_are_symmetric_and_largest_of_a_picture_with_itself(name: str) -> None:
    a = np.random.default_rng(2).random((30, 40), dtype=np.float32)
    found = compared(MEASURES[name], a, a)
    assert found == pytest.approx(found.T, abs=1e-7)
    assert (found <= found.diagonal()[:, None] + 1e-6).all()


@pytest.mark.parametrize("columns", [1, 127, 128, 129, 300])
def test_loops_reach_every_picture_at_the_ends_of_parts(columns: int) -> None:
    random = np.random.default_rng(3)
    a, b = random.random((3, 5)), random.random((columns, 5))
    l1, chi2 = np.empty((3, columns)), np.empty((3, columns))
    fast.l1_distances(a, np.ascontiguousarray(b.T), l1)
    fast.chi2_distances(a, np.ascontiguousarray(b.T), chi2)
    for i in range(3):
        for j in range(columns):
            x, y = a[i].tolist(), b[j].tolist()
            assert l1[i, j] == pytest.approx(naive.fallen("exp-l1", x, y), rel=1e-12)
            assert chi2[i, j] == pytest.approx(naive.fallen("exp-chi2", x, y), rel=1e-12)


def test_zero_rows_are_compared_without_dividing_by_zero() -> None:
    a = np.array([[0, 0], [1, 2]], dtype=np.float32)
    assert MEASURES["cosine"].compare(a, a)[0].tolist() == [0.0, 0.0]
    assert MEASURES["exp-chi2"].compare(a, a).tolist() == [[0.0, 3.0], [3.0, 0.0]]
    both = np.array([0, 0, 1]), np.array([0, 1, 1])
    assert MEASURES["cosine"].of_pairs(a, a, *both).round(6).tolist() == [0.0, 0.0, 1.0]
    assert MEASURES["exp-chi2"].of_pairs(a, a, *both).tolist() == [0.0, 3.0, 0.0]
    for measure in MEASURES.values():
        assert np.isfinite(measure.similarities(measure.compare(a, a), 1.0)).all()


def test_pairs_that_are_all_alike_have_similarity_one() -> None:
    for name in ("exp-l1", "exp-l2", "exp-chi2"):
        found = MEASURES[name].similarities(np.array([[0.0, 5.0]]), 0.0)
        assert found.tolist() == [[1.0, 1.0]]


@given(arrays(np.float32, (4, 3), elements=st.floats(-8, 8, width=32)), ROWS)
def test_signed_rows_become_counts_by_training_rows(train: Floats, rows: Floats) -> None:
    found = Range.of(train)(rows)
    expected = [naive.counts(train.tolist(), x) for x in rows.tolist()]
    assert found == pytest.approx(np.array(expected), rel=1e-5, abs=1e-6)
    assert (found >= 0).all()


def test_unknown_measures_are_named() -> None:
    check_measures(FOUR, "Phi")
    with pytest.raises(ParameterError, match="'kinds' parameter of Phi must be some of"):
        check_measures(("cosine", "sine"), "Phi")
    with pytest.raises(ParameterError, match="Got"):
        check_measures((), "Phi")


def test_names_of_measures_are_known_without_the_compiler() -> None:
    assert "numba" not in imported_by("sightline.similarity.pairs")


def test_loops_run_with_the_compiler_off() -> None:
    code = (
        "import numpy as np; from sightline.similarity.distances import MEASURES;"
        "a = np.array([[1, 0], [2, 2]], dtype=np.float32); i = np.array([0]), np.array([1]);"
        "m = MEASURES['exp-chi2'], MEASURES['exp-l1'];"
        "print([x.compare(a, a)[0, 1] for x in m], [x.of_pairs(a, a, *i)[0] for x in m])"
    )
    said = output_without_compiler(code)
    assert said.count("2.3333") == 2 and said.count("3.0") == 2
