"""The risk of the region model: the score of the worst tags above that of the right ones.

    sum over pictures of  L - R,     L = max over y of [wrong tags + f(x, y)],     R = f(x, y of it)

(eq. 15, 16). L is at least R, and L - R at least the number of wrong tags predicted. The
subgradient is the difference of the features of the two best explanations (tags' regions, scene,
tags). The sum is a difference of convex functions: `solvers.bundle` minimises it, or R is
linearised at the last weights, which leaves a convex problem (Yuille and Rangarajan, "The
concave-convex procedure", 2003).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Ints
from sightline.measures.annotation import f_measure
from sightline.regions.examples import PictureRegions
from sightline.regions.inference import MOST_NODES, NOBODY
from sightline.regions.weights import RegionWeights

_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """The best explanations of pictures.

    Attributes
    ----------
    values : ndarray of float64
        Score of each picture's explanation.
    owner : ndarray of int64
        The tag of each region, or -1.
    tags : ndarray of bool
        Which tags each picture has.
    scenes : ndarray of int64
        Of each picture.
    """

    values: Doubles
    owner: Ints
    tags: Bools
    scenes: Ints


def explain(
    weights: RegionWeights,
    pictures: PictureRegions,
    extra: Doubles | None = None,
    scenes_extra: Doubles | None = None,
    workers: int = 1,
) -> Explained:
    """Return the best tags, regions and scene of each picture.

    Parameters
    ----------
    extra : ndarray of float64, optional
        More gain of tags, (pictures, tags).
    scenes_extra : ndarray of float64, optional
        More gain of scenes, (pictures, scenes).
    workers : int, default=1
        Threads that share the pictures; the result does not depend on it.
    """
    n, tags = len(pictures), weights.n_tags
    A, gain = weights.of_regions(pictures.rows), weights.of_tags(pictures.whole)
    gain = gain if extra is None else gain + extra
    const = weights.of_scenes(pictures.whole) + weights.gamma[:, :, 0].sum(axis=1)
    const = const if scenes_extra is None else const + scenes_extra
    B = np.ascontiguousarray(weights.gamma[:, :, 1] - weights.gamma[:, :, 0])
    values, owner = np.empty(n), np.empty(len(A), np.int64)
    scenes, nodes = np.empty(n, np.int64), np.empty(n, np.int64)

    def work(part: slice) -> None:
        _explain_part(part, A, pictures.start, B, gain, const, values, scenes, owner, nodes)

    if workers == 1:
        work(slice(0, n))
    else:
        ends = np.linspace(0, n, min(workers, n) + 1).astype(int).tolist()
        with ThreadPoolExecutor(workers) as pool:
            # As a list, so that an error in a thread is raised here.
            list(pool.map(work, [slice(a, b) for a, b in pairwise(ends)]))
    for p in np.flatnonzero(nodes > MOST_NODES):
        part = slice(pictures.start[p], pictures.start[p + 1])
        values[p], scenes[p], owner[part] = _by_integers(A[part], B + gain[p], const[p])
    return Explained(values, owner, held(owner, pictures, tags), scenes)


def _explain_part(
    part: slice, A: Doubles, start: Ints, B: Doubles, gain: Doubles, const: Doubles,
    values: Doubles, scenes: Ints, owner: Ints, nodes: Ints,
) -> None:  # fmt: skip
    """Explain some pictures; the kernel releases the GIL, so threads run in parallel."""
    from sightline.regions._inference_fast import best_scenes

    begin, end = int(start[part.start]), int(start[part.stop])
    best_scenes(
        A[begin:end], start[part.start : part.stop + 1] - begin, B, gain[part], const[part],
        MOST_NODES, values[part], scenes[part], owner[begin:end], nodes[part],
    )  # fmt: skip


def explain_tags(
    weights: RegionWeights, pictures: PictureRegions, Y: Bools, scenes: Ints | None = None
) -> Explained:
    """Return the best regions and scene of each picture for the tags it has."""
    from sightline.regions._inference_fast import place_all

    values, owner = np.empty(len(pictures)), np.empty(len(pictures.rows), np.int64)
    place_all(weights.of_regions(pictures.rows), pictures.start, Y, values, owner)
    fits = weights.of_scenes(pictures.whole)
    fits += ~Y @ weights.gamma[:, :, 0].T + Y @ weights.gamma[:, :, 1].T
    chosen = fits.argmax(axis=1) if scenes is None else scenes
    values += fits[np.arange(len(Y)), chosen]
    values += np.where(Y, weights.of_tags(pictures.whole), 0).sum(axis=1)
    return Explained(values, owner, Y, chosen.astype(np.int64))


def held(owner: Ints, pictures: PictureRegions, n_tags: int) -> Bools:
    """Return which tags hold a region of each picture."""
    present = np.zeros((len(pictures), n_tags), np.bool_)
    at = owner != NOBODY
    present[pictures.picture[at], owner[at]] = True
    return present


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """The sum of L - R over training pictures; call it with weights as one vector.

    Attributes
    ----------
    template : RegionWeights
        Weights of the right shapes.
    pictures, Y : PictureRegions or ndarray of bool
        Training data; no picture has more tags than regions.
    scenes : ndarray of int64 or None
        Of the pictures, where they are known.
    scene_loss : float
        Weight of a wrong scene relative to a wrong tag, where scenes are known.
    right : Explained or None
        Explanations of the present tags, which stay fixed, which makes the risk convex.
    workers : int
        Threads.
    """

    template: RegionWeights
    pictures: PictureRegions
    Y: Bools
    scenes: Ints | None = None
    scene_loss: float = 0.0
    right: Explained | None = None
    workers: int = 1

    def __call__(self, vector: Doubles) -> tuple[float, Doubles]:
        """Return the risk and its subgradient."""
        weights = self.template.from_vector(vector)
        wrong_tags = np.where(self.Y, -1.0, 1.0)
        worst = explain(weights, self.pictures, wrong_tags, self._wrong_scenes(), self.workers)
        right = self.right or explain_tags(weights, self.pictures, self.Y, self.scenes)
        slope = self._use(worst) - self._use(right)
        # By the subgradient, so that both agree to the last digit.
        wrong = float(np.count_nonzero(worst.tags != self.Y))
        if self.scenes is not None:
            wrong += self.scene_loss * np.count_nonzero(worst.scenes != self.scenes)
        return float(slope @ vector) + wrong, slope

    def f_measure(self, vector: Doubles) -> float:
        """Return the F-measure of these weights' predictions on the training pictures."""
        weights = self.template.from_vector(vector)
        return f_measure(self.Y, explain(weights, self.pictures, workers=self.workers).tags).micro

    def _wrong_scenes(self) -> Doubles | None:
        """Return the loss of each scene."""
        if self.scenes is None or not self.scene_loss:
            return None
        return self.scene_loss * (1.0 - _one_hot(self.scenes, self.template.n_scenes))

    def fixed(self, vector: Doubles) -> Risk:
        """Return the convex risk whose right explanations are the best ones at some weights."""
        weights = self.template.from_vector(vector)
        return replace(self, right=explain_tags(weights, self.pictures, self.Y, self.scenes))

    def _use(self, e: Explained) -> Doubles:
        """Return the sum of Phi over pictures, as one vector (eq. 4 to 7)."""
        z = _one_hot(e.owner, self.template.n_tags)
        s = _one_hot(e.scenes, self.template.n_scenes)
        y, whole = e.tags.astype(np.float64), self.pictures.whole
        gamma = np.stack([s.T @ (1 - y), s.T @ y], axis=-1)
        delta = None if self.template.delta is None else whole.T @ y
        return RegionWeights(self.pictures.rows.T @ z, whole.T @ s, gamma, delta).as_vector()


def _one_hot(labels: Ints, n: int) -> Doubles:
    indicators = np.zeros((len(labels), n))
    at = np.flatnonzero(labels != NOBODY)
    indicators[at, labels[at]] = 1.0
    return indicators


def _by_integers(a: Doubles, B: Doubles, const: Doubles) -> tuple[float, int, NDArray[np.int64]]:
    from sightline.regions.programme import by_integers

    best = (-np.inf, 0, _NONE)
    for s in range(len(B)):
        placed = by_integers(a, B[s])
        if placed.value + const[s] > best[0]:
            best = (placed.value + const[s], s, placed.owner)
    return best
