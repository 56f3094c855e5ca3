"""Class probabilities as inputs: LSCMR over them ranks best of the published features.

Each side is first mapped to probabilities of classes by `Posteriors`, whose strength and bandwidth
are chosen by log loss on left-out rows. A text says far more of its class than a picture does, so
pictures learn from their texts: the targets of their classifier lie between their own class and the
probabilities that the text of their pair has, left out. Decisions about pictures are calibrated by
one scale: which classes are taken for each other is left to the ranker, as learning it twice from
the same few rows fits their noise.

Rankers then learn from the probabilities of left-out training rows, not from those of rows that a
classifier was fitted to, which are too sure. LSCMR starts where semantic matching is, at U = V = I,
and stays an inner product of few dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.contracts import Json
from sightline.rankers.posteriors import Calibration, Posteriors
from sightline_experiments.lscmr.inputs import Inputs
from sightline_experiments.lscmr.protocol import Task
from sightline_experiments.lscmr.shape import as_is, words_alone
from sightline_experiments.tuning import Settings

# Settings of the two classifiers.
OWN = ("strengths", "factors", "teaching", "shapes")


class ScaledPosteriors:
    """Class probabilities as the input of rankers, with a mean square length of 1.

    `look` is applied to rows first.
    """

    def __init__(self, model: Posteriors, look: Callable[[Doubles], Doubles]) -> None:
        self.model, self._look = model, look
        self._scale = float(np.sqrt(np.mean(np.sum(model.held_out_**2, axis=1))))
        self.training = model.held_out_ / self._scale

    def __call__(self, rows: Doubles) -> Doubles:
        """Return new rows as inputs."""
        return self.model.predict(self._look(rows)) / self._scale


def log_loss(probabilities: Doubles, classes: Ints) -> float:
    """Return the mean of -log P(class)."""
    of_class = probabilities[np.arange(len(classes)), classes]
    return float(-np.log(np.maximum(of_class, 1e-12)).mean())


def best_posteriors(
    rows: Doubles,
    classes: Ints,
    strengths: Sequence[float],
    factors: Sequence[float],
    targets: Doubles | None = None,
    calibration: Calibration = "rows",
) -> Posteriors:
    """Return the classifier with the least log loss on left-out rows."""
    n = int(classes.max()) + 1
    tried = [
        Posteriors("chi2-ridge", strength, factor, calibration).fit(rows, classes, n, targets)
        for strength in strengths
        for factor in factors
    ]
    return min(tried, key=lambda p: log_loss(p.held_out_, classes))


def probabilities(task: Task, s: Settings) -> Inputs:
    """Return the classifiers of pictures and of texts, which serve both directions."""
    key = str([s[name] for name in OWN])
    if key not in task.memo:
        pairs, classes = task.train, task.train.classes
        choices = numbers(s["strengths"]), numbers(s["factors"])
        texts = best_posteriors(pairs.texts, classes, *choices)
        share = float(str(s["teaching"]))
        indicators = np.eye(texts.held_out_.shape[1])[classes]
        targets = (1 - share) * indicators + share * texts.held_out_
        look = as_is if s["shapes"] else words_alone
        pictures = best_posteriors(look(pairs.pictures), classes, *choices, targets, "scale")
        task.memo[key] = Inputs(ScaledPosteriors(pictures, look), ScaledPosteriors(texts, as_is))
    inputs: Inputs = task.memo[key]
    return inputs


def numbers(value: Json) -> list[float]:
    """Return a list of numbers for settings."""
    assert isinstance(value, list)
    return [float(str(x)) for x in value]
