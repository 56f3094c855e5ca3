"""Ridge regression of tags, on whole pictures and on regions without labels of their own.

Regions are labelled and ridge regression fitted alternately: each picture's tags are placed in its
regions by the current weights, every region taking one of them and every tag one region at least,
and the weights are then those of ridge regression on these labels. Regions count by the root of
their area.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.regions.examples import PictureRegions
from sightline.regions.inference import NOBODY

_FIRST = 1.0
_FITS = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Scores of rows: rows @ weights + constants."""

    weights: Doubles
    constants: Doubles

    def __call__(self, rows: Doubles) -> Doubles:
        """Return the scores of rows."""
        scores: Doubles = rows @ self.weights + self.constants
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class RegionRidge:
    """Fitted scores of tags for whole pictures and for regions, about 1 for yes."""

    whole: Linear
    regions: Linear


def fit_region_ridge(
    pictures: PictureRegions,
    Y: Bools,
    areas: Doubles,
    whole_alpha: float = 0.3,
    region_alpha: float = 0.01,
    rounds: int = 3,
) -> RegionRidge:
    """Learn from pictures and the tags they have, no more of them than regions.

    Parameters
    ----------
    areas : ndarray of float64
        Of all regions, the shares of their pictures.
    whole_alpha, region_alpha : float
        Strength of the regulariser, relative to the rows' mean square.
    rounds : int, default=3
        Alternations of labelling and regression.

    Examples
    --------
    >>> grass, sky = np.eye(2)
    >>> pictures = PictureRegions.of([[grass, sky], [grass, grass], [sky, sky]])
    >>> Y = np.array([[True, True], [True, False], [False, True]])
    >>> model = fit_region_ridge(pictures, Y, np.full(6, 0.5))
    >>> model.regions(np.eye(2)).argmax(axis=1).tolist()
    [0, 1]
    """
    tags = Y.astype(np.float64)
    whole = ridge(pictures.whole, tags, whole_alpha)
    first = ridge(averaged(pictures, areas), tags, _FIRST)
    scores, weight = first(pictures.rows), np.sqrt(areas)
    for _ in range(rounds):
        owner = labelled(scores, pictures, Y)
        by_regions = ridge(pictures.rows, _one_hot(owner, Y.shape[1]), region_alpha, weight)
        scores = by_regions(pictures.rows)
    return RegionRidge(whole, by_regions if rounds else first)


def labelled(scores: Doubles, pictures: PictureRegions, Y: Bools) -> Ints:
    """Return a tag of its picture for each region, and every tag a region; -1 without tags."""
    from sightline.regions._inference_fast import place_all

    values, owner = np.empty(len(pictures)), np.empty(len(scores), np.int64)
    # Above 0, so that every region gets a tag.
    place_all(np.ascontiguousarray(scores - scores.min() + 1.0), pictures.start, Y, values, owner)
    return owner


def fitting_regions(scores: Doubles, pictures: PictureRegions, Y: Bools) -> Ints:
    """Return a tag of its picture for each region, or -1 for one that fits none of them.

    Every tag keeps the best of its regions, whatever its score.

    >>> pictures = PictureRegions.of([np.zeros((3, 1))])
    >>> scores = np.array([[0.9, 0.0], [0.0, 0.05], [0.0, 0.02]])
    >>> fitting_regions(scores, pictures, np.array([[True, True]])).tolist()
    [0, 1, -1]
    """
    owner = labelled(scores, pictures, Y)
    own_scores = scores[np.arange(len(owner)), owner]
    # Regions by picture, tag and how well they fit: the last of each group is its best.
    group = pictures.picture * (Y.shape[1] + 1) + owner + 1
    order = np.lexsort((own_scores, group))
    best = order[np.append(group[order][1:] != group[order][:-1], True)]
    fits = own_scores >= _FITS
    fits[best] = True
    return np.where(fits, owner, NOBODY)


def averaged(pictures: PictureRegions, weight: Doubles) -> Doubles:
    """Return the mean of each picture's regions, weighted."""
    total = np.add.reduceat(pictures.rows * weight[:, None], pictures.start[:-1], axis=0)
    mean: Doubles = total / np.add.reduceat(weight, pictures.start[:-1])[:, None]
    return mean


def ridge(rows: Doubles, targets: Doubles, alpha: float, weight: Doubles | None = None) -> Linear:
    """Return the linear scores nearest to the targets."""
    w = np.ones(len(rows)) if weight is None else weight
    mean, usual = w @ rows / w.sum(), w @ targets / w.sum()
    root = np.sqrt(w)[:, None]
    centered = (rows - mean) * root
    gram = centered.T @ centered
    # Of whole pictures the mean square of a row, of many regions that of a direction.
    usual_square = float(np.trace(gram)) / min(gram.shape[0], len(rows))
    gram.flat[:: len(gram) + 1] += alpha * max(usual_square, 1e-12)
    weights: Doubles = np.linalg.solve(gram, centered.T @ ((targets - usual) * root))
    return Linear(weights, usual - mean @ weights)


def _one_hot(owner: Ints, n: int) -> Doubles:
    indicators = np.zeros((len(owner), n))
    at = np.flatnonzero(owner != NOBODY)
    indicators[at, owner[at]] = 1.0
    return indicators
