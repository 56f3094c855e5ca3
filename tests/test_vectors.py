"""L2 normalisation, standardisation and fingerprints."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from sightline.vectors import Fingerprint, l2_normalize, l2_norms, standardize

NUMBERS = st.floats(-1e6, 1e6, width=32).filter(lambda v: abs(v) > 1e-6)
ROWS = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    st.tuples(st.integers(0, 8), st.integers(1, 40)),
    elements=st.just(0.0) | NUMBERS,
)


@given(ROWS, st.sampled_from([np.float32, np.float64]))
def test_normalised_rows_have_length_one_or_are_zero(rows: Any, dtype: Any) -> None:
    found = l2_normalize(rows, l2_norms(rows, np.float64), dtype=dtype)
    assert found.dtype == dtype and found.shape == rows.shape
    zero = ~rows.any(axis=1)
    assert not found[zero].any()
    lengths = np.linalg.norm(found[~zero].astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


@given(ROWS)
def test_normalised_rows_keep_their_direction_whatever_their_scale(rows: Any) -> None:
    np.testing.assert_allclose(l2_normalize(rows * 8), l2_normalize(rows), atol=1e-6)
    np.testing.assert_allclose(l2_normalize(l2_normalize(rows)), l2_normalize(rows), atol=1e-6)


@given(ROWS)
def test_sparse_rows_are_normalised_as_dense_ones(rows: Any) -> None:
    sparse = csr_matrix(rows)
    before = sparse.copy()
    found = l2_normalize(sparse)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), l2_normalize(rows), atol=1e-6)
    assert (sparse != before).nnz == 0, "the rows given stay as they are"


@given(ROWS)
def test_one_vector_is_normalised_as_a_row_of_many(rows: Any) -> None:
    for row, expected in zip(rows, l2_normalize(rows), strict=True):
        np.testing.assert_array_equal(l2_normalize(row), expected)


@pytest.mark.parametrize(
    "norms",
    [
        lambda x: np.linalg.norm(x, axis=1),
        lambda x: np.sqrt(np.vecdot(x, x)),
        lambda x: l2_norms(x, np.float64),
        lambda x: l2_norms(x, np.float64).astype(np.float32),
    ],
    ids=["pairwise", "blas", "float64", "float64-rounded"],
)
def test_the_order_of_a_sum_changes_last_bits_alone(norms: Any) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 1280)).astype(np.float32)
    np.testing.assert_allclose(l2_normalize(rows, norms(rows)), l2_normalize(rows), atol=1e-6)


@given(ROWS.filter(len))
def test_standardised_columns_have_mean_zero(rows: Any) -> None:
    z, mean, scale = standardize(rows.astype(np.float64))
    assert (scale > 0).all()
    np.testing.assert_allclose(z * scale + mean, rows, atol=1e-6 * max(1.0, abs(rows).max()))
    same = (rows == rows[:1]).all(axis=0)
    assert (z.std(axis=0)[~same] > 0.99).all()


def test_standardise_keeps_single_precision() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert [a.dtype for a in standardize(rows)] == [np.float32] * 3


NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1)
DIGESTS = st.text("0123456789abcdef", min_size=1, max_size=20)


@given(NAMES, DIGESTS)
def test_a_fingerprint_survives_its_text(name: str, digest: str) -> None:
    fingerprint = Fingerprint(name, digest)
    assert Fingerprint.parse(str(fingerprint)) == fingerprint


@given(NAMES, DIGESTS)
def test_the_text_of_a_fingerprint_survives_parsing(name: str, digest: str) -> None:
    text = f"{name}-{digest}"
    assert str(Fingerprint.parse(text)) == text


def test_a_text_without_a_hyphen_names_no_feature() -> None:
    assert Fingerprint.parse("0a1b2c") == Fingerprint("", "0a1b2c")
    assert str(Fingerprint.parse("0a1b2c")) == "0a1b2c"
