"""Whitening: against the textbook, its ends, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sightline.errors import DataError, ParameterError
from sightline.similarity.whitening import Whitening
from tests.naive import similarity as naive


def rows_of(n: int = 60, d: int = 5, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3).astype(np.float32)


@settings(max_examples=20)
@given(st.integers(0, 999), st.sampled_from([0.0, 0.15, 0.5]), st.sampled_from([3, 60]))
def test_similarities_are_those_of_the_textbook(seed: int, power: float, n: int) -> None:
    X = rows_of(n, seed=seed)
    found = Whitening.of(X, power)(X)
    expected = naive.whitened(X.astype(np.float64), power)
    assert found.dtype == np.float32
    assert found @ found.T == pytest.approx(expected @ expected.T, abs=2e-3)


def test_the_whole_power_leaves_no_direction_stronger() -> None:
    X = rows_of(500)
    made = Whitening.of(X, 0.5)
    spread = np.cov(((X - made.mean) @ made.matrix).T)
    assert np.diag(spread) == pytest.approx(1, abs=0.05)
    assert np.abs(spread - np.diag(np.diag(spread))).max() < 0.05


def test_rows_have_length_one_whatever_their_length_was() -> None:
    X = rows_of()
    made = Whitening.of(X)
    assert np.linalg.norm(made(X), axis=1) == pytest.approx(1, abs=1e-5)
    assert (made(made.mean[None]) == 0).all()


def test_the_matrix_is_symmetric_and_the_same_each_time() -> None:
    X = rows_of()
    one, two = Whitening.of(X), Whitening.of(X)
    assert one.matrix.tobytes() == two.matrix.tobytes()
    assert one.matrix == pytest.approx(one.matrix.T, abs=1e-6)


def test_saved_and_made_again_it_gives_the_same_bytes() -> None:
    X = rows_of()
    made = Whitening.of(X)
    assert Whitening.from_arrays(made.to_arrays())(X).tobytes() == made(X).tobytes()


def test_many_pictures_are_learnt_from_in_blocks() -> None:
    X = rows_of(4500, 3)
    assert Whitening.of(X).mean == pytest.approx(X.mean(axis=0), abs=1e-4)
    found, expected = Whitening.of(X)(X)[:9], naive.whitened(X.astype(np.float64), 0.15)[:9]
    assert found @ found.T == pytest.approx(expected @ expected.T, abs=1e-3)


def test_pictures_that_are_all_alike_are_all_zero() -> None:
    X = np.ones((4, 3), dtype=np.float32)
    assert (Whitening.of(X)(X) == 0).all()


def test_what_cannot_be_whitened_is_refused() -> None:
    from scipy.sparse import csr_matrix

    X = rows_of()
    with pytest.raises(ParameterError, match=r"'power' .* Got 2"):
        Whitening.of(X, 2)
    with pytest.raises(DataError, match="no picture"):
        Whitening.of(X[:0])
    with pytest.raises(DataError, match="dense"):
        Whitening.of(csr_matrix(X))
    with pytest.raises(DataError, match=r"length 5. Got 2"):
        Whitening.of(X)(X[:, :2])
