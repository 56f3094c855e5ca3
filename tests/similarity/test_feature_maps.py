"""Explicit maps of additive kernels, against the kernels themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.errors import DataError, ParameterError
from sightline.similarity.feature_maps import additive_map


def exact(x: Any, y: Any, kernel: str) -> Any:
    a, b = x[:, None, :], y[None, :, :]
    total = np.where(a + b > 0, a + b, 1.0)
    return (2 * a * b / total if kernel == "chi2" else np.minimum(a, b)).sum(axis=2)


@pytest.mark.parametrize(
    ("kernel", "error"), [("chi2", (0.07, 0.02)), ("intersection", (0.2, 0.1))]
)
def test_inner_products_come_near_the_kernel_and_nearer_with_more_samples(
    kernel: Any, error: tuple[float, float]
) -> None:
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(12, 0.5), 40)
    told = exact(rows, rows, kernel)
    far = []
    for n in (1, 3):
        mapped = additive_map(rows, kernel, n)
        assert mapped.shape == (40, 12 * (2 * n + 1))
        far.append(np.abs(mapped @ mapped.T - told).mean())
    assert far[0] < error[0] and far[1] < error[1] and far[1] < far[0]


def test_zeros_stay_zero() -> None:
    assert not additive_map([[0.0, 0.0]], n_samples=2).any()


@pytest.mark.parametrize(
    ("given", "said"),
    [({"kernel": "rbf"}, "'kernel'"), ({"n_samples": 0}, "'n_samples'"), ({"step": 0.0}, "'step'")],
)
def test_parameters_out_of_range_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        additive_map([[1.0]], **given)


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="not negative"):
        additive_map([[-1.0]])
