"""Learning on other machines: pictures go out once, recipes are fitted, tried and scored there.

Each task here does what the same code does at home, on the same numbers, so that a model that was
trained elsewhere is, byte for byte, the one that would have been trained here with one thread for
each product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.models.dataset import Sample, table_arrays, table_of
from sightline.collection.models.recipe import Fitted, Recipe, fit, kind_of
from sightline.collection.models.trials import Outcome, Tried, outcomes
from sightline.contracts import Held, Json, Mapper, Part, PartDone, Progress
from sightline.measures.many import ManyMeasured, measure_queries
from sightline.progress import NoProgress
from sightline.records import QuerySet
from sightline.words.combining import WAYS, How

Arrays = dict[str, NDArray[Any]]
Given = Mapping[str, NDArray[Any]]
Result = tuple[dict[str, Json], Arrays]
_QUERIES = ("start", "term", "weight", "fit_start", "fit")
# Queries that one part measures.
_ASKED = 256
_PICTURES_OF_A_SHARD = 20


def outcomes_of(
    recipes: Sequence[Recipe],
    training: Sample,
    validation: Sample,
    queries: QuerySet,
    idf: NDArray[np.float64],
    progress: Progress,
    compute: Mapper,
) -> Iterator[Outcome]:
    """Try recipes elsewhere, as `trying.outcomes` does here; those with shards learn from here."""
    if not recipes:
        return
    held = (
        compute.hold(sample_arrays(training, "training.")),
        compute.hold(
            {**sample_arrays(validation, "validation."), **query_arrays(queries), "idf": idf}
        ),
    )
    chains = list(_chains(recipes))
    away = [chain for chain in chains if not is_sharded(chain[0])]
    parts = (Part(_about(chain, training, validation), held=held) for chain in away)
    done = compute.map(try_recipes, parts)
    for chain in chains:
        if is_sharded(chain[0]):
            yield from outcomes(chain, training, validation, queries, idf, progress, compute)
        else:
            yield from _told(chain, next(done))


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


def try_recipes(args: dict[str, Json], arrays: Given) -> Result:
    """Fit and measure recipes that may build on each other."""
    training = sample_of(_names(args["training"]), arrays, "training.")
    validation = sample_of(_names(args["validation"]), arrays, "validation.")
    recipes = [recipe_of(r) for r in _list(args["recipes"])]
    given = (recipes, training, validation, queries_of(arrays), arrays["idf"], NoProgress())
    said: list[Json] = []
    made: Arrays = {}
    for i, outcome in enumerate(outcomes(*given)):
        if outcome.failed:
            said.append({"failed": outcome.failed})
            continue
        fitted = outcome.fitted()
        rows: list[Json] = [
            [how, t.avgp, t.p10, t.bep, t.train_seconds, t.query_ms, t.memory, t.pictures]
            for how, t in zip(outcome.ways, outcome.found, strict=True)
        ]
        said.append({"recipe": recipe_json(fitted.recipe), "rows": rows})
        made |= _kept(fitted, f"{i}.")
    return {"outcomes": said}, made


def fit_elsewhere(recipe: Recipe, samples: Sequence[Sample], compute: Mapper) -> Iterator[Fitted]:
    """Fit one recipe to several sets of pictures, side by side."""
    parts = (
        Part(
            {"recipe": recipe_json(recipe), "features": list[Json](s.views)},
            held=(compute.hold(sample_arrays(s, "")),),
        )
        for s in samples
    )
    for done in compute.map(fit_recipe, parts):
        yield _fitted_of(recipe_of(done.value["recipe"]), done, "")


def fit_recipe(args: dict[str, Json], arrays: Given) -> Result:
    """Fit one recipe to pictures."""
    fitted = fit(recipe_of(args["recipe"]), sample_of(_names(args["features"]), arrays, ""))
    return {"recipe": recipe_json(fitted.recipe)}, _kept(fitted, "")


def measure_elsewhere(
    rows: NDArray[np.float32], queries: QuerySet, compute: Mapper
) -> ManyMeasured:
    """Measure queries some at a time; each by itself, so that the figures are those of here."""
    held: Held = compute.hold({"rows": rows})
    firsts = range(0, len(queries), _ASKED)
    parts = (Part({}, query_arrays(_some(queries, i, i + _ASKED)), (held,)) for i in firsts)
    found = [done.arrays for done in compute.map(measure_some, parts)]
    return ManyMeasured(*(np.concatenate([f[n] for f in found]) for n in ("avgp", "p10", "bep")))


def measure_some(args: dict[str, Json], arrays: Given) -> Result:
    """Measure some queries."""
    found = measure_queries(arrays["rows"], queries_of(arrays))
    return {}, {"avgp": found.avgp, "p10": found.p10, "bep": found.bep}


def sample_arrays(sample: Sample, prefix: str) -> Arrays:
    """Return pictures to learn from as arrays."""
    out: Arrays = {f"{prefix}ids": sample.ids, f"{prefix}terms": sample.terms}
    out |= table_arrays(sample.labels, f"{prefix}labels.")
    if sample.unlabelled is not None:
        out[f"{prefix}unlabelled"] = sample.unlabelled
    for i, view in enumerate(sample.views.values()):
        out |= table_arrays(view, f"{prefix}view{i}.")
    return out


def sample_of(features: Sequence[str], arrays: Given, prefix: str) -> Sample:
    """Return the pictures again; the names of features do not travel as arrays."""
    views = {name: table_of(arrays, f"{prefix}view{i}.") for i, name in enumerate(features)}
    labels = table_of(arrays, f"{prefix}labels.")
    free = arrays.get(f"{prefix}unlabelled")
    return Sample(arrays[f"{prefix}ids"], arrays[f"{prefix}terms"], labels, views, unlabelled=free)


def query_arrays(queries: QuerySet) -> Arrays:
    """Return queries as arrays."""
    return {f"queries.{n}": getattr(queries, n) for n in _QUERIES}


def queries_of(arrays: Given) -> QuerySet:
    """Return the queries again."""
    return QuerySet(*(arrays[f"queries.{n}"] for n in _QUERIES))


def recipe_json(recipe: Recipe) -> Json:
    """Return a recipe as plain values."""
    settings: dict[str, Json] = dict(recipe.settings)
    return {"ranker": recipe.ranker, "features": list(recipe.features), "settings": settings}


def recipe_of(said: Any) -> Recipe:
    """Return the recipe again."""
    settings = tuple(sorted(said["settings"].items()))
    return Recipe(str(said["ranker"]), tuple(said["features"]), settings)


def _chains(recipes: Sequence[Recipe]) -> Iterator[list[Recipe]]:
    """Yield recipes in order, those that may build on the one before together with it."""
    chain: list[Recipe] = []
    for recipe in recipes:
        base = kind_of(recipe.ranker).base
        follows = bool(chain) and base == chain[-1].ranker and chain[-1].features == recipe.features
        if chain and not follows:
            yield chain
            chain = []
        chain.append(recipe)
    if chain:
        yield chain


def _about(chain: Sequence[Recipe], training: Sample, validation: Sample) -> dict[str, Json]:
    return {
        "recipes": [recipe_json(r) for r in chain],
        "training": list[Json](training.views),
        "validation": list[Json](validation.views),
    }


def _told(chain: Sequence[Recipe], done: PartDone) -> Iterator[Outcome]:
    for i, (recipe, said) in enumerate(zip(chain, _list(done.value["outcomes"]), strict=True)):
        assert isinstance(said, dict)
        if "failed" in said:
            yield Outcome(recipe, failed=str(said["failed"]))
            continue
        made = recipe_of(said["recipe"])
        rows: list[Any] = _list(said["rows"])
        found = tuple(Tried(made, *row) for row in rows)
        yield Outcome(
            recipe, found, tuple(_way(row[0]) for row in rows),
            lambda i=i, made=made: _fitted_of(made, done, f"{i}."),  # type: ignore[misc]
        )  # fmt: skip


def _way(said: str) -> How:
    return next(way for way in WAYS if way == said)


def _kept(fitted: Fitted, prefix: str) -> Arrays:
    unseen = fitted.unseen
    more = {} if unseen is None else {f"{prefix}unseen": unseen}
    return {**fitted.to_arrays(f"{prefix}fitted."), **more}


def _fitted_of(recipe: Recipe, done: PartDone, prefix: str) -> Fitted:
    arrays = {n: np.asarray(a) for n, a in done.arrays.items()}
    unseen = arrays.get(f"{prefix}unseen")
    return replace(Fitted.from_arrays(recipe, arrays, f"{prefix}fitted."), left_out=lambda: unseen)


def _some(queries: QuerySet, first: int, last: int) -> QuerySet:
    start, fit_start = queries.start[first : last + 1], queries.fit_start[first : last + 1]
    words, fits = slice(start[0], start[-1]), slice(fit_start[0], fit_start[-1])
    return QuerySet(
        start - start[0], queries.term[words], queries.weight[words],
        fit_start - fit_start[0], queries.fit[fits],
    )  # fmt: skip


def _names(value: Json) -> list[str]:
    return [str(v) for v in _list(value)]


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value
