"""Confidence of the model in each tag: the best score with it less the best without."""

from __future__ import annotations

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.regions.examples import PictureRegions
from sightline.regions.inference import choose_tags
from sightline.regions.weights import RegionWeights

# Larger than all other values, so that a tag is forced in, or out.
_FORCED = 1e6


def tag_margins(weights: RegionWeights, pictures: PictureRegions, scenes: Ints) -> Doubles:
    """Return the margin of each tag in the given scene of each picture: (pictures, tags)."""
    A, gain = weights.of_regions(pictures.rows), weights.of_tags(pictures.whole)
    B = weights.gamma[:, :, 1] - weights.gamma[:, :, 0]
    out = np.empty(gain.shape)
    for n, s in enumerate(scenes):
        out[n] = margins(A[pictures.start[n] : pictures.start[n + 1]], B[s] + gain[n])
    return out


def margins(a: Doubles, b: Doubles) -> Doubles:
    """Return for each tag of one picture the best value with it less the best without.

    >>> margins(np.array([[1.0, 3.0]]), np.array([0.0, 0.5])).tolist()
    [-2.5, 2.5]
    """
    best = choose_tags(a, b)
    is_predicted = best.tags(len(b))
    out = np.empty(len(b))
    for j in range(len(b)):
        forced = b.copy()
        forced[j] += -_FORCED if is_predicted[j] else _FORCED
        other = choose_tags(a, forced).value
        out[j] = best.value - other if is_predicted[j] else other - _FORCED - best.value
    return out
