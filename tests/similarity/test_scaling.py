"""Feature scaling: what each kind makes of rows, and that a fitted one can be stored."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.errors import DataError, ParameterError
from sightline.similarity.scaling import KINDS, FeatureScaling

RNG = np.random.default_rng(0)
ROWS = RNG.gamma(1.0, size=(60, 10)).astype(np.float32) * np.linspace(1, 50, 10, dtype=np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_a_scaling_is_the_same_after_it_was_stored(kind: str) -> None:
    scaling = FeatureScaling.of(kind, ROWS[:40])
    again = FeatureScaling.from_arrays(
        kind, scaling.length, {n: a.copy() for n, a in scaling.arrays.items()}
    )
    assert np.array_equal(scaling(ROWS), again(ROWS))
    assert scaling(ROWS).shape == (60, scaling.scaled_length) and scaling(ROWS).dtype == np.float32


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_laid_out_one_by_one_as_together(kind: str) -> None:
    scaling = FeatureScaling.of(kind, ROWS[:40])
    alone = np.concatenate([scaling(ROWS[i : i + 1]) for i in range(len(ROWS))])
    assert np.allclose(alone, scaling(ROWS), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_blank_and_constant_rows_stay_finite(kind: str) -> None:
    still = np.tile(np.array([[2.0, 0.0, -1.0]], np.float32), (5, 1))
    scaling = FeatureScaling.of(kind, still)
    assert np.isfinite(scaling(still)).all() and np.isfinite(scaling(np.zeros_like(still))).all()


@pytest.mark.parametrize("kind", ["unit", "root", "damped", "rooted", "reduced", "compact"])
def test_lengths_are_one(kind: str) -> None:
    lengths = np.linalg.norm(FeatureScaling.of(kind, ROWS)(ROWS), axis=1)
    assert np.allclose(lengths, 1.0, atol=1e-5)


def test_each_number_has_its_own_scale_once_standard_or_ranked() -> None:
    found = FeatureScaling.of("standard", ROWS)(ROWS)
    assert np.abs(found).max() <= 3.0 and np.ptp(found.std(axis=0)) < 0.4 < np.ptp(ROWS.std(axis=0))
    ranks = FeatureScaling.of("ranks", ROWS)(ROWS)
    assert ranks.min() == 0.0 and ranks.max() == pytest.approx(59 / 60)
    assert np.array_equal(ranks.argsort(axis=0), ROWS.argsort(axis=0))


def test_scale_of_a_whole_row_does_not_count_where_length_does_not() -> None:
    for kind in ("unit", "root", "rooted", "reduced", "compact"):
        scaling = FeatureScaling.of(kind, ROWS)
        assert np.allclose(scaling(ROWS), scaling(7 * ROWS), atol=1e-4), kind


def test_sparse_rows_stay_sparse_as_they_are() -> None:
    scaling = FeatureScaling.of("plain", csr_matrix(ROWS))
    assert np.array_equal(scaling(csr_matrix(ROWS)).toarray(), ROWS)
    assert np.allclose(
        FeatureScaling.of("unit", ROWS)(csr_matrix(ROWS)), FeatureScaling.of("unit", ROWS)(ROWS)
    )


def test_what_makes_no_sense_is_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="one of plain, unit"):
        FeatureScaling.of("folded", ROWS)
    with pytest.raises(DataError, match=r"Rows must be of length 10\. Got 3"):
        FeatureScaling.of("unit", ROWS)(ROWS[:, :3])
    with pytest.raises(DataError, match="at least one"):
        FeatureScaling.of("unit", ROWS[:0])
    with pytest.raises(DataError, match="no feature scaling 'folded'"):
        FeatureScaling.from_arrays("folded", 10, {})
    learnt = dict(FeatureScaling.of("reduced", ROWS).arrays)
    for wrong in ({}, {"mean": learnt["mean"]}, {**learnt, "mean": np.zeros(9, np.float32)}):
        with pytest.raises(DataError, match="cannot have arrays"):
            FeatureScaling.from_arrays("reduced", 10, wrong)


def test_compact_rows_are_reduced_ones_with_strong_directions_damped() -> None:
    reduced, compact = (FeatureScaling.of(kind, ROWS)(ROWS) for kind in ("reduced", "compact"))
    assert compact.shape == reduced.shape == (60, 5)
    assert (np.sign(compact) == np.sign(reduced)).all()
    strong, weak = (np.ptp(found.std(axis=0)) for found in (reduced, compact))
    assert weak < strong
