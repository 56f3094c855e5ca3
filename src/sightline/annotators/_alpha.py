"""The choice of ridge's strength alpha, on the scores of pictures that were left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from sightline.annotators.targets import mean_average_precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.annotators._smoothers import LeftOut, Smoother

Criterion = Literal["AvgP", "error"]

# Nearest to 0.1 first, since of equals the first is taken.
_ALPHAS = 10.0 ** (-1.0 + np.array([0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6, 6]) / 2)
_FINER = 10.0 ** np.array([-0.25, 0.25])
# What alpha is judged on, at most.
_PICTURES = 6000
_WORDS = 500


def best_alpha(smoother: Smoother, scale: float, criterion: Criterion, random_state: int) -> float:
    """Return the best of 13 strengths from 1e-4 to 100, in units of scale, and two beside it."""
    judged = smoother.some(sample(np.arange(len(smoother.Y)), _PICTURES, random_state))
    words = sample(telling(judged.Y), _WORDS, random_state)

    def quality(alpha: float) -> float:
        return _quality(judged, alpha * scale, words, criterion)

    tried = {float(a): quality(float(a)) for a in _ALPHAS}
    best = max(tried, key=tried.__getitem__)
    tried |= {float(a): quality(float(a)) for a in best * _FINER}
    return max(tried, key=tried.__getitem__)


def sample(choices: NDArray[np.int64], most: int, random_state: int) -> NDArray[np.int64]:
    """Return a seeded choice of so many at most, ascending.

    >>> sample(np.arange(3), 5, 0)
    array([0, 1, 2])
    """
    if len(choices) <= most:
        return choices
    return np.sort(np.random.default_rng(random_state).choice(choices, most, replace=False))


def _quality(
    judged: LeftOut, alpha: float, words: NDArray[np.int64], criterion: Criterion
) -> float:
    scores, Y = judged.left_out(alpha, words), judged.Y[:, words]
    if criterion == "error":
        return -float(np.square(scores - Y).mean())
    found = mean_average_precision(scores, Y)
    return -np.inf if np.isnan(found) else found


def telling(Y: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the words alpha can be judged on.

    A word on one picture is on none when that is left out, and one on all cannot be ranked.
    """
    carriers = Y.sum(axis=0)
    for least in (2, 1):
        words = np.flatnonzero((carriers >= least) & (carriers < len(Y)))
        if words.size:
            return words
    return np.arange(Y.shape[1])
