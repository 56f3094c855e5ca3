"""The choice where pictures are too few to choose by validation: the most regularised ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sightline.collection.models import selection
from sightline.collection.models.dataset import Sample, split
from sightline.collection.models.queries import carriers
from sightline.collection.models.recipe import SAVED_BY, Recipe, fit, kind_of
from sightline.collection.models.saved_words import saved_recipe
from sightline.collection.models.selection import Choice
from sightline.collection.models.trials import fit_combination
from sightline.errors import DataError, UsageError
from sightline.rankers.cutoff import CutOff
from sightline.words.combining import Combination


def unvalidated(sample: Sample, rankers: Sequence[str], features: Sequence[str] | None) -> Choice:
    """Return the choice, made without the held-out pictures where the others can be learnt from.

    Of a few judged pictures those not held out may be one, which calibrates nothing: so what is
    served of saved words is calibrated on all of them.
    """
    recipe = selection.candidates(sample, [_safest(rankers)], features)[-1]
    if sample.unlabelled is not None and recipe.ranker == SAVED_BY:
        recipe = saved_recipe(recipe.features)
    rest = sample.only(~split(sample)[0])
    alone = _without_validation(recipe, rest if carriers(rest.labels).any() else sample)
    if sample.unlabelled is None:
        return alone
    return replace(alone, served=_without_validation(recipe, sample))


def _safest(rankers: Sequence[str]) -> str:
    """Return the most regularised of some rankers, for pictures too few to choose by."""
    return "ridge" if "ridge" in rankers else rankers[-1]


def _without_validation(recipe: Recipe, sample: Sample) -> Choice:
    """Return the choice where pictures are too few to choose by: the most regularised one."""
    try:
        fitted = fit(recipe, sample)
    except DataError as e:
        tagged, todo = " with words", "Add words to more pictures."
        if sample.unlabelled is not None:
            tagged, todo = "", "Judge more pictures, and save them again."
        raise UsageError(
            f"{recipe.ranker} cannot learn from the {len(sample)} pictures{tagged} that are not "
            f"held out to prove what was learnt. {todo} ({e})"
        ) from e
    scores = fitted.unseen if fitted.unseen is not None else fitted.scores(sample.views)
    if kind_of(recipe.ranker).top:
        combination = Combination.of_logits(len(sample.terms))
    else:
        combination = fit_combination("product", scores, sample)
    # Where each word is as likely as not.
    even = {"h": np.full(len(sample.terms), np.log(0.5)), "offsets": np.zeros(3), "follow": [0.0]}
    cutoff = CutOff.from_arrays({name: np.asarray(a) for name, a in even.items()})
    return Choice(fitted.recipe, combination, cutoff, ())
