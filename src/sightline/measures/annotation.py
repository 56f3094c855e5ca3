"""Measures of annotation: how well predicted words agree with the true words of pictures.

Truth and prediction are binary tables, a row a picture and a column a word. A word that no test
picture has is without recall: it is left out of the means and counted. A word that is never
predicted has precision 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Annotated:
    """Per-word quality of an annotation.

    Attributes
    ----------
    precision, recall : float
        Means over the `n` words that some picture has.
    f1 : float
        2PR/(P+R) of those means, not the mean of each word's.
    n_plus : int
        Words with recall above 0.
    word_precision, word_recall : ndarray of float64
        One per word; NaN for a word left out.
    n, skipped : int
        Words averaged and words left out.
    """

    precision: float
    recall: float
    f1: float
    n_plus: int
    word_precision: NDArray[np.float64]
    word_recall: NDArray[np.float64]
    n: int
    skipped: int


@dataclass(frozen=True, slots=True)
class FMeasured:
    """F-measure of predicted word sets.

    Attributes
    ----------
    micro : float
        Over all (picture, word) decisions together.
    macro : float
        Mean of each picture's own F.
    n, skipped : int
        Pictures in `macro`, and pictures left out of it because they have neither true nor
        predicted words, so that their F is 0/0.
    """

    micro: float
    macro: float
    n: int
    skipped: int


def top_words(scores: ArrayLike, *, k: int = 5) -> NDArray[np.bool_]:
    """Mark the k best words of each picture; ties go to the lower word number.

    >>> top_words([[0.1, 0.7, 0.2], [0.5, 0.5, 0.5]], k=1)
    array([[False,  True, False],
           [ True, False, False]])
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError.of("k", "top_words", "a whole number of at least 1", k)
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2:
        raise DataError(f"Word scores must be pictures by words. Got shape {values.shape}.")
    if np.isnan(values).any():
        picture, word = np.argwhere(np.isnan(values))[0]
        raise DataError(f"The score of word {word} for picture {picture} is NaN. Give a number.")
    marked = np.zeros(values.shape, dtype=np.bool_)
    best = np.argsort(-values, axis=1, kind="stable")[:, :k]
    np.put_along_axis(marked, best, True, axis=1)
    return marked


def annotation_quality(truth: ArrayLike, predicted: ArrayLike) -> Annotated:
    """Measure an annotation word by word.

    Parameters
    ----------
    truth : array-like
        Which words each picture has.
    predicted : array-like
        The predicted words of each picture; `top_words(scores)` gives five.

    Examples
    --------
    >>> found = annotation_quality([[1, 0], [1, 1]], [[1, 0], [0, 0]])
    >>> found.precision, found.recall, found.f1, found.n_plus
    (0.5, 0.25, 0.3333333333333333, 1)
    """
    true, assigned = _tables(truth, predicted)
    right = (true & assigned).sum(axis=0)
    tagged = true.sum(axis=0)
    in_use = tagged > 0
    precision = np.where(in_use, right / np.maximum(assigned.sum(axis=0), 1), np.nan)
    recall = np.where(in_use, right / np.maximum(tagged, 1), np.nan)
    n = int(in_use.sum())
    p, r = _mean(precision[in_use]), _mean(recall[in_use])
    n_plus = int(np.count_nonzero(right))
    return Annotated(p, r, _harmonic(p, r), n_plus, precision, recall, n, in_use.size - n)


def f_measure(truth: ArrayLike, predicted: ArrayLike) -> FMeasured:
    """Measure predicted word sets, over all decisions and picture by picture.

    A picture without true words counts 0 if any is predicted.

    >>> found = f_measure([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    >>> round(found.micro, 4), round(found.macro, 4)
    (0.8, 0.8333)
    """
    true, assigned = _tables(truth, predicted)
    right = (true & assigned).sum(axis=1)
    sizes = true.sum(axis=1) + assigned.sum(axis=1)
    defined = sizes > 0
    n = int(defined.sum())
    micro = float(2 * right.sum() / sizes.sum()) if n else float("nan")
    return FMeasured(micro, _mean(2 * right[defined] / sizes[defined]), n, defined.size - n)


def _tables(truth: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return _table(truth, predicted, "Truth"), _table(predicted, truth, "Prediction")


def _table(values: ArrayLike, other: ArrayLike, what: str) -> NDArray[np.bool_]:
    table = np.asarray(values)
    if table.ndim != 2 or table.shape != np.shape(other):
        raise DataError(
            "Truth and prediction must be tables of one shape, pictures by words. "
            f"{what} is of shape {table.shape}, the other of {np.shape(other)}."
        )
    yes: NDArray[np.bool_] = table.astype(np.bool_)
    # Scores passed by mistake would all be true.
    if not np.array_equal(yes, table):
        raise DataError(f"{what} must hold only 0 and 1. Use top_words to choose words by score.")
    return yes


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")


def _harmonic(p: float, r: float) -> float:
    return 0.0 if p + r == 0 else 2 * p * r / (p + r)
