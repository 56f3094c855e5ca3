"""How likely a text fits a picture, from where both lie in a shared space.

Two things fit as in the lists that were learnt from: the text holds a word of the picture. Scores
of held-out pictures for each other's texts, which the ranker has not seen, give the curve from a
score to that likelihood; from a half on a text is said to fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.collection.learning.learners import Fitted
from sightline.collection.learning.samples import Sample
from sightline.words.calibration import logistic

Doubles = NDArray[np.float64]
FITS = 0.5
_MOST = 1_000


def text_curve(fitted: Fitted, sample: Sample) -> Doubles:
    """Return slope and offset of the curve, from pictures that were not learnt from."""
    rows = np.arange(len(sample))
    if len(rows) > _MOST:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST, replace=False))
    some = sample.only(rows)
    scores = fitted.points(some.views) @ fitted.text_points(some.labels).T
    shared = np.asarray((some.labels @ some.labels.T).todense()) > 0
    # What a picture's own text says of it is not what other texts do.
    others = ~np.eye(len(rows), dtype=bool)
    return np.array(logistic(scores[others], shared[others]))


def likely(scores: ArrayLike, curve: Doubles) -> Doubles:
    """Return how likely texts with these scores fit.

    >>> likely([0.0, 50.0], np.array([1.0, 0.0])).tolist()
    [0.5, 1.0]
    """
    x = np.asarray(scores, np.float64) * curve[0] + curve[1]
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
