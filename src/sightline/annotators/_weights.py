"""How much each view of a picture counts, found on the scores of pictures that were left out.

From equal weights on, one view after the other is made to count twice and half as much, and a
change is kept if words rank their left-out pictures better by it, by more than the words' own
scatter. Closed-form leaving out makes one trial a single factorisation, and a sample of pictures
bounds that, whatever the collection's size.

Departure from what is usual for several kernels (centred alignment; Cortes, Mohri and
Rostamizadeh, "Algorithms for learning kernels based on centered alignment", 2012): alignment was
tried first and ranked no better than equal weights, since it sees squares and not rankings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.annotators._smoothers import solved
from sightline.annotators.targets import average_precisions

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Few pictures or words cannot tell more than that all views count equally.
_LEAST_PICTURES = 50
_LEAST_WORDS = 10
_PASSES = 3
# A gain counts from half its standard error on; asking for one missed gains that held elsewhere.
_SCATTER = 0.5
_FACTORS = (2.0, 0.5)


def best_weights(
    grams: list[NDArray[np.float32]], Y: NDArray[np.float32], alpha: float
) -> tuple[float, ...]:
    """Return weights of sum 1 for the views' kernels among the same pictures."""
    weights = np.full(len(grams), 1.0 / len(grams))
    if len(grams) == 1 or len(Y) < _LEAST_PICTURES or Y.shape[1] < _LEAST_WORDS:
        return tuple(weights.tolist())
    best = _quality(grams, weights, Y, alpha)
    for _ in range(_PASSES):
        before = weights
        for view in range(len(grams)):
            for factor in _FACTORS:
                tried = weights * np.where(np.arange(len(grams)) == view, factor, 1.0)
                tried /= tried.sum()
                found = _quality(grams, tried, Y, alpha)
                if _is_better(found, best):
                    weights, best = tried, found
                    break
        if weights is before:
            break
    return tuple(weights.tolist())


def _quality(
    grams: list[NDArray[np.float32]],
    weights: NDArray[np.float64],
    Y: NDArray[np.float32],
    alpha: float,
) -> NDArray[np.float64]:
    K = np.zeros(grams[0].shape, dtype=np.float32)
    for weight, gram in zip(weights, grams, strict=True):
        K += np.float32(weight) * gram
    scale = float(K.diagonal().mean(dtype=np.float64)) or 1.0
    return average_precisions(solved(K, Y, alpha * scale)[1], Y)


def _is_better(found: NDArray[np.float64], best: NDArray[np.float64]) -> bool:
    gain = found - best
    return bool(gain.mean() > _SCATTER * gain.std() / np.sqrt(len(gain)))
