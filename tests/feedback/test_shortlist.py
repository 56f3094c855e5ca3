"""The shortlist of rounded rows: what it finds is exact, and it finds nearly everything."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.errors import DataError, ParameterError
from sightline.feedback.shortlist import Shortlist, rounded, whole_weights


def test_a_shortlist_of_all_rows_is_the_exact_ranking() -> None:
    rows = np.random.default_rng(0).integers(-3, 4, (60, 5)).astype(np.float32)
    w = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    places, scores = Shortlist(rows, n_candidates=60).top(w, 25)
    exact = rows @ w.astype(np.float32)
    assert places.tolist() == np.argsort(-exact, kind="stable")[:25].tolist()
    assert scores.tolist() == exact[places].tolist()


def test_few_candidates_hold_nearly_all_of_the_best() -> None:
    random = np.random.default_rng(1)
    rows = random.normal(size=(5000, 64)).astype(np.float32)
    shortlist = Shortlist(rows, n_candidates=60)
    found = 0
    for w in random.normal(size=(20, 64)):
        exact = np.argsort(-(rows @ w.astype(np.float32)), kind="stable")[:20]
        found += len(np.intersect1d(shortlist.top(w, 20)[0], exact))
    assert found >= 0.99 * 400


def test_the_heap_keeps_the_largest() -> None:
    rows = np.random.default_rng(2).permutation(500).astype(np.float32)[:, None] + 1
    # Every row has its own scale, so that one number is rounded by nothing.
    places, scores = Shortlist(rows, n_candidates=7).top([1.0], 7)
    assert scores.tolist() == [500.0, 499.0, 498.0, 497.0, 496.0, 495.0, 494.0]
    assert rows[places, 0].tolist() == scores.tolist()


def test_rounding_is_within_half_a_step_and_sums_fit() -> None:
    rows = np.random.default_rng(3).normal(size=(30, 9)).astype(np.float32)
    codes, scale = rounded(rows)
    assert np.abs(codes * scale[:, None] - rows).max() <= 0.5001 * scale.max()
    for d in (1, 128, 1280, 100_000):
        total = 127 * np.abs(whole_weights(np.ones(d, np.float32)).astype(np.int64)).sum()
        assert 0 < total < 2**31
    assert not whole_weights(np.zeros(3, np.float32)).any()


def test_what_makes_no_shortlist_is_refused() -> None:
    with pytest.raises(DataError, match="table of rows"):
        Shortlist([1.0, 2.0])
    with pytest.raises(DataError, match="Row 0 given to Shortlist holds nan"):
        Shortlist([[np.nan]])
    with pytest.raises(DataError, match="of length 2"):
        Shortlist([[1.0, 2.0]]).top([1.0], 1)
    with pytest.raises(ParameterError, match="n_candidates"):
        Shortlist([[1.0]], n_candidates=0)
    assert Shortlist([[1.0], [2.0]]).top([1.0], 5)[0].tolist() == [1, 0]
