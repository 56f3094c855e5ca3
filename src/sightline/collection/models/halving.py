"""The search over rankers, features and hyperparameters, by successive halving within a budget.

Every recipe is tried on few training pictures, the best third of them on three times as many, and
so on up to all (Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
optimization", 2016). The features of the model in use come first, so that a search that ends early
has tried what is likely to be best. Refinements of the best recipe are tried last.

A search ends when nothing is left to try, when its budget of seconds or trials is spent, or when it
is interrupted; what is best by then is selected. The results of trials are kept in the store, and
those on the same pictures and words are not run again.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from sightline.annotators._alpha import sample
from sightline.collection.models.dataset import Dataset, split
from sightline.collection.models.queries import picture_counts
from sightline.collection.models.recipe import Fitted, Recipe, ranker_spec
from sightline.collection.models.remote import run_remote_trials
from sightline.collection.models.selection import (
    Selection,
    candidates,
    refinements,
    selected_on,
    settle,
    sorted_results,
    trainable_rankers,
)
from sightline.collection.models.trials import SelectionTask, TrialOutcome, TrialResult, run_trials
from sightline.contracts import Json, Mapper, Progress
from sightline.errors import ParameterError
from sightline.words.combination import WAYS, How

# The least training pictures of a trial, and how many times as many the next trials have.
LEAST_PICTURES, GROWTH = 500, 3
_FILE = "trials.jsonl"


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a search may take: seconds, and trials that are run."""

    seconds: float = math.inf
    trials: float = math.inf

    @classmethod
    def of(cls, search: float | bool | None, trials: int | None) -> Budget | None:
        """Return the budget that a user named; None if nothing is to be searched.

        >>> Budget.of(60, None), Budget.of(True, 5), Budget.of(None, None)
        (Budget(seconds=60.0, trials=inf), Budget(seconds=inf, trials=5), None)
        """
        if search is None or search is False:
            if trials is None:
                return None
            search = True
        seconds = math.inf if search is True else float(search)
        if not seconds >= 0:
            raise ParameterError.of("search", "train", "a number of seconds, 0 or more", search)
        if trials is not None and trials < 0:
            raise ParameterError.of("trials", "train", "0 or more", trials)
        return cls(seconds, math.inf if trials is None else trials)


@dataclass(frozen=True, slots=True)
class SearchSummary:
    """What a search did.

    Attributes
    ----------
    trials, reused : int
        How many trials were run, and how many were known from earlier trainings.
    seconds : float
        How long it took.
    ended : {"complete", "budget", "interrupted"}
        Why it ended.
    improved : bool
        Whether what it selected was published in place of the quick model.
    table : tuple of TrialResult
        The results of trials, best first.
    not_tried : tuple of str
        Why each ranker that was left out could not be tried.
    """

    trials: int
    reused: int
    seconds: float
    ended: str
    improved: bool = False
    table: tuple[TrialResult, ...] = ()
    not_tried: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values, without the table."""
        return {
            "trials": self.trials, "reused": self.reused, "seconds": round(self.seconds, 3),
            "ended": self.ended, "improved": self.improved,
        }  # fmt: skip

    def __str__(self) -> str:
        why = {
            "complete": "nothing is left to try", "budget": "the budget is spent",
            "interrupted": "interrupted",
        }[self.ended]  # fmt: skip
        known = f" and {self.reused} known from earlier trainings" if self.reused else ""
        what = "a better model was published" if self.improved else "the quick model stays"
        plural = "s" * (self.trials != 1)
        return f"{self.trials} trial{plural}{known} in {self.seconds:.0f} s ({why}): {what}"


class TrialMemory:
    """Results of trials on one data set, kept in a file of the store.

    Lines of other data sets are dropped when the first result is added.
    """

    def __init__(self, folder: Path | None, basis: str) -> None:
        self._path = None if folder is None else folder / _FILE
        self._basis = f"{basis} {version('sightline')}"
        self._known = dict(self._read())

    def get(self, recipe: Recipe, pictures: int) -> tuple[TrialResult, ...] | None:
        """Return the results of a recipe for a number of pictures."""
        return self._known.get(_key(recipe, pictures))

    def add(self, recipe: Recipe, pictures: int, results: Sequence[TrialResult]) -> None:
        """Keep the results of a recipe; they are on the disk when this returns."""
        if self._path is None:
            return
        if not self._known:
            self._path.unlink(missing_ok=True)
        self._known[_key(recipe, pictures)] = tuple(results)
        kept = [{**asdict(r), "recipe": r.recipe.to_json()} for r in results]
        line = {"basis": self._basis, "key": _key(recipe, pictures), "results": kept}
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")
            f.flush()
            os.fsync(f.fileno())

    def _read(self) -> Iterator[tuple[str, tuple[TrialResult, ...]]]:
        if self._path is None or not self._path.exists():
            return
        for text in self._path.read_text(encoding="utf-8").splitlines():
            try:
                line = json.loads(text)
                kept = [(Recipe.from_json(r.pop("recipe")), r) for r in line["results"]]
                results = tuple(TrialResult(recipe, **r) for recipe, r in kept)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue  # Cut off in the middle of a write; the trial is run again.
            if line["basis"] == self._basis:
                yield line["key"], results


def _key(recipe: Recipe, pictures: int) -> str:
    return json.dumps([recipe.to_json(), pictures], sort_keys=True)


@dataclass(slots=True, eq=False)
class _TrialSearch:
    """A search under way."""

    budget: Budget
    memory: TrialMemory
    progress: Progress
    compute: Mapper | None
    begun: float = field(default_factory=time.monotonic)
    n_run: int = 0
    n_reused: int = 0
    ended: str = "complete"
    failed: dict[Recipe, str] = field(default_factory=dict)
    fitted: tuple[Recipe, int, Callable[[], Fitted]] | None = None
    seconds_of: dict[str, float] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent, or the search was interrupted."""
        spent = self.n_run >= self.budget.trials or self.elapsed >= self.budget.seconds
        if spent and self.ended == "complete":
            self.ended = "budget"
        return self.ended != "complete"

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun

    def rung(
        self, recipes: Sequence[Recipe], task: SelectionTask
    ) -> dict[Recipe, tuple[TrialResult, ...]]:
        """Return the results of recipes on the training pictures of a task, as far as it comes."""
        n = len(task.training)
        tried = {r: known for r in recipes if (known := self.memory.get(r, n)) is not None}
        self.n_reused += len(tried)
        todo = [r for r in recipes if r not in tried and r not in self.failed]
        if not todo or self.is_over:
            return tried
        self.progress.start(f"search on {n} pictures", len(todo))
        best = max((t.avgp for results in tried.values() for t in results), default=-1.0)
        try:
            for i, outcome in enumerate(self._outcomes(todo, task), 1):
                self.n_run += 1
                self.progress.advance()
                if outcome.failed:
                    self.failed[outcome.recipe] = outcome.failed
                else:
                    tried[outcome.recipe] = outcome.results
                    self.memory.add(outcome.recipe, n, outcome.results)
                    highest = max(t.avgp for t in outcome.results)
                    if highest > best:
                        best, self.fitted = highest, (outcome.recipe, n, outcome.fitted)
                    name = outcome.recipe.ranker
                    self.seconds_of[name] = outcome.results[0].train_seconds / n
                self.progress.note(self._left(todo[i:], n, best))
                if self.is_over:
                    break
        except KeyboardInterrupt:
            self.ended = "interrupted"
        self.progress.finish()
        return tried

    def summary(self, table: Sequence[TrialResult], not_tried: Sequence[str]) -> SearchSummary:
        """Return what was done."""
        failed = dict.fromkeys(f"{r.ranker}: {why}" for r, why in self.failed.items())
        return SearchSummary(
            self.n_run, self.n_reused, self.elapsed, self.ended,
            table=sorted_results(table), not_tried=(*not_tried, *failed),
        )  # fmt: skip

    def _outcomes(self, todo: Sequence[Recipe], task: SelectionTask) -> Iterator[TrialOutcome]:
        if self.compute is None:
            return run_trials(todo, task, self.progress)
        return run_remote_trials(todo, task, self.progress, self.compute)

    def _left(self, todo: Sequence[Recipe], n: int, best: float) -> str:
        """Say what is best, and how long the rest of the rung takes by the trials before."""
        usual = float(np.mean(list(self.seconds_of.values()) or [0.0]))
        rest = n * sum(self.seconds_of.get(r.ranker, usual) for r in todo)
        rest = min(rest, self.budget.seconds - self.elapsed)
        return f"best AvgP {best:.3f}, about {max(rest, 0.0):.0f} s left on {n} pictures"


def search(
    dataset: Dataset,
    rankers: Sequence[str],
    features: Sequence[str] | None,
    in_use: Recipe | None,
    budget: Budget,
    store: Path | None,
    progress: Progress,
    compute: Mapper | None = None,
) -> tuple[Selection | None, SearchSummary]:
    """Return the best that was tried, None if that is the model in use, and what was done.

    Parameters
    ----------
    dataset : Dataset
        All pictures; the held-out ones take no part.
    rankers, features : sequence of str
        What to try.
    in_use : Recipe or None
        The recipe of the quick model.
    budget : Budget
        How long to search.
    store : Path or None
        Where results of trials are kept; None keeps none.
    progress : Progress
        Shows how it goes.
    compute : Mapper, optional
        Where trials run, if not here.
    """
    held, validating = split(dataset)
    inner = selected_on(np.flatnonzero(~held & ~validating))
    validation = dataset.only(selected_on(np.flatnonzero(validating)))
    training = dataset.only(inner)
    rankers, not_tried = trainable_rankers(dataset, rankers, features)
    known = picture_counts(training.labels) > 0
    run = _TrialSearch(budget, TrialMemory(store, dataset.basis()), progress, compute)
    if not known.any() or not rankers:
        return None, run.summary((), not_tried)
    task = SelectionTask.of(training, validation, known)
    if not len(task.queries):
        return None, run.summary((), not_tried)
    first = in_use.features if in_use is not None else ()
    recipes = sorted(candidates(training, rankers, features), key=lambda r: r.features != first)
    table: list[TrialResult] = []
    best: tuple[TrialResult, SelectionTask] | None = None
    sizes = rungs(len(training))
    for size in sizes:
        if not recipes or run.is_over:
            break
        rows = sample(np.arange(len(training)), size, 0)
        rung_task = task if size == len(training) else replace(task, training=training.only(rows))
        tried = run.rung(recipes, rung_task)
        if size == sizes[-1] and tried and not run.is_over:
            top = max(tried, key=lambda r: max(t.avgp for t in tried[r]))
            tried |= run.rung(refinements(top), rung_task)
        results = [t for of_recipe in tried.values() for t in of_recipe]
        table += results
        if results:
            best = max(results, key=lambda t: t.avgp), rung_task
        recipes = _best_third(recipes, tried)
    summary = run.summary(table, not_tried)
    if best is None or _is_same(best[0], in_use):
        return None, summary
    result, rung_task = best
    fitted = _refitted(run, result, rung_task)
    how: How = next(way for way in WAYS if way == result.how)
    combination, cutoff = settle(fitted, how, rung_task)
    selection = Selection(fitted.recipe, combination, cutoff, summary.table, summary.not_tried)
    return selection, summary


def rungs(n: int) -> list[int]:
    """Return the numbers of training pictures, ascending, of trials on up to n.

    >>> rungs(6_000), rungs(600)
    ([666, 2000, 6000], [600])
    """
    sizes = [n]
    while sizes[0] // GROWTH >= LEAST_PICTURES:
        sizes.insert(0, sizes[0] // GROWTH)
    return sizes


def _best_third(
    recipes: Sequence[Recipe], tried: Mapping[Recipe, Sequence[TrialResult]]
) -> list[Recipe]:
    """Return the best third of recipes in their order, at least two."""
    ranked = sorted(tried, key=lambda r: -max(t.avgp for t in tried[r]))
    kept = set(ranked[: max(2, -(-len(ranked) // GROWTH))])
    return [r for r in recipes if r in kept]


def _is_same(best: TrialResult, in_use: Recipe | None) -> bool:
    recipe = best.recipe
    return in_use is not None and (recipe.ranker, recipe.features) == (
        in_use.ranker, in_use.features
    ) and "excluded" not in dict(recipe.settings).values()  # fmt: skip


def _refitted(run: _TrialSearch, result: TrialResult, task: SelectionTask) -> Fitted:
    """Return the best recipe fitted, which a trial of this search may have kept."""
    if run.fitted is not None and run.fitted[1] == len(task.training):
        fitted = run.fitted[2]()
        if fitted.recipe == result.recipe:
            return fitted
    (outcome,) = run_trials([_untuned(result.recipe)], task, run.progress)
    return outcome.fitted()


def _untuned(recipe: Recipe) -> Recipe:
    """Return a recipe without the hyperparameters that fitting chose."""
    tuned = {name for name, _ in ranker_spec(recipe.ranker).tuned}
    kept = tuple(s for s in recipe.settings if s[0] not in tuned)
    return replace(recipe, settings=kept)
