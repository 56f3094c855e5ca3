"""The choice of ridge's strength alpha, on the scores of pictures that were left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from sightline.annotators.targets import mean_average_precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.annotators._smoothers import LeftOut, Smoother

Criterion = Literal["AvgP", "error"]

_START = -1.0
_STEP, _FINER = 0.5, 0.25
_LEAST, _MOST = -6.0, 6.0
# What alpha is judged on, at most.
_PICTURES = 6000
_WORDS = 500


def best_alpha(smoother: Smoother, scale: float, criterion: Criterion, random_state: int) -> float:
    """Return the strength, in units of scale, with the best left-out scores.

    From 0.1 it climbs by half powers of ten, up and then down, until two in a row are no better,
    since qualities are bumpy; then the quarter powers beside the best are tried. So of strengths
    that are equally good the one nearest to 0.1 is taken.
    """
    judged = smoother.some(sample(np.arange(len(smoother.Y)), _PICTURES, random_state))
    words = sample(telling(judged.Y), _WORDS, random_state)

    def quality(power: float) -> float:
        return _quality(judged, 10.0**power * scale, words, criterion)

    best, height = _START, quality(_START)
    for step in (_STEP, -_STEP):
        power, worse = _START + step, 0
        while worse < 2 and _LEAST <= power <= _MOST:
            found = quality(power)
            worse = 0 if found > height else worse + 1
            if found > height:
                best, height = power, found
            power += step
    beside = {power: quality(power) for power in (best - _FINER, best + _FINER)}
    finer = max(beside, key=beside.__getitem__)
    return float(10.0 ** (finer if beside[finer] > height else best))


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
