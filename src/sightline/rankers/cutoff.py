"""Where a list of hits should end: a threshold for each query, over the scores of any ranker.

Given what each picture scores for each word, a query q with weights w_t scores a picture by
s(q, p) = sum_t w_t r_t(p), and pictures with s(q, p) >= theta(q) are shown,

    theta(q) = a best(q) + sum_t w_t h_t + mean(w) b_n

with best(q) the score of the query's best picture, h_t one number for each word, and b_n one for
queries of n words (1, 2, or more). It is learned from queries whose relevant pictures are known,
for the largest mean F1 of what is shown.

h is the score of a virtual picture that every relevant picture should precede and every other one
follow (an old idea in ranking by categories: Crammer and Singer, "Pranking with ranking", 2001):

    s(q, p+) >= theta(q) + margin        s(q, p-) <= theta(q) - margin

by the passive-aggressive steps of `solvers.pa_step`, of which a pair of pictures makes two. a and b
are then found by exhaustive search: F1 is exact for every value that could be best.

Departures: p- is drawn from the few best of the other pictures, since the order of the rest does
not matter; with all others, thresholds were worse than one for all words. Margin and C are in units
of the median difference between a relevant and such an other picture, so that scores may have any
scale. Which terms to use is decided on pictures that h, a and b were not learned from.

On photographs with kernel ridge, following the best picture was worth far more than thresholds of
words: it always shows the best picture, so it helps where all scores of a query are low, and cannot
recognise queries that no picture fits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sightline.contracts import PersistentEstimator
from sightline.errors import DataError, ParameterError, UsageError
from sightline.rankers._shown_sets import LENGTHS, FittedThreshold, ShownSets, halves
from sightline.records import QuerySet
from sightline.solvers.pa_step import check_aggressiveness

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

By = Literal["auto", "none", "words", "best", "both"]
_FORMS: tuple[By, ...] = ("none", "words", "best", "both")
_FOLLOWING = (1.0, 0.95, 0.9, 0.85, 0.8)
_DEPTH = 5


class CutOff(PersistentEstimator):
    """A threshold for each query, over the scores of any ranker.

    Parameters
    ----------
    by : {"auto", "none", "words", "best", "both"}, default="auto"
        What thresholds follow besides the number of words: "words", the query's "best" score,
        "both" or "none"; "auto" takes what is best on pictures it was not learned from.
    C : float, default=0.03
        Aggressiveness in the words' part, greater than 0.
    margin : float, default=0.25
        How far pictures should be from the threshold, greater than 0.
    n_iter : int, default=100000
        Pairs of pictures the words' part is learned from.
    random_state : int, default=0
        Makes the draws.

    Attributes
    ----------
    h_ : ndarray
        One number for each word; 0 for words of no query.
    offsets_ : ndarray
        b for queries of one, two and more words.
    follow_ : float
        a, 0 where thresholds do not follow the best score.
    by_ : str
        The form that was used.
    f1_ : float
        Mean F1 of the queries it was fitted to.
    n_dropped_ : int
        Queries without a word or without a relevant picture.

    Examples
    --------
    >>> from sightline.solvers.targets import query_set
    >>> scores = np.array([[0.9, 0.3], [0.7, 0.1], [0.2, 0.2], [0.1, 0.0]])
    >>> queries = query_set([([0], [0, 1]), ([1], [0, 2])], np.ones(2))
    >>> cut = CutOff(by="words").fit(scores, queries)
    >>> cut.shown(scores[:, 0], [0], [1.0]).tolist(), cut.shown(scores[:, 1], [1], [1.0]).tolist()
    ([True, True, False, False], [True, False, True, False])
    """

    def __init__(
        self,
        *,
        by: By = "auto",
        C: float = 0.03,
        margin: float = 0.25,
        n_iter: int = 100_000,
        random_state: int = 0,
    ) -> None:
        self.by = by
        self.C = C
        self.margin = margin
        self.n_iter = n_iter
        self.random_state = random_state

    def fit(self, word_scores: ArrayLike, queries: QuerySet) -> Self:
        """Learn from scores of pictures that the ranker has not learned from.

        Parameters
        ----------
        word_scores : array-like of shape (pictures, words)
            As a ranker publishes them.
        queries : QuerySet
            With the weights a query's words have, and its relevant pictures.
        """
        self._check()
        table = _table(word_scores)
        if not len(queries.start) or queries.term.max(initial=-1) >= table.shape[1]:
            raise DataError(f"Queries must name words below {table.shape[1]}, those with scores.")
        if queries.relevant.max(initial=-1) >= len(table):
            raise DataError(
                f"A query names picture {queries.relevant.max()}, but {len(table)} pictures have"
                " scores."
            )
        sets = ShownSets.of(table, queries, _DEPTH)
        by = self._best_form(table, queries) if self.by == "auto" else self.by
        fitted = self._fitted(sets, by)
        self.h_, self.offsets_, self.follow_ = fitted
        self.by_, self.f1_ = by, sets.mean_f1(fitted)
        self.n_dropped_ = len(queries) - len(sets)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of words that had scores in `fit`."""
        return len(self.h_)

    def threshold(self, terms: ArrayLike, weights: ArrayLike, best: float | None = None) -> float:
        """Return the least score that is worth showing; infinity for a query without words.

        Parameters
        ----------
        terms, weights : array-like
            Positions of the query's words, and the weights by which they are combined.
        best : float, optional
            The highest score that a picture has for this query, where thresholds follow it.
        """
        self._check_fitted()
        ids = np.asarray(terms, dtype=np.int64).reshape(-1)
        w = np.asarray(weights, dtype=np.float64).reshape(-1)
        if len(ids) != len(w):
            raise DataError(f"{len(ids)} terms need as many weights. Got {len(w)}.")
        if ids.size and not (ids.min() >= 0 and ids.max() < len(self.h_)):
            raise DataError(f"CutOff was fitted to {len(self.h_)} words, not all of {terms!r}.")
        if not ids.size:
            return math.inf
        if self.follow_ and (best is None or not math.isfinite(best)):
            raise UsageError(
                f"This cut-off follows the best picture's score, which must be given. Got {best!r}."
            )
        at_best = self.follow_ * float(best or 0.0)
        offset = float(w.mean() * self.offsets_[min(len(ids), LENGTHS) - 1])
        return at_best + float(w @ self.h_[ids]) + offset

    def shown(self, scores: ArrayLike, terms: ArrayLike, weights: ArrayLike) -> NDArray[np.bool_]:
        """Return which pictures of a query are shown, given all its scores."""
        s = np.asarray(scores, dtype=np.float64).reshape(-1)
        return s >= self.threshold(terms, weights, float(s.max()) if s.size else 0.0)

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the fitted arrays, from which `from_arrays` makes the same cut-off."""
        self._check_fitted()
        return {"h": self.h_, "offsets": self.offsets_, "follow": np.array([self.follow_])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a cut-off as it was when `to_arrays` was called."""
        cutoff = cls()
        for name in ("h", "offsets", "follow"):
            if name not in arrays:
                raise DataError(f"The cut-off's array {name!r} is missing. Train again.")
        cutoff.h_, cutoff.offsets_ = (np.asarray(arrays[n], np.float64) for n in ("h", "offsets"))
        cutoff.follow_ = float(arrays["follow"][0])
        return cutoff

    def _best_form(self, table: NDArray[np.float32], queries: QuerySet) -> By:
        """Return the form that shows the best sets of each half of the pictures by the other."""
        if len(table) < 2:
            return "none"
        try:
            parts = [
                ShownSets.of(table[fold], some, _DEPTH)
                for fold, some in halves(queries, len(table))
            ]
        except DataError:
            return "none"
        worth = dict.fromkeys(_FORMS, 0.0)
        for by in _FORMS:
            for fold, rest in (parts, parts[::-1]):
                worth[by] += rest.mean_f1(self._fitted(fold, by)) * len(rest)
        return max(_FORMS, key=lambda by: worth[by])

    def _fitted(self, sets: ShownSets, by: By) -> FittedThreshold:
        following = _FOLLOWING if by in ("best", "both") else (0.0,)
        nothing = np.zeros(sets.n_words), np.zeros(LENGTHS)
        tried = [sets.with_best_offsets(FittedThreshold(*nothing, a)) for a in following]
        fitted = max(tried, key=sets.mean_f1)
        if by in ("words", "both"):
            fitted = sets.with_best_offsets(fitted._replace(h=self._words(sets, fitted)))
        return fitted

    def _words(self, sets: ShownSets, start: FittedThreshold) -> NDArray[np.float64]:
        """Return h, starting from the same value for all words."""
        from sightline.rankers import _cutoff_fast

        theta = sets.thresholds(start)
        relevant = sets.relevant - np.repeat(theta, np.diff(sets.start_of))
        others = sets.others - theta[:, None]
        gaps = np.abs(relevant - np.repeat(others[:, 0], np.diff(sets.start_of)))
        gaps = gaps[np.isfinite(gaps)]
        unit = float(np.median(gaps)) if gaps.size else 0.0
        h, U = np.zeros(sets.n_words), np.zeros(sets.n_words)
        if not unit:
            return h
        rng = np.random.default_rng(self.random_state)
        state = rng.integers(1, 2**64, size=1, dtype=np.uint64)
        _cutoff_fast.learn_words(
            state, relevant / unit, sets.start_of, others / unit, sets.start, sets.term,
            sets.weight, float(self.C), float(self.margin), self.n_iter, h, U,
        )  # fmt: skip
        return np.asarray((h - U / self.n_iter) * unit)

    def _check(self) -> None:
        if self.by not in ("auto", *_FORMS):
            must_be = "'auto', 'none', 'words', 'best' or 'both'"
            raise ParameterError.of("by", "CutOff", must_be, self.by)
        check_aggressiveness(self.C, "CutOff")
        if not self.margin > 0:
            raise ParameterError.of("margin", "CutOff", "greater than 0", self.margin)
        if isinstance(self.n_iter, bool) or not isinstance(self.n_iter, int) or self.n_iter < 1:
            must_be = "a whole number of at least 1"
            raise ParameterError.of("n_iter", "CutOff", must_be, self.n_iter)


def _table(word_scores: ArrayLike) -> NDArray[np.float32]:
    table = np.ascontiguousarray(word_scores, dtype=np.float32)
    if np.ndim(word_scores) != 2 or not table.size:
        raise DataError(f"Word scores must be pictures by words. Got {np.shape(word_scores)}.")
    wrong = table.size - np.count_nonzero(np.isfinite(table))
    if wrong:
        raise DataError(f"Word scores must be finite, of which {wrong} are not.")
    return table
