"""The choice of ridge's strength alpha, on the scores of pictures that were left out.

A picture that is left out is missing for its own words and for no others, so pictures with a word
rank lower among left-out scores than they will among new pictures, the more so the stronger the
regulariser. AvgP therefore points to strengths that are too small, by about half a power of ten on
the collections tried. So, as Breiman and others do ("Classification and regression trees", 1984,
section 3.4.3), a stronger one is taken as long as it is not worse beyond the scatter of words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from sightline.annotators.targets import average_precisions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.annotators._smoothers import LeaveOneOut

Criterion = Literal["AvgP", "error"]

# Powers of ten.
_START, _STEP, _FINER, _UNJUDGED = -1.0, 0.5, 0.25, -0.5
_LEAST, _MOST = -6.0, 6.0
_STANDARD_ERRORS = 2.0
# The most pictures and words that alpha is chosen on.
MOST_JUDGED = 6000
_WORDS = 500


def best_alpha(judged: LeaveOneOut, scale: float, criterion: Criterion, random_state: int) -> float:
    """Return the strength, in units of scale, with the best left-out scores.

    A hill climb from 0.1 by half powers of ten, up and then down, until two in a row are no better,
    since quality is not smooth in alpha; then the quarter powers beside the best are tried.

    Where no word has two pictures nothing can be judged: what is left out has no other to be known
    by. Errors would ask for the largest strength there is.
    """
    if judged.Y.sum(axis=0).max(initial=0) < 2:
        return float(10.0**_UNJUDGED)
    words = sample(rankable_words(judged.Y), _WORDS, random_state)

    @cache
    def by_word(power: float) -> NDArray[np.float64]:
        return _by_word(judged, 10.0**power * scale, words, criterion)

    best = _climbed(by_word)
    if criterion == "AvgP":
        best = _stronger(by_word, best)
    return float(10.0**best)


def _climbed(by_word: Callable[[float], NDArray[np.float64]]) -> float:
    best, height = _START, by_word(_START).mean()
    for step in (_STEP, -_STEP):
        power, worse = _START + step, 0
        while worse < 2 and _LEAST <= power <= _MOST:
            quality = by_word(power).mean()
            worse = 0 if quality > height else worse + 1
            if quality > height:
                best, height = power, quality
            power += step
    return max((best, best - _FINER, best + _FINER), key=lambda p: float(by_word(p).mean()))


def _stronger(by_word: Callable[[float], NDArray[np.float64]], best: float) -> float:
    for power in (best + 2 * _FINER, best + _FINER):
        loss = by_word(best) - by_word(power)
        if loss.mean() <= _STANDARD_ERRORS * loss.std() / np.sqrt(len(loss)):
            return power
    return best


def sample(choices: NDArray[np.int64], most: int, random_state: int) -> NDArray[np.int64]:
    """Return a seeded sample of at most `most` choices, ascending.

    >>> sample(np.arange(3), 5, 0)
    array([0, 1, 2])
    """
    if len(choices) <= most:
        return choices
    return np.sort(np.random.default_rng(random_state).choice(choices, most, replace=False))


def _by_word(
    judged: LeaveOneOut, alpha: float, words: NDArray[np.int64], criterion: Criterion
) -> NDArray[np.float64]:
    scores, Y = judged.left_out(alpha, words), judged.Y[:, words]
    if criterion == "error":
        return np.asarray(-np.square(scores - Y).mean(axis=0, dtype=np.float64))
    avgp = average_precisions(scores, Y)
    # Without a word to rank all strengths are equally good.
    return avgp if avgp.size else np.zeros(1)


def rankable_words(Y: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the words alpha can be chosen on.

    A word on one picture is on none when that is left out, and one on all cannot be ranked.
    """
    counts = Y.sum(axis=0)
    for least in (2, 1):
        words = np.flatnonzero((counts >= least) & (counts < len(Y)))
        if words.size:
            return words
    return np.arange(Y.shape[1])
