"""Measures of predictions: tags by F, scenes by NMI, regions by pixels."""

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
    """Return the measures of predictions for some pictures, of what they contain.

    Parameters
    ----------
    tags, scenes : of the pictures.
    labels : the region of each pixel.
    truth : the tag of each pixel, or -1.
    """
    measures: dict[str, float] = {}
    if predicted.tags is not None:
        measured = f_measure(tags, predicted.tags)
        measures |= {F: measured.micro, F_PICTURE: measured.macro}
    if predicted.scores is not None:
        measures[F_5] = f_measure(tags, top_words(predicted.scores, k=min(5, tags.shape[1]))).micro
    if predicted.scenes is not None:
        measures[NMI] = normalized_mutual_information(predicted.scenes, scenes)
    if predicted.regions is not None:
        painted = [own[at] for own, at in zip(predicted.regions, labels, strict=True)]
        measures[PIXELS] = pixels_per_class(painted, truth, tags.shape[1])
    return measures


def pixels_per_class(painted: Sequence[Ints], truth: Sequence[Ints], n: int) -> float:
    """Return the share of pixels with the right tag, the mean over tags that occur.

    >>> pixels_per_class([np.array([[0, 0, 1]])], [np.array([[0, 1, 1]])], 3)
    0.75
    """
    right, n_pixels = np.zeros(n), np.zeros(n)
    for predicted, true in zip(painted, truth, strict=True):
        labelled = true >= 0
        n_pixels += np.bincount(true[labelled], minlength=n)
        right += np.bincount(true[labelled & (predicted == true)], minlength=n)
    return float(np.mean(right[n_pixels > 0] / n_pixels[n_pixels > 0]))


def f_of_each(tags: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the F-measure of each picture; 1 if it has no tag and none was predicted.

    >>> f_of_each(np.array([[True, False]]), np.array([[True, True]])).round(3).tolist()
    [0.667]
    """
    marks = tags.sum(axis=1) + predicted.sum(axis=1)
    right = 2.0 * (tags & predicted).sum(axis=1)
    return np.where(marks > 0, right / np.maximum(marks, 1), 1.0)
