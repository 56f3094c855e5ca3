"""LSCMR over class probabilities: what ranks best of the published features.

Each side is first mapped to probabilities of classes by `Posteriors`, whose strength and bandwidth
are chosen by log loss on left-out rows. A text says far more of its class than a picture does, so
pictures learn from their texts: the targets of their classifier lie between their own class and the
probabilities that the text of their pair has, left out. LSCMR then learns from the probabilities of
left-out training rows, not from those of rows that a classifier was fitted to, which are too sure.
It starts where semantic matching is, at U = V = I, and stays an inner product of few dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.rankers.lscmr import LSCMR
from sightline.rankers.posteriors import Posteriors
from sightline.reproduce.lscmr.paper import PICTURE
from sightline.reproduce.lscmr.protocol import Scorer, Task
from sightline.reproduce.searching import Settings

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Int = NDArray[np.int64]
# Settings of the two classifiers; the others are LSCMR's.
_OWN = ("strengths", "factors", "teaching", "n_candidates")


class Seen:
    """Probabilities of classes as LSCMR sees them: their mean square length is 1."""

    def __init__(self, model: Posteriors) -> None:
        self.model = model
        self._scale = float(np.sqrt(np.mean(np.sum(model.held_out_**2, axis=1))))
        self.held_out = model.held_out_ / self._scale

    def __call__(self, rows: Doubles) -> Doubles:
        """Return new rows as they are seen."""
        return self.model.predict(rows) / self._scale


def log_loss(probabilities: Doubles, classes: Int) -> float:
    """Return the mean of -log P(class)."""
    own = probabilities[np.arange(len(classes)), classes]
    return float(-np.log(np.maximum(own, 1e-12)).mean())


def best_posteriors(
    rows: Doubles,
    classes: Int,
    strengths: Sequence[float],
    factors: Sequence[float],
    targets: Doubles | None = None,
) -> Posteriors:
    """Return the classifier with the least log loss on left-out rows."""
    n = int(classes.max()) + 1
    tried = [
        Posteriors("chi2-ridge", strength, factor).fit(rows, classes, n, targets)
        for strength in strengths
        for factor in factors
    ]
    return min(tried, key=lambda p: log_loss(p.held_out_, classes))


def both_seen(task: Task, s: Settings) -> tuple[Seen, Seen]:
    """Return the classifiers of pictures and of texts, which serve both directions."""
    key = str([s[name] for name in ("strengths", "factors", "teaching")])
    if key not in task.memo:
        pairs, classes = task.train, task.train.classes
        choices = numbers(s["strengths"]), numbers(s["factors"])
        texts = best_posteriors(pairs.texts, classes, *choices)
        share = float(str(s["teaching"]))
        told = np.eye(texts.held_out_.shape[1])[classes]
        targets = (1 - share) * told + share * texts.held_out_
        pictures = best_posteriors(pairs.pictures, classes, *choices, targets)
        task.memo[key] = Seen(pictures), Seen(texts)
    found: tuple[Seen, Seen] = task.memo[key]
    return found


def numbers(said: Json) -> list[float]:
    """Return a list of numbers as settings hold it."""
    assert isinstance(said, list)
    return [float(str(x)) for x in said]


def fit_stacked(task: Task, s: Settings) -> tuple[Scorer, str]:
    """Return the scorer of LSCMR over both sides' probabilities, and how its training went."""
    both = both_seen(task, s)
    q, d = both if task.direction == PICTURE else both[::-1]
    n = q.held_out.shape[1]
    ranker = LSCMR(n, **{k: v for k, v in s.items() if k not in _OWN})  # type: ignore[arg-type]
    lists = task.lists(int(str(s["n_candidates"])))
    ranker.fit(q.held_out, d.held_out, *lists, start=(np.eye(n), np.eye(n)))

    def scorer(queries: Doubles, documents: Doubles) -> Floats:
        return ranker.decision_function(q(queries), d(documents))

    return scorer, f"{len(ranker.rounds_) - 1} rounds, {ranker.stop_reason_}"
