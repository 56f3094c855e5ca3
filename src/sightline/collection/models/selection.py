"""Choosing a ranker, its features and its settings on validation pictures.

Every candidate is fitted to the training pictures and judged by queries over the validation
pictures, which it has not seen; so are the ways to combine the scores of several words. The best
mean AvgP is chosen; what it cost is shown beside it, and never decides, so that the same pictures
always give the same choice.

Of more than two rankers, each is first fitted to a sample of the training pictures, with its usual
settings and all features it can use; the best two go on to all training pictures, sets of features
and settings.

The choice where pictures are too few to choose by validation: the most regularised ranker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline.collection.models.dataset import Sample
from sightline.collection.models.memory import bytes_free, bytes_needed, gigabytes
from sightline.collection.models.queries import carriers, combined, idf_in, questions
from sightline.collection.models.recipe import Fitted, Recipe, kind_of
from sightline.collection.models.remote import measure_elsewhere, outcomes_of
from sightline.collection.models.trials import (
    Tried,
    fit_combination,
    outcomes,
)
from sightline.contracts import Mapper, Progress
from sightline.errors import UsageError
from sightline.measures.many import ManyMeasured, measure_queries, query_scores
from sightline.rankers.cutoff import CutOff
from sightline.records import QuerySet
from sightline.words.combining import Combination, How

Float = NDArray[np.float32]

# A first look takes so many training pictures, and so many rankers pass it.
SCREENED_ON, PASSING = 1_500, 2
# Memory that is left to everything else on the machine.
_SPARE = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What was tried on some training pictures, by recipe, and the best of it.

    `failed` says of every recipe that could not be fitted why.
    """

    training: Sample
    tried: Mapping[Recipe, Sequence[Tried]]
    best: tuple[Fitted, How] | None = None
    failed: Mapping[Recipe, str] = field(default_factory=dict)

    @property
    def table(self) -> list[Tried]:
        """All figures, in the order in which they were found."""
        return [t for found in self.tried.values() for t in found]

    @property
    def not_tried(self) -> tuple[str, ...]:
        """Why each ranker that could not be fitted could not."""
        return tuple(dict.fromkeys(f"{r.ranker}: {said}" for r, said in self.failed.items()))


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The candidate chosen, with its way to combine words and the table of all that was tried.

    `not_tried` says of every ranker that was asked for and left out why it was. `served` is what to
    serve in its place, where settings and calibration need every picture there is.
    """

    recipe: Recipe
    combination: Combination
    cutoff: CutOff
    table: tuple[Tried, ...]
    not_tried: tuple[str, ...] = ()
    served: Choice | None = None


def able(
    sample: Sample, rankers: Sequence[str], features: Sequence[str] | None = None
) -> tuple[list[str], list[str]]:
    """Return the rankers that can be fitted here, and of each other one why it cannot.

    >>> able(Sample(np.zeros(0, np.int64), np.zeros(0, np.int64), None, {}), ["plsa"])
    ([], ['plsa: it learns from counts of visual words (sightline index --features visterms)'])
    """
    views = {f: v for f, v in sample.views.items() if features is None or f in features}
    can, cannot = [], []
    free = bytes_free() * _SPARE
    for ranker in rankers:
        kind = kind_of(ranker)
        usable = [views[f] for f in kind.usable(views)]
        needed = bytes_needed(kind.sees, usable, len(sample.terms)) if usable else 0
        if not usable:
            reason = "it learns from counts of visual words (sightline index --features visterms)"
        elif not kind.available:
            reason = f"it needs {kind.needs} (pip install 'sightline[baselines]')"
        elif needed > free:
            reason = (
                f"{len(sample)} pictures and {len(sample.terms)} words would take about "
                f"{gigabytes(needed)} of memory, and {gigabytes(int(free))} are free"
            )
        else:
            can.append(ranker)
            continue
        cannot.append(f"{ranker}: {reason}")
    return can, cannot


def candidates(
    sample: Sample, rankers: Sequence[str], features: Sequence[str] | None = None
) -> list[Recipe]:
    """Return the recipes worth trying: features of a kind together, and all of them together.

    Features of a kind are the deep ones, the classic ones, the nine of `whole-all`, and each
    other one by itself.
    """
    names = [f for f in sample.views if features is None or f in features]
    kinds: dict[str, list[str]] = {}
    for f in names:
        kinds.setdefault(_kind_of_feature(f), []).append(f)
    sets = [tuple(fs) for fs in kinds.values()]
    sets += [tuple(names)] if len(sets) > 1 else []
    found: dict[Recipe, None] = {}
    # Those that see the same are neighbours, since one may build on the other.
    for chosen in sets:
        for ranker in rankers:
            usable = kind_of(ranker).usable({f: sample.views[f] for f in chosen})
            for g in kind_of(ranker).grid if usable else ():
                found[Recipe(ranker, usable, tuple(sorted(g.items())))] = None
    return list(found)


def screened(
    rankers: Sequence[str],
    features: Sequence[str] | None,
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
    progress: Progress,
    compute: Mapper | None = None,
) -> tuple[list[str], Look]:
    """Return the rankers that are worth a longer look, in their order, and what was seen of all."""
    if len(rankers) <= PASSING:
        return list(rankers), Look(training, {})
    some = training
    if len(training) > SCREENED_ON:
        rng = np.random.default_rng(0)
        some = training.only(np.sort(rng.choice(len(training), SCREENED_ON, replace=False)))
    views = {f: v for f, v in training.views.items() if features is None or f in features}
    recipes = [
        Recipe(r, kind_of(r).usable(views), tuple(sorted(kind_of(r).grid[0].items())))
        for r in rankers
    ]
    look = _tried(recipes, Look(some, {}), validation, queries, idf, progress, compute, "screen")
    best = {r.ranker: max(t.avgp for t in found) for r, found in look.tried.items()}
    passing = sorted(best, key=lambda r: -best[r])[:PASSING]
    return [r for r in rankers if r in passing], look


def _kind_of_feature(fingerprint: str) -> str:
    name = fingerprint.rpartition("-")[0]
    if name in plugins.SETS["classic-all"]:
        return "classic"
    if name in plugins.SETS["whole-all"]:
        return "whole"
    return "deep" if name.split("-")[0] == "deep" else name


def choose(
    recipes: Sequence[Recipe],
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
    progress: Progress,
    first: Look | None = None,
    compute: Mapper | None = None,
) -> Choice:
    """Fit every recipe, measure it, and return the best.

    `compute` is where recipes are tried, if not here. `first` is what was seen before; where that
    was on the same pictures, nothing is done twice.
    """
    again = first is not None and first.training is training
    begun = first if first is not None and again else Look(training, {})
    look = _tried(recipes, begun, validation, queries, idf, progress, compute, "choose")
    failed = dict.fromkeys((*(first.not_tried if first is not None else ()), *look.not_tried))
    if look.best is None:
        why = "; ".join(failed) or "there is nothing to choose from"
        raise UsageError(f"No ranker can learn from these {len(training)} pictures: {why}")
    fitted, how = look.best
    combination, cutoff = settle(fitted, how, training, validation, queries, idf)
    table = look.table if first is None or again else look.table + first.table
    return Choice(fitted.recipe, combination, cutoff, in_order(table), tuple(failed))


def choose_on(
    training: Sample,
    validation: Sample,
    rankers: Sequence[str],
    features: Sequence[str] | None,
    progress: Progress,
    compute: Mapper | None = None,
    fewest: int = 1,
) -> Choice | None:
    """Choose among rankers that can learn; None where fewer validation queries can be asked."""
    known = carriers(training.labels) > 0
    if not known.any():
        return None
    idf = idf_in(training.labels)
    asked = questions(validation.labels, idf, known)
    if len(asked) < fewest:
        return None
    given = (training, validation, asked, idf, progress)
    rankers, first = screened(rankers, features, *given, compute)
    recipes = candidates(training, rankers, features)
    return choose(recipes, *given, first, compute)


def in_order(table: Iterable[Tried]) -> tuple[Tried, ...]:
    """Return what was tried: on more pictures first, and then by quality."""
    return tuple(sorted(table, key=lambda t: (-t.pictures, -t.avgp)))


def _tried(
    recipes: Sequence[Recipe],
    before: Look,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
    progress: Progress,
    compute: Mapper | None,
    what: str,
) -> Look:
    """Fit and measure the recipes that were not tried before."""
    training, best = before.training, before.best
    tried, failed = dict(before.tried), dict(before.failed)
    highest = max((t.avgp for t in before.table), default=-1.0)
    todo = [r for r in recipes if r not in tried and r not in failed]
    progress.start(what, len(todo))
    given = (todo, training, validation, queries, idf, progress)
    for outcome in outcomes(*given) if compute is None else outcomes_of(*given, compute):
        progress.advance()
        if outcome.failed:
            # What one ranker cannot learn from, another may.
            failed[outcome.recipe] = outcome.failed
            continue
        tried[outcome.recipe] = outcome.found
        for t, how in zip(outcome.found, outcome.ways, strict=True):
            if t.avgp > highest:
                highest, best = t.avgp, (outcome.fitted(), how)
    progress.finish()
    return Look(training, tried, best, failed)


def settle(
    fitted: Fitted,
    how: How,
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
) -> tuple[Combination, CutOff]:
    """Fit a combination on scores of unseen pictures, and the cut-off that serves queries best."""
    scores = fitted.scores(validation.views)
    if kind_of(fitted.recipe.ranker).top:
        combination = Combination.of_logits(scores.shape[1])
    elif fitted.unseen is not None:
        combination = fit_combination(how, fitted.unseen, training)
    else:
        combination = Combination(how).fit(scores, validation.labels)
    combination.fill_flat()
    return combination, _cutoff(combination, combination.rows(scores), queries, idf)


def _cutoff(
    combination: Combination, rows: Float, queries: QuerySet, idf: NDArray[np.float64]
) -> CutOff:
    """Return the cut-off that gives the queries the best mean F1, and fit what is shown."""
    asked = combined(queries, combination, idf)
    table = np.concatenate([part.copy() for _, part in query_scores(rows, asked)])
    fits = np.zeros(table.shape, bool)
    fits[np.repeat(np.arange(len(queries)), np.diff(queries.fit_start)), queries.fit] = True
    combination.fit_shown(table, fits)
    return CutOff().fit(rows, asked)


def measure(
    fitted: Fitted,
    combination: Combination,
    sample: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
    compute: Mapper | None = None,
) -> ManyMeasured:
    """Measure a fitted model on queries over pictures; `compute` is where, if not here."""
    rows = combination.rows(fitted.scores(sample.views))
    asked = combined(queries, combination, idf)
    if compute is None:
        return measure_queries(rows, asked)
    return measure_elsewhere(rows, asked, compute)
