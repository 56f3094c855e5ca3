"""Trying recipes: each is fitted to training pictures and measured on validation pictures.

Words are combined in every way there is, and what it cost is taken down beside how good it is.

Calibrating scores of pictures that nobody labelled for a word.

Such a picture may carry the word all the same. Those that score as the word's own pictures do, each
left out, are passed over here as they are by the learner (`annotators.unlabelled`): counted as
negatives they would make every prediction improbable, and nothing would ever be shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.annotators.unlabelled import likely_positive
from sightline.collection.models.dataset import Sample
from sightline.collection.models.queries import combined
from sightline.collection.models.recipe import Fitted, Recipe, builds_on, fit, kind_of
from sightline.collection.models.registry import Told
from sightline.contracts import Mapper, Progress
from sightline.errors import DataError, UsageError
from sightline.measures.many import ManyMeasured, measure_queries
from sightline.records import QuerySet
from sightline.words.calibration import logistic
from sightline.words.combining import WAYS, Combination, How

Float = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate, fitted to some pictures, and what became of it on the validation pictures."""

    recipe: Recipe
    how: str
    avgp: float
    p10: float
    bep: float
    train_seconds: float
    query_ms: float
    memory: int
    pictures: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of a recipe: a figure for each way to combine words, or why it has none.

    `fitted` gives what was fitted.
    """

    recipe: Recipe
    found: tuple[Tried, ...] = ()
    ways: tuple[How, ...] = ()
    fitted: Callable[[], Fitted] = lambda: _nothing()
    failed: str = ""


def _nothing() -> Fitted:
    raise ValueError("A recipe that failed has nothing fitted.")


def outcomes(
    recipes: Sequence[Recipe],
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
    progress: Progress,
    compute: Mapper | None = None,
) -> Iterator[Outcome]:
    """Fit and measure recipes, one after the other; one may build on the one before.

    `compute` is where learners that have shards learn.
    """
    last, seconds = None, 0.0
    for recipe in recipes:
        # What a recipe builds on is part of its cost.
        seconds = seconds if builds_on(recipe, last) else 0.0
        begun = time.perf_counter()
        try:
            told = noted(recipe, progress)
            last = fitted = fit(recipe, training, (validation, queries), last, told, compute)
        except (DataError, UsageError) as e:
            last = None
            yield Outcome(recipe, failed=str(e))
            continue
        seconds += time.perf_counter() - begun
        measured = _by_combination(fitted, training, validation, queries, idf)
        cost = _cost(fitted, validation)
        rows = []
        for how, m in measured.items():
            figures = (m.mean_avgp, float(np.nanmean(m.p10)), float(np.nanmean(m.bep)))
            rows.append(Tried(fitted.recipe, how, *figures, seconds, *cost, len(training)))
        yield Outcome(recipe, tuple(rows), tuple(measured), lambda made=fitted: made)  # type: ignore[misc]


def noted(recipe: Recipe, progress: Progress) -> Told:
    """Return what tells of the rounds in which a recipe is learnt."""
    return lambda said: progress.note(f"{recipe.ranker}, {said}")


def _by_combination(
    fitted: Fitted,
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
) -> dict[How, ManyMeasured]:
    scores = fitted.scores(validation.views)
    if kind_of(fitted.recipe.ranker).top:
        product = Combination.of_logits(scores.shape[1])
        asked = combined(queries, product, idf)
        return {"product": measure_queries(product.rows(scores), asked)}
    out: dict[How, ManyMeasured] = {}
    for how in WAYS:
        if fitted.unseen is not None:
            combination = fit_combination(how, fitted.unseen, training)
            rows = combination.rows(scores)
        else:
            combination, rows = _crossed(how, scores, validation)
        out[how] = measure_queries(rows, combined(queries, combination, idf))
    return out


def _crossed(how: How, scores: Float, validation: Sample) -> tuple[Combination, Float]:
    """Combine the scores of each half of the pictures by what the other half teaches."""
    rows = np.empty_like(scores)
    half = np.arange(len(scores)) % 2 == 0
    for mine in (half, ~half):
        combination = Combination(how).fit(scores[~mine], validation.labels[~mine])
        rows[mine] = combination.rows(scores[mine])
    return combination, rows


def _cost(fitted: Fitted, validation: Sample) -> tuple[float, int]:
    """Return milliseconds to score 1,000 pictures for one word, and bytes the model takes."""
    word = np.zeros(1, np.int64)
    begun = time.perf_counter()
    fitted.scores(validation.views, word)
    per_thousand = (time.perf_counter() - begun) * 1e6 / max(len(validation), 1)
    return per_thousand, sum(a.nbytes for a in fitted.arrays.values())


def fit_combination(how: How, unseen: Float, sample: Sample) -> Combination:
    """Fit a way to combine words to scores of left-out pictures."""
    if sample.unlabelled is None:
        return Combination(how).fit(unseen, sample.labels)
    carried = np.asarray(sample.labels.todense()) > 0
    kept = ~likely_positive(unseen, carried, sample.unlabelled)
    words = [
        Combination(how).fit(unseen[rows][:, [w]], carried[rows][:, [w]])
        for w, rows in enumerate(kept.T)
    ]
    made = Combination(how)
    made.slope_ = np.concatenate([c.slope_ for c in words])
    made.offset_ = np.concatenate([c.offset_ for c in words])
    made.known_ = np.concatenate([c.known_ for c in words])
    made.shown_ = np.array([1.0, 0.0])
    if how != "product":
        made.shown_ = np.array(logistic(made.rows(unseen)[kept], carried[kept]))
    return made
