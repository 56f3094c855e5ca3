"""The base of annotators over counts of visual terms, whose scores are probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.annotators.targets import as_targets, mean_average_precision
from sightline.contracts import PersistentEstimator
from sightline.errors import DataError, ParameterError
from sightline.solvers.rows import SparseMatrix, as_rows
from sightline.validation import Classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

Counts = Any
"""A scipy CSR array of float64, not negative, with no zero among its cells."""

_BLOCK = 512


class CountAnnotator(PersistentEstimator):
    """A model of P(t|p), the probability of each word given a picture of visual terms.

    A subclass sets `n_visterms_` and `n_words_` when it is fitted, and defines `_probabilities`.
    """

    n_visterms_: int
    n_words_: int
    classes_: Classes
    _saved = ("classes_",)

    @property
    def n_features_in_(self) -> int:
        """Number of columns that X had in `fit`."""
        return self.n_visterms_

    def decision_function(
        self, X: Any, words: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return P(t|p), (pictures, words); a row of all words sums to 1.

        Parameters
        ----------
        X : array-like
            Counts of visual terms, (pictures, visterms), dense or sparse.
        words : ndarray of int64, optional
            Positions of the words to score alone; all by default.
        """
        self._check_fitted()
        name = type(self).__name__
        counts = as_counts(X, name, self.n_visterms_)
        chosen = _positions(words, self.n_words_, name)
        out = np.empty((counts.shape[0], len(chosen)), dtype=np.float32)
        for rows in blocks(len(out)):
            out[rows] = self._probabilities(counts[rows], chosen)
        return out

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: counts are not negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def score(self, X: Any, y: Any) -> float:
        """Return the mean AvgP over the words that some picture of X has."""
        scores = self.decision_function(X)
        targets, _ = as_targets(y, len(scores), type(self).__name__, self.classes_)
        return mean_average_precision(scores, targets)

    @abstractmethod
    def _probabilities(self, counts: Counts, words: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return P(t|p) of pictures for the words at some positions."""


def as_counts(X: Any, owner: str, n_visterms: int | None = None) -> Counts:
    """Return counts of visual terms, a row for each picture, checked.

    >>> as_counts([[2, 0], [0, 1]], "CMRM").data
    array([2., 1.])
    >>> as_counts([[2, -1]], "CMRM")
    Traceback (most recent call last):
    sightline.errors.DataError: Negative values in data passed to CMRM, which learns from counts. \
Got -1.0 in X.
    """
    from scipy.sparse import csr_array

    rows = as_rows(X, owner, n_visterms)
    if isinstance(rows, SparseMatrix):
        parts = (rows.values, rows.indices.astype(np.int32), rows.start.astype(np.int64))
        counts = csr_array(parts, shape=rows.shape, dtype=np.float64)
    else:
        counts = csr_array(rows, dtype=np.float64)
    least = counts.data.min(initial=0.0)
    if least < 0:
        raise DataError(
            f"Negative values in data passed to {owner}, which learns from counts. "
            f"Got {least} in X."
        )
    counts.eliminate_zeros()
    return counts


def as_pairs(X: Any, Y: Any, owner: str) -> tuple[Counts, Counts, NDArray[np.bool_], Classes]:
    """Return all counts, words of the pictures with any, a mask of these, and labels of words."""
    from scipy.sparse import csr_array

    counts = as_counts(X, owner)
    table, classes = as_targets(Y, counts.shape[0], owner)
    has_word = np.asarray(table.any(axis=1))
    if not has_word.any():
        raise DataError(f"No picture has a word, so {owner} has nothing to learn from.")
    return counts, csr_array(table[has_word], dtype=np.float64), has_word, classes


def blocks(n: int) -> Iterator[slice]:
    """Yield the rows of a block at a time, so that tables of a block fit in memory."""
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))


def row_of(counts: Counts) -> NDArray[np.int64]:
    """Return the row of each cell."""
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))


def check_share(name: str, owner: str, value: Any, least: float | None = None) -> None:
    """Raise ParameterError unless value is from 0 to 1, or above `least` where that is given."""
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if not is_number or isinstance(value, bool) or not 0 <= value <= 1 or value == least:
        above = "from 0 to 1" if least is None else f"greater than {least} and at most 1"
        raise ParameterError.of(name, owner, above, value)


def check_whole(name: str, owner: str, value: Any, least: int = 1) -> None:
    """Raise ParameterError unless value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError.of(name, owner, f"a whole number of at least {least}", value)


def _positions(words: Any, n_words: int, owner: str) -> NDArray[np.int64]:
    if words is None:
        return np.arange(n_words)
    positions = np.asarray(words).reshape(-1)
    if positions.size and (
        positions.dtype.kind not in "iu" or positions.min() < 0 or positions.max() >= n_words
    ):
        raise DataError(
            f"Words to score must be positions from 0 to {n_words - 1}, as {owner} was fitted "
            f"with. Got {words!r}."
        )
    return positions.astype(np.int64)
