"""Initial scenes: pictures clustered by their features and their tags.

The paper uses k-means. Hierarchical clustering, which merges the two groups that add the least sum
of squares (Ward, "Hierarchical grouping to optimize an objective function", 1963), needs no random
starts, and on MSRC v2 agrees better with scenes labelled by people.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Ints
from sightline.features.local.codebook import assign, distinct
from sightline.regions.examples import PictureRegions
from sightline.regions.segment import numbered

_STARTS, _PASSES = 8, 50
# A tree of more pictures takes all pairs of them: 72 MB of distances at 3,000.
MOST_IN_TREE = 3000
_USUAL = 0.9


def pseudo_scenes(pictures: PictureRegions, Y: Bools, n_scenes: int, seed: int = 0) -> Ints:
    """Return a scene for each picture, by k-means on its row, scaled to 0..1, and its tags."""
    return clusters(np.hstack([scaled(pictures.whole), Y]), n_scenes, seed)


def scaled(rows: Doubles) -> Doubles:
    """Return columns from 0 to 1.

    >>> scaled(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    low, wide = rows.min(axis=0), np.ptp(rows, axis=0)
    columns: Doubles = (rows - low) / np.where(wide > 0, wide, 1)
    return columns


def rareness(Y: Bools, n_scenes: int) -> Doubles:
    """Return the weight of each tag for scenes: larger, the fewer pictures have it; about 1.

    Tags rarer than a scene of usual size get no larger weight: they cannot define one.

    >>> often, rare = rareness(np.array([[True, False], [True, False], [True, True]]), 3)
    >>> bool(rare > often > 0)
    True
    """
    share = np.clip(Y.mean(axis=0), min(1 / n_scenes, _USUAL), _USUAL)
    squares = -np.log(share)
    weights: Doubles = np.sqrt(squares / (squares @ share / share.sum()))
    return weights


def clusters(rows: NDArray[np.float64], n: int, seed: int = 0) -> Ints:
    """Return the best of several k-means, a group for each row.

    Each starts with rows drawn one after the other, with probabilities by the squared distance from
    those drawn before (Arthur and Vassilvitskii, "k-means++", 2007).

    >>> clusters(np.array([[0.0], [0.1], [5.0], [5.1]]), 2).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    True
    """
    points = np.ascontiguousarray(rows, np.float32)
    # Fewer different rows than groups: some groups stay empty.
    n = min(n, len(distinct(points)))
    best, least = np.zeros(len(points), np.int64), np.inf
    for start in range(_STARTS):
        random = np.random.default_rng((seed, start))
        labels, error = _moved(points, _drawn(points, n, random))
        if error < least:
            best, least = labels, error
    return best


def tree_clusters(rows: NDArray[np.float64], n: int, seed: int = 0) -> Ints:
    """Return n groups by Ward's tree, a group for each row.

    Of more than `MOST_IN_TREE` rows a seeded sample is grouped, and the others join the nearest.

    >>> tree_clusters(np.array([[0.0], [0.1], [5.0], [5.1]]), 2).tolist()
    [0, 0, 1, 1]
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    total = len(rows)
    if total < 2 or n < 2:
        return np.zeros(total, np.int64)
    some = np.arange(total)
    if total > MOST_IN_TREE:
        random = np.random.default_rng(seed)
        some = np.sort(random.choice(total, MOST_IN_TREE, replace=False))
    groups = fcluster(linkage(rows[some], "ward"), min(n, len(some)), "maxclust")
    labels = numbered(groups).astype(np.int64)
    if len(some) == total:
        return labels
    points = np.ascontiguousarray(rows, np.float32)
    return assign(points, _means(points[some], labels, int(labels.max()) + 1)).astype(np.int64)


def _drawn(points: NDArray[np.float32], n: int, random: np.random.Generator) -> Ints:
    """Return rows to start with, by their positions."""
    chosen = [int(random.integers(len(points)))]
    away = np.full(len(points), np.inf)
    while len(chosen) < n:
        away = np.minimum(away, np.square(points - points[chosen[-1]], dtype=np.float64).sum(1))
        chosen.append(int(random.choice(len(points), p=away / away.sum())))
    return np.array(chosen)


def _moved(points: NDArray[np.float32], start: Ints) -> tuple[Ints, float]:
    """Return the groups of k-means, and their sum of squares."""
    centers, labels = points[start], np.full(len(points), -1, np.int64)
    for _ in range(_PASSES):
        assigned = assign(points, centers).astype(np.int64)
        if np.array_equal(assigned, labels):
            break
        labels = assigned
        centers = _means(points, labels, len(centers), centers)
    return labels, float(np.square(points - centers[labels]).sum())


def _means(
    points: NDArray[np.float32], labels: Ints, n: int, before: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return the mean of each group; of one that lost all its rows what it was before."""
    size = np.bincount(labels, minlength=n)
    total = np.zeros((n, points.shape[1]))
    np.add.at(total, labels, points)
    means = (total / np.maximum(size, 1)[:, None]).astype(np.float32)
    return means if before is None else np.where(size[:, None] > 0, means, before)
