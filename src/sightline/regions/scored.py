"""The region model on any features: ridge regression first, then the latent model on its scores.

On few pictures with rows of hundreds of numbers the latent model overfits. Here
`ridge.fit_region_ridge` scores regions and pictures, training pictures by cross-validation, and
`model.RegionModel` learns from these scores which tags go together, where they are and which scene
it is. It starts with weights by which a tag's score is the sum over its regions, the best region
and the whole picture, and is regularised towards them. Scenes are clusters of pictures by their
rows, their tags and their ridge scores, with larger weights of rare tags (`scenes.tree_clusters`).

The numbers of the start were chosen by cross-validation within the training pictures of one half of
MSRC v2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Ints
from sightline.contracts import PersistentEstimator
from sightline.errors import ParameterError
from sightline.measures.annotation import f_measure
from sightline.regions.examples import PictureRegions, as_tags, fitting
from sightline.regions.model import RegionModel, RegionPrediction, Watch, filled
from sightline.regions.ridge import (
    Linear,
    RegionRidge,
    averaged,
    fit_region_ridge,
    fitting_regions,
    ridge,
)
from sightline.regions.risk import explain, explain_tags
from sightline.regions.scenes import rareness, tree_clusters
from sightline.regions.weights import RegionWeights, scene_gains

_REGION, _TAGS, _SCENE, _TOGETHER = 1.0, 8.0, 12.0, 0.1
_CONSTANT, _SIZE = 0.3, 5.0
_TAGS_OF_SCENES = 0.8
# Large scenes have larger scores, which leaves small ones empty: this corrects half of that.
_BALANCE = 0.5
_LEANS = np.arange(-6.0, 2.0, 0.25)


class ScoredRegionModel(PersistentEstimator):
    """Tags of pictures, each with the regions it belongs to, and scenes, from any rows.

    Parameters
    ----------
    n_scenes : int, default=8
        Number of kinds of pictures.
    C : float, default=0.1
        Weight of wrong tags against the regulariser, greater than 0.
    whole_alpha, region_alpha : float
        Regularisers of ridge.
    region_share : float, default=0.5
        Weight of the best region in a tag's score at the start, from 0 to 1; the whole picture has
        the rest. Regions that are badly classified should have a small weight.
    scene_loss : float, default=3.0
        Weight of a wrong scene relative to a wrong tag.
    folds : int, default=5
        Folds of the pictures, each scored by ridge fitted to the others.
    lean : float, default=0.0
        As of `RegionModel`.
    least_pictures : int, default=3
        As of `RegionModel`.
    max_iterations : int, default=60
        As of `RegionModel`.
    tolerance : float, default=0.01
        As of `RegionModel`.
    random_state : int, default=0
        As of `RegionModel`.
    workers : int, default=1
        As of `RegionModel`.

    Attributes
    ----------
    ridge_ : RegionRidge
        The model of the scores of regions and pictures.
    model_ : RegionModel
        The latent model on scores.

    Examples
    --------
    >>> grass, sky, cow = np.eye(3)
    >>> X = [[grass, sky], [grass, cow], [grass, sky], [cow, sky]] * 5
    >>> Y = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]] * 5)
    >>> model = ScoredRegionModel(n_scenes=1).fit(X, Y)
    >>> model.predict([[sky, cow]]).regions[0].tolist()
    [1, 2]
    """

    def __init__(
        self,
        *,
        n_scenes: int = 8,
        C: float = 0.1,
        whole_alpha: float = 0.3,
        region_alpha: float = 0.01,
        scene_loss: float = 3.0,
        folds: int = 5,
        lean: float = 0.0,
        least_pictures: int = 3,
        max_iterations: int = 60,
        tolerance: float = 1e-2,
        random_state: int = 0,
        region_share: float = 0.5,
        workers: int = 1,
    ) -> None:
        self.n_scenes = n_scenes
        self.C = C
        self.whole_alpha = whole_alpha
        self.region_alpha = region_alpha
        self.scene_loss = scene_loss
        self.folds = folds
        self.lean = lean
        self.least_pictures = least_pictures
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.random_state = random_state
        self.region_share = region_share
        self.workers = workers

    def fit(
        self,
        X: Sequence[Any],
        y: Any,
        whole: Any = None,
        areas: Sequence[Any] | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn from pictures' regions and the tags y they have, 0 or 1.

        Parameters
        ----------
        X : sequence of array-like
            For each picture its regions, (regions, numbers).
        whole : array-like, optional
            Rows of whole pictures; by default the means of their regions, plain and by area.
        areas : sequence of array-like, optional
            Of each picture's regions; equal ones by default.
        watch : callable, optional
            Called with the state of training after each iteration.
        """
        self._check()
        pictures, sizes = self._pictures(X, whole, areas)
        tags = as_tags(y, len(pictures))
        frequent = tags.sum(axis=0) >= self.least_pictures
        tags, _ = fitting(tags & frequent, pictures.counts)
        regions, tag_scores = self._out_of_fold(pictures, tags, sizes)
        self.ridge_ = self._ridge(pictures, tags, sizes)
        self.spread_ = _spread(pictures.whole)
        inputs = self._scored(pictures, sizes, regions, tag_scores)
        tag_weights = rareness(tags, self.n_scenes)
        clustered = [
            pictures.whole / self.spread_,
            _TAGS_OF_SCENES * tags * tag_weights,
            tag_scores * tag_weights,
        ]
        scenes = tree_clusters(np.hstack(clustered), self.n_scenes, self.random_state)
        start = _start(inputs, tags, scenes, self.n_scenes, self.region_share)
        start = _leaning(start, inputs, tags)
        self.model_ = RegionModel(
            n_scenes=self.n_scenes, C=self.C, whole_tags=True, scene_loss=self.scene_loss,
            least_pictures=self.least_pictures, max_iterations=self.max_iterations,
            tolerance=self.tolerance, random_state=self.random_state, workers=self.workers,
        )  # fmt: skip
        self.model_.fit(inputs.split(inputs.rows), tags, inputs.whole, scenes, watch, start)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that regions had in `fit`."""
        return len(self.ridge_.regions.weights)

    def predict(
        self, X: Sequence[Any], whole: Any = None, areas: Sequence[Any] | None = None
    ) -> RegionPrediction:
        """Return tags, their regions and the scene of pictures."""
        inputs = self._model_inputs(X, whole, areas)
        return self._leaning_model().predict(inputs.split(inputs.rows), inputs.whole)

    def decision_function(
        self, X: Sequence[Any], whole: Any = None, areas: Sequence[Any] | None = None
    ) -> Doubles:
        """Return by how much pictures score higher with each tag than without: (pictures, tags)."""
        inputs = self._model_inputs(X, whole, areas)
        return self._leaning_model().decision_function(inputs.split(inputs.rows), inputs.whole)

    def place(
        self, X: Sequence[Any], y: Any, whole: Any = None, areas: Sequence[Any] | None = None
    ) -> RegionPrediction:
        """Return where given tags lie, each in one region at least, and the scene they fit.

        Of more tags than regions the rarest are left out. Regions go by their ridge scores: in the
        latent model the value of a region grows with its size, so that a tag that fits none well
        would be placed in the smallest. On 139 held-out pictures of MSRC v2 the masks of tags have
        a mean overlap of .640 with the ground truth, by the latent model .589.
        """
        inputs = self._model_inputs(X, whole, areas)
        tags, _ = fitting(as_tags(y, len(inputs)), inputs.counts)
        scenes = explain_tags(self._fitted().weights_, inputs, tags).scenes
        scores = self.ridge_.regions(PictureRegions.of(X).rows)
        return RegionPrediction(tags, scenes, inputs.split(fitting_regions(scores, inputs, tags)))

    def scene_fits(
        self, X: Sequence[Any], whole: Any = None, areas: Sequence[Any] | None = None
    ) -> Doubles:
        """Return how well scenes fit pictures, whatever their tags: (pictures, scenes)."""
        inputs = self._model_inputs(X, whole, areas)
        return self._fitted().weights_.of_scenes(inputs.whole)

    def label_regions(
        self, X: Sequence[Any], whole: Any = None, areas: Sequence[Any] | None = None
    ) -> list[Ints]:
        """Return a tag for every region: its own, or else the best of those its picture has."""
        inputs, model = self._model_inputs(X, whole, areas), self._leaning_model()
        parts = inputs.split(inputs.rows)
        predicted, values = model.predict(parts, inputs.whole), model.region_scores(parts)
        return [
            filled(owner, a, tags)
            for owner, a, tags in zip(predicted.regions, values, predicted.tags, strict=True)
        ]

    def problems(
        self, X: Sequence[Any], whole: Any = None, areas: Sequence[Any] | None = None
    ) -> list[tuple[Doubles, Doubles]]:
        """Return the inputs of inference: for each picture and scene, values and gains."""
        inputs = self._model_inputs(X, whole, areas)
        return self._leaning_model().problems(inputs.split(inputs.rows), inputs.whole)

    def score(self, X: Sequence[Any], y: Any, whole: Any = None) -> float:
        """Return the F-measure over all decisions."""
        return f_measure(as_tags(y, len(X)), self.predict(X, whole).tags).micro

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that predicting needs; `from_arrays` makes a model that predicts the same."""
        latent = {f"latent.{k}": a for k, a in self._fitted().to_arrays().items()}
        r = self.ridge_
        return {
            **latent, "spread": np.array([self.spread_], np.float64),
            "whole.weights": r.whole.weights, "whole.constants": r.whole.constants,
            "regions.weights": r.regions.weights, "regions.constants": r.regions.constants,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted model as far as predicting goes."""
        latent = {k.removeprefix("latent."): a for k, a in arrays.items() if "latent." in k}
        model = RegionModel.from_arrays(latent)
        scored_model = cls(n_scenes=model.n_scenes, lean=model.lean)
        scored_model.model_, scored_model.spread_ = model, float(arrays["spread"][0])
        whole, regions = (
            Linear(arrays[f"{part}.weights"], arrays[f"{part}.constants"])
            for part in ("whole", "regions")
        )
        scored_model.ridge_ = RegionRidge(whole, regions)
        return scored_model

    def _check(self) -> None:
        for what in ("whole_alpha", "region_alpha"):
            if not 0 < getattr(self, what) < np.inf:
                raise ParameterError.of(
                    what, type(self).__name__, "greater than 0", getattr(self, what)
                )
        if not 0 <= self.region_share <= 1:
            raise ParameterError.of(
                "region_share", type(self).__name__, "from 0 to 1", self.region_share
            )
        if type(self.folds) is not int or self.folds < 2:
            raise ParameterError.of("folds", type(self).__name__, "at least 2", self.folds)

    def _pictures(
        self, X: Sequence[Any], whole: Any, areas: Sequence[Any] | None
    ) -> tuple[PictureRegions, Doubles]:
        plain = PictureRegions.of(X, whole)
        sizes = 1.0 / np.repeat(plain.counts, plain.counts)
        if areas is not None:
            sizes = np.concatenate([np.asarray(a, np.float64) for a in areas])
            if len(sizes) != len(plain.rows) or not (sizes > 0).all():
                must = f"above 0 for each of {len(plain.rows)} regions"
                raise ParameterError.of("areas", type(self).__name__, must, sizes)
        if whole is None:
            rows = [averaged(plain, np.ones(len(sizes))), averaged(plain, sizes)]
            plain = PictureRegions(plain.rows, plain.start, np.hstack(rows))
        return plain, sizes

    def _ridge(self, pictures: PictureRegions, tags: Bools, sizes: Doubles) -> RegionRidge:
        return fit_region_ridge(pictures, tags, sizes, self.whole_alpha, self.region_alpha)

    def _out_of_fold(
        self, pictures: PictureRegions, tags: Bools, sizes: Doubles
    ) -> tuple[Doubles, Doubles]:
        """Return scores of regions and of pictures, each by ridge on other pictures."""
        random = np.random.default_rng(self.random_state)
        fold = random.permutation(len(pictures)) % self.folds
        of_regions = fold[pictures.picture]
        regions = np.empty((len(pictures.rows), tags.shape[1]))
        tag_scores = np.empty(tags.shape)
        for k in range(self.folds):
            # With fewer pictures than folds one is predicted by a model fitted to itself.
            others = fold != k if (fold != k).any() else fold == k
            some, at = pictures.some(np.flatnonzero(others)), others[pictures.picture]
            fitted = self._ridge(some, tags[others], sizes[at])
            regions[of_regions == k] = fitted.regions(pictures.rows[of_regions == k])
            tag_scores[fold == k] = fitted.whole(pictures.whole[fold == k])
        return regions, tag_scores

    def _model_inputs(
        self, X: Sequence[Any], whole: Any, areas: Sequence[Any] | None
    ) -> PictureRegions:
        self._fitted()
        pictures, sizes = self._pictures(X, whole, areas)
        regions = self.ridge_.regions(pictures.rows)
        return self._scored(pictures, sizes, regions, self.ridge_.whole(pictures.whole))

    def _scored(
        self, pictures: PictureRegions, sizes: Doubles, regions: Doubles, tag_scores: Doubles
    ) -> PictureRegions:
        """Return pictures as inputs of the latent model."""
        root = np.sqrt(sizes)
        shares = root / np.add.reduceat(root, pictures.start[:-1])[pictures.picture]
        constant = np.full((len(regions), 1), _CONSTANT)
        rows = np.hstack([regions, constant]) * shares[:, None] * _SIZE
        most = np.maximum.reduceat(regions, pictures.start[:-1], axis=0)
        whole = np.hstack([tag_scores, most, pictures.whole / self.spread_])
        return PictureRegions(rows, pictures.start, whole)

    def _fitted(self) -> RegionModel:
        self._check_fitted()
        return self.model_

    def _leaning_model(self) -> RegionModel:
        self.model_.lean = self.lean
        return self.model_


def _spread(rows: Doubles) -> float:
    return max(float(np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1).mean())), 1e-12)


def _start(
    inputs: PictureRegions, tags: Bools, scenes: Ints, n_scenes: int, region_share: float
) -> RegionWeights:
    n = tags.shape[1]
    alpha = _REGION * np.vstack([np.eye(n), np.full((1, n), -1.0)])
    delta = np.zeros((inputs.whole.shape[1], n))
    delta[:n], delta[n : 2 * n] = (1 - region_share) * np.eye(n), region_share * np.eye(n)
    s = np.eye(n_scenes)[scenes]
    fits: Linear = ridge(inputs.whole, s, 1.0)
    scale = _SCENE / np.maximum(n_scenes * s.mean(axis=0), 1 / len(s)) ** _BALANCE
    # The same for a tag that is present and for one that is absent: a constant of the scene.
    constants = (fits.constants * scale / n)[:, None, None]
    gamma = _TOGETHER * scene_gains(tags, scenes, n_scenes) + constants
    return RegionWeights(alpha, fits.weights * scale, gamma, _TAGS * delta)


def _leaning(start: RegionWeights, inputs: PictureRegions, tags: Bools) -> RegionWeights:
    """Return the start with the gain of all tags that gives the best F."""
    f_measures = [f_measure(tags, explain(start.leaning(by), inputs).tags).micro for by in _LEANS]
    return start.leaning(float(_LEANS[int(np.argmax(f_measures))]))
