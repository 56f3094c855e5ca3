"""The latent region-tag model: tags, the regions they belong to, and the scene, learned from tags.

Wang and Mori, "A discriminative latent model of image region and object tag correspondence", NIPS
2010. Training pictures come with tags; which region each tag means, and the scene, are latent. A
picture x with tags y scores

    f(x, y) = max over scenes s and placings z of y of
              sum_ij alpha_j.x_i z_ij + beta_s.x + sum_j gamma_{s, j, y_j}          (eq. 3 to 7)
    min  1/2 |weights|² + C sum over pictures of
              [max over y of (wrong tags of y + f(x, y)) - f(x, y of the picture)]  (eq. 14 to 16)

Departures: inference is exact where the paper relaxes (`inference`); the start is in log-odds, at
the best scale (`weights`); regions may be any vectors, not codewords alone, and tags may also be
predicted from whole pictures (`whole_tags`). At its minimum, the paper's objective puts all
pictures into one scene, since no tag is lost by it; so the scenes of the start are kept, and a
wrong one counts as well (`scene_loss`; 0 is the paper). Weights may be regularised towards a good
start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Ints
from sightline.contracts import PersistentEstimator
from sightline.errors import ParameterError
from sightline.measures.annotation import f_measure
from sightline.regions.confidence import tag_margins
from sightline.regions.examples import PictureRegions, as_tags, fitting
from sightline.regions.inference import NOBODY
from sightline.regions.programme import by_relaxation, relax
from sightline.regions.risk import Risk, explain, held
from sightline.regions.scenes import pseudo_scenes
from sightline.regions.weights import RegionWeights, start_weights
from sightline.solvers.bundle import Minimum, minimize

_SCALES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, slots=True, eq=False)
class RegionPrediction:
    """Predicted tags, scenes and regions of pictures.

    Attributes
    ----------
    tags : ndarray of shape (pictures, tags)
        Which each has.
    scenes : ndarray of int64
        Of each picture.
    regions : list of ndarray of int64
        For each picture the tag of each region, or -1.
    """

    tags: Bools
    scenes: Ints
    regions: list[Ints]


@dataclass(frozen=True, slots=True)
class Step:
    """The state of training after an iteration.

    Attributes
    ----------
    iteration : int
        From 0.
    value, gap : float
        Of the objective.
    f : float
        F-measure of the best weights so far on the training pictures.
    """

    iteration: int
    value: float
    gap: float
    f: float


Watch = Callable[[Step], None]


class RegionModel(PersistentEstimator):
    """Tags of pictures, each with the regions it belongs to, and scenes.

    Parameters
    ----------
    n_scenes : int, default=8
        Number of kinds of pictures.
    C : float, default=1.0
        Weight of wrong tags against the regulariser, greater than 0.
    whole_tags : bool, default=False
        Also predict tags from whole pictures; the paper does not.
    scene_loss : float, default=1.0
        Weight of a scene other than the start's relative to a wrong tag; with 0 scenes are latent
        during training, as in the paper.
    solver : {"bundle", "cccp"}, default="bundle"
        "bundle", the paper's; or "cccp", which solves a sequence of convex problems.
    inference : {"exact", "lp"}, default="exact"
        "exact", or "lp", the paper's relaxation, when predicting.
    lean : float, default=0.0
        Gain of every tag in prediction; a larger one gives more tags.
    least_pictures : int, default=3
        Tags of fewer training pictures are never predicted.
    max_iterations, tolerance : int or float
        Of the solver.
    random_state : int, default=0
        Seed of the first scenes.
    workers : int, default=1
        Threads of training; the result does not depend on it.

    Attributes
    ----------
    weights_ : RegionWeights
        The fitted weights.
    minimum_ : Minimum
        Value, gap and course of the objective.
    start_scenes_ : ndarray
        The scenes that training started with.
    dropped_ : int
        Tags that had no region to lie in, since their picture has more tags than regions.
    known_ : ndarray
        Which tags had enough pictures.

    Examples
    --------
    >>> grass, sky, cow = np.eye(3)
    >>> X = [[grass, sky], [grass, cow], [grass, sky], [cow, sky]] * 3
    >>> Y = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]] * 3)
    >>> model = RegionModel(n_scenes=1, C=10.0).fit(X, Y)
    >>> predicted = model.predict([[sky, cow, grass]])
    >>> predicted.tags.tolist(), predicted.regions[0].tolist()
    ([[True, True, True]], [1, 2, 0])
    """

    def __init__(
        self,
        *,
        n_scenes: int = 8,
        C: float = 1.0,
        whole_tags: bool = False,
        scene_loss: float = 1.0,
        solver: Literal["bundle", "cccp"] = "bundle",
        inference: Literal["exact", "lp"] = "exact",
        lean: float = 0.0,
        least_pictures: int = 3,
        max_iterations: int = 100,
        tolerance: float = 1e-2,
        random_state: int = 0,
        workers: int = 1,
    ) -> None:
        self.n_scenes = n_scenes
        self.C = C
        self.whole_tags = whole_tags
        self.scene_loss = scene_loss
        self.solver = solver
        self.inference = inference
        self.lean = lean
        self.least_pictures = least_pictures
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.random_state = random_state
        self.workers = workers

    def fit(
        self,
        X: Sequence[Any],
        y: Any,
        whole: Any = None,
        scenes: Any = None,
        watch: Watch | None = None,
        start: RegionWeights | None = None,
    ) -> Self:
        """Learn from pictures' regions and the tags y they have, 0 or 1.

        Parameters
        ----------
        X : sequence of array-like
            For each picture its regions, (regions, numbers).
        whole : array-like, optional
            Rows of whole pictures; by default the sums of their regions.
        scenes : array-like, optional
            Of each picture, from 0, where they are known; else found by clustering, and then only
            the start of training.
        watch : callable, optional
            Called with the state of training after each iteration.
        start : RegionWeights, optional
            Weights to regularise towards; by default a start is computed, and weights are
            regularised towards 0.
        """
        self._check()
        pictures = PictureRegions.of(X, whole)
        tags = as_tags(y, len(pictures))
        self.known_ = tags.sum(axis=0) >= self.least_pictures
        tags, self.dropped_ = fitting(tags & self.known_, pictures.counts)
        known_scenes = None if scenes is None else self._scenes(scenes, len(pictures))
        first = known_scenes
        if first is None:
            first = pseudo_scenes(pictures, tags, self.n_scenes, self.random_state)
        self.start_scenes_ = first
        template = start or start_weights(
            pictures, tags, first, self.n_scenes, bool(self.whole_tags)
        )
        true_scenes = known_scenes if known_scenes is not None or not self.scene_loss else first
        risk = Risk(
            template, pictures, tags, true_scenes, float(self.scene_loss), workers=self.workers
        )
        vector = template.as_vector()
        center = np.zeros(len(vector)) if start is None else vector
        begin = vector if start is not None else self._scaled(risk, vector)
        self.minimum_ = self._minimum(risk, begin, center, watch)
        self.weights_ = template.from_vector(self.minimum_.w + center)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that regions had in `fit`."""
        return len(self.weights_.alpha)

    def predict(self, X: Sequence[Any], whole: Any = None) -> RegionPrediction:
        """Return tags, their regions and the scene of pictures."""
        pictures, weights = PictureRegions.of(X, whole), self._serving()
        if self.inference == "lp":
            owner, tags, scenes = _relaxed(weights, pictures)
            return RegionPrediction(tags, scenes, pictures.split(owner))
        explained = explain(weights, pictures, workers=self.workers)
        return RegionPrediction(explained.tags, explained.scenes, pictures.split(explained.owner))

    def decision_function(self, X: Sequence[Any], whole: Any = None) -> Doubles:
        """Return by how much pictures score higher with each tag than without: (pictures, tags).

        In the best scene of each picture; above 0 for what `predict` gives, and below for others.
        """
        pictures, weights = PictureRegions.of(X, whole), self._serving()
        return tag_margins(weights, pictures, explain(weights, pictures).scenes)

    def region_scores(self, X: Sequence[Any]) -> list[Doubles]:
        """Return for each picture the values of its regions for tags: (regions, tags)."""
        pictures = PictureRegions.of(X)
        return pictures.split(self._fitted().of_regions(pictures.rows))

    def label_regions(self, X: Sequence[Any], whole: Any = None) -> list[Ints]:
        """Return a tag for every region: its own, or else the best of those its picture has.

        -1 where a picture has no tag.
        """
        predicted, values = self.predict(X, whole), self.region_scores(X)
        return [
            filled(owner, a, tags)
            for owner, a, tags in zip(predicted.regions, values, predicted.tags, strict=True)
        ]

    def problems(self, X: Sequence[Any], whole: Any = None) -> list[tuple[Doubles, Doubles]]:
        """Return the inputs of inference: for each picture and scene, values and gains."""
        pictures, w = PictureRegions.of(X, whole), self._fitted()
        gain, B = w.of_tags(pictures.whole), w.gamma[:, :, 1] - w.gamma[:, :, 0]
        parts = pictures.split(w.of_regions(pictures.rows))
        return [(a, b + gains) for a, gains in zip(parts, gain, strict=True) for b in B]

    def score(self, X: Sequence[Any], y: Any, whole: Any = None) -> float:
        """Return the F-measure over all decisions."""
        return f_measure(as_tags(y, len(X)), self.predict(X, whole).tags).micro

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that predicting needs; `from_arrays` makes a model that predicts the same."""
        w = self._fitted()
        arrays: dict[str, NDArray[Any]] = {
            "alpha": w.alpha, "beta": w.beta, "gamma": w.gamma, "known": self.known_,
            "lean": np.array([self.lean], np.float64),
        }  # fmt: skip
        return arrays if w.delta is None else {**arrays, "delta": w.delta}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted model as far as predicting goes."""
        weights = RegionWeights(
            arrays["alpha"], arrays["beta"], arrays["gamma"], arrays.get("delta")
        )
        model = cls(
            n_scenes=weights.n_scenes,
            whole_tags=weights.delta is not None,
            lean=float(arrays["lean"][0]),
        )
        model.weights_, model.known_ = weights, arrays["known"]
        return model

    def _check(self) -> None:
        name = type(self).__name__
        if not 0 < self.C < np.inf:
            raise ParameterError.of("C", name, "greater than 0", self.C)
        if not 0 <= self.scene_loss < np.inf:
            raise ParameterError.of("scene_loss", name, "0 or more", self.scene_loss)
        for what in ("n_scenes", "least_pictures", "max_iterations", "workers"):
            if type(getattr(self, what)) is not int or getattr(self, what) < 1:
                raise ParameterError.of(what, name, "at least 1", getattr(self, what))
        if self.solver not in ("bundle", "cccp"):
            raise ParameterError.of("solver", name, "'bundle' or 'cccp'", self.solver)
        if self.inference not in ("exact", "lp"):
            raise ParameterError.of("inference", name, "'exact' or 'lp'", self.inference)

    def _scenes(self, scenes: Any, n: int) -> Ints:
        labels = np.asarray(scenes, np.int64)
        if labels.shape != (n,) or labels.min() < 0 or labels.max() >= self.n_scenes:
            must = f"a number from 0 to {self.n_scenes - 1} for each of {n} pictures"
            raise ParameterError.of("scenes", type(self).__name__, must, scenes)
        return labels

    def _scaled(self, risk: Risk, vector: Doubles) -> Doubles:
        """Return the start at the scale where the objective is least."""
        square = float(vector @ vector)
        objectives = [s * s * square / (2 * self.C) + risk(s * vector)[0] for s in _SCALES]
        return vector * _SCALES[int(np.argmin(objectives))]

    def _minimum(self, risk: Risk, w: Doubles, center: Doubles, watch: Watch | None) -> Minimum:
        """Minimise around a center; the minimum is relative to it."""
        strength, z = 1.0 / self.C, w - center

        def report(iteration: int, value: float, gap: float, d: Doubles) -> None:
            if watch is not None:
                watch(Step(iteration, value, gap, risk.f_measure(center + d)))

        if self.solver == "bundle":
            return minimize(
                lambda d: risk(center + d), z, strength, False, self.tolerance,
                self.max_iterations, report,
            )  # fmt: skip
        minimum, before = None, np.inf
        for iteration in range(self.max_iterations):
            fixed = risk.fixed(center + z)
            minimum = minimize(
                lambda d, fixed=fixed: fixed(center + d), z, strength, True,  # type: ignore[misc]
                self.tolerance / 10, 10 * self.max_iterations,
            )  # fmt: skip
            z = minimum.w
            report(iteration, minimum.value, minimum.gap, z)
            if minimum.value > before * (1 - self.tolerance):
                break
            before = minimum.value
        assert minimum is not None
        return minimum

    def _fitted(self) -> RegionWeights:
        self._check_fitted()
        return self.weights_

    def _serving(self) -> RegionWeights:
        """Return the weights of prediction: with the gain `lean`, for tags of enough pictures."""
        weights = self._fitted().leaning(self.lean)
        weights.gamma[:, ~self.known_, 1] = -1e9
        return weights


def filled(owner: Ints, values: Doubles, tags: Bools) -> Ints:
    """Return the tags of regions, those without one given the best of the picture's tags.

    >>> filled(np.array([1, -1]), np.array([[0.0, 1.0], [-2.0, -1.0]]), np.array([True, True]))
    array([1, 1])
    """
    if not tags.any():
        return owner
    best = np.where(tags, values, -np.inf).argmax(axis=1)
    return np.where(owner == NOBODY, best, owner)


def _relaxed(weights: RegionWeights, pictures: PictureRegions) -> tuple[Ints, Bools, Ints]:
    """Return owners, tags and scenes as in the paper, by the relaxation in every scene."""
    A, gain = weights.of_regions(pictures.rows), weights.of_tags(pictures.whole)
    const = weights.of_scenes(pictures.whole) + weights.gamma[:, :, 0].sum(axis=1)
    B = weights.gamma[:, :, 1] - weights.gamma[:, :, 0]
    owner, scenes = np.empty(len(A), np.int64), np.empty(len(pictures), np.int64)
    for n in range(len(pictures)):
        part = slice(pictures.start[n], pictures.start[n + 1])
        bounds = [relax(A[part], b + gain[n]).bound for b in B] + const[n]
        scenes[n] = bounds.argmax()
        owner[part] = by_relaxation(A[part], B[scenes[n]] + gain[n]).owner
    return owner, held(owner, pictures, weights.n_tags), scenes
