"""Recipes: a ranker, its features and its hyperparameters, fitted to a data set.

A fitted recipe scores every word for every picture. It is kept as arrays, and made again from them.
How a ranker takes several features is in its `RankerSpec`: PAMIR concatenates them, kernel ridge
averages their kernels, models of visual words take counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline._typing import Arrays, Floats, Ints
from sightline.collection.models.dataset import Dataset, View, Weighting
from sightline.collection.models.registry import RANKERS, LeftOut, OnRound, RankerSpec
from sightline.contracts import Json, Mapper
from sightline.errors import UsageError
from sightline.records import QuerySet

# The ranker of words that were saved from sessions: it needs few pictures, and is calibrated.
SAVED_BY = "ridge"
_SAVED, _IS_SAVED = "saved.", "is_saved"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to fit: a ranker, the fingerprints of the features it sees, and its settings."""

    ranker: str
    features: tuple[str, ...]
    settings: tuple[tuple[str, Json], ...] = ()

    def with_settings(self, **more: Json) -> Recipe:
        """Return the recipe with some settings changed."""
        changed = {**dict(self.settings), **more}
        return Recipe(self.ranker, self.features, tuple(sorted(changed.items())))

    def __str__(self) -> str:
        names = "+".join(f.rpartition("-")[0] for f in self.features)
        settings = ", ".join(f"{k}={_short(v)}" for k, v in self.settings)
        return f"{self.ranker} on {names}" + (f" ({settings})" if settings else "")


def _short(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _no_scores() -> None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted recipe; `left_out` gives what `unseen` is.

    `saved`, if there is one, scores the words where `is_saved` is true, which were learned from
    pictures of their own, by the same features.
    """

    recipe: Recipe
    weightings: tuple[Weighting, ...]
    arrays: Mapping[str, NDArray[Any]]
    left_out: LeftOut = _no_scores
    saved: Fitted | None = None
    is_saved: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def unseen(self) -> Floats | None:
        """Scores of the training pictures, each as if left out; None if the ranker has none."""
        return self.left_out()

    def scores(self, views: Mapping[str, View], words: Ints | None = None) -> Floats:
        """Return the scores of pictures for all words, or for the words at some positions."""
        if self.saved is None:
            return self._own_scores(views, words)
        at_words = np.arange(len(self.is_saved)) if words is None else words
        saved = self.is_saved[at_words]
        # Where each word is among those of its own part.
        at = np.where(self.is_saved, np.cumsum(self.is_saved), np.cumsum(~self.is_saved)) - 1
        out = np.empty((views[self.recipe.features[0]].shape[0], len(at_words)), np.float32)
        for part, scores in ((~saved, self._own_scores), (saved, self.saved.scores)):
            if part.any():
                out[:, part] = scores(views, at[at_words[part]])
        return out

    def _own_scores(self, views: Mapping[str, View], words: Ints | None) -> Floats:
        seen = [w(views[f]) for f, w in zip(self.recipe.features, self.weightings, strict=True)]
        return ranker_spec(self.recipe.ranker).scores(self.arrays, seen, words)

    @property
    def shared_space(self) -> bool:
        """Whether words, texts and pictures are points of one space."""
        return ranker_spec(self.recipe.ranker).shared_space

    def points(self, views: Mapping[str, View]) -> Floats:
        """Return pictures as points of the space, (pictures, k)."""
        seen = [w(views[f]) for f, w in zip(self.recipe.features, self.weightings, strict=True)]
        return ranker_spec(self.recipe.ranker).points(self.arrays, seen)

    def word_points(self, words: NDArray[np.int64] | None = None) -> Floats:
        """Return words, or those at some positions, as points of the space, (words, k)."""
        return ranker_spec(self.recipe.ranker).word_points(self.arrays, words)

    def text_points(self, labels: Any) -> Floats:
        """Return texts, by how often each holds each word, as points of the space, (texts, k)."""
        return ranker_spec(self.recipe.ranker).text_points(self.arrays, labels)

    def to_arrays(self, prefix: str) -> Arrays:
        """Return all numbers of it, under names with a prefix."""
        idf = {f"{prefix}idf.{i}": w.idf for i, w in enumerate(self.weightings)}
        own = {**idf, **{f"{prefix}{name}": a for name, a in self.arrays.items()}}
        if self.saved is None:
            return own
        mask = {f"{prefix}{_IS_SAVED}": self.is_saved.astype(np.uint8)}
        return {**own, **mask, **self.saved.to_arrays(f"{prefix}{_SAVED}")}

    @classmethod
    def from_arrays(cls, recipe: Recipe, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Fitted:
        """Make it again from what `to_arrays` gave."""
        own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        if _IS_SAVED in own:
            is_saved = np.asarray(own.pop(_IS_SAVED)).astype(np.bool_)
            of_saved = {n: own.pop(n) for n in list(own) if n.startswith(_SAVED)}
            saved = cls.from_arrays(Recipe(SAVED_BY, recipe.features), of_saved, _SAVED)
            return replace(cls.from_arrays(recipe, own, ""), saved=saved, is_saved=is_saved)
        counts = ranker_spec(recipe.ranker).counts
        weightings = tuple(
            Weighting(own.pop(f"idf.{i}"), plain=counts) for i in range(len(recipe.features))
        )
        return cls(recipe, weightings, own)


def builds_on(recipe: Recipe, last: Fitted | None) -> bool:
    """Say whether a recipe needs what was fitted last: its base, seeing the same, set the same."""
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
        Says when to stop, where that is a question.
    last : Fitted, optional
        What was fitted to the same pictures before; used where the recipe builds on it.
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
        arrays, unseen = spec.fit_stacked(base.arrays, below_unseen, dataset.labels)
        stacked = Recipe(recipe.ranker, recipe.features, base.recipe.settings)
        return Fitted(stacked, base.weightings, arrays, lambda: unseen)
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


def _of_plugin(name: str) -> RankerSpec:
    known = plugins.rankers()
    if name not in known:
        raise UsageError(f"There is no ranker {name!r}. Known: {', '.join(sorted(known))}.")
    return RankerSpec.of(known[name])
