"""AROW and SCW over differences: the same as their twins, and what their covariance keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sightline.combiners.second_order import AROW, SCW, SecondOrder
from sightline.errors import ParameterError, UsageError
from sightline.solvers.second_order import deviations
from tests.naive import combiners as naive

Floats = NDArray[np.float32]
numbers = st.floats(-3, 3, width=32).map(lambda value: np.float32(round(value, 1)))
ROWS = arrays(np.float32, st.tuples(st.integers(1, 12), st.just(3)), elements=numbers)
RULES = ["AROW", "SCW-I", "SCW-II"]
ETA = 0.85


def learner(rule: str, C: float, full: bool) -> SecondOrder:
    if rule == "AROW":
        return AROW(r=C, full=full)
    return SCW(C=C, eta=ETA, variant="SCW-I" if rule == "SCW-I" else "SCW-II", full=full)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("full", [True, False])
@given(rows=ROWS, C=st.floats(0.05, 5))
def test_a_pass_equals_its_twin(rule: str, full: bool, rows: Floats, C: float) -> None:
    found = learner(rule, C, full).fit(rows)
    twin, S = naive.second_order(rows, rule, C, deviations(ETA, "SCW"), full)
    assert found.w_ == pytest.approx(twin.w, rel=1e-6, abs=1e-7)
    ours = found.covariance_ if full else np.diag(found.covariance_[0])
    assert ours == pytest.approx(S, abs=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_averages_equal_the_twins(rule: str) -> None:
    rows = np.random.default_rng(0).normal(0.2, 1, (80, 6)).astype(np.float32)
    found = learner(rule, 0.7, True).set_params(averaged=True).fit(rows)
    twin, _ = naive.second_order(rows, rule, 0.7, deviations(ETA, "SCW"), True)
    assert found.w_ == pytest.approx(twin.mean, rel=1e-7)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("full", [True, False])
def test_the_covariance_stays_positive_and_never_grows(rule: str, full: bool) -> None:
    random = np.random.default_rng(1)
    found = learner(rule, 0.5, full)
    before = np.inf
    for _ in range(20):
        found.partial_fit(random.normal(0.1, 1, (50, 8)).astype(np.float32))
        S = found.covariance_ if full else np.diag(found.covariance_[0])
        assert np.array_equal(S, S.T)
        assert np.linalg.eigvalsh(S).min() > 0
        assert np.trace(S) <= before
        before = float(np.trace(S))


@pytest.mark.parametrize("rule", RULES)
def test_a_diagonal_is_enough_for_differences_along_axes(rule: str) -> None:
    random = np.random.default_rng(2)
    rows = np.zeros((60, 5), dtype=np.float32)
    rows[np.arange(60), random.integers(5, size=60)] = random.normal(0.5, 1, 60)
    one, two = learner(rule, 0.5, True).fit(rows), learner(rule, 0.5, False).fit(rows)
    assert one.w_ == pytest.approx(two.w_, rel=1e-9)


def test_a_large_r_stands_still() -> None:
    rows = np.random.default_rng(3).normal(size=(30, 4)).astype(np.float32)
    assert np.abs(AROW(r=1e12).fit(rows).w_).max() < 1e-9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("full", [True, False])
def test_zero_and_broken_differences_are_counted(rule: str, full: bool) -> None:
    rows = np.array([[0, 0], [1, 0], [np.nan, 1], [np.inf, 0], [0, 1]], dtype=np.float32)
    found = learner(rule, 0.5, full).fit(rows)
    assert (found.n_zero_, found.n_rejected_, found.n_updates_) == (1, 2, 2)
    assert np.isfinite(found.w_).all()


def test_doubts_are_learnt_where_components_say_the_same() -> None:
    random = np.random.default_rng(5)
    base = random.normal(0.15, 1, (3000, 1))
    rows = np.hstack((np.repeat(base, 5, axis=1), random.normal(0.3, 1, (3000, 1))))
    found = AROW().fit(rows.astype(np.float32))
    assert np.ptp(found.w_[:5]) < 1e-9
    assert found.covariance_[5, 5] < found.covariance_[0, 0]


def test_wrong_parameters_are_named() -> None:
    for model, name in (
        (AROW(r=0.0), "r"),
        (SCW(C=-1.0), "C"),
        (SCW(eta=0.4), "eta"),
        (SCW(variant="SCW"), "variant"),  # type: ignore[arg-type]
        (AROW(n_epochs=0), "n_epochs"),
    ):
        with pytest.raises(ParameterError, match=f"'{name}' parameter"):
            model.fit([[1.0]])
    with pytest.raises(UsageError, match="Call fit first"):
        _ = AROW().covariance_
