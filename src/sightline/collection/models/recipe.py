"""Learners as a collection uses them: fitted to views of pictures, kept as arrays, made again.

A recipe names a ranker, the features it sees and its settings; fitting it gives scores of every
word for every picture. What a learner does with several features is its own affair (`kinds`): PAMIR
sees them side by side, kernel ridge averages their kernels, counts of visual words stay counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.models.dataset import Sample, View, Weighting
from sightline.collection.models.registry import KINDS, Kind, LeftOut, Told
from sightline.contracts import Json, Mapper
from sightline.errors import UsageError
from sightline.records import QuerySet

Float = NDArray[np.float32]
Int = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]

# What learns words that were saved from sessions: it needs few pictures, and tells how sure it is.
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
        said = ", ".join(f"{k}={_short(v)}" for k, v in self.settings)
        return f"{self.ranker} on {names}" + (f" ({said})" if said else "")


def _short(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _no_scores() -> None:
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted recipe; `left_out` gives what `unseen` is.

    `saved`, if there is one, scores the words where `is_saved` is true, which were learnt from
    pictures of their own; it sees the same features.
    """

    recipe: Recipe
    weightings: tuple[Weighting, ...]
    arrays: Mapping[str, NDArray[Any]]
    left_out: LeftOut = _no_scores
    saved: Fitted | None = None
    is_saved: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    @property
    def unseen(self) -> Float | None:
        """Scores of the training pictures, each as if left out; None if the ranker has none."""
        return self.left_out()

    def scores(self, views: Mapping[str, View], words: Int | None = None) -> Float:
        """Return the scores of pictures for all words, or for the words at some positions."""
        if self.saved is None:
            return self._own_scores(views, words)
        wanted = np.arange(len(self.is_saved)) if words is None else words
        theirs = self.is_saved[wanted]
        # Where each word is among those of its own part.
        at = np.where(self.is_saved, np.cumsum(self.is_saved), np.cumsum(~self.is_saved)) - 1
        out = np.empty((views[self.recipe.features[0]].shape[0], len(wanted)), np.float32)
        for mine, scores in ((~theirs, self._own_scores), (theirs, self.saved.scores)):
            if mine.any():
                out[:, mine] = scores(views, at[wanted[mine]])
        return out

    def _own_scores(self, views: Mapping[str, View], words: Int | None) -> Float:
        seen = [w(views[f]) for f, w in zip(self.recipe.features, self.weightings, strict=True)]
        return kind_of(self.recipe.ranker).scores(self.arrays, seen, words)

    @property
    def shared_space(self) -> bool:
        """Whether words, texts and pictures are points of one space."""
        return kind_of(self.recipe.ranker).shared_space

    def points(self, views: Mapping[str, View]) -> Float:
        """Return pictures as points of the space, (pictures, k)."""
        seen = [w(views[f]) for f, w in zip(self.recipe.features, self.weightings, strict=True)]
        return kind_of(self.recipe.ranker).points(self.arrays, seen)

    def word_points(self, words: NDArray[np.int64] | None = None) -> Float:
        """Return words, or those at some positions, as points of the space, (words, k)."""
        return kind_of(self.recipe.ranker).word_points(self.arrays, words)

    def text_points(self, labels: Any) -> Float:
        """Return texts, by how often each holds each word, as points of the space, (texts, k)."""
        return kind_of(self.recipe.ranker).text_points(self.arrays, labels)

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
        mine = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
        if _IS_SAVED in mine:
            is_saved = np.asarray(mine.pop(_IS_SAVED)).astype(np.bool_)
            theirs = {n: mine.pop(n) for n in list(mine) if n.startswith(_SAVED)}
            saved = cls.from_arrays(Recipe(SAVED_BY, recipe.features), theirs, _SAVED)
            return replace(cls.from_arrays(recipe, mine, ""), saved=saved, is_saved=is_saved)
        counts = kind_of(recipe.ranker).counts
        weightings = tuple(
            Weighting(mine.pop(f"idf.{i}"), plain=counts) for i in range(len(recipe.features))
        )
        return cls(recipe, weightings, mine)


def builds_on(recipe: Recipe, last: Fitted | None) -> bool:
    """Say whether a recipe needs what was fitted last: its base, seeing the same, set the same."""
    base = kind_of(recipe.ranker).base
    if (
        not base
        or last is None
        or (base, recipe.features) != (last.recipe.ranker, last.recipe.features)
    ):
        return False
    # What was fitted also names the settings that fitting found.
    return set(recipe.settings) <= set(last.recipe.settings)


def fit(
    recipe: Recipe,
    sample: Sample,
    validation: tuple[Sample, QuerySet] | None = None,
    last: Fitted | None = None,
    told: Told | None = None,
    compute: Mapper | None = None,
) -> Fitted:
    """Fit a recipe to pictures.

    Parameters
    ----------
    recipe : what to fit.
    sample : the pictures.
    validation : says when to stop, where that is a question.
    last : what was fitted to the same pictures before; used where the recipe builds on it.
    told : called with how it stands, by rankers that learn in rounds.
    compute : where rankers that have shards learn; in this process by default.
    """
    kind = kind_of(recipe.ranker)
    if kind.base:
        below = Recipe(kind.base, recipe.features, recipe.settings)
        found = last if builds_on(recipe, last) else None
        base = found or fit(below, sample, validation)
        below_unseen = base.unseen
        if below_unseen is None:
            raise ValueError(f"{kind.base!r} has no scores of left-out pictures.")
        arrays, unseen = kind.fit_top(base.arrays, below_unseen, sample.labels)
        made = Recipe(recipe.ranker, recipe.features, base.recipe.settings)
        return Fitted(made, base.weightings, arrays, lambda: unseen)
    weightings = tuple(Weighting.of(sample.views[f], plain=kind.counts) for f in recipe.features)
    views = [w(sample.views[f]) for f, w in zip(recipe.features, weightings, strict=True)]
    judged = None
    if validation is not None:
        other, queries = validation
        pairs = zip(recipe.features, weightings, strict=True)
        judged = [w(other.views[f]) for f, w in pairs], queries
    given = (views, sample.labels, dict(recipe.settings), judged, told, compute, sample.unlabelled)
    arrays, settings, left_out = kind.fit(*given)
    return Fitted(recipe.with_settings(**settings), weightings, arrays, left_out)


def kind_of(ranker: str) -> Kind:
    """Return a kind of learner by name; what stands after a colon is its option.

    >>> kind_of("lscmr:ndcg@10").grid[0]
    {'lam': 0.0001, 'optimise': 'ndcg@10'}
    """
    name, _, option = ranker.partition(":")
    if name not in KINDS:
        raise UsageError(f"There is no ranker {name!r}. Known: {', '.join(sorted(KINDS))}.")
    kind = KINDS[name]
    if not option:
        return kind
    if not kind.option:
        raise UsageError(f"The ranker {name!r} has nothing to set after a colon. Got {option!r}.")
    return kind.with_option(option)
