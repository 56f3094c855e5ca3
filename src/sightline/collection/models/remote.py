"""Training on other machines: data sets are sent once; recipes are fitted and measured there.

Each task runs the same code on the same numbers as a local training. A model that was trained
remotely equals, byte for byte, the one trained here with one thread for each matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays
from sightline.collection.models.dataset import Dataset, table_arrays, table_of
from sightline.collection.models.recipe import Fitted, Recipe, fit, ranker_spec
from sightline.collection.models.trials import SelectionTask, TrialOutcome, TrialResult, run_trials
from sightline.contracts import Json, Mapper, Part, PartDone, Progress, SharedArrays
from sightline.measures.many import ManyMeasured, measure_queries
from sightline.progress import NoProgress
from sightline.records import QuerySet
from sightline.words.combination import WAYS, How

ArraysByName = Mapping[str, NDArray[Any]]
Result = tuple[dict[str, Json], Arrays]
_QUERIES = ("start", "term", "weight", "relevant_start", "relevant")
# Queries that one part measures.
_QUERIES_OF_A_PART = 256
_PICTURES_OF_A_SHARD = 20


def run_remote_trials(
    recipes: Sequence[Recipe],
    task: SelectionTask,
    progress: Progress,
    compute: Mapper,
) -> Iterator[TrialOutcome]:
    """Do remotely what `run_trials` does; rankers with shards are driven by this process."""
    if not recipes:
        return
    validation = dataset_arrays(task.validation, "validation.")
    held = (
        compute.hold(dataset_arrays(task.training, "training.")),
        compute.hold({**validation, **query_arrays(task.queries), "idf": task.idf}),
    )
    chains = list(_chains(recipes))
    away = [chain for chain in chains if not is_sharded(chain[0])]
    parts = (Part(_about(chain, task), held=held) for chain in away)
    done = compute.map(try_recipes, parts)
    for chain in chains:
        if is_sharded(chain[0]):
            yield from run_trials(chain, task, progress, compute)
        else:
            yield from _received_trials(chain, next(done))


def is_sharded(recipe: Recipe) -> bool:
    """Say whether a recipe's ranker learns in shards."""
    return int(str(dict(recipe.settings).get("shards", 1))) > 1


def fewer_shards(recipe: Recipe, pictures: int) -> Recipe:
    """Return a recipe whose shards have some pictures each, however few there are.

    >>> r = Recipe("pamir", ("deep-1",), (("C", 1.0), ("shards", 8)))
    >>> fewer_shards(r, 100).settings, fewer_shards(r, 10).settings
    ((('C', 1.0), ('shards', 5)), (('C', 1.0),))
    """
    if not is_sharded(recipe):
        return recipe
    settings = dict(recipe.settings)
    shards = min(int(str(settings.pop("shards"))), pictures // _PICTURES_OF_A_SHARD)
    more = {"shards": shards} if shards > 1 else {}
    return replace(recipe, settings=tuple(sorted({**settings, **more}.items())))


def try_recipes(args: dict[str, Json], arrays: ArraysByName) -> Result:
    """Fit and measure recipes that may build on each other."""
    training, validation = (
        dataset_of(_names(args[part]), arrays, f"{part}.") for part in ("training", "validation")
    )
    task = SelectionTask(
        training, validation, queries_of(arrays), arrays["idf"], bool(args["texts"])
    )
    recipes = [Recipe.from_json(r) for r in _list(args["recipes"])]
    reports: list[Json] = []
    fitted_arrays: Arrays = {}
    for i, outcome in enumerate(run_trials(recipes, task, NoProgress())):
        if outcome.failed:
            reports.append({"failed": outcome.failed})
            continue
        fitted = outcome.fitted()
        rows: list[Json] = [
            [how, t.avgp, t.p10, t.bep, t.train_seconds, t.query_ms, t.memory, t.pictures]
            for how, t in zip(outcome.ways, outcome.results, strict=True)
        ]
        reports.append({"recipe": fitted.recipe.to_json(), "rows": rows})
        fitted_arrays |= _kept(fitted, f"{i}.")
    return {"outcomes": reports}, fitted_arrays


def fit_remote(recipe: Recipe, datasets: Sequence[Dataset], compute: Mapper) -> Iterator[Fitted]:
    """Fit one recipe to several sets of pictures, side by side."""
    parts = (
        Part(
            {"recipe": recipe.to_json(), "features": list[Json](s.views)},
            held=(compute.hold(dataset_arrays(s, "")),),
        )
        for s in datasets
    )
    for done in compute.map(fit_recipe, parts):
        yield _fitted_of(Recipe.from_json(done.value["recipe"]), done, "")


def fit_recipe(args: dict[str, Json], arrays: ArraysByName) -> Result:
    """Fit one recipe to pictures."""
    fitted = fit(Recipe.from_json(args["recipe"]), dataset_of(_names(args["features"]), arrays, ""))
    return {"recipe": fitted.recipe.to_json()}, _kept(fitted, "")


def measure_remote(rows: NDArray[np.float32], queries: QuerySet, compute: Mapper) -> ManyMeasured:
    """Measure queries in parts; each by itself, so that figures equal those measured locally."""
    held: SharedArrays = compute.hold({"rows": rows})
    firsts = range(0, len(queries), _QUERIES_OF_A_PART)
    parts = (
        Part({}, query_arrays(_some(queries, i, i + _QUERIES_OF_A_PART)), (held,)) for i in firsts
    )
    measured = [done.arrays for done in compute.map(measure_some, parts)]
    return ManyMeasured(*(np.concatenate([f[n] for f in measured]) for n in ("avgp", "p10", "bep")))


def measure_some(args: dict[str, Json], arrays: ArraysByName) -> Result:
    """Measure some queries."""
    measured = measure_queries(arrays["rows"], queries_of(arrays))
    return {}, {"avgp": measured.avgp, "p10": measured.p10, "bep": measured.bep}


def dataset_arrays(dataset: Dataset, prefix: str) -> Arrays:
    """Return pictures to learn from as arrays."""
    arrays: Arrays = {f"{prefix}ids": dataset.ids, f"{prefix}terms": dataset.terms}
    arrays |= table_arrays(dataset.labels, f"{prefix}labels.")
    if dataset.unlabelled is not None:
        arrays[f"{prefix}unlabelled"] = dataset.unlabelled
    for i, view in enumerate(dataset.views.values()):
        arrays |= table_arrays(view, f"{prefix}view{i}.")
    return arrays


def dataset_of(features: Sequence[str], arrays: ArraysByName, prefix: str) -> Dataset:
    """Return the data set of such arrays; the names of features are sent apart."""
    views = {name: table_of(arrays, f"{prefix}view{i}.") for i, name in enumerate(features)}
    labels = table_of(arrays, f"{prefix}labels.")
    unlabelled = arrays.get(f"{prefix}unlabelled")
    return Dataset(
        arrays[f"{prefix}ids"], arrays[f"{prefix}terms"], labels, views, unlabelled=unlabelled
    )


def query_arrays(queries: QuerySet) -> Arrays:
    """Return queries as arrays."""
    return {f"queries.{n}": getattr(queries, n) for n in _QUERIES}


def queries_of(arrays: ArraysByName) -> QuerySet:
    """Return the queries again."""
    return QuerySet(*(arrays[f"queries.{n}"] for n in _QUERIES))


def _chains(recipes: Sequence[Recipe]) -> Iterator[list[Recipe]]:
    """Yield recipes in order, those that may build on the one before together with it."""
    chain: list[Recipe] = []
    for recipe in recipes:
        base = ranker_spec(recipe.ranker).stacked_on
        follows = bool(chain) and base == chain[-1].ranker and chain[-1].features == recipe.features
        if chain and not follows:
            yield chain
            chain = []
        chain.append(recipe)
    if chain:
        yield chain


def _about(chain: Sequence[Recipe], task: SelectionTask) -> dict[str, Json]:
    return {
        "recipes": [r.to_json() for r in chain],
        "training": list[Json](task.training.views),
        "validation": list[Json](task.validation.views),
        "texts": task.texts,
    }


def _received_trials(chain: Sequence[Recipe], done: PartDone) -> Iterator[TrialOutcome]:
    for i, (recipe, report) in enumerate(zip(chain, _list(done.value["outcomes"]), strict=True)):
        assert isinstance(report, dict)
        if "failed" in report:
            yield TrialOutcome(recipe, failed=str(report["failed"]))
            continue
        tried = Recipe.from_json(report["recipe"])
        rows: list[Any] = _list(report["rows"])
        results = tuple(TrialResult(tried, *row) for row in rows)
        yield TrialOutcome(
            recipe, results, tuple(_way(row[0]) for row in rows),
            lambda i=i, tried=tried: _fitted_of(tried, done, f"{i}."),  # type: ignore[misc]
        )  # fmt: skip


def _way(name: str) -> How:
    return next(way for way in WAYS if way == name)


def _kept(fitted: Fitted, prefix: str) -> Arrays:
    left_out = {"unseen": fitted.unseen, "below": fitted.below()}
    more = {f"{prefix}{name}": a for name, a in left_out.items() if a is not None}
    return {**fitted.to_arrays(f"{prefix}fitted."), **more}


def _fitted_of(recipe: Recipe, done: PartDone, prefix: str) -> Fitted:
    arrays = {n: np.asarray(a) for n, a in done.arrays.items()}
    unseen, below = arrays.get(f"{prefix}unseen"), arrays.get(f"{prefix}below")
    fitted = Fitted.from_arrays(recipe, arrays, f"{prefix}fitted.")
    return replace(fitted, left_out=lambda: unseen, below=lambda: below)


def _some(queries: QuerySet, first: int, last: int) -> QuerySet:
    start, relevant_start = (
        queries.start[first : last + 1],
        queries.relevant_start[first : last + 1],
    )
    words, relevant = slice(start[0], start[-1]), slice(relevant_start[0], relevant_start[-1])
    return QuerySet(
        start - start[0], queries.term[words], queries.weight[words],
        relevant_start - relevant_start[0], queries.relevant[relevant],
    )  # fmt: skip


def _names(value: Json) -> list[str]:
    return [str(v) for v in _list(value)]


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value
