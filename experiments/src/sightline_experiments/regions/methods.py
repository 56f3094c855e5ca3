"""The methods: the latent model, the paper's baselines, and ridge on whole pictures.

    latent model                  `regions.scored.ScoredRegionModel`, on ridge's scores of regions
    latent model, plain           `regions.model.RegionModel`, scenes latent, as in the paper
    SVM                           a linear one for each tag, on the picture's row
    pseudo-label + SVM            scenes by clustering rows and tags, predicted by SVMs
    pseudo-annotation + K-means   test pictures clustered by rows and by tags that SVMs predict
    K-means                       test pictures clustered by rows
    ridge                         a linear score for each tag, fitted to whole pictures' rows and
                                  applied to each region; test pictures clustered by their scores

SVMs and ridge predict a tag if its score is above a threshold selected on validation pictures. A
picture's row is the count of each codeword, as in the paper, or (`rows: shares`) the share of
regions and the share of the area that has it. The latent model sees these shares by a chi-squared
kernel (`regions.kernel_rows`); "SVM, chi2" and "pseudo-label + SVM, chi2" are the baselines on the
same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Ints
from sightline.errors import MissingExtra
from sightline.regions.model import RegionModel, Step, filled
from sightline.regions.scenes import clusters, scaled
from sightline.regions.scored import ScoredRegionModel
from sightline_experiments.regions import paper
from sightline_experiments.regions.protocol import HalfData
from sightline_experiments.tuning import Settings

CHI2 = "chi2"


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Predictions of a method for pictures; None for what it does not predict.

    Attributes
    ----------
    tags, scores : (pictures, tags).
    scenes : a group for each picture.
    regions : the tag of each region, picture by picture.
    """

    tags: Bools | None = None
    scores: Doubles | None = None
    scenes: Ints | None = None
    regions: list[Ints] | None = None

    def only(self, at: Ints) -> Predictions:
        """Return the predictions for some of the pictures."""
        return Predictions(
            None if self.tags is None else self.tags[at],
            None if self.scores is None else self.scores[at],
            None if self.scenes is None else self.scenes[at],
            None if self.regions is None else [self.regions[i] for i in at],
        )


Predict = Callable[[HalfData, Ints], Predictions]


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted method.

    Attributes
    ----------
    predict : returns the predictions for some pictures.
    model : the latent model, for figures.
    tagger : predicts the tags by which hyperparameters are selected, if the method has none.
    course : the steps of training, if they were recorded.
    """

    predict: Predict
    model: ScoredRegionModel | None = None
    tagger: Predict | None = None
    course: Sequence[Step] = ()


class Learner:
    """Fits methods to one half, and keeps what several settings share."""

    def __init__(self, data: HalfData, n_scenes: int) -> None:
        self.data, self.n_scenes = data, n_scenes
        self._kept: dict[tuple[Any, ...], Any] = {}

    def fit(self, name: str, settings: Settings, pictures: Ints) -> Fitted:
        """Fit a method to some pictures."""
        makers = {
            paper.LATENT: self._latent,
            paper.PLAIN: self._plain,
            paper.SVM: self._svm,
            paper.SVM_CHI2: self._svm,
            paper.PSEUDO_LABEL: self._pseudo_label,
            paper.PSEUDO_LABEL_CHI2: self._pseudo_label,
            paper.PSEUDO_TAGS: self._pseudo_tags,
            paper.K_MEANS: self._k_means,
            paper.RIDGE: self._ridge,
        }
        return makers[name](settings, pictures)

    def _latent(self, settings: Settings, pictures: Ints) -> Fitted:
        rest = {k: v for k, v in settings.items() if k != "lean"}

        def make() -> tuple[ScoredRegionModel, list[Step]]:
            X, whole, areas = inputs(self.data, pictures)
            model, course = ScoredRegionModel(n_scenes=self.n_scenes, **rest), list[Step]()  # type: ignore[arg-type]
            # Measuring F takes as long as training, so it is done only where it is shown.
            shown = self.data.half.number == 0 and len(pictures) == len(self.data.half.development)
            watch = course.append if shown else None
            return model.fit(X, self.data.tags[pictures], whole, areas, watch), course

        fitted, course = self._once(("latent", len(pictures), *sorted(rest.items())), make)
        model = copy(fitted)
        model.lean = float(str(settings.get("lean", 0.0)))

        def predict(data: HalfData, of: Ints) -> Predictions:
            model_inputs = inputs(data, of)
            prediction = model.predict(*model_inputs)
            margins = model.decision_function(*model_inputs)
            return Predictions(
                prediction.tags, margins, prediction.scenes, model.label_regions(*model_inputs)
            )

        return Fitted(predict, model, course=course)

    def _plain(self, settings: Settings, pictures: Ints) -> Fitted:
        rest = {k: v for k, v in settings.items() if k != "lean"}

        def make() -> RegionModel:
            X, whole, Y = self.data.of(pictures)
            model = RegionModel(n_scenes=self.n_scenes, scene_loss=0.0, **rest)  # type: ignore[arg-type]
            return model.fit(X, Y, whole)

        model = copy(self._once(("plain", len(pictures), *sorted(rest.items())), make))
        model.lean = float(str(settings.get("lean", 0.0)))

        def predict(data: HalfData, of: Ints) -> Predictions:
            X, whole, _ = data.of(of)
            prediction, margins = model.predict(X, whole), model.decision_function(X, whole)
            return Predictions(
                prediction.tags, margins, prediction.scenes, model.label_regions(X, whole)
            )

        return Fitted(predict)

    def _svm(self, settings: Settings, pictures: Ints) -> Fitted:
        score = self._svm_scores(settings, pictures)
        threshold = float(str(settings.get("threshold", 0.0)))

        def predict(data: HalfData, of: Ints) -> Predictions:
            scores = score(_rows(data, settings)[of])
            return Predictions(scores > threshold, scores)

        return Fitted(predict)

    def _svm_scores(self, settings: Settings, pictures: Ints) -> Callable[[Doubles], Doubles]:
        C, rows = float(str(settings.get("C", 1.0))), _rows(self.data, settings)[pictures]
        low, wide = _range(rows, settings)
        Y = self.data.tags[pictures]
        key = "svm", len(pictures), C, settings.get("rows")
        W, constant = self._once(key, lambda: svm_weights((rows - low) / wide, Y, C))

        def scores(whole: Doubles) -> Doubles:
            svm_scores: Doubles = (whole - low) / wide @ W + constant
            return svm_scores

        return scores

    def _pseudo_label(self, settings: Settings, pictures: Ints) -> Fitted:
        C = float(str(settings.get("C", 1.0)))
        rows = _rows(self.data, settings)[pictures]
        low, wide = _range(rows, settings)
        Y = self.pseudo_scenes(pictures)[:, None] == np.arange(self.n_scenes)
        W, constant = svm_weights((rows - low) / wide, Y, C)

        def predict(data: HalfData, of: Ints) -> Predictions:
            scores = (_rows(data, settings)[of] - low) / wide @ W + constant
            return Predictions(scenes=scores.argmax(axis=1))

        return Fitted(predict)

    def pseudo_scenes(self, of: Ints) -> Ints:
        """Return the clusters that some development pictures belong to, by rows and tags."""
        half = self.data.half.development
        rows = np.hstack([scaled(self.data.whole[half]), self.data.tags[half]])
        labels: Ints = self._once(("scenes",), lambda: clusters(rows, self.n_scenes))
        return labels[np.searchsorted(half, of)]

    def _pseudo_tags(self, settings: Settings, pictures: Ints) -> Fitted:
        tagger = self._svm(settings, pictures)

        def predict(data: HalfData, of: Ints) -> Predictions:
            tags = tagger.predict(data, of).tags
            assert tags is not None
            rows = np.hstack([scaled(data.whole[of]), tags])
            return Predictions(scenes=clusters(rows, self.n_scenes))

        return Fitted(predict, tagger=tagger.predict)

    def _k_means(self, settings: Settings, pictures: Ints) -> Fitted:
        return Fitted(
            lambda data, of: Predictions(scenes=clusters(scaled(data.whole[of]), self.n_scenes))
        )

    def _ridge(self, settings: Settings, pictures: Ints) -> Fitted:
        alpha = float(str(settings.get("alpha", 0.1)))
        threshold = float(str(settings.get("threshold", 0.3)))
        W, constant = self._once(
            ("ridge", len(pictures), alpha),
            lambda: ridge_weights(self.data.whole[pictures], self.data.tags[pictures], alpha),
        )

        def predict(data: HalfData, of: Ints) -> Predictions:
            scores = data.whole[of] @ W + constant
            tags = scores > threshold
            regions = [
                filled(np.full(len(rows), -1), rows @ W, own)
                for rows, own in zip((data.regions[p] for p in of), tags, strict=True)
            ]
            return Predictions(tags, scores, clusters(scores, self.n_scenes), regions)

        return Fitted(predict)

    def _once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def inputs(data: HalfData, of: Ints) -> tuple[list[Doubles], Doubles, list[Doubles]]:
    """Return the input of the latent model: regions, whole rows and regions' areas."""
    X, whole, _ = data.of(of)
    return X, whole if data.words is None else data.similarity[of], [data.areas[p] for p in of]


def _rows(data: HalfData, settings: Settings) -> Doubles:
    named = {"shares": data.shares, CHI2: data.similarity}
    return named.get(str(settings.get("rows")), data.whole)


def svm_weights(X: Doubles, Y: Bools, C: float) -> tuple[Doubles, Doubles]:
    """Return weights and intercepts of a linear SVM for each column; -1 or 1 if it is constant."""
    try:
        from sklearn.svm import LinearSVC
    except ImportError as e:
        raise MissingExtra.of("The SVM baseline", "baselines") from e
    W, constant = np.zeros((X.shape[1], Y.shape[1])), np.where(Y.any(axis=0), 1.0, -1.0)
    for j in np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0)):
        # The squared hinge is solved to the end in seconds where the plain one takes minutes.
        svm = LinearSVC(C=C, dual=False, max_iter=5000, tol=1e-3).fit(X, Y[:, j])
        W[:, j], constant[j] = svm.coef_[0], svm.intercept_[0]
    return W, constant


def ridge_weights(X: Doubles, Y: Bools, alpha: float) -> tuple[Doubles, Doubles]:
    """Return weights and intercepts of ridge regression on 0 and 1."""
    mean, usual = X.mean(axis=0), Y.mean(axis=0)
    centered = X - mean
    gram = centered.T @ centered
    gram.flat[:: len(gram) + 1] += alpha * max(float(np.square(centered).sum(axis=1).mean()), 1e-12)
    W = np.linalg.solve(gram, centered.T @ (Y - usual))
    return W, usual - mean @ W


def _range(rows: Doubles, settings: Settings) -> tuple[Doubles, Doubles]:
    """Return what brings columns to 0..1; rows of the kernel stay as they are."""
    low, wide = rows.min(axis=0), np.ptp(rows, axis=0)
    if settings.get("rows") == CHI2:
        return np.zeros_like(low), np.ones_like(wide)
    return low, np.where(wide > 0, wide, 1.0)
