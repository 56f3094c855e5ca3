"""LSCMR over class probabilities: what ranks best of the published features.

Each side is first mapped to probabilities of classes by several classifiers (`Posteriors`), whose
strengths and bandwidths are chosen by their log loss on left-out rows. LSCMR then learns from the
probabilities that left-out training rows have, not from those of rows that a classifier was fitted
to, which are too sure. Several starts are averaged: their points side by side are one model, still
an inner product of few dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.rankers.lscmr import LSCMR
from sightline.rankers.posteriors import Model, Posteriors
from sightline.reproduce.lscmr.paper import PICTURE, TEXT
from sightline.reproduce.lscmr.protocol import Scorer, Task
from sightline.reproduce.searching import Settings

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Int = NDArray[np.int64]


class Stack:
    """Probabilities of classes by several classifiers, side by side, less what is usual."""

    def __init__(self, models: Sequence[Posteriors]) -> None:
        self._models = tuple(models)
        held_out = np.concatenate([m.held_out_ for m in models], axis=1)
        self._mean = held_out.mean(axis=0)
        self._scale = float(np.sqrt(np.mean(np.sum((held_out - self._mean) ** 2, axis=1))))
        self.held_out = self._seen(held_out)

    def __call__(self, rows: Doubles) -> Doubles:
        """Return new rows as LSCMR sees them."""
        return self._seen(np.concatenate([m.predict(rows) for m in self._models], axis=1))

    def _seen(self, probabilities: Doubles) -> Doubles:
        return np.asarray((probabilities - self._mean) / self._scale)


def log_loss(probabilities: Doubles, classes: Int) -> float:
    """Return the mean of -log P(class)."""
    own = probabilities[np.arange(len(classes)), classes]
    return float(-np.log(np.maximum(own, 1e-12)).mean())


def best_posteriors(
    rows: Doubles, classes: Int, model: Model, strengths: Sequence[float], factors: Sequence[float]
) -> Posteriors:
    """Return the classifier with the least log loss on left-out rows."""
    n = int(classes.max()) + 1
    tried = [
        Posteriors(model, strength, factor).fit(rows, classes, n)
        for strength in strengths
        for factor in (factors if model != "logistic" else factors[:1])
    ]
    return min(tried, key=lambda p: log_loss(p.held_out_, classes))


def make_stack(rows: Doubles, classes: Int, s: Settings) -> Stack:
    """Return the classifiers of one side.

    Parameters
    ----------
    s : "models" with plus signs between them, "strengths" and "factors" to choose from.
    """
    strengths, factors = numbers(s["strengths"]), numbers(s["factors"])
    names: list[Model] = str(s["models"]).split("+")  # type: ignore[assignment]
    return Stack([best_posteriors(rows, classes, n, strengths, factors) for n in names])


def _stack_of(task: Task, side: int, s: Settings) -> Stack:
    """Return the stack of a side's kind of rows, which serves both directions."""
    kind = (PICTURE, TEXT)[side] if task.direction == PICTURE else (TEXT, PICTURE)[side]
    key = kind, str(s["models"]), str(s["strengths"]), str(s["factors"])
    if key not in task.memo:
        task.memo[key] = make_stack(task.rows()[side], task.train.classes, s)
    found: Stack = task.memo[key]
    return found


def numbers(said: Json) -> list[float]:
    """Return a list of numbers as settings hold it."""
    assert isinstance(said, list)
    return [float(str(x)) for x in said]


def fit_stacked(task: Task, s: Settings) -> tuple[Scorer, str]:
    """Return the scorer of LSCMR over both sides' probabilities, and how its training went."""
    q_stack, d_stack = (_stack_of(task, side, s) for side in (0, 1))
    own = ("models", "strengths", "factors", "n_starts", "n_candidates")
    settings = {k: v for k, v in s.items() if k not in own}
    lists = task.lists(int(str(s["n_candidates"])))
    rankers = [
        LSCMR(**settings, random_state=seed).fit(q_stack.held_out, d_stack.held_out, *lists)  # type: ignore[arg-type]
        for seed in range(int(str(s["n_starts"])))
    ]

    def scorer(queries: Doubles, documents: Doubles) -> Floats:
        q, d = q_stack(queries), d_stack(documents)
        return np.asarray(np.mean([r.decision_function(q, d) for r in rankers], axis=0))

    stops = ", ".join(r.stop_reason_ for r in rankers)
    return scorer, stops
