"""Scenes to start with: pictures clustered by what they show and by the tags they carry."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from sightline.features.local.codebook import ReducedCodebook, assign, codebook
from sightline.regions.examples import Bools, Doubles, Int, Pictures

_STARTS, _PASSES = 8, 50


def pseudo_scenes(pictures: Pictures, Y: Bools, n_scenes: int, seed: int = 0) -> Int:
    """Return a scene for each picture, by k-means on its row, scaled to 0..1, and its tags."""
    return clusters(np.hstack([scaled(pictures.whole), Y]), n_scenes, seed)


def scaled(rows: Doubles) -> Doubles:
    """Return columns from 0 to 1.

    >>> scaled(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    low, wide = rows.min(axis=0), np.ptp(rows, axis=0)
    found: Doubles = (rows - low) / np.where(wide > 0, wide, 1)
    return found


def clusters(rows: NDArray[np.float64], n: int, seed: int = 0) -> Int:
    """Return the best of several k-means, a group for each row.

    >>> clusters(np.array([[0.0], [0.1], [5.0], [5.1]]), 2).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    points = np.ascontiguousarray(rows, np.float32)
    best, least = np.zeros(len(points), np.int64), np.inf
    for start in range(_STARTS):
        with warnings.catch_warnings():
            # Fewer different pictures than scenes: some scenes stay empty.
            warnings.simplefilter("ignore", ReducedCodebook)
            centers = codebook(points, n, seed=seed * _STARTS + start, passes=_PASSES)
        labels = assign(points, centers)
        error = float(np.square(points - centers[labels]).sum())
        if error < least:
            best, least = labels.astype(np.int64), error
    return best
