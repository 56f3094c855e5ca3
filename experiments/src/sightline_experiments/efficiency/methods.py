"""What is compared: the model that `sightline train` publishes, and ridge of scikit-learn.

Both are given the same rows and tags. Ridge tries scalings and strengths on the validation pictures
that training chooses by as well; where no word has one there, both keep their defaults.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from sightline._typing import Floats
from sightline.collection.models.dataset import Dataset, split
from sightline.collection.models.few_tags import NamedWords, with_prior
from sightline.collection.models.queries import evaluation_queries, idf_in, one_word, picture_counts
from sightline.collection.models.quick import quick_model
from sightline.collection.models.recipe import SAVED_BY, fit
from sightline.collection.models.selection import select
from sightline.errors import MissingExtra
from sightline.measures.many import measure_queries
from sightline.progress import NoProgress
from sightline.vectors import l2_normalize

RIDGE, TAGS_ALONE, SERVED = "ridge", "sightline, tags alone", "sightline"
METHODS = (RIDGE, TAGS_ALONE, SERVED)
SCALINGS = ("standardised", "centred")
ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
DEFAULT = (SCALINGS[0], 1.0)

Ranked = dict[str, tuple[Floats, str]]
"""By method the scores of test pictures, and what was chosen."""


def served(training: Dataset, test: Dataset, named: NamedWords | None) -> Ranked:
    """Train as `sightline train` does, without the gate, and score with and without the network.

    Parameters
    ----------
    training, test : Dataset
        What is learned from, and what is scored.
    named : NamedWords or None
        The words that a network can be asked about.
    """
    # The quick model writes its weighted rows over those it is given.
    rows = {f: v.copy() for f, v in training.views.items()}
    training = replace(training, views=rows)
    quick = quick_model(training, None, NoProgress())
    if quick is not None and quick.serve is not None:
        fitted, _ = quick.serve()
    else:
        selection = quick.selection if quick else select(training, (SAVED_BY,), None, NoProgress())
        fitted = fit(selection.recipe, training)
    ranked = {TAGS_ALONE: (fitted.scores(test.views), str(fitted.recipe))}
    if named is not None:
        fitted = with_prior(fitted, training, named)
    return {**ranked, SERVED: (fitted.scores(test.views), str(fitted.recipe))}


def tuned_ridge(training: Dataset, test: Dataset, named: NamedWords | None) -> Ranked:
    """Fit scikit-learn's ridge with the scaling and alpha of the best AvgP of single words."""
    del named
    held, validating = split(training)
    inner, validation = training.only(~held & ~validating), training.only(validating)
    known = picture_counts(inner.labels) > 0
    queries = evaluation_queries(validation.labels, idf_in(inner.labels), known)
    single = one_word(queries)
    best, highest = DEFAULT, -1.0
    if single.any():
        for scaling in SCALINGS:
            ridge = _Ridge(inner, validation, scaling)
            for alpha in ALPHAS:
                avgp = measure_queries(ridge.scores(alpha), queries).avgp[single]
                if float(np.nanmean(avgp)) > highest:
                    best, highest = (scaling, alpha), float(np.nanmean(avgp))
    scaling, alpha = best
    scores = _Ridge(training, test, scaling).scores(alpha)
    return {RIDGE: (scores, f"ridge ({scaling}, alpha={alpha:g})")}


TRAININGS = (tuned_ridge, served)
N_TRIALS = len(tuple(product(SCALINGS, ALPHAS)))


class _Ridge:
    """Ridge in its dual form: each feature L2-normalised, side by side, columns scaled."""

    def __init__(self, training: Dataset, others: Dataset, scaling: str) -> None:
        rows, other = _side_by_side(training), _side_by_side(others)
        mean, spread = rows.mean(axis=0), rows.std(axis=0)
        if scaling == "centred":
            spread = np.ones_like(spread)
        spread = np.where(spread > 0, spread, 1.0).astype(np.float32)
        rows, other = (rows - mean) / spread, (other - mean) / spread
        norm = np.sqrt(np.square(rows).sum(axis=1).mean()) or 1.0
        self._K, self._across = rows @ (rows.T / norm**2), other @ (rows.T / norm**2)
        self._Y = np.asarray(training.labels.todense(), np.float64)

    def scores(self, alpha: float) -> Floats:
        try:
            from sklearn.kernel_ridge import KernelRidge
        except ImportError as e:
            raise MissingExtra.of("The baseline", "baselines") from e
        share = self._Y.mean(axis=0)
        ridge = KernelRidge(alpha=alpha, kernel="precomputed").fit(self._K, self._Y - share)
        return np.asarray(ridge.predict(self._across) + share, np.float32)


def _side_by_side(dataset: Dataset) -> Floats:
    return np.hstack([l2_normalize(np.asarray(v, np.float32)) for v in dataset.views.values()])
