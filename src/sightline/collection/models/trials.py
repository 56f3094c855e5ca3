"""Trials: recipes fitted to training pictures and measured on validation pictures.

Each is measured with every way to combine words; time and memory are recorded with the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.lifecycle import finite_or_none
from sightline.collection.models.probabilities import fit_combination
from sightline.collection.models.queries import (
    combined,
    evaluation_queries,
    idf_in,
    picture_counts,
)
from sightline.collection.models.recipe import (
    Fitted,
    Recipe,
    builds_on,
    fit,
    learned,
    ranker_spec,
)
from sightline.collection.models.registry import OnRound
from sightline.collection.models.text_queries import TextQueries
from sightline.contracts import Json, Mapper, Progress
from sightline.errors import DataError, UsageError
from sightline.measures.many import ManyMeasured, measure_queries
from sightline.records import QuerySet
from sightline.words.combination import WAYS, Combination, How


@dataclass(frozen=True, slots=True, eq=False)
class SelectionTask:
    """What recipes are fitted to and measured on.

    Attributes
    ----------
    training, validation : Dataset
        The pictures a recipe is fitted to, and those that the queries rank.
    queries : QuerySet
        Queries made of the words of the validation pictures.
    idf : ndarray of float64
        How much each word counts in a query, from the training pictures.
    texts : bool
        Whether whole texts and pictures ask for each other, instead of the queries.
    """

    training: Dataset
    validation: Dataset
    queries: QuerySet
    idf: NDArray[np.float64]
    texts: bool = False

    @classmethod
    def of(
        cls,
        training: Dataset,
        validation: Dataset,
        known_words: NDArray[np.bool_],
        texts: bool = False,
    ) -> SelectionTask:
        """Return the task with the queries that the known words of validation pictures make."""
        idf = idf_in(training.labels)
        queries = evaluation_queries(validation.labels, idf, known_words)
        return cls(training, validation, queries, idf, texts)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A fitted candidate with one way to combine words, measured on the validation pictures."""

    recipe: Recipe
    how: str
    avgp: float
    p10: float
    bep: float
    train_seconds: float
    query_ms: float
    memory: int
    pictures: int = 0

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {
            "ranker": self.recipe.ranker, "features": list[Json](self.recipe.features),
            "hyperparameters": dict(self.recipe.settings), "combination": self.how,
            "avgp": finite_or_none(self.avgp), "p10": finite_or_none(self.p10),
            "bep": finite_or_none(self.bep), "train_seconds": round(self.train_seconds, 3),
            "query_ms": round(self.query_ms, 3), "bytes": self.memory, "pictures": self.pictures,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TrialOutcome:
    """The outcome of one recipe: a result for each way to combine words, or why it failed.

    `fitted` returns the fitted recipe.
    """

    recipe: Recipe
    results: tuple[TrialResult, ...] = ()
    ways: tuple[How, ...] = ()
    fitted: Callable[[], Fitted] = lambda: _nothing()
    failed: str = ""


def _nothing() -> Fitted:
    raise ValueError("A recipe that failed has nothing fitted.")


def run_trials(
    recipes: Sequence[Recipe],
    task: SelectionTask,
    progress: Progress,
    compute: Mapper | None = None,
) -> Iterator[TrialOutcome]:
    """Fit and measure recipes, one after the other; one may build on the one before.

    `compute` is where learners that have shards learn.
    """
    training, judged = task.training, (task.validation, task.queries)
    last, seconds = None, 0.0
    for recipe in recipes:
        # What a recipe builds on is part of its cost.
        seconds = seconds if builds_on(recipe, last) else 0.0
        begun = time.perf_counter()
        try:
            on_round = note_rounds(recipe, progress)
            last = fitted = fit(recipe, training, judged, last, on_round, compute)
        except (DataError, UsageError) as e:
            last = None
            yield TrialOutcome(recipe, failed=str(e))
            continue
        seconds += time.perf_counter() - begun
        measured = _by_texts(fitted, task) if task.texts else _by_combination(fitted, task)
        cost = _cost(fitted, task.validation)
        rows = []
        for how, m in measured.items():
            figures = (m.mean_avgp, float(np.nanmean(m.p10)), float(np.nanmean(m.bep)))
            rows.append(TrialResult(fitted.recipe, how, *figures, seconds, *cost, len(training)))
        yield TrialOutcome(recipe, tuple(rows), tuple(measured), lambda f=fitted: f)  # type: ignore[misc]


def note_rounds(recipe: Recipe, progress: Progress) -> OnRound:
    """Return a callback that shows the rounds in which a recipe is fitted."""
    return lambda round_: progress.note(f"{recipe.ranker}, {round_}")


def _by_texts(fitted: Fitted, task: SelectionTask) -> dict[How, ManyMeasured]:
    """Measure texts and pictures as queries; the point of a text is the sum of its words."""
    known = picture_counts(task.training.labels) > 0
    return {"sum": TextQueries.of(task.validation, known).measure(fitted).mean()}


def _by_combination(fitted: Fitted, task: SelectionTask) -> dict[How, ManyMeasured]:
    scores = fitted.scores(task.validation.views)
    if ranker_spec(fitted.recipe.ranker).stacked_class:
        product = Combination.of_logits(scores.shape[1])
        weighted = combined(task.queries, product, task.idf)
        return {"product": measure_queries(product.rows(scores), weighted)}
    measured: dict[How, ManyMeasured] = {}
    for how in WAYS:
        if fitted.unseen is not None:
            combination = fit_combination(how, fitted.unseen, learned(fitted, task.training))
            rows = combination.rows(scores)
        else:
            combination, rows = _crossed(how, scores, task.validation)
        measured[how] = measure_queries(rows, combined(task.queries, combination, task.idf))
    return measured


def _crossed(how: How, scores: Floats, validation: Dataset) -> tuple[Combination, Floats]:
    """Combine the scores of each half of the pictures by what the other half teaches."""
    rows = np.empty_like(scores)
    half = np.arange(len(scores)) % 2 == 0
    for part in (half, ~half):
        combination = Combination(how).fit(scores[~part], validation.labels[~part])
        rows[part] = combination.rows(scores[part])
    return combination, rows


def _cost(fitted: Fitted, validation: Dataset) -> tuple[float, int]:
    """Return milliseconds to score 1,000 pictures for one word, and bytes the model takes."""
    word = np.zeros(1, np.int64)
    begun = time.perf_counter()
    fitted.scores(validation.views, word)
    per_thousand = (time.perf_counter() - begun) * 1e6 / max(len(validation), 1)
    return per_thousand, sum(a.nbytes for a in fitted.arrays.values())
