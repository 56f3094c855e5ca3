"""Mixtures of Gaussians with diagonal covariances, and the Fisher vector of a set of points.

A mixture p(x) = Σ_k w_k N(x; μ_k, diag v_k) is learned by expectation-maximisation, which never
lowers Σ_n log p(x_n) + Σ_k log w_k: the second sum, a pseudo-count of one point for each component,
keeps every weight above zero. It starts at the centres of k-means (`codebook`). No variance falls
below a fiftieth of that of all points.

The Fisher vector of points x_1..x_N is the gradient of (1/N) Σ_n log p(x_n), divided by the square
root of its Fisher information, with γ_nk the probability that component k made x_n, and σ_k² = v_k:

    by means               1 / (N √w_k)    Σ_n γ_nk (x_n - μ_k) / σ_k
    by standard deviations 1 / (N √(2w_k)) Σ_n γ_nk ((x_n - μ_k)² / v_k - 1)

`improved` takes the signed square root of each number and L2-normalises the vector.

Perronnin, Sánchez, Mensink: Improving the Fisher kernel for large-scale image classification, 2010.
Sánchez, Perronnin, Mensink, Verbeek: Image classification with the Fisher vector, 2013.
Departures: the gradient by weights, which adds little, is left out; the Fisher information is the
approximation those papers use, in which each point has one component.
"""

from __future__ import annotations

import numpy as np

from sightline._typing import Doubles, Floats
from sightline.errors import DataError, ParameterError
from sightline.features.local.codebook import codebook, distinct

_FLOOR = 0.02  # of the variance of all points
_LEAST_VARIANCE = 1e-6  # where all points agree
_BLOCK = 8192  # points at a time; as many have 2 MB of probabilities
_PASSES = 10
_NEGLIGIBLE = 1e-4


class Mixture:
    """A mixture of diagonal Gaussians.

    Parameters
    ----------
    weights : ndarray of shape (components,)
        Of sum 1, each above 0.
    means, variances : ndarray of shape (components, dimensions)
        Of the Gaussians.

    Examples
    --------
    >>> points = np.array([[0], [1], [8], [9]], np.float32)
    >>> mixture = Mixture.fit(points, 2)
    >>> sorted(mixture.means.ravel().round(2).tolist()), mixture.weights.tolist()
    ([0.5, 8.5], [0.5, 0.5])
    >>> mixture.fisher_vector(points).shape
    (4,)
    """

    def __init__(self, weights: Floats, means: Floats, variances: Floats) -> None:
        self.weights, self.means, self.variances = (
            np.ascontiguousarray(a, np.float32) for a in (weights, means, variances)
        )
        if self.means.shape != self.variances.shape or len(self.weights) != len(self.means):
            raise DataError(
                "A mixture needs a weight, a mean and a variance for each component. Got shapes "
                f"{self.weights.shape}, {self.means.shape} and {self.variances.shape}."
            )
        w, m, v = (a.astype(np.float64) for a in (self.weights, self.means, self.variances))
        if not all(np.isfinite(a).all() for a in (w, m, v)) or min(w.min(), v.min()) <= 0:
            raise DataError("A mixture needs finite numbers, and weights and variances above 0.")
        # log w_k N(x; μ_k, v_k) is linear in (x, x²), so that matrix products give it.
        self._slopes = np.hstack([m / v, -0.5 / v]).T.astype(np.float32)
        constants = np.log(w) - 0.5 * (m * m / v + np.log(2 * np.pi * v)).sum(axis=1)
        self._constants = constants.astype(np.float32)

    @property
    def length(self) -> int:
        """How many numbers a Fisher vector has."""
        return 2 * self.means.size

    @classmethod
    def fit(
        cls, points: Floats, n_components: int, seed: int = 0, passes: int = _PASSES
    ) -> Mixture:
        """Return the mixture of some points; fewer different points have a component each.

        Parameters
        ----------
        points : ndarray of float32
            One in a row, finite.
        n_components : int
            How many Gaussians.
        seed : int, default=0
            The same seed gives the same mixture.
        passes : int, default=10
            Passes of expectation-maximisation.
        """
        if n_components < 1:
            raise ParameterError.of("n_components", "Mixture.fit", "at least 1", n_components)
        points = np.ascontiguousarray(points, np.float32)
        means = codebook(points, min(n_components, len(distinct(points))), seed)
        spread = np.maximum(points.var(axis=0, dtype=np.float64), _LEAST_VARIANCE)
        variances = np.tile(spread / 2, (len(means), 1)).astype(np.float32)
        mixture = cls(np.full(len(means), 1 / len(means), np.float32), means, variances)
        for _ in range(passes):
            mixture = mixture.improved_for(points, np.maximum(_FLOOR * spread, _LEAST_VARIANCE))
        return mixture

    def improved_for(self, points: Floats, floor: Doubles) -> Mixture:
        """Return the mixture after one pass of expectation and maximisation."""
        n_dimensions = self.means.shape[1]
        counts, moments = np.zeros(len(self.means)), np.zeros((len(self.means), 2 * n_dimensions))
        for i in range(0, len(points), _BLOCK):
            both = _with_squares(points[i : i + _BLOCK])
            shares, _ = self._posteriors(both)
            counts += shares.sum(axis=0, dtype=np.float64)
            moments += shares.T @ both
        averages = moments / np.maximum(counts, np.finfo(np.float32).tiny)[:, None]
        means, squares = averages[:, :n_dimensions], averages[:, n_dimensions:]
        variances = np.maximum(squares - means * means, floor)
        # A component with almost no points has moments of rounding errors: it stays.
        won = (counts > _NEGLIGIBLE)[:, None]
        return Mixture(
            ((counts + 1) / (counts.sum() + len(counts))).astype(np.float32),
            np.where(won, means, self.means).astype(np.float32),
            np.where(won, variances, self.variances).astype(np.float32),
        )

    def posteriors(self, points: Floats) -> Floats:
        """Return the probability that each component made each point, (points, components)."""
        return self._posteriors(_with_squares(points))[0]

    def log_likelihoods(self, points: Floats) -> Floats:
        """Return log p(x) of each point."""
        return self._posteriors(_with_squares(points))[1]

    def _posteriors(self, both: Floats) -> tuple[Floats, Floats]:
        scores = both @ self._slopes
        scores += self._constants
        top = scores.max(axis=1, keepdims=True)
        scores -= top
        np.exp(scores, out=scores)
        totals = scores.sum(axis=1, keepdims=True)
        scores /= totals
        return scores, (top + np.log(totals))[:, 0]

    def fisher_vector(self, points: Floats, negligible: float = _NEGLIGIBLE) -> Floats:
        """Return the gradients by all means, then by all standard deviations.

        Parameters
        ----------
        points : ndarray of float32
            One in a row, at least one.
        negligible : float, default=0.0001
            Probabilities below this count as zero.
        """
        if points.ndim != 2 or points.shape[1] != self.means.shape[1] or not len(points):
            must_be = f"a table with {self.means.shape[1]} columns"
            raise DataError(f"Points must be {must_be}, and not be empty. Got {points.shape}.")
        both = _with_squares(points)
        shares = self._posteriors(both)[0]
        shares[shares < negligible] = 0
        counts = shares.sum(axis=0, dtype=np.float64)[:, None]
        moments = (shares.T @ both).astype(np.float64)
        first, second = np.hsplit(moments, 2)
        means, variances = self.means.astype(np.float64), self.variances.astype(np.float64)
        scale = len(points) * np.sqrt(self.weights.astype(np.float64))[:, None]
        by_means = (first - counts * means) / (np.sqrt(variances) * scale)
        squares = second - 2 * means * first + counts * means * means
        by_spreads = (squares / variances - counts) / (np.sqrt(2) * scale)
        return np.concatenate([by_means.ravel(), by_spreads.ravel()]).astype(np.float32)


def improved(vector: Floats) -> Floats:
    """Return a Fisher vector's signed square roots, scaled to length one; zeros stay zeros.

    >>> improved(np.array([9, -16, 0], np.float32)).tolist()
    [0.6000000238418579, -0.800000011920929, 0.0]
    """
    # The squared length of the roots is the sum of the absolute numbers.
    total = np.abs(vector).sum(dtype=np.float64)
    if not total:
        return np.zeros_like(vector)
    roots: Floats = (np.sign(vector) * np.sqrt(np.abs(vector) / total)).astype(np.float32)
    return roots


def _with_squares(points: Floats) -> Floats:
    both = np.empty((len(points), 2 * points.shape[1]), np.float32)
    both[:, : points.shape[1]] = points
    np.multiply(points, points, out=both[:, points.shape[1] :])
    return both
