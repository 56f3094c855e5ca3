"""Selection without validation, for few pictures: the most regularised ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sightline.collection.models import selection
from sightline.collection.models.dataset import Dataset, split
from sightline.collection.models.queries import carriers
from sightline.collection.models.recipe import SAVED_BY, Recipe, fit, ranker_spec
from sightline.collection.models.saved_words import saved_recipe
from sightline.collection.models.selection import Selection
from sightline.collection.models.trials import fit_combination
from sightline.errors import DataError, UsageError
from sightline.rankers.cutoff import CutOff
from sightline.words.combining import Combination


def unvalidated(
    dataset: Dataset, rankers: Sequence[str], features: Sequence[str] | None
) -> Selection:
    """Return the selection, made without held-out pictures where the others are enough to learn.

    Of a few judged pictures those not held out may be one, which calibrates nothing: so what is
    served of saved words is calibrated on all of them.
    """
    recipe = selection.candidates(dataset, [_safest(rankers)], features)[-1]
    if dataset.unlabelled is not None and recipe.ranker == SAVED_BY:
        recipe = saved_recipe(recipe.features)
    rest = dataset.only(~split(dataset)[0])
    alone = _without_validation(recipe, rest if carriers(rest.labels).any() else dataset)
    if dataset.unlabelled is None:
        return alone
    return replace(alone, served=_without_validation(recipe, dataset))


def _safest(rankers: Sequence[str]) -> str:
    """Return the most regularised of some rankers, for pictures too few to choose by."""
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
            f"held out to prove what was learnt. {todo} ({e})"
        ) from e
    scores = fitted.unseen if fitted.unseen is not None else fitted.scores(dataset.views)
    if ranker_spec(recipe.ranker).stacked_class:
        combination = Combination.of_logits(len(dataset.terms))
    else:
        combination = fit_combination("product", scores, dataset)
    # Where each word is as likely as not.
    even = {"h": np.full(len(dataset.terms), np.log(0.5)), "offsets": np.zeros(3), "follow": [0.0]}
    cutoff = CutOff.from_arrays({name: np.asarray(a) for name, a in even.items()})
    return Selection(fitted.recipe, combination, cutoff, ())
