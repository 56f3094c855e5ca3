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
from sightline.collection.models.recipe import Fitted, fit, learned, ranker_spec
from sightline.errors import DataError, UsageError
from sightline.words.calibration import calibrate, logistic
from sightline.words.combination import Combination, How
from sightline.words.probability import LENGTHS, ProbabilityCurves

FOLDS = 5
# At most so many pictures are scored by fitting again, and so many queries of a length are used.
CROSS_FITTED = 1_000
_MOST_QUERIES, _ASKED = 400, 1_000
# Of more scores, the pictures are sampled.
_MOST_CELLS = 1 << 26
_FEWEST_PICTURES = 6_000
_WORDS_AT_ONCE = 256


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


def as_if_new(unseen: Floats, labels: Any, learned_from: NDArray[np.int64] | None = None) -> Floats:
    """Return left-out scores with those of positives as all n pictures of a word would give them.

    Parameters
    ----------
    unseen : ndarray of float32
        Scores of pictures that the model was not fitted to.
    labels : array-like
        Scipy sparse table, 1 where a picture has a word.
    learned_from : ndarray of int64, optional
        How many pictures of each word a picture was scored by, in the order of the cells of
        `labels`; all of them but itself by default.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> as_if_new(np.array([[0.3], [0.3], [0.0]], np.float32), csr_matrix([[1], [1], [0]])).tolist()
    [[0.4000000059604645], [0.4000000059604645], [0.0]]
    """
    counts, cells = picture_counts(labels), labels.tocoo()
    others = counts[cells.col] - 1 if learned_from is None else learned_from
    out = np.array(unseen, dtype=np.float32)
    # What a score owes to a word's pictures is how far it is above those of all pictures.
    usual = out.mean(axis=0, dtype=np.float64)[cells.col]
    above = np.maximum(out[cells.row, cells.col] - usual, 0.0)
    missing = (counts[cells.col] - others) / np.maximum(others, 1)
    out[cells.row, cells.col] += (above * missing).astype(np.float32)
    return out


def calibrated(how: How, fitted: Fitted, dataset: Dataset, otherwise: Combination) -> Combination:
    """Return the combination of a fitted model, calibrated by its scores of left-out pictures.

    `otherwise` is returned where there are no such scores, and too many pictures to fit again.
    """
    stacked = bool(ranker_spec(fitted.recipe.ranker).stacked_class)
    # A stacked ranker was fitted to the left-out scores of its base.
    unseen = None if stacked else fitted.unseen
    if how != otherwise.how:
        return otherwise
    if unseen is not None:
        dataset = dataset if fitted.sampled is None else dataset.only(fitted.sampled)
        dataset = learned(fitted, dataset)
        rows = _sampled(len(dataset), unseen.shape[1])
        some, scores = (dataset, unseen) if rows is None else (dataset.only(rows), unseen[rows])
        combination = fit_combination(how, scores, some).fill_flat()
        return with_curves(combination, scores, some, left_out=True)
    if len(dataset) > CROSS_FITTED or dataset.unlabelled is not None:
        return otherwise
    crossed = _cross_fitted(fitted, dataset)
    if crossed is None:
        return otherwise
    if stacked:
        combination = Combination.of_logits(crossed.shape[1])
    else:
        combination = Combination(how).fit(crossed, dataset.labels).fill_flat()
    return with_curves(combination, crossed, dataset, left_out=False)


def _sampled(n_pictures: int, n_words: int) -> NDArray[np.int64] | None:
    most = max(_FEWEST_PICTURES, _MOST_CELLS // max(n_words, 1))
    if n_pictures <= most:
        return None
    return np.sort(np.random.default_rng(0).choice(n_pictures, most, replace=False))


def _cross_fitted(fitted: Fitted, dataset: Dataset) -> Floats | None:
    """Return scores of each picture as if new, by models fitted without a fifth of the pictures.

    None if some fifth is too small to fit the rest.
    """
    fold = _folds(dataset)
    scores = np.empty((len(dataset), len(dataset.terms)), np.float32)
    learned_from = np.zeros((FOLDS, len(dataset.terms)), np.int64)
    try:
        for left_out in range(FOLDS):
            rest, part = dataset.only(fold != left_out), dataset.only(fold == left_out)
            scores[fold == left_out] = fit(fitted.recipe, rest).scores(part.views)
            learned_from[left_out] = picture_counts(rest.labels)
    except (DataError, UsageError):
        return None
    cells = dataset.labels.tocoo()
    return as_if_new(scores, dataset.labels, learned_from[fold[cells.row], cells.col])


def _folds(dataset: Dataset) -> NDArray[np.int64]:
    """Return a fold for each picture: those that share a rare word are in different ones."""
    counts = picture_counts(dataset.labels)
    labels = dataset.labels
    rarest = np.array(
        [
            min(labels.indices[a:b], key=lambda w: (counts[w], w), default=-1)
            for a, b in zip(labels.indptr[:-1], labels.indptr[1:], strict=True)
        ]
    )
    order = np.lexsort((np.random.default_rng(0).permutation(len(dataset)), rarest))
    fold = np.empty(len(dataset), np.int64)
    fold[order] = np.arange(len(dataset)) % FOLDS
    return fold


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
    n_words = new.shape[1]
    if combination.is_calibrated:
        curves = ProbabilityCurves.of(np.ones(n_words), np.zeros(n_words))
    else:
        curves = _of_published(combination, *calibrate(new, tagged))
    curves = curves.with_first_hits(_word_lists(combination, curves, new, tagged))
    for length, lists in _lists_of_sets(combination.with_curves(curves), new, dataset):
        curves = curves.with_sets(length, lists)
    return combination.with_curves(curves)


def _word_lists(
    combination: Combination, curves: ProbabilityCurves, new: Floats, tagged: Bools
) -> Iterator[tuple[Doubles, Bools]]:
    """Yield for each word the calibrated logits of pictures, and which of them have it."""
    n_words = new.shape[1]
    for begin in range(0, n_words, _WORDS_AT_ONCE):
        words = np.arange(begin, min(begin + _WORDS_AT_ONCE, n_words))
        logits = combination.some(words).base_logits(new[:, words])
        v = np.ascontiguousarray((logits * curves.slope[words] + curves.offset[words]).T)
        yield from zip(v, np.ascontiguousarray(tagged[:, words].T), strict=True)


def _of_saved(
    combination: Combination, scores: Floats, tagged: Bools, counted: Bools
) -> ProbabilityCurves:
    """Return the curves of saved words, of which each has pictures of its own that count."""
    n_words = scores.shape[1]
    if combination.is_calibrated:
        return ProbabilityCurves.of(np.ones(n_words), np.zeros(n_words))
    fitted = [
        calibrate(scores[rows][:, [w]], tagged[rows][:, [w]]) for w, rows in enumerate(counted.T)
    ]
    slope, offset = (np.concatenate(part) for part in zip(*fitted, strict=True))
    return _of_published(combination, slope, offset)


def _of_published(
    combination: Combination, slope: NDArray[np.float64], offset: NDArray[np.float64]
) -> ProbabilityCurves:
    """Return the curves of published numbers, from slopes and offsets of raw scores.

    Words are calibrated by raw scores, since published ones may have lost how rare a word is: in an
    average, all words have the same spread.
    """
    published = np.where(combination.slope_ > 0, combination.slope_, 1.0)
    of_published = slope / published
    return ProbabilityCurves.of(of_published, offset - of_published * combination.offset_)


def _lists_of_sets(
    combination: Combination, new: Floats, dataset: Dataset
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
        asking = np.flatnonzero(asked)
        asking = asking[:: -(-len(asking) // _ASKED)]
        queries = combined(evaluation_queries(dataset.labels[asking], idf, known), combination, idf)
        n_words, table = np.diff(queries.start), dataset.labels[measured].tocsc()
        at = np.flatnonzero(measured)
        for length, outcomes in lists.items():
            of_length = n_words == length if length < LENGTHS else n_words >= length
            some = only(queries, _at_most(of_length))
            for i in range(len(some)):
                columns = some.terms_of(i)
                weights = some.weight[some.start[i] : some.start[i + 1]].astype(np.float64)
                fits = np.asarray((table[:, columns] != 0).sum(axis=1)).ravel() == len(columns)
                rows = combination.some(columns).rows(new[np.ix_(at, columns)])
                v = combination.joint_logits(rows @ weights, weights, columns)
                outcomes.append((v, fits))
    yield from lists.items()


def _at_most(chosen: Bools) -> Bools:
    """Return a spread of the chosen queries, if they are many."""
    at = np.flatnonzero(chosen)
    if len(at) <= _MOST_QUERIES:
        return chosen
    out = np.zeros(len(chosen), np.bool_)
    out[at[np.linspace(0, len(at) - 1, _MOST_QUERIES).astype(np.int64)]] = True
    return out
