"""What is compared: the model that `sightline train` serves, and a plain ridge regression.

Both are given the same rows, and choose everything by the noisy tags of the same validation
pictures, since an owner has no clean ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Doubles, Floats
from sightline.collection.models.dataset import Dataset, split
from sightline.collection.models.queries import combined, evaluation_queries, idf_in, picture_counts
from sightline.collection.models.recipe import fit
from sightline.collection.models.selection import select
from sightline.measures.many import measure_queries
from sightline.progress import NoProgress
from sightline.vectors import l2_normalize, standardize
from sightline.words.combination import WAYS, Combination

RIDGE, SERVED = "ridge", "served"
ALPHAS = tuple(10.0**power for power in range(0, 7))


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Test pictures as a method scores them.

    Attributes
    ----------
    rows : ndarray
        What a query adds up, (pictures, words).
    combination : Combination
        How it does so.
    recipe : str
        What was chosen.
    left_out : ndarray or None
        Scores of the training pictures, each as if left out, if there are any.
    """

    rows: Floats
    combination: Combination
    recipe: str
    left_out: Floats | None = None


Method = Callable[[Dataset, Dataset, Sequence[str]], Ranked]


def served(training: Dataset, test: Dataset, rankers: Sequence[str]) -> Ranked:
    """Train as `sightline train` does, without the gate, which publishes or keeps what there is."""
    selected = select(training, rankers, None, NoProgress())
    fitted = fit(selected.recipe, training)
    rows = selected.combination.rows(fitted.scores(test.views))
    return Ranked(rows, selected.combination, str(selected.recipe), fitted.independent)


def plain_ridge(training: Dataset, test: Dataset, rankers: Sequence[str]) -> Ranked:
    """Fit a linear ridge regression with intercepts to standardised features.

    The strength and the way to combine words are those of the best AvgP on validation pictures.
    """
    held, validating = split(training)
    inner, validation = training.only(~held & ~validating), training.only(validating)
    idf = idf_in(inner.labels)
    known = picture_counts(inner.labels) > 0
    queries = evaluation_queries(validation.labels, idf, known)
    scores = _ridges(inner, validation, ALPHAS)
    best: tuple[float, float, Combination] | None = None
    for alpha, table in scores.items():
        for how in WAYS:
            combination = Combination(how).fit(table, validation.labels)
            weighted = combined(queries, combination, idf)
            avgp = measure_queries(combination.rows(table), weighted).mean_avgp
            if best is None or avgp > best[0]:
                best = avgp, alpha, combination
    assert best is not None
    _, alpha, combination = best
    rows = combination.rows(_ridges(training, test, [alpha])[alpha])
    return Ranked(rows, combination, f"ridge (alpha={alpha:g}), {combination.how}")


METHODS: Mapping[str, Method] = {SERVED: served, RIDGE: plain_ridge}


def _ridges(training: Dataset, other: Dataset, alphas: Sequence[float]) -> dict[float, Floats]:
    """Return the scores of other pictures for each strength, by one decomposition."""
    from scipy.linalg import eigh

    X, mean, scale = standardize(_dense(training))
    Z = (_dense(other) - mean) / scale
    Y = np.asarray(training.labels.todense(), np.float64)
    intercept = Y.mean(axis=0)
    if X.shape[1] < len(X):
        values, vectors = eigh(X.T @ X, driver="evd", check_finite=False)
        across, targets = Z @ vectors, vectors.T @ (X.T @ (Y - intercept))
    else:
        values, vectors = eigh(X @ X.T, driver="evd", check_finite=False)
        across, targets = (Z @ X.T) @ vectors, vectors.T @ (Y - intercept)
    values = np.maximum(values, 0.0)
    return {
        a: np.asarray(across @ (targets / (values + a)[:, None]) + intercept, np.float32)
        for a in alphas
    }


def _dense(dataset: Dataset) -> Doubles:
    """Return all dense features side by side, each row of each of them a unit vector."""
    views = [v for v in dataset.views.values() if not hasattr(v, "tocsr")]
    return np.hstack([l2_normalize(v) for v in views]).astype(np.float64)
