"""The weight of each view of a picture, chosen on leave-one-out scores.

From equal weights on, the weight of one view after the other is doubled and halved, and a change is
kept if words rank their left-out pictures better with it, by more than the scatter among words.
Leave-one-out in closed form makes one trial a single factorisation, and a sample of pictures bounds
that, whatever the collection's size.

Departure from the usual method for several kernels (centred alignment; Cortes, Mohri and
Rostamizadeh, "Algorithms for learning kernels based on centered alignment", 2012): alignment was
tried first and ranked no better than equal weights, since it measures squared error and not
ranking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.annotators._smoothers import solved
from sightline.annotators.targets import average_precisions

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Too few pictures or words to prefer anything to equal weights.
_LEAST_PICTURES = 50
_LEAST_WORDS = 10
_PASSES = 3
# A gain counts from half its standard error on; a whole one missed gains that held on other data.
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
                candidate = weights * np.where(np.arange(len(grams)) == view, factor, 1.0)
                candidate /= candidate.sum()
                quality = _quality(grams, candidate, Y, alpha)
                if _is_better(quality, best):
                    weights, best = candidate, quality
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


def _is_better(quality: NDArray[np.float64], best: NDArray[np.float64]) -> bool:
    gain = quality - best
    return bool(gain.mean() > _SCATTER * gain.std() / np.sqrt(len(gain)))
