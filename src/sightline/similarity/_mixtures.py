"""Mixtures of Gaussians with diagonal covariances, by EM from k-means.

Maximises sum_i log sum_a w_a N(x_i; m_a, v_a) over weights, means and variances of at least a
floor. No step lowers it (the floor only cuts off variances that the step would make smaller, and
below the floor the objective of the step falls towards them), so it converges to a local maximum,
which depends on the start of k-means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sightline._typing import Doubles


_PASSES = 10
_GAIN = 1e-6
_NOTHING = 1e-300


def mixture(
    points: Doubles, n_components: int, floor: Doubles, n_iter: int, seed: int
) -> tuple[Doubles, Doubles, Doubles]:
    """Return logarithms of weights, means and variances; at most as many as points differ."""
    if n_components == 1:
        return np.zeros(1), *moments(points, np.ones((len(points), 1)), floor)[1:]
    shares = _start(points, n_components, seed)
    parameters = moments(points, shares, floor)
    before = -np.inf
    for _ in range(n_iter):
        likelihood, shares = expectation(points, *parameters)
        if likelihood - before <= _GAIN:
            break
        before, parameters = likelihood, moments(points, shares, floor)
    return parameters


def expectation(
    points: Doubles, log_weight: Doubles, mean: Doubles, variance: Doubles
) -> tuple[float, Doubles]:
    """Return the mean log likelihood of the points, and the responsibilities."""
    apart = ((points[:, None] - mean) ** 2 / variance + np.log(2 * np.pi * variance)).sum(axis=2)
    logs = log_weight - 0.5 * apart
    largest = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - largest)
    totals = shares.sum(axis=1, keepdims=True)
    return float((largest + np.log(totals)).mean()), shares / totals


def moments(points: Doubles, shares: Doubles, floor: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return the logarithms of weights, the means and the variances that shares of points give."""
    totals = shares.sum(axis=0)
    parts = shares / np.maximum(totals, _NOTHING)
    mean = parts.T @ points
    variance = np.stack([p @ (points - m) ** 2 for p, m in zip(parts.T, mean, strict=True)])
    return np.log(np.maximum(totals / len(points), _NOTHING)), mean, np.maximum(variance, floor)


def _start(points: Doubles, n_components: int, seed: int) -> Doubles:
    from sightline.features.local.codebook import assign, codebook, distinct

    rows = points.astype(np.float32)
    n = min(n_components, len(distinct(rows)))
    labels = assign(rows, codebook(rows, n, seed, passes=_PASSES))
    return np.asarray(labels[:, None] == np.arange(n), dtype=np.float64)
