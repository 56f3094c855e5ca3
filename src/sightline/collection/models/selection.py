"""Model selection: a ranker, its features and its hyperparameters, by validation pictures.

Every candidate is fitted to the training pictures and measured by queries over the validation
pictures, with each way to combine the scores of several words. The best mean AvgP is selected.
Times are reported but decide nothing, so that the same pictures always give the same selection.

Of more than two rankers, each is first screened: fitted to some of the training pictures, with its
usual hyperparameters and all features it can use. The best two are then tried on all training
pictures, with several sets of features and the whole grid. Of the best recipe its refinements are
tried last, such as a fit without tags that are probably wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats
from sightline.collection.models.dataset import Dataset, split
from sightline.collection.models.lifecycle import (
    FEWEST,
)
from sightline.collection.models.memory import gigabytes
from sightline.collection.models.probabilities import fit_combination, with_curves
from sightline.collection.models.queries import combined, picture_counts
from sightline.collection.models.recipe import (
    SAVED_BY,
    Fitted,
    Recipe,
    fit,
    learned,
    ranker_spec,
    saved_recipe,
)
from sightline.collection.models.registry import bytes_free
from sightline.collection.models.remote import run_remote_trials
from sightline.collection.models.trials import (
    SelectionTask,
    TrialResult,
    run_trials,
)
from sightline.contracts import Mapper, Progress
from sightline.errors import DataError, UsageError
from sightline.rankers.cutoff import CutOff
from sightline.registry import feature_group
from sightline.vectors import Fingerprint
from sightline.words.combination import Combination, How

# Maximum number of pictures for selection; the selected recipe is then fitted to all of them.
SELECTED_ON = 6_000
# Number of training pictures for screening, and of rankers that pass it.
SCREENED_ON, PASSING = 1_500, 2
# The rankers that learn from blocks of rows (`streaming`).
STREAMED = ("ridge", "pamir")
# Memory that is left to everything else on the machine.
_SPARE = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Screening:
    """The results of trials on some training pictures, by recipe, and the best of them.

    `failed` has the reason for every recipe that could not be fitted.
    """

    training: Dataset
    tried: Mapping[Recipe, Sequence[TrialResult]]
    best: tuple[Fitted, How] | None = None
    failed: Mapping[Recipe, str] = field(default_factory=dict)

    @property
    def table(self) -> list[TrialResult]:
        """All results, in the order of the trials."""
        return [t for results in self.tried.values() for t in results]

    @property
    def not_tried(self) -> tuple[str, ...]:
        """Why each ranker that could not be fitted could not."""
        return tuple(dict.fromkeys(f"{r.ranker}: {reason}" for r, reason in self.failed.items()))


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The selected recipe, with its way to combine words and the results of all trials.

    `not_tried` has the reason for every ranker that was left out. `served` is what to serve in its
    place, where hyperparameters and calibration need every picture there is.
    """

    recipe: Recipe
    combination: Combination
    cutoff: CutOff
    table: tuple[TrialResult, ...]
    not_tried: tuple[str, ...] = ()
    served: Selection | None = None


def select(
    dataset: Dataset,
    rankers: Sequence[str],
    features: Sequence[str] | None,
    progress: Progress,
    compute: Mapper | None = None,
) -> Selection:
    """Select recipe, combination and cut-off without the held-out pictures."""
    held, validating = split(dataset)
    inner = selected_on(np.flatnonzero(~held & ~validating))
    validation = dataset.only(selected_on(np.flatnonzero(validating)))
    training = dataset.only(inner)
    rankers, not_tried = trainable_rankers(dataset, rankers, features)
    if not rankers:
        raise UsageError("No ranker can learn here. " + "; ".join(not_tried) + ".")
    # By few queries of saved words the selection would be luck.
    fewest = 1 if dataset.unlabelled is None else FEWEST
    selected = select_on(training, validation, rankers, features, progress, compute, fewest)
    if selected is None:
        selected = select_without_validation(dataset, rankers, features)
    return replace(selected, not_tried=(*not_tried, *selected.not_tried))


def selected_on(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return as many of some pictures as selection uses."""
    if len(rows) <= SELECTED_ON:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, SELECTED_ON, replace=False))


def select_on(
    training: Dataset,
    validation: Dataset,
    rankers: Sequence[str],
    features: Sequence[str] | None,
    progress: Progress,
    compute: Mapper | None = None,
    fewest: int = 1,
) -> Selection | None:
    """Select among rankers that can learn; None where there are fewer validation queries."""
    known = picture_counts(training.labels) > 0
    if not known.any():
        return None
    task = SelectionTask.of(training, validation, known)
    if len(task.queries) < fewest:
        return None
    rankers, first = screen(rankers, features, task, progress, compute)
    recipes = candidates(training, rankers, features)
    return select_recipe(recipes, task, progress, first, compute)


def select_without_validation(
    dataset: Dataset, rankers: Sequence[str], features: Sequence[str] | None
) -> Selection:
    """Select the most regularised recipe, without held-out pictures if the others are enough.

    Of a few judged pictures only one may not be held out, which calibrates nothing. So what is
    served of saved words is calibrated on all of them.
    """
    recipe = candidates(dataset, [_safest(rankers)], features)[-1]
    if dataset.unlabelled is not None and recipe.ranker == SAVED_BY:
        recipe = saved_recipe(recipe.features)
    rest = dataset.only(~split(dataset)[0])
    selected = _without_validation(recipe, rest if picture_counts(rest.labels).any() else dataset)
    if dataset.unlabelled is None:
        return selected
    return replace(selected, served=_without_validation(recipe, dataset))


def _safest(rankers: Sequence[str]) -> str:
    """Return the most regularised of some rankers, for too few pictures to validate by."""
    return "ridge" if "ridge" in rankers else rankers[-1]


def _without_validation(recipe: Recipe, dataset: Dataset) -> Selection:
    """Return the selection of one recipe, calibrated by the pictures it is fitted to."""
    try:
        fitted = fit(recipe, dataset)
    except DataError as e:
        tagged, todo = " with words", "Add words to more pictures."
        if dataset.unlabelled is not None:
            tagged, todo = "", "Judge more pictures, and save them again."
        raise UsageError(
            f"{recipe.ranker} cannot learn from the {len(dataset)} pictures{tagged} that are not "
            f"held out to measure the model. {todo} ({e})"
        ) from e
    scores = fitted.unseen if fitted.unseen is not None else fitted.scores(dataset.views)
    if ranker_spec(recipe.ranker).stacked_class:
        combination = Combination.of_logits(len(dataset.terms))
    else:
        combination = fit_combination("product", scores, dataset)
    left_out = fitted.unseen is not None
    combination = with_curves(combination, scores, dataset, left_out=left_out)
    # Where each word is as likely as not.
    even = {"h": np.full(len(dataset.terms), np.log(0.5)), "offsets": np.zeros(3), "follow": [0.0]}
    cutoff = CutOff.from_arrays({name: np.asarray(a) for name, a in even.items()})
    return Selection(fitted.recipe, combination, cutoff, ())


def trainable_rankers(
    dataset: Dataset, rankers: Sequence[str], features: Sequence[str] | None = None
) -> tuple[list[str], list[str]]:
    """Return the rankers that can be fitted to a data set, and for each other one the reason.

    >>> trainable_rankers(Dataset(np.zeros(0, np.int64), np.zeros(0, np.int64), None, {}), ["plsa"])
    ([], ['plsa: it learns from counts of visual words (sightline index --features visterms)'])
    """
    views = {f: v for f, v in dataset.views.items() if features is None or f in features}
    can, cannot = [], []
    free = bytes_free() * _SPARE
    for ranker in rankers:
        spec = ranker_spec(ranker)
        usable = [views[f] for f in spec.usable(views)]
        needed = spec.bytes_needed(usable, len(dataset.terms)) if usable else 0
        if not usable:
            reason = "it learns from counts of visual words (sightline index --features visterms)"
        elif dataset.is_streamed and ranker not in STREAMED:
            reason = (
                f"it needs all rows in memory, and {len(dataset)} pictures would take more than "
                f"the setting 'memory' allows ({gigabytes(dataset.memory)})"
            )
        elif not spec.available:
            reason = f"it needs {spec.requires} (pip install 'sightline[baselines]')"
        elif needed > free and not dataset.is_streamed:
            reason = (
                f"{len(dataset)} pictures and {len(dataset.terms)} words would take about "
                f"{gigabytes(needed)} of memory, and {gigabytes(int(free))} are free"
            )
        else:
            can.append(ranker)
            continue
        cannot.append(f"{ranker}: {reason}")
    return can, cannot


def candidates(
    dataset: Dataset, rankers: Sequence[str], features: Sequence[str] | None = None
) -> list[Recipe]:
    """Return the recipes to try: features of a group together, and all of them together.

    Groups (`registry.feature_group`) are the deep ones, the classic ones, the nine of `whole-all`,
    and each other one by itself.
    """
    names = [f for f in dataset.views if features is None or f in features]
    groups: dict[str, list[str]] = {}
    for f in names:
        groups.setdefault(feature_group(Fingerprint.parse(f).name), []).append(f)
    sets = [tuple(fs) for fs in groups.values()]
    sets += [tuple(names)] if len(sets) > 1 else []
    recipes: dict[Recipe, None] = {}
    # Those that see the same are neighbours, since one may build on the other.
    for chosen in sets:
        for ranker in rankers:
            usable = ranker_spec(ranker).usable({f: dataset.views[f] for f in chosen})
            for g in ranker_spec(ranker).grid if usable else ():
                recipes[Recipe(ranker, usable, tuple(sorted(g.items())))] = None
    return list(recipes)


def screen(
    rankers: Sequence[str],
    features: Sequence[str] | None,
    task: SelectionTask,
    progress: Progress,
    compute: Mapper | None = None,
) -> tuple[list[str], Screening]:
    """Return the rankers that pass the screening, in their order, and its results."""
    training = task.training
    if len(rankers) <= PASSING:
        return list(rankers), Screening(training, {})
    some = training
    if len(training) > SCREENED_ON:
        rng = np.random.default_rng(0)
        some = training.only(np.sort(rng.choice(len(training), SCREENED_ON, replace=False)))
    views = {f: v for f, v in training.views.items() if features is None or f in features}
    recipes = [
        Recipe(r, ranker_spec(r).usable(views), tuple(sorted(ranker_spec(r).grid[0].items())))
        for r in rankers
    ]
    screening = _run(recipes, Screening(some, {}), task, progress, compute, "screen")
    best = {r.ranker: max(t.avgp for t in results) for r, results in screening.tried.items()}
    passing = sorted(best, key=lambda r: -best[r])[:PASSING]
    return [r for r in rankers if r in passing], screening


def select_recipe(
    recipes: Sequence[Recipe],
    task: SelectionTask,
    progress: Progress,
    first: Screening | None = None,
    compute: Mapper | None = None,
) -> Selection:
    """Fit every recipe, measure it, and return the best with its combination and cut-off.

    `compute` is where recipes are tried, if not here. `first` is the screening.
    """
    best = best_recipe(recipes, task, progress, first, compute)
    combination, cutoff = settle(best.fitted, best.how, task)
    return Selection(best.fitted.recipe, combination, cutoff, best.table, best.not_tried)


@dataclass(frozen=True, slots=True, eq=False)
class BestRecipe:
    """The best recipe, fitted to the training pictures, and the results of all trials."""

    fitted: Fitted
    how: How
    table: tuple[TrialResult, ...]
    not_tried: tuple[str, ...]


def best_recipe(
    recipes: Sequence[Recipe],
    task: SelectionTask,
    progress: Progress,
    first: Screening | None = None,
    compute: Mapper | None = None,
) -> BestRecipe:
    """Fit every recipe, measure it, and return the best.

    Where the screening `first` was on the same pictures, no trial is run twice.
    """
    training = task.training
    same_pictures = first is not None and first.training is training
    start = first if first is not None and same_pictures else Screening(training, {})
    screening = _run(recipes, start, task, progress, compute, "choose")
    failed = dict.fromkeys((*(first.not_tried if first is not None else ()), *screening.not_tried))
    if screening.best is None:
        why = "; ".join(failed) or "there is nothing to choose from"
        raise UsageError(f"No ranker can learn from these {len(training)} pictures: {why}")
    if training.unlabelled is None:
        refined = refinements(screening.best[0].recipe)
        screening = _run(refined, screening, task, progress, compute, "refine")
    assert screening.best is not None
    fitted, how = screening.best
    table = screening.table if first is None or same_pictures else screening.table + first.table
    return BestRecipe(fitted, how, sorted_results(table), tuple(failed))


def refinements(recipe: Recipe) -> list[Recipe]:
    """Return the recipes that are tried once the best of the grid is known."""
    return [recipe.with_settings(**more) for more in ranker_spec(recipe.ranker).refinements]


def sorted_results(table: Iterable[TrialResult]) -> tuple[TrialResult, ...]:
    """Return results sorted: those on more pictures first, then by AvgP."""
    return tuple(sorted(table, key=lambda t: (-t.pictures, -t.avgp)))


def _run(
    recipes: Sequence[Recipe],
    before: Screening,
    task: SelectionTask,
    progress: Progress,
    compute: Mapper | None,
    label: str,
) -> Screening:
    """Fit to the pictures of `before`, and measure, the recipes that were not tried there."""
    best = before.best
    tried, failed = dict(before.tried), dict(before.failed)
    highest = max((t.avgp for t in before.table), default=-1.0)
    todo = [r for r in recipes if r not in tried and r not in failed]
    progress.start(label, len(todo))
    task = replace(task, training=before.training)
    outcomes = (
        run_trials(todo, task, progress)
        if compute is None
        else run_remote_trials(todo, task, progress, compute)
    )
    for outcome in outcomes:
        progress.advance()
        if outcome.failed:
            # What one ranker cannot learn from, another may.
            failed[outcome.recipe] = outcome.failed
            continue
        tried[outcome.recipe] = outcome.results
        for t, how in zip(outcome.results, outcome.ways, strict=True):
            if t.avgp > highest:
                highest, best = t.avgp, (outcome.fitted(), how)
    progress.finish()
    return Screening(before.training, tried, best, failed)


def settle(fitted: Fitted, how: How, task: SelectionTask) -> tuple[Combination, CutOff]:
    """Fit a combination on scores of unseen pictures, and the cut-off that serves queries best."""
    scores = fitted.scores(task.validation.views)
    stacked = bool(ranker_spec(fitted.recipe.ranker).stacked_class)
    unseen = None if stacked else fitted.unseen
    if stacked:
        combination = Combination.of_logits(scores.shape[1])
    elif unseen is not None:
        combination = fit_combination(how, unseen, learned(fitted, task.training))
    else:
        combination = Combination(how).fit(scores, task.validation.labels)
    combination.fill_flat()
    if unseen is not None:
        combination = with_curves(combination, unseen, task.training, left_out=True)
    else:
        combination = with_curves(combination, scores, task.validation, left_out=False)
    return combination, fit_cutoff(combination, combination.rows(scores), task)


def fit_cutoff(combination: Combination, rows: Floats, task: SelectionTask) -> CutOff:
    """Return the cut-off that gives the queries the best mean F1."""
    return CutOff().fit(rows, combined(task.queries, combination, task.idf))
