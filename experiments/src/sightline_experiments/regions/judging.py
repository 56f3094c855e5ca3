"""How good what a method says is: tags by F, scenes by NMI, regions by pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.measures.annotation import f_measure, top_words
from sightline.measures.clusters import normalized_mutual_information
from sightline_experiments.regions.methods import Predictions

F, F_PICTURE, F_5, NMI, PIXELS = "F", "F of a picture", "F@5", "NMI", "pixel accuracy"
MEASURES = (F, F_PICTURE, F_5, NMI, PIXELS)


def judged(
    predicted: Predictions,
    tags: NDArray[np.bool_],
    scenes: Ints,
    labels: Sequence[NDArray[np.int32]],
    truth: Sequence[Ints],
) -> dict[str, float]:
    """Return the measures of what was said of some pictures, of those kinds it speaks of.

    Parameters
    ----------
    tags, scenes : of the pictures.
    labels : the region of each pixel.
    truth : the tag of each pixel, or -1.
    """
    found: dict[str, float] = {}
    if predicted.tags is not None:
        measured = f_measure(tags, predicted.tags)
        found |= {F: measured.micro, F_PICTURE: measured.macro}
    if predicted.scores is not None:
        found[F_5] = f_measure(tags, top_words(predicted.scores, k=min(5, tags.shape[1]))).micro
    if predicted.scenes is not None:
        found[NMI] = normalized_mutual_information(predicted.scenes, scenes)
    if predicted.regions is not None:
        painted = [own[at] for own, at in zip(predicted.regions, labels, strict=True)]
        found[PIXELS] = pixels_per_class(painted, truth, tags.shape[1])
    return found


def pixels_per_class(painted: Sequence[Ints], truth: Sequence[Ints], n: int) -> float:
    """Return the share of pixels that are painted right, the mean over tags that occur.

    >>> pixels_per_class([np.array([[0, 0, 1]])], [np.array([[0, 1, 1]])], 3)
    0.75
    """
    right, there = np.zeros(n), np.zeros(n)
    for own, true in zip(painted, truth, strict=True):
        known = true >= 0
        there += np.bincount(true[known], minlength=n)
        right += np.bincount(true[known & (own == true)], minlength=n)
    return float(np.mean(right[there > 0] / there[there > 0]))


def f_of_each(tags: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the F-measure of each picture; 1 where there is nothing to say and nothing was said.

    >>> f_of_each(np.array([[True, False]]), np.array([[True, True]])).round(3).tolist()
    [0.667]
    """
    marks = tags.sum(axis=1) + predicted.sum(axis=1)
    right = 2.0 * (tags & predicted).sum(axis=1)
    return np.where(marks > 0, right / np.maximum(marks, 1), 1.0)
