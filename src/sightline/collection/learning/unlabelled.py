"""Calibrating scores of pictures that nobody labelled for a word.

Such a picture may carry the word all the same. Those that score as the word's own pictures do, each
left out, are passed over here as they are by the learner (`annotators.unlabelled`): counted as
negatives they would make every prediction improbable, and nothing would ever be shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.annotators.unlabelled import likely_positive
from sightline.collection.learning.samples import Sample
from sightline.words.calibration import logistic
from sightline.words.combining import Combination, How

Float = NDArray[np.float32]


def fit_combination(how: How, unseen: Float, sample: Sample) -> Combination:
    """Fit a way to combine words to scores of left-out pictures."""
    if sample.unlabelled is None:
        return Combination(how).fit(unseen, sample.labels)
    carried = np.asarray(sample.labels.todense()) > 0
    kept = ~likely_positive(unseen, carried, sample.unlabelled)
    words = [
        Combination(how).fit(unseen[rows][:, [w]], carried[rows][:, [w]])
        for w, rows in enumerate(kept.T)
    ]
    made = Combination(how)
    made.slope_ = np.concatenate([c.slope_ for c in words])
    made.offset_ = np.concatenate([c.offset_ for c in words])
    made.known_ = np.concatenate([c.known_ for c in words])
    made.shown_ = np.array([1.0, 0.0])
    if how != "product":
        made.shown_ = np.array(logistic(made.rows(unseen)[kept], carried[kept]))
    return made
