"""Calibrating what a word model shows: probabilities from scores of pictures it was not fitted to.

The served model is fitted to everything, so its scores have another scale than those of the trial
that selected it; it is calibrated by its own left-out scores. Rankers that have none are fitted
five times without a fifth of the pictures where these are few. With many pictures their validation
scores, by which they were selected, are enough.

A positive picture that is left out is scored by the other n - 1 pictures that have the word, and a
new picture by all n. So the scores of the positives are too low, of a word on two pictures by half.
They are raised by n / (n - 1), as a score that is a sum over the positives would be.

How often the words of a query come together is learned from sets of words on one half of the
pictures, measured on the other half: on the pictures that a set comes from it always has a hit.

A picture that nobody labelled for a saved word may fit it all the same. Such pictures that score as
high as the word's own positives do when left out are ignored in calibration, as the ranker ignores
them (`annotators.unlabelled`). Counted as negatives they would make every prediction improbable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Floats
from sightline.annotators.unlabelled import likely_positive
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.queries import (
    combined,
    evaluation_queries,
    idf_in,
    only,
    picture_counts,
)
from sightline.collection.models.recipe import Fitted, fit, ranker_spec
from sightline.errors import DataError, UsageError
from sightline.words.calibration import calibrate, logistic
from sightline.words.combination import Combination, How
from sightline.words.probability import LENGTHS, ProbabilityCurves

FOLDS = 5
# At most so many pictures are scored by fitting again, and so many queries of a length are used.
CROSS_FITTED = 1_000
_MOST_QUERIES = 400
# Of more scores, the pictures are sampled.
_MOST_CELLS = 1 << 26
_FEWEST_PICTURES = 6_000


def fit_combination(how: How, unseen: Floats, dataset: Dataset) -> Combination:
    """Fit a way to combine words to scores of left-out pictures."""
    if dataset.unlabelled is None:
        return Combination(how).fit(as_if_new(unseen, dataset.labels), dataset.labels)
    tagged = np.asarray(dataset.labels.todense()) > 0
    counted = ~likely_positive(unseen, tagged, dataset.unlabelled)
    words = [
        Combination(how).fit(unseen[rows][:, [w]], tagged[rows][:, [w]])
        for w, rows in enumerate(counted.T)
    ]
    combination = Combination(how)
    combination.slope_ = np.concatenate([c.slope_ for c in words])
    combination.offset_ = np.concatenate([c.offset_ for c in words])
    combination.known_ = np.concatenate([c.known_ for c in words])
    combination.shown_ = np.array([1.0, 0.0])
    if how != "product":
        combination.shown_ = np.array(logistic(combination.rows(unseen)[counted], tagged[counted]))
    return combination


def as_if_new(unseen: Floats, labels: Any) -> Floats:
    """Return left-out scores with those of positives as all n pictures of a word would give them.

    >>> from scipy.sparse import csr_matrix
    >>> as_if_new(np.array([[0.2], [0.2], [0.1]], np.float32), csr_matrix([[1], [1], [0]])).tolist()
    [[0.4000000059604645], [0.4000000059604645], [0.10000000149011612]]
    """
    counts = picture_counts(labels)
    cells = labels.tocoo()
    row, column = cells.row[cells.data != 0], cells.col[cells.data != 0]
    out = np.array(unseen, dtype=np.float32)
    others = np.maximum(counts[column] - 1, 1)
    out[row, column] += np.maximum(out[row, column], 0.0) / others.astype(np.float32)
    return out


def calibrated(how: How, fitted: Fitted, dataset: Dataset, otherwise: Combination) -> Combination:
    """Return the combination of a fitted model, calibrated by its scores of left-out pictures.

    `otherwise` is returned where there are no such scores, and too many pictures to fit again.
    """
    stacked = bool(ranker_spec(fitted.recipe.ranker).stacked_class)
    # A stacked ranker was fitted to the left-out scores of its base.
    unseen, again = None if stacked else fitted.unseen, False
    if unseen is None and len(dataset) <= CROSS_FITTED and dataset.unlabelled is None:
        unseen, again = _cross_fitted(fitted, dataset), True
    if unseen is None or how != otherwise.how:
        return otherwise
    rows = _sampled(len(dataset), unseen.shape[1])
    some, scores = (dataset, unseen) if rows is None else (dataset.only(rows), unseen[rows])
    if stacked:
        combination = Combination.of_logits(scores.shape[1])
    elif again:
        combination = Combination(how).fit(scores, some.labels)
    else:
        combination = fit_combination(how, scores, some)
    return with_curves(combination.fill_flat(), scores, some, left_out=not again)


def _sampled(n_pictures: int, n_words: int) -> NDArray[np.int64] | None:
    most = max(_FEWEST_PICTURES, _MOST_CELLS // max(n_words, 1))
    if n_pictures <= most:
        return None
    return np.sort(np.random.default_rng(0).choice(n_pictures, most, replace=False))


def _cross_fitted(fitted: Fitted, dataset: Dataset) -> Floats | None:
    """Return scores of each picture by a model fitted without it; None if some part is too small.

    A fifth is left out at a time, so scores of positives are low by a fifth, not by a half.
    """
    fold = np.random.default_rng(0).permutation(len(dataset)) % FOLDS
    scores = np.empty((len(dataset), len(dataset.terms)), np.float32)
    try:
        for left_out in range(FOLDS):
            part = fit(fitted.recipe, dataset.only(fold != left_out))
            scores[fold == left_out] = part.scores(dataset.only(fold == left_out).views)
    except (DataError, UsageError):
        return None
    return scores


def with_curves(
    combination: Combination, scores: Floats, dataset: Dataset, *, left_out: bool
) -> Combination:
    """Return a combination with what makes its scores probabilities.

    Parameters
    ----------
    combination : Combination
        As fitted.
    scores : ndarray of float32
        Raw scores of pictures that the model was not fitted to.
    dataset : Dataset
        These pictures.
    left_out : bool
        Whether each of them was left out by itself.
    """
    tagged = np.asarray(dataset.labels.todense()) > 0
    if dataset.unlabelled is not None:
        counted = ~likely_positive(scores, tagged, dataset.unlabelled)
        return combination.with_curves(_of_saved(combination, scores, tagged, counted))
    new = as_if_new(scores, dataset.labels) if left_out else scores
    logits = combination.base_logits(new)
    n_words = logits.shape[1]
    if combination.is_calibrated:
        curves = ProbabilityCurves.of(np.ones(n_words), np.zeros(n_words))
    else:
        curves = ProbabilityCurves.of(*calibrate(logits.astype(np.float32), tagged))
    curves = curves.with_first_hits(logits, tagged)
    rows = combination.rows(new)
    for length, lists in _lists_of_sets(combination.with_curves(curves), rows, dataset):
        curves = curves.with_sets(length, lists)
    return combination.with_curves(curves)


def _of_saved(
    combination: Combination, scores: Floats, tagged: Bools, counted: Bools
) -> ProbabilityCurves:
    """Return the curves of saved words, of which each has pictures of its own that count."""
    n_words = scores.shape[1]
    if combination.is_calibrated:
        return ProbabilityCurves.of(np.ones(n_words), np.zeros(n_words))
    logits = combination.base_logits(scores).astype(np.float32)
    fitted = [
        calibrate(logits[rows][:, [w]], tagged[rows][:, [w]]) for w, rows in enumerate(counted.T)
    ]
    return ProbabilityCurves.of(*(np.concatenate(part) for part in zip(*fitted, strict=True)))


def _lists_of_sets(
    combination: Combination, rows: Floats, dataset: Dataset
) -> Iterator[tuple[int, list[tuple[Doubles, Bools]]]]:
    """Yield for queries of two words, and of more, the lists of each half by queries of the other.

    A list has for each picture the logit of independent words, and whether it has all of them.
    """
    half = np.random.default_rng(0).permutation(len(dataset)) % 2 == 0
    lists: dict[int, list[tuple[Doubles, Bools]]] = {n: [] for n in range(2, LENGTHS + 1)}
    known = picture_counts(dataset.labels) > 0
    idf = idf_in(dataset.labels)
    for asked, measured in ((half, ~half), (~half, half)):
        if not asked.any() or not measured.any():
            continue
        queries = combined(evaluation_queries(dataset.labels[asked], idf, known), combination, idf)
        n_words, table = np.diff(queries.start), dataset.labels[measured].tocsc()
        for length, found in lists.items():
            of_length = n_words == length if length < LENGTHS else n_words >= length
            some = only(queries, _at_most(of_length))
            for i in range(len(some)):
                columns = some.terms_of(i)
                weights = some.weight[some.start[i] : some.start[i + 1]].astype(np.float64)
                fits = np.asarray((table[:, columns] != 0).sum(axis=1)).ravel() == len(columns)
                v = combination.joint_logits(rows[measured][:, columns] @ weights, weights, columns)
                found.append((v, fits))
    yield from lists.items()


def _at_most(chosen: Bools) -> Bools:
    """Return a spread of the chosen queries, if they are many."""
    at = np.flatnonzero(chosen)
    if len(at) <= _MOST_QUERIES:
        return chosen
    out = np.zeros(len(chosen), np.bool_)
    out[at[np.linspace(0, len(at) - 1, _MOST_QUERIES).astype(np.int64)]] = True
    return out
