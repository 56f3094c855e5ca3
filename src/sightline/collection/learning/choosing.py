"""Choosing a ranker, its features and its settings on validation pictures.

Every candidate is fitted to the training pictures and judged by queries over the validation
pictures, which it has not seen; so are the ways to combine the scores of several words. The best
mean AvgP is chosen; what it cost is shown beside it, and never decides, so that the same pictures
always give the same choice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline.collection.learning.learners import Fitted, Recipe, fit, kind_of
from sightline.collection.learning.questions import combined
from sightline.collection.learning.samples import Sample
from sightline.contracts import Progress
from sightline.measures.many import ManyMeasured, measure_queries, query_scores
from sightline.records import QuerySet
from sightline.words.combining import WAYS, Combination, How, best_cutoff

Float = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Tried:
    """A candidate and what became of it on the validation pictures."""

    recipe: Recipe
    how: str
    avgp: float
    p10: float
    bep: float
    train_seconds: float
    query_ms: float
    memory: int


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The candidate chosen, with its way to combine words and the table of all that was tried."""

    recipe: Recipe
    combination: Combination
    cutoff: float
    table: tuple[Tried, ...]


def candidates(
    sample: Sample, rankers: Sequence[str], features: Sequence[str] | None = None
) -> list[Recipe]:
    """Return the recipes worth trying: features of a kind together, and all of them together.

    Features of a kind are the deep ones, the classic ones, and each other one by itself.
    """
    names = [f for f in sample.views if features is None or f in features]
    kinds: dict[str, list[str]] = {}
    for f in names:
        kinds.setdefault(_kind_of_feature(f), []).append(f)
    sets = [tuple(fs) for fs in kinds.values()]
    sets += [tuple(names)] if len(sets) > 1 else []
    found: dict[Recipe, None] = {}
    for ranker in rankers:
        for chosen in sets:
            usable = kind_of(ranker).usable({f: sample.views[f] for f in chosen})
            for g in kind_of(ranker).grid:
                found[Recipe(ranker, usable, tuple(sorted(g.items())))] = None
    return list(found)


def _kind_of_feature(fingerprint: str) -> str:
    name = fingerprint.rpartition("-")[0]
    if name in plugins.SETS["classic-all"]:
        return "classic"
    return "deep" if name.split("-")[0] == "deep" else name


def choose(
    recipes: Sequence[Recipe],
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
    progress: Progress,
) -> Choice:
    """Fit every recipe, measure it, and return the best."""
    progress.start("choose", len(recipes))
    table: list[Tried] = []
    best: tuple[float, Fitted, How] | None = None
    for recipe in recipes:
        begun = time.perf_counter()
        fitted = fit(recipe, training, (validation, queries))
        seconds = time.perf_counter() - begun
        found = _by_combination(fitted, training, validation, queries, idf)
        cost = _cost(fitted, validation)
        for how, m in found.items():
            figures = (m.mean_avgp, float(np.nanmean(m.p10)), float(np.nanmean(m.bep)))
            table.append(Tried(fitted.recipe, how, *figures, seconds, *cost))
            if best is None or m.mean_avgp > best[0]:
                best = m.mean_avgp, fitted, how
        progress.advance()
    progress.finish()
    if best is None:
        raise ValueError("There is nothing to choose from.")
    _, fitted, how = best
    combination, cutoff = settle(fitted, how, training, validation, queries, idf)
    order = sorted(table, key=lambda t: -t.avgp)
    return Choice(fitted.recipe, combination, cutoff, tuple(order))


def settle(
    fitted: Fitted,
    how: How,
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
) -> tuple[Combination, float]:
    """Fit a combination on scores of unseen pictures, and the cut-off that serves queries best."""
    scores = fitted.scores(validation.views)
    if fitted.unseen is not None:
        combination = Combination(how).fit(fitted.unseen, training.labels)
    else:
        combination = Combination(how).fit(scores, validation.labels)
    combination.fill_flat()
    return combination, _cutoff(combination, combination.rows(scores), queries, idf)


def _cutoff(
    combination: Combination, rows: Float, queries: QuerySet, idf: NDArray[np.float64]
) -> float:
    """Return the cut-off that gives the queries the best mean F1."""
    asked = combined(queries, combination, idf)
    table = np.concatenate([part.copy() for _, part in query_scores(rows, asked)])
    fits = np.zeros(table.shape, bool)
    fits[np.repeat(np.arange(len(queries)), np.diff(queries.fit_start)), queries.fit] = True
    combination.fit_shown(table, fits)
    weights = (asked.weight[asked.start[i] : asked.start[i + 1]] for i in range(len(asked)))
    likely = (combination.probability(s, w) for s, w in zip(table, weights, strict=True))
    return best_cutoff(likely, fits).probability


def _by_combination(
    fitted: Fitted,
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
) -> dict[How, ManyMeasured]:
    scores = fitted.scores(validation.views)
    out: dict[How, ManyMeasured] = {}
    for how in WAYS:
        if fitted.unseen is not None:
            combination = Combination(how).fit(fitted.unseen, training.labels)
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


def measure(
    fitted: Fitted,
    combination: Combination,
    sample: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
) -> ManyMeasured:
    """Measure a fitted model on queries over pictures."""
    rows = combination.rows(fitted.scores(sample.views))
    return measure_queries(rows, combined(queries, combination, idf))
