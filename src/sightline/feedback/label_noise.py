"""Label noise: judgements that contradict the others so clearly that they are probably wrong.

Judged pictures are scored by learners fitted without them. The scores of pictures that fit and of
those that do not are modelled as two normal distributions, and each judgement as correct unless it
is a mislabel, with a prior of one in ten. Expectation-maximisation gives

    P(mislabel | s, y) = e p(s | -y) P(-y) / (e p(s | -y) P(-y) + (1 - e) p(s | y) P(y))

together with e and both distributions. Where scores of the two kinds overlap, as with a weak
descriptor, no judgement stands out and none is doubted.

There may be one judgement of a kind. So each mean and deviation has `_BEFORE` pseudo-counts: for
pictures that fit at their median, for the others a little below. The density is constant beyond its
mean: a picture far above all that fit is not less likely to fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles

_BEFORE = 2.0
_MISLABELLED, _CORRECT = 2.0, 18.0
_BELOW = 0.75
_AT_FIRST = 0.05
_ROUNDS = 20
_LEAST, _LEAST_FITTING = 6, 3


def mislabel_probabilities(
    scores: Doubles, relevant: Bools, sure: NDArray[np.bool_] | None = None
) -> Doubles:
    """Return for each judgement the probability that it is mislabelled.

    Parameters
    ----------
    scores : ndarray of float64
        Of judged pictures, by learners without them, standardised over unjudged pictures.
    relevant : ndarray of bool
        What was judged.
    sure : ndarray of bool, optional
        Judgements that cannot be mislabelled.

    Examples
    --------
    >>> scores = np.array([9.0, 8.5, 8.0, 8.6, 8.2, 8.3, 8.8, 0.5, 0.0, -0.2, 0.1, 0.3, 8.9])
    >>> mislabel_probabilities(scores, np.arange(13) < 7).round(1).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.6]
    """
    never = np.zeros(len(scores), dtype=bool) if sure is None else sure
    few = len(scores) < _LEAST or relevant.sum() < _LEAST_FITTING
    if few or relevant.all():
        return np.zeros(len(scores))
    wrong = np.where(never, 0.0, _AT_FIRST)
    rate = _MISLABELLED / (_MISLABELLED + _CORRECT)
    for _ in range(_ROUNDS):
        fits = np.where(relevant, 1.0 - wrong, wrong)
        log_odds = _two_normals(scores, fits, float(np.median(scores[relevant])))
        if log_odds is None:
            return np.zeros(len(scores))
        # Log-odds that the judgement is wrong.
        odds = np.where(relevant, -log_odds, log_odds) + np.log(rate / (1.0 - rate))
        wrong = np.where(never, 0.0, 1.0 / (1.0 + np.exp(-np.clip(odds, -50.0, 50.0))))
        rate = float((wrong.sum() + _MISLABELLED) / (len(scores) + _MISLABELLED + _CORRECT))
    return wrong


def _two_normals(scores: Doubles, fits: Doubles, middle: float) -> Doubles | None:
    """Return log p(s, fits) - log p(s, does not); None if those that fit do not lie above."""
    wide = max(1.0, 0.5 * abs(middle))
    mean, deviation = _normal(scores, fits, middle, wide)
    below, spread = _normal(scores, 1.0 - fits, _BELOW * mean, wide)
    if mean <= below:
        return None
    share = float(np.clip(fits.mean(), 0.05, 0.95))
    fitting = -0.5 * (np.minimum(scores - mean, 0.0) / deviation) ** 2 - np.log(deviation)
    other = -0.5 * (np.maximum(scores - below, 0.0) / spread) ** 2 - np.log(spread)
    return np.asarray(fitting - other + np.log(share / (1.0 - share)))


def _normal(scores: Doubles, parts: Doubles, at: float, wide: float) -> tuple[float, float]:
    """Return mean and deviation of scores that belong in parts, and of the pseudo-counts."""
    n = parts.sum() + _BEFORE
    mean = float((parts @ scores + _BEFORE * at) / n)
    return mean, float(np.sqrt((parts @ (scores - mean) ** 2 + _BEFORE * wide**2) / n))
