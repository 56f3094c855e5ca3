"""Recipes: a ranker, its features and its hyperparameters, fitted to a data set.

A fitted recipe scores every word for every picture. It is saved as arrays.
How a ranker takes several features is in its `RankerSpec`: PAMIR concatenates them, kernel ridge
averages their kernels, models of visual words take counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline._typing import Arrays, Floats, Ints
from sightline.annotators.wrong_tags import tags_kept
from sightline.collection.models.dataset import (
    Dataset,
    View,
    Weighting,
)
from sightline.collection.models.registry import RANKERS, LeftOut, OnRound, RankerSpec
from sightline.contracts import Json, Mapper
from sightline.errors import MissingExtra, UsageError
from sightline.records import QuerySet
from sightline.store.stored_rows import AT_ONCE, StoredRows
from sightline.vectors import Fingerprint

# The ranker of words that were saved from sessions: it needs few pictures, and is calibrated.
SAVED_BY = "ridge"
_SAVED, _IS_SAVED = "saved.", "is_saved"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to fit: a ranker, the fingerprints of its features, and its hyperparameters."""

    ranker: str
    features: tuple[str, ...]
    settings: tuple[tuple[str, Json], ...] = ()

    def with_settings(self, **more: Json) -> Recipe:
        """Return the recipe with some hyperparameters changed."""
        changed = {**dict(self.settings), **more}
        return Recipe(self.ranker, self.features, tuple(sorted(changed.items())))

    def to_json(self) -> dict[str, Json]:
        """Return the recipe as plain values, with the package of a ranker that a plugin adds."""
        plugin = plugins.plugin_of_ranker(self.ranker.partition(":")[0])
        settings: dict[str, Json] = dict(self.settings)
        plain: dict[str, Json] = {
            "ranker": self.ranker, "features": list(self.features), "settings": settings,
        }  # fmt: skip
        return {**plain, "plugin": plugin} if plugin else plain

    @classmethod
    def from_json(cls, value: Any) -> Recipe:
        """Return the recipe from what `to_json` returned."""
        settings = tuple(sorted(value["settings"].items()))
        return cls(str(value["ranker"]), tuple(value["features"]), settings)

    def __str__(self) -> str:
        names = "+".join(Fingerprint.parse(f).name for f in self.features)
        settings = ", ".join(f"{k}={_short(v)}" for k, v in self.settings)
        return f"{self.ranker} on {names}" + (f" ({settings})" if settings else "")


def _short(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def no_scores() -> None:
    """Return None, in place of scores that nobody needs any more."""
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted recipe; `left_out` gives what `unseen` is, `below` that of what it is stacked on.

    `saved`, if there is one, scores the words where `is_saved` is true, which were learned from
    pictures of their own, by the same features. `sampled` are the positions of the training
    pictures that `unseen` has, None for all.
    """

    recipe: Recipe
    weightings: tuple[Weighting, ...]
    arrays: Mapping[str, NDArray[Any]]
    left_out: LeftOut = no_scores
    below: LeftOut = no_scores
    saved: Fitted | None = None
    is_saved: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    sampled: Ints | None = None

    @property
    def unseen(self) -> Floats | None:
        """Scores of the training pictures, each as if left out; None if the ranker has none."""
        return self.left_out()

    @property
    def independent(self) -> Floats | None:
        """Scores of the training pictures by nothing that was fitted to their own words.

        A second stage is fitted to the scores of left-out pictures and to their words.
        """
        stacked = ranker_spec(self.recipe.ranker).stacked_on
        return self.below() if stacked else self.left_out()

    def scores(self, views: Mapping[str, View], words: Ints | None = None) -> Floats:
        """Return the scores of pictures for all words, or for the words at some positions."""
        if self.saved is None:
            return self._own_scores(views, words)
        at_words = np.arange(len(self.is_saved)) if words is None else words
        saved = self.is_saved[at_words]
        # The column of each word in the part that it belongs to.
        column = np.where(self.is_saved, np.cumsum(self.is_saved), np.cumsum(~self.is_saved)) - 1
        out = np.empty((views[self.recipe.features[0]].shape[0], len(at_words)), np.float32)
        for part, scores in ((~saved, self._own_scores), (saved, self.saved.scores)):
            if part.any():
                out[:, part] = scores(views, column[at_words[part]])
        return out

    def _own_scores(self, views: Mapping[str, View], words: Ints | None) -> Floats:
        spec, stored = ranker_spec(self.recipe.ranker), views[self.recipe.features[0]]
        if not isinstance(stored, StoredRows):
            return spec.scores(self.arrays, self.weighted(views), words)
        parts = []
        for start in range(0, len(stored), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            block = {f: views[f].read(rows) for f in self.recipe.features}
            parts.append(spec.scores(self.arrays, self.weighted(block), words))
        return np.concatenate(parts)

    def weighted(self, views: Mapping[str, View]) -> list[View]:
        """Return the rows of its features, weighted and L2-normalised as it learned from them."""
        return [w(views[f]) for f, w in zip(self.recipe.features, self.weightings, strict=True)]

    @property
    def shared_space(self) -> bool:
        """Whether words, texts and pictures are points of one space."""
        return ranker_spec(self.recipe.ranker).shared_space

    def points(self, views: Mapping[str, View]) -> Floats:
        """Return pictures as points of the space, (pictures, k)."""
        return ranker_spec(self.recipe.ranker).points(self.arrays, self.weighted(views))

    def word_points(self, words: NDArray[np.int64] | None = None) -> Floats:
        """Return words, or those at some positions, as points of the space, (words, k)."""
        return ranker_spec(self.recipe.ranker).word_points(self.arrays, words)

    def text_points(self, labels: Any) -> Floats:
        """Return texts, by how often each holds each word, as points of the space, (texts, k)."""
        return ranker_spec(self.recipe.ranker).text_points(self.arrays, labels)

    def to_arrays(self, prefix: str) -> Arrays:
        """Return its arrays, under names with a prefix."""
        idf = {f"{prefix}idf.{i}": w.idf for i, w in enumerate(self.weightings)}
        arrays = {**idf, **{f"{prefix}{name}": a for name, a in self.arrays.items()}}
        if self.saved is None:
            return arrays
        mask = {f"{prefix}{_IS_SAVED}": self.is_saved.astype(np.uint8)}
        return {**arrays, **mask, **self.saved.to_arrays(f"{prefix}{_SAVED}")}

    @classmethod
    def from_arrays(cls, recipe: Recipe, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Fitted:
        """Return the fitted recipe from the arrays of `to_arrays`."""
        plain_arrays = {
            n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)
        }
        if _IS_SAVED in plain_arrays:
            is_saved = np.asarray(plain_arrays.pop(_IS_SAVED)).astype(np.bool_)
            of_saved = {n: plain_arrays.pop(n) for n in list(plain_arrays) if n.startswith(_SAVED)}
            saved = cls.from_arrays(Recipe(SAVED_BY, recipe.features), of_saved, _SAVED)
            return replace(
                cls.from_arrays(recipe, plain_arrays, ""), saved=saved, is_saved=is_saved
            )
        counts = ranker_spec(recipe.ranker).counts
        weightings = tuple(
            Weighting(plain_arrays.pop(f"idf.{i}"), plain=counts)
            for i in range(len(recipe.features))
        )
        return cls(recipe, weightings, plain_arrays)


def check_installed(model: str, recipe: Any) -> None:
    """Raise if the ranker of a model came with a package that is not installed any more."""
    name, package = str(recipe["ranker"]).partition(":")[0], recipe.get("plugin")
    if package and name not in plugins.rankers():
        raise MissingExtra(
            f"The model {model} was trained by the ranker {name!r} of the plugin {package}, which "
            f"is not installed. Install {package}, or train again: sightline train"
        )


def builds_on(recipe: Recipe, last: Fitted | None) -> bool:
    """Return whether a recipe stacks on what was fitted last: its base, with equal features."""
    base = ranker_spec(recipe.ranker).stacked_on
    if (
        not base
        or last is None
        or (base, recipe.features) != (last.recipe.ranker, last.recipe.features)
    ):
        return False
    # A fitted recipe also has the hyperparameters that fitting chose.
    return set(recipe.settings) <= set(last.recipe.settings)


def fit(
    recipe: Recipe,
    dataset: Dataset,
    validation: tuple[Dataset, QuerySet] | None = None,
    last: Fitted | None = None,
    on_round: OnRound | None = None,
    compute: Mapper | None = None,
) -> Fitted:
    """Fit a recipe to pictures.

    Parameters
    ----------
    recipe : Recipe
        What to fit.
    dataset : Dataset
        The pictures.
    validation : tuple of (Dataset, QuerySet), optional
        Used for early stopping, by rankers that have it.
    last : Fitted, optional
        What was fitted to the same pictures before; used if the recipe stacks on it.
    on_round : callable, optional
        Called after each round, by rankers that learn in rounds.
    compute : Mapper, optional
        Where rankers that have shards learn; in this process by default.
    """
    spec = ranker_spec(recipe.ranker)
    if spec.stacked_on:
        below = Recipe(spec.stacked_on, recipe.features, recipe.settings)
        fitted_base = last if builds_on(recipe, last) else None
        base = fitted_base or fit(below, dataset, validation)
        below_unseen = base.unseen
        if below_unseen is None:
            raise ValueError(f"{spec.stacked_on!r} has no scores of left-out pictures.")
        labels = learned_labels(recipe, below_unseen, dataset)
        arrays, unseen = spec.fit_stacked(base.arrays, below_unseen, labels)
        stacked = Recipe(recipe.ranker, recipe.features, base.recipe.settings)
        return Fitted(stacked, base.weightings, arrays, lambda: unseen, lambda: below_unseen)
    weightings = tuple(Weighting.of(dataset.views[f], plain=spec.counts) for f in recipe.features)
    views = [w(dataset.views[f]) for f, w in zip(recipe.features, weightings, strict=True)]
    judged = None
    if validation is not None:
        other, queries = validation
        pairs = zip(recipe.features, weightings, strict=True)
        judged = [w(other.views[f]) for f, w in pairs], queries
    arguments = (
        views,
        dataset.labels,
        dict(recipe.settings),
        judged,
        on_round,
        compute,
        dataset.unlabelled,
    )
    arrays, settings, left_out = spec.fit(*arguments)
    return Fitted(recipe.with_settings(**settings), weightings, arrays, left_out)


def learned_labels(recipe: Recipe, unseen: Floats, dataset: Dataset) -> Any:
    """Return the labels that a recipe is fitted to: without wrong tags if these are excluded."""
    if dict(recipe.settings).get("wrong_tags") != "excluded":
        return dataset.labels
    return tags_kept(unseen, dataset.labels)


def learned(fitted: Fitted, dataset: Dataset) -> Dataset:
    """Return training pictures with the labels that a recipe was fitted to."""
    unseen = fitted.unseen
    if unseen is None:
        return dataset
    return replace(dataset, labels=learned_labels(fitted.recipe, unseen, dataset))


def ranker_spec(ranker: str) -> RankerSpec:
    """Return the specification of a ranker by name; what follows a colon is its option.

    >>> ranker_spec("lscmr:ndcg@10").grid[0]
    {'lam': 0.0001, 'optimise': 'ndcg@10'}
    """
    name, _, option = ranker.partition(":")
    spec = RANKERS.get(name) or _of_plugin(name)
    if not option:
        return spec
    if not spec.option:
        raise UsageError(f"The ranker {name!r} has nothing to set after a colon. Got {option!r}.")
    return spec.with_option(option)


def saved_recipe(features: Sequence[str]) -> Recipe:
    """Return the recipe of saved words: strong regularisation, since there are few pictures.

    Left-out errors, by which alpha is selected for other words, count pictures that nobody labelled
    as negatives. Of alphas from .03 to 3 this one ranked best on eight classes of Caltech-101 and
    on synthetic clusters, with 2, 3, 8 and 15 positives; the selected one always ranked worse.
    """
    settings = {**RANKERS[SAVED_BY].grid[0], "alpha": 3.0}
    return Recipe(SAVED_BY, tuple(features), tuple(sorted(settings.items())))


def _of_plugin(name: str) -> RankerSpec:
    known = plugins.rankers()
    if name not in known:
        raise UsageError(f"There is no ranker {name!r}. Known: {', '.join(sorted(known))}.")
    return RankerSpec.of(known[name])
