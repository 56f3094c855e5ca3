"""The weights of the region model: four tables, and their initial values.

alpha   (numbers of a region, tags)       region and tag           (eq. 5)
beta    (numbers of a picture, scenes)    picture and scene        (eq. 6)
gamma   (scenes, tags, 2)                 scene and tag, absent or present  (eq. 7)
delta   (numbers of a picture, tags)      picture and tag; not in the paper, and left out by
                                          default
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.regions.examples import PictureRegions

_SMOOTH = 1.0
_RIDGE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class RegionWeights:
    """The weight tables of a region model, as above."""

    alpha: Doubles
    beta: Doubles
    gamma: Doubles
    delta: Doubles | None = None

    @property
    def n_tags(self) -> int:
        """How many tags there are."""
        return int(self.alpha.shape[1])

    @property
    def n_scenes(self) -> int:
        """How many scenes there are."""
        return int(self.beta.shape[1])

    def of_regions(self, rows: Doubles) -> Doubles:
        """Return the values of regions for tags."""
        return np.ascontiguousarray(rows @ self.alpha)

    def of_scenes(self, whole: Doubles) -> Doubles:
        """Return how well scenes fit pictures, whatever their tags."""
        fits: Doubles = whole @ self.beta
        return fits

    def of_tags(self, whole: Doubles) -> Doubles:
        """Return the scores of tags by whole pictures."""
        if self.delta is None:
            return np.zeros((len(whole), self.n_tags))
        scores: Doubles = whole @ self.delta
        return scores

    def as_vector(self) -> Doubles:
        """Return all weights, one after the other."""
        parts = (self.alpha, self.beta, self.gamma, self.delta)
        return np.concatenate([p.ravel() for p in parts if p is not None])

    def from_vector(self, vector: Doubles) -> RegionWeights:
        """Return weights of the same shapes from one vector."""
        tables: list[Doubles | None] = []
        at = 0
        for p in (self.alpha, self.beta, self.gamma, self.delta):
            if p is None:
                tables.append(None)
                continue
            tables.append(vector[at : at + p.size].reshape(p.shape))
            at += p.size
        alpha, beta, gamma, delta = tables
        assert alpha is not None and beta is not None and gamma is not None
        return RegionWeights(alpha, beta, gamma, delta)

    def leaning(self, by: float) -> RegionWeights:
        """Return weights with a further gain of every tag."""
        gamma = self.gamma.copy()
        gamma[:, :, 1] += by
        return replace(self, gamma=gamma)


def start_weights(
    pictures: PictureRegions, Y: Bools, scenes: Ints, n_scenes: int, whole_tags: bool
) -> RegionWeights:
    """Return the initial weights of training.

    Of codewords, rows of 0 and 1, by counting what occurs together, whatever the regions (section
    5): the log of how much likelier a word is in pictures with a tag, or of a scene. The paper
    takes the counts themselves, compared with which a margin of one is negligible. Of other rows by
    ridge regression of the tags, and of the scenes, on pictures' means.
    """
    s = np.eye(n_scenes)[scenes]
    if np.isin(pictures.rows, (0.0, 1.0)).all():
        sums = np.add.reduceat(pictures.rows, pictures.start[:-1], axis=0)
        alpha, beta = _log_odds(sums, Y.astype(float)), _log_odds(sums, s)
        # A scene's score sums over all regions, each of which gives as much as the whole.
        beta /= np.maximum(pictures.counts.mean(), 1)
        if pictures.whole.shape != sums.shape or not np.array_equal(pictures.whole, sums):
            beta = _ridge(pictures.whole, s)
    else:
        means = np.add.reduceat(pictures.rows, pictures.start[:-1], axis=0)
        alpha = _ridge(means / pictures.counts[:, None], Y.astype(float))
        beta = _ridge(pictures.whole, s)
    gamma = scene_gains(Y, scenes, n_scenes)
    delta = _ridge(pictures.whole, Y.astype(float)) if whole_tags else None
    return RegionWeights(alpha, beta, gamma, delta)


def scene_gains(Y: Bools, scenes: Ints, n_scenes: int) -> Doubles:
    """Return half the log-odds of each tag in each scene, smoothed: (scenes, tags, 2)."""
    s = np.eye(n_scenes)[scenes]
    with_tag = (s.T @ Y + _SMOOTH / 2) / (s.sum(axis=0)[:, None] + _SMOOTH)
    half = np.log(with_tag / (1 - with_tag)) / 2
    return np.stack([-half, half], axis=-1)


def _log_odds(counts: Doubles, groups: Doubles) -> Doubles:
    """Return log P(word | group) / P(word), smoothed: (words, groups)."""
    words = counts.sum(axis=0)
    usual = (words + _SMOOTH) / (words.sum() + _SMOOTH * len(words))
    joint = counts.T @ groups + _SMOOTH * len(words) * usual[:, None]
    log_odds: Doubles = np.log(joint / joint.sum(axis=0) / usual[:, None])
    return log_odds


def _ridge(rows: Doubles, targets: Doubles) -> Doubles:
    """Return weights, without constant, for targets of 1 and 0 less their mean."""
    centered = rows - rows.mean(axis=0)
    gram = centered.T @ centered
    gram.flat[:: len(gram) + 1] += _RIDGE * max(float(np.trace(gram)), 1e-12) / len(gram)
    weights: Doubles = np.linalg.solve(gram, centered.T @ (targets - targets.mean(axis=0)))
    return weights
