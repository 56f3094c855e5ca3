"""The methods: the latent model, the paper's rivals, and ridge on whole pictures.

    latent model                  `regions.model.RegionModel`
    SVM                           a linear one for each tag, on the picture's row
    pseudo-label + SVM            scenes found by clustering rows and tags, told apart by SVMs
    pseudo-annotation + K-means   test pictures clustered by rows and by the tags that SVMs give
    K-means                       test pictures clustered by rows
    ridge                         a linear score for each tag, learnt on whole pictures' rows and
                                  read in each region; test pictures clustered by their scores

Of SVMs and of ridge a tag is given where its score is above a threshold that validation chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.errors import MissingExtra
from sightline.regions.model import RegionModel, filled
from sightline.regions.scenes import clusters, scaled
from sightline.reproduce.regions import paper
from sightline.reproduce.regions.seeing import Seen
from sightline.reproduce.searching import Settings

Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What a method says of pictures; None where it says nothing of that kind.

    Attributes
    ----------
    tags, scores : (pictures, tags).
    scenes : a group for each picture.
    regions : the tag of each region, picture by picture.
    """

    tags: Bools | None = None
    scores: Doubles | None = None
    scenes: Int | None = None
    regions: list[Int] | None = None


Say = Callable[[Seen, Int], Said]


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A method that has learnt.

    Attributes
    ----------
    say : what it says.
    model : if there is more to be seen of it.
    tagger : gives the tags that settings are chosen by, where the method itself gives none.
    """

    say: Say
    model: RegionModel | None = None
    tagger: Say | None = None


class Learner:
    """Fits methods on one half, and remembers what can serve several settings."""

    def __init__(self, seen: Seen, n_scenes: int) -> None:
        self.seen, self.n_scenes = seen, n_scenes
        self._kept: dict[tuple[Any, ...], Any] = {}

    def fit(self, name: str, settings: Settings, pictures: Int) -> Fitted:
        """Let a method learn from some pictures."""
        makers = {
            paper.LATENT: self._latent,
            paper.SVM: self._svm,
            paper.PSEUDO_LABEL: self._pseudo_label,
            paper.PSEUDO_TAGS: self._pseudo_tags,
            paper.K_MEANS: self._k_means,
            paper.RIDGE: self._ridge,
        }
        return makers[name](settings, pictures)

    def _latent(self, settings: Settings, pictures: Int) -> Fitted:
        lean = float(str(settings.get("lean", 0.0)))
        rest = {k: v for k, v in settings.items() if k != "lean"}

        def make() -> RegionModel:
            X, whole, Y = self.seen.of(pictures)
            return RegionModel(n_scenes=self.n_scenes, **rest).fit(X, Y, whole)  # type: ignore[arg-type]

        found = self._once(("latent", len(pictures), *sorted(rest.items())), make)
        model = RegionModel(**{**found.get_params(), "lean": lean})
        model.weights_, model.known_ = found.weights_, found.known_

        def say(seen: Seen, of: Int) -> Said:
            X, whole, _ = seen.of(of)
            said = model.predict(X, whole)
            margins = model.decision_function(X, whole)
            return Said(said.tags, margins, said.scenes, model.label_regions(X, whole))

        return Fitted(say, model)

    def _svm(self, settings: Settings, pictures: Int) -> Fitted:
        score = self._svm_scores(settings, pictures)
        threshold = float(str(settings.get("threshold", 0.0)))

        def say(seen: Seen, of: Int) -> Said:
            scores = score(seen.whole[of])
            return Said(scores > threshold, scores)

        return Fitted(say)

    def _svm_scores(self, settings: Settings, pictures: Int) -> Callable[[Doubles], Doubles]:
        C = float(str(settings.get("C", 1.0)))
        low, wide = _range(self.seen.whole[pictures])
        Y = self.seen.tags[pictures]

        def make() -> tuple[Doubles, Doubles]:
            X = (self.seen.whole[pictures] - low) / wide
            return svm_weights(X, Y, C)

        W, constant = self._once(("svm", len(pictures), C), make)

        def scores(whole: Doubles) -> Doubles:
            found: Doubles = (whole - low) / wide @ W + constant
            return found

        return scores

    def _pseudo_label(self, settings: Settings, pictures: Int) -> Fitted:
        C = float(str(settings.get("C", 1.0)))
        low, wide = _range(self.seen.whole[pictures])
        Y = self.pseudo_scenes(pictures)[:, None] == np.arange(self.n_scenes)
        W, constant = svm_weights((self.seen.whole[pictures] - low) / wide, Y, C)

        def say(seen: Seen, of: Int) -> Said:
            scores = (seen.whole[of] - low) / wide @ W + constant
            return Said(scenes=scores.argmax(axis=1))

        return Fitted(say)

    def pseudo_scenes(self, of: Int) -> Int:
        """Return the clusters that some development pictures belong to, by rows and tags."""
        half = self.seen.half.development
        rows = np.hstack([scaled(self.seen.whole[half]), self.seen.tags[half]])
        labels: Int = self._once(("scenes",), lambda: clusters(rows, self.n_scenes))
        return labels[np.searchsorted(half, of)]

    def _pseudo_tags(self, settings: Settings, pictures: Int) -> Fitted:
        tagger = self._svm(settings, pictures)

        def say(seen: Seen, of: Int) -> Said:
            tags = tagger.say(seen, of).tags
            assert tags is not None
            rows = np.hstack([scaled(seen.whole[of]), tags])
            return Said(scenes=clusters(rows, self.n_scenes))

        return Fitted(say, tagger=tagger.say)

    def _k_means(self, settings: Settings, pictures: Int) -> Fitted:
        return Fitted(lambda seen, of: Said(scenes=clusters(scaled(seen.whole[of]), self.n_scenes)))

    def _ridge(self, settings: Settings, pictures: Int) -> Fitted:
        alpha = float(str(settings.get("alpha", 0.1)))
        threshold = float(str(settings.get("threshold", 0.3)))
        W, constant = self._once(
            ("ridge", len(pictures), alpha),
            lambda: ridge_weights(self.seen.whole[pictures], self.seen.tags[pictures], alpha),
        )

        def say(seen: Seen, of: Int) -> Said:
            scores = seen.whole[of] @ W + constant
            tags = scores > threshold
            regions = [
                filled(np.full(len(rows), -1), rows @ W, own)
                for rows, own in zip((seen.regions[p] for p in of), tags, strict=True)
            ]
            return Said(tags, scores, clusters(scores, self.n_scenes), regions)

        return Fitted(say)

    def _once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def svm_weights(X: Doubles, Y: Bools, C: float) -> tuple[Doubles, Doubles]:
    """Return weights and constants of a linear SVM for each column; -1 where it never changes."""
    try:
        from sklearn.svm import LinearSVC
    except ImportError as e:
        raise MissingExtra.of("The SVM rival", "rivals") from e
    W, constant = np.zeros((X.shape[1], Y.shape[1])), np.where(Y.any(axis=0), 1.0, -1.0)
    for j in np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0)):
        # The squared hinge is solved to the end in seconds where the plain one takes minutes.
        found = LinearSVC(C=C, dual=False, max_iter=5000, tol=1e-3).fit(X, Y[:, j])
        W[:, j], constant[j] = found.coef_[0], found.intercept_[0]
    return W, constant


def ridge_weights(X: Doubles, Y: Bools, alpha: float) -> tuple[Doubles, Doubles]:
    """Return weights and constants for which scores are about 1 for yes and 0 for no."""
    mean, usual = X.mean(axis=0), Y.mean(axis=0)
    centered = X - mean
    gram = centered.T @ centered
    gram.flat[:: len(gram) + 1] += alpha * max(float(np.square(centered).sum(axis=1).mean()), 1e-12)
    W = np.linalg.solve(gram, centered.T @ (Y - usual))
    return W, usual - mean @ W


def _range(rows: Doubles) -> tuple[Doubles, Doubles]:
    low, wide = rows.min(axis=0), np.ptp(rows, axis=0)
    return low, np.where(wide > 0, wide, 1.0)
