"""From scores to probabilities for each word, with a prior that all words share.

For word t with scores g_i of pictures that it was not fitted to, p_t(i) = sigmoid(a_t g_i + b_t)
(Platt, "Probabilistic outputs for support vector machines", 1999), where

    min  -sum_i log p_t(y_i | g_i) + (a_t - a_0)^2 / (2 v_a) + (b_t - b_0)^2 / (2 v_b),   a_t > 0

Departure: Platt smooths the targets of each word by itself, which does not help a word that two
pictures have. Here slopes and offsets have a normal prior that is estimated from all words
(empirical Bayes: expectation-maximisation with a Laplace approximation of each word's posterior).
Its mean is linear in the log of the number of pictures n_t that have the word,

    (a_0, b_0)_t = c_0 + c_1 log (1 + n_t)

since a regression scores the pictures of rare words lower, and rare words are less likely before
any score. So a word with many pictures is calibrated by them, and a word with few gets what words
as rare as it have in this collection. One mean for all words had a third more calibration error at
100 pictures.

Of many pictures, those without the word are put into equal bins of score, and each bin counts as
its mean score, as often as it has pictures. What that leaves out is of second order in the width of
a bin, a 256th of the range; it takes a tenth of the time.
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
# The share of words at either end whose rarity counts as that of the next.
_EDGE = 0.05
_NEWTON_STEPS = 40
# A slope is at least this share of the shared one: the order of pictures must never be reversed.
_LEAST_SLOPE = 0.05
# How many scores are processed at once; a step needs about a dozen arrays of that size.
_BLOCK_NUMBERS = 1 << 20
# Of more pictures than `_BINNED`, those without a word count as the means of this number of bins.
_BINNED, _BINS = 2_000, 256


@dataclass(frozen=True, slots=True)
class _Prior:
    """Means of slope and offset, (2,) of all words or (2, words), and their variances, (2,)."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]

    def means(self, n_words: int) -> NDArray[np.float64]:
        """Return the means of each word, (2, words)."""
        return np.broadcast_to(self.mean.reshape(2, -1), (2, n_words))

    def some(self, words: slice | NDArray[np.int64]) -> _Prior:
        """Return the prior of some words."""
        return _Prior(self.mean[:, words], self.variance)


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
        theta[:, words], _ = _fit_columns(*_binned(x, tagged[:, words]), prior.some(words))
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
    (a, b), _ = _fit_columns(*_binned(x, tagged[:, None]), flat)
    return float(a[0] / unit), float(b[0] - a[0] * centre / unit)


def _estimate_prior(
    scores: NDArray[np.float32], tagged: NDArray[np.bool_], centre: float, unit: float
) -> _Prior:
    """Return the prior of all words, each with its own mean."""
    words = _informative_words(
        tagged, min(_PRIOR_WORDS, max(10, _BLOCK_NUMBERS // max(len(tagged), 1)))
    )
    first = np.array([1.0, -2.0])
    n_words = tagged.shape[1]
    if not words.size:
        return _Prior(np.repeat(first[:, None], n_words, axis=1), np.array([4.0, 9.0]))
    x = (scores[:, words].astype(np.float64) - centre) / unit
    x, y, weight = _binned(x, tagged[:, words])
    rarity = np.log1p(tagged.sum(axis=0))
    # The rarest and the most common word alone must not turn the line, nor does it go on beyond.
    rarity = np.clip(
        rarity,
        np.quantile(rarity[words], _EDGE, method="higher"),
        np.quantile(rarity[words], 1 - _EDGE, method="lower"),
    )
    rarity -= rarity[words].mean()
    variance = np.array([4.0, 9.0])
    prior = _Prior(first, variance)
    theta = prior.means(len(words)).copy()
    for _ in range(_EM_ITERATIONS):
        # Each iteration starts from the last result, so that few steps are enough.
        theta, spread = _fit_columns(x, y, weight, prior, theta, steps=4)
        means = _means_by_rarity(theta, 1.0 - spread / variance[:, None], rarity[words], rarity)
        at_words = means[:, words]
        variance = (np.square(theta - at_words) + spread).mean(axis=1)
        # With few words the spread is mostly unknown; a tenth of the mean keeps it from closing.
        variance = np.maximum(variance, np.square(0.1 * at_words.mean(axis=1)) + 1e-4)
        last, prior = prior.means(len(words)), _Prior(at_words, variance)
        if np.abs(at_words - last).max() < 0.01 * np.sqrt(variance.min()):
            break
    return _Prior(means, prior.variance)


def _means_by_rarity(
    theta: NDArray[np.float64],
    known: NDArray[np.float64],
    rarity: NDArray[np.float64],
    of_all: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the line through slopes and offsets, at the rarity of all words.

    `rarity` has the mean 0. `known` is how much of each is due to the word's own pictures: what
    only repeats the prior makes no trend. Of few words the line is held flat, as if there were one
    more without a trend.
    """
    mean = theta.mean(axis=1)
    known = np.clip(known, 0.0, 1.0)
    beside = rarity - (known @ rarity / np.maximum(known.sum(axis=1), 1e-9))[:, None]
    trend = (known * beside * theta).sum(axis=1) / ((known * beside**2).sum(axis=1) + 1.0)
    means = mean[:, None] + trend[:, None] * of_all
    means[0] = np.maximum(means[0], 1e-3)
    return np.asarray(means)


def _informative_words(tagged: NDArray[np.bool_], limit: int) -> NDArray[np.int64]:
    """Return words that some pictures have and some do not, spread from rare to common."""
    counts = tagged.sum(axis=0)
    words = np.flatnonzero((counts > 0) & (counts < len(tagged)))
    words = words[np.argsort(counts[words], kind="stable")]
    if len(words) > limit:
        words = words[np.linspace(0, len(words) - 1, limit).astype(np.int64)]
    return words


def _binned(
    x: NDArray[np.float64], tagged: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64] | None]:
    """Return scores, whether each is of a picture with the word, and how often it counts.

    Without a weight all count once. Pictures with the word are put one by one below the bins of the
    others, in columns that are filled up with scores that count for nothing.
    """
    n, n_words = x.shape
    most = int(tagged.sum(axis=0).max(initial=0))
    if n <= _BINNED or most + _BINS > n // 2:
        return x, tagged, None
    low = x.min(axis=0)
    step = np.maximum((x.max(axis=0) - low) / _BINS, 1e-12)
    bins = np.minimum((x - low) / step, _BINS - 1).astype(np.int32)
    bins += np.arange(n_words, dtype=np.int32) * _BINS
    size = n_words * _BINS
    bins, values = bins.reshape(-1), x.reshape(-1)
    at, word = np.nonzero(tagged)
    of_tagged = at * n_words + word
    count = np.bincount(bins, minlength=size) - np.bincount(bins[of_tagged], minlength=size)
    total = np.bincount(bins, values, size)
    total -= np.bincount(bins[of_tagged], values[of_tagged], size)
    # Where all of a bin have the word, rounding is left of the sum.
    mean = np.where(count > 0, total / np.maximum(count, 1), 0.0)
    order = np.argsort(word, kind="stable")
    word = word[order]
    place = np.arange(len(word)) - np.searchsorted(word, word)
    means, positives = np.zeros((most, n_words)), np.zeros((most, n_words))
    means[place, word], positives[place, word] = values[of_tagged[order]], 1.0
    is_tagged = np.zeros((most + _BINS, n_words), np.bool_)
    is_tagged[:most] = True
    stacked = np.vstack([means, mean.reshape(n_words, _BINS).T])
    weight = np.vstack([positives, count.reshape(n_words, _BINS).T])
    return stacked, is_tagged, weight


def _fit_columns(
    x: NDArray[np.float64],
    y: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    prior: _Prior,
    start: NDArray[np.float64] | None = None,
    steps: int = _NEWTON_STEPS,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimise over (a, b) of all columns at once; return them and their posterior variances.

    `weight` is how often each score counts, once by default.
    """
    n_words = x.shape[1]
    theta = prior.means(n_words).copy() if start is None else start
    least = _LEAST_SLOPE * prior.means(n_words)[0]
    value, gradient, hessian = _objective(x, y, weight, theta, prior)
    scale = np.ones(n_words)
    for _ in range(steps):
        step = _newton(theta, gradient, hessian, least)
        if np.abs(step).max(initial=0.0) < 1e-5:
            break
        tried = theta + scale * step
        new_value, slope, bend = _objective(x, y, weight, tried, prior)
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
    least: NDArray[np.float64],
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
    weight: NDArray[np.float64] | None,
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
    if weight is not None:
        loss *= weight
    p = np.where(logit >= 0, 1.0, small)
    small += 1.0
    p /= small
    beside = theta - prior.means(x.shape[1])
    away = beside / prior.variance[:, None]
    value = loss.sum(axis=0) + 0.5 * (away * beside).sum(axis=0)
    w = p * (1.0 - p)
    p -= y
    if weight is not None:
        w *= weight
        p *= weight
    gradient = np.stack((np.einsum("ij,ij->j", p, x), p.sum(axis=0))) + away
    stiff = 1.0 / prior.variance
    aa = np.einsum("ij,ij,ij->j", w, x, x) + stiff[0]
    bend = (aa, np.einsum("ij,ij->j", w, x), w.sum(axis=0) + stiff[1])
    return value, gradient, np.stack(bend)
