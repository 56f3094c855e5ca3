"""From scores to probabilities for each word, with a prior that all words share.

For word t with scores g_i of pictures that it was not fitted to, p_t(i) = sigmoid(a_t g_i + b_t)
(Platt, "Probabilistic outputs for support vector machines", 1999), where

    min  -sum_i log p_t(y_i | g_i) + (a_t - a_0)^2 / (2 v_a) + (b_t - b_0)^2 / (2 v_b),   a_t > 0

Departure: Platt smooths the targets of each word by itself, which does not help a word that two
pictures have. Here slopes and offsets have a normal prior whose mean and variance are estimated
from all words (empirical Bayes: expectation-maximisation with a Laplace approximation of each
word's posterior). So a word with many pictures is calibrated by them, and a word without any gets
the average of all words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The prior is estimated from at most this many words, spread evenly from rare to common.
_PRIOR_WORDS = 200
_EM_ITERATIONS = 12
_NEWTON_STEPS = 40
# A slope is at least this share of the shared one: the order of pictures must never be reversed.
_LEAST_SLOPE = 0.05
# How many scores are processed at once; a step needs about a dozen arrays of that size.
_BLOCK_NUMBERS = 1 << 20


@dataclass(frozen=True, slots=True)
class _Prior:
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def calibrate(
    scores: NDArray[np.float32], tagged: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return slopes and offsets, one of each for every word.

    Parameters
    ----------
    scores : ndarray of float32
        Scores of shape (n_pictures, n_words), of pictures that the scorer was not fitted to.
    tagged : ndarray of bool
        Whether the picture has the word.

    Examples
    --------
    >>> scores = np.linspace(0, 1, 100, dtype=np.float32)[:, None]
    >>> slope, offset = calibrate(scores, scores > 0.5)
    >>> probability = 1 / (1 + np.exp(-(slope * scores + offset)))
    >>> probability[[10, 90], 0].round(1).tolist()
    [0.0, 1.0]
    """
    centre = float(scores.mean(dtype=np.float64))
    unit = float(scores.std(dtype=np.float64)) or 1.0
    prior = _estimate_prior(scores, tagged, centre, unit)
    n, n_words = scores.shape
    theta = np.empty((2, n_words))
    width = max(1, _BLOCK_NUMBERS // max(n, 1))
    for start in range(0, n_words, width):
        words = slice(start, start + width)
        x = (scores[:, words].astype(np.float64) - centre) / unit
        theta[:, words], _ = _fit_columns(x, tagged[:, words], prior)
    return theta[0] / unit, theta[1] - theta[0] * centre / unit


def logistic(
    scores: NDArray[np.float32] | NDArray[np.float64], tagged: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return slope and offset of one logistic curve for all scores; it never falls.

    Of more than a million scores a seeded sample is taken.

    >>> scores, tagged = np.arange(4.0), np.array([False, True, False, True])
    >>> slope, offset = logistic(scores, tagged)
    >>> round(-offset / slope, 1)
    1.5
    """
    scores, tagged = scores.reshape(-1), tagged.reshape(-1)
    if scores.size > _BLOCK_NUMBERS:
        chosen = np.random.default_rng(0).integers(scores.size, size=_BLOCK_NUMBERS)
        scores, tagged = scores[chosen], tagged[chosen]
    centre = float(scores.mean(dtype=np.float64)) if scores.size else 0.0
    unit = (float(scores.std(dtype=np.float64)) if scores.size else 0.0) or 1.0
    flat = _Prior(np.array([1.0, 0.0]), np.array([100.0, 100.0]))
    x = (scores[:, None].astype(np.float64) - centre) / unit
    (a, b), _ = _fit_columns(x, tagged[:, None], flat)
    return float(a[0] / unit), float(b[0] - a[0] * centre / unit)


def _estimate_prior(
    scores: NDArray[np.float32], tagged: NDArray[np.bool_], centre: float, unit: float
) -> _Prior:
    words = _informative_words(
        tagged, min(_PRIOR_WORDS, max(10, _BLOCK_NUMBERS // max(len(tagged), 1)))
    )
    x = (scores[:, words].astype(np.float64) - centre) / unit
    y = tagged[:, words]
    prior = _Prior(np.array([1.0, -2.0]), np.array([4.0, 9.0]))
    if not words.size:
        return prior
    theta = np.repeat(prior.mean[:, None], len(words), axis=1)
    for _ in range(_EM_ITERATIONS):
        # Each iteration starts from the last result, so that few steps are enough.
        theta, spread = _fit_columns(x, y, prior, theta, steps=4)
        mean = theta.mean(axis=1)
        mean[0] = max(mean[0], 1e-3)
        variance = (np.square(theta - mean[:, None]) + spread).mean(axis=1)
        # With few words the spread is mostly unknown; a tenth of the mean keeps it from closing.
        variance = np.maximum(variance, np.square(0.1 * mean) + 1e-4)
        last, prior = prior, _Prior(mean, variance)
        if np.abs(mean - last.mean).max() < 0.01 * np.sqrt(variance.min()):
            break
    return prior


def _informative_words(tagged: NDArray[np.bool_], limit: int) -> NDArray[np.int64]:
    """Return words that some pictures have and some do not, spread from rare to common."""
    counts = tagged.sum(axis=0)
    words = np.flatnonzero((counts > 0) & (counts < len(tagged)))
    words = words[np.argsort(counts[words], kind="stable")]
    if len(words) > limit:
        words = words[np.linspace(0, len(words) - 1, limit).astype(np.int64)]
    return words


def _fit_columns(
    x: NDArray[np.float64],
    y: NDArray[np.bool_],
    prior: _Prior,
    start: NDArray[np.float64] | None = None,
    steps: int = _NEWTON_STEPS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimise over (a, b) of all columns at once; return them and their posterior variances."""
    n_words = x.shape[1]
    theta = np.repeat(prior.mean[:, None], n_words, axis=1) if start is None else start
    least = _LEAST_SLOPE * prior.mean[0]
    value, gradient, hessian = _objective(x, y, theta, prior)
    scale = np.ones(n_words)
    for _ in range(steps):
        step = _newton(theta, gradient, hessian, least)
        if np.abs(step).max(initial=0.0) < 1e-5:
            break
        tried = theta + scale * step
        new_value, slope, bend = _objective(x, y, tried, prior)
        better = new_value <= value
        theta = np.where(better, tried, theta)
        value = np.where(better, new_value, value)
        gradient = np.where(better, slope, gradient)
        hessian = np.where(better, bend, hessian)
        scale = np.where(better, 1.0, scale * 0.5)
    aa, ab, bb = hessian
    determinant = aa * bb - ab * ab
    return theta, np.stack((bb, aa)) / determinant


def _newton(
    theta: NDArray[np.float64],
    gradient: NDArray[np.float64],
    hessian: NDArray[np.float64],
    least: float,
) -> NDArray[np.float64]:
    aa, ab, bb = hessian
    ga, gb = gradient
    determinant = aa * bb - ab * ab
    da = (ab * gb - bb * ga) / determinant
    # At the bound, the best offset for that slope minimises the same quadratic.
    da = np.maximum(da, least - theta[0])
    return np.stack((da, -(gb + ab * da) / bb))


def _objective(
    x: NDArray[np.float64],
    y: NDArray[np.bool_],
    theta: NDArray[np.float64],
    prior: _Prior,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return value, gradient and the three numbers of the Hessian, for each column."""
    logit = x * theta[0]
    logit += theta[1]
    # exp(-|logit|) neither overflows nor loses digits.
    small = np.exp(-np.abs(logit))
    loss = np.log1p(small)
    loss += np.maximum(logit, 0.0)
    loss -= np.where(y, logit, 0.0)
    p = np.where(logit >= 0, 1.0, small)
    small += 1.0
    p /= small
    away = (theta - prior.mean[:, None]) / prior.variance[:, None]
    value = loss.sum(axis=0) + 0.5 * (away * (theta - prior.mean[:, None])).sum(axis=0)
    w = p * (1.0 - p)
    p -= y
    gradient = np.stack((np.einsum("ij,ij->j", p, x), p.sum(axis=0))) + away
    stiff = 1.0 / prior.variance
    aa = np.einsum("ij,ij,ij->j", w, x, x) + stiff[0]
    bend = (aa, np.einsum("ij,ij->j", w, x), w.sum(axis=0) + stiff[1])
    return value, gradient, np.stack(bend)
