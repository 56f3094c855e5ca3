"""From scores of words to the score of a query: three ways to combine, each an inner product.

A model gives every picture p a score g_t(p) for every word t. What is published of a picture is one
number for each word, r_t(p), made so that a query is answered by an inner product alone,
s(q, p) = sum_t w_t r_t(p) over the words of the query:

    sum       r_t = g_t                            w the unit vector of idf (paper A, eq. 2)
    average   r_t = (g_t - mean_t) / std_t         w = 1 / number of words
    product   r_t = log sigmoid(a_t g_t + b_t)     w = 1: the log of the product of probabilities

The normalised average is that of the SVM baseline of Grangier and Bengio, "A discriminative kernel-
based model to rank images from text queries", 2008, section V-C; its mean and std are over the
pictures that `fit` is given. The product requires every word: a picture that certainly lacks one of
two words is excluded, whereas in a sum the other word can compensate.

Weights in the query multiply w: with 2:red the probability counts squared.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.words.calibration import calibrate, logistic
from sightline.words.probability import MOST_LOGIT, ProbabilityCurves, logit_of_log, sigmoid
from sightline.words.tfidf import query_vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

How = Literal["sum", "average", "product"]
WAYS: tuple[How, ...] = ("sum", "average", "product")
# A picture known to have a word gets the score that the best tenth of the word's pictures reach.
_KNOWN_QUANTILE = 0.9


class Combination:
    """One way to combine word scores, fitted to a model.

    Parameters
    ----------
    how : {"sum", "average", "product"}, default="product"
        "sum", "average" or "product".

    Attributes
    ----------
    slope_, offset_ : ndarray of float64
        Slope and offset applied to the scores of each word.
    known_ : ndarray of float64
        The published number of pictures known to have the word, for each word.
    shown_ : ndarray of shape (2,)
        Slope and offset of the logistic curve from a query's score to a probability, in models
        of earlier releases.
    curves_ : ProbabilityCurves or None
        From a query's score to a calibrated probability; None before they are fitted.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.1], [0.8, 0.7], [0.1, 0.6], [0.0, 0.0]], dtype=np.float32)
    >>> tagged = np.array([[1, 0], [1, 1], [0, 1], [0, 0]])
    >>> both = Combination("product").fit(scores, tagged)
    >>> weights = both.weights([1.2, 1.2])
    >>> int(np.argmax(both.rows(scores) @ weights))
    1
    """

    def __init__(self, how: How = "product") -> None:
        if how not in WAYS:
            raise ParameterError.of("how", "Combination", f"one of {list(WAYS)}", how)
        self.how: How = how
        self.curves_: ProbabilityCurves | None = None
        # Logits that were learned by a loss of ranks are no calibrated ones.
        self.of_ranked_logits = False

    def fit(self, scores: ArrayLike, Y: Any = None) -> Self:
        """Fit to held-out scores.

        Parameters
        ----------
        scores : array-like of shape (n_pictures, n_words)
            Scores of pictures that the model was not fitted to.
        Y : array-like of shape (n_pictures, n_words), optional
            1 where the picture has the word. Only the product requires it; without it the
            others take a word's highest score as known, and probabilities are not calibrated.
        """
        g = _table(scores)
        tagged = None if Y is None else _tagged(Y, g.shape)
        if self.how == "product":
            if tagged is None:
                raise ParameterError.of("Y", "Combination", "given for a product", None)
            self.slope_, self.offset_ = calibrate(g, tagged)
        elif self.how == "average":
            self.slope_, self.offset_ = _standard(g)
        else:
            self.slope_, self.offset_ = np.ones(g.shape[1]), np.zeros(g.shape[1])
        self.known_ = self._known(g, tagged)
        self.shown_ = np.array([1.0, 0.0])
        if tagged is not None and self.how != "product":
            self.shown_ = np.array(logistic(self.rows(g), tagged))
        return self

    @classmethod
    def of_logits(cls, n_words: int) -> Combination:
        """Return the product for a model whose scores are already logits.

        >>> Combination.of_logits(1).rows([[0.0]]).round(2)
        array([[-0.69]], dtype=float32)
        """
        combination = cls("product")
        combination.slope_, combination.offset_ = np.ones(n_words), np.zeros(n_words)
        combination.known_, combination.shown_ = np.zeros(n_words), np.array([1.0, 0.0])
        combination.of_ranked_logits = True
        return combination

    def rows(self, scores: ArrayLike) -> NDArray[np.float32]:
        """Return the published numbers of pictures, (pictures, words)."""
        g = _table(scores)
        if g.shape[1] != len(self.slope_):
            raise DataError(f"Scores must be of {len(self.slope_)} words. Got {g.shape[1]}.")
        published = np.empty(g.shape, dtype=np.float32)
        # In blocks, since the sums are in float64.
        for start in range(0, len(g), 1024):
            rows = slice(start, start + 1024)
            x = g[rows] * self.slope_ + self.offset_
            published[rows] = -np.logaddexp(0.0, -x) if self.how == "product" else x
        return published

    def weights(self, idf: ArrayLike, user_weights: ArrayLike | None = None) -> NDArray[np.float32]:
        """Return the weight of each word of a query, from their idf and the user's weights.

        >>> Combination("average").weights([3.0, 1.0], [1.0, 3.0]).tolist()
        [0.25, 0.75]
        """
        terms = np.asarray(idf, dtype=np.float64).reshape(-1)
        factors = (
            np.ones(len(terms))
            if user_weights is None
            else np.asarray(user_weights, dtype=np.float64)
        )
        if factors.shape != terms.shape or not (np.isfinite(factors) & (factors >= 0)).all():
            raise ParameterError.of(
                "user_weights",
                "Combination",
                f"{len(terms)} numbers that are not negative",
                user_weights,
            )
        if self.how == "sum":
            out = np.zeros(len(terms), dtype=np.float32)
            at, values = query_vector(np.arange(len(terms)), terms, factors)
            out[at] = values
            return out
        if self.how == "average" and factors.any():
            factors = factors / factors.sum()
        return factors.astype(np.float32)

    def fit_shown(self, query_scores: ArrayLike, relevance: ArrayLike) -> Self:
        """Fit the curve from a query's score to a probability; the product needs none."""
        if self.how != "product":
            values = np.asarray(query_scores, dtype=np.float64).reshape(-1)
            fits = np.asarray(relevance).reshape(-1) > 0
            if values.shape != fits.shape:
                raise DataError(
                    f"There must be one relevance a score. Got {fits.size} for {values.size}."
                )
            self.shown_ = np.array(logistic(values, fits))
        return self

    def probability(
        self, score: ArrayLike, weights: ArrayLike, words: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the probability that pictures with this score fit a query, 0 to 1.

        Without curves, as in models of earlier releases, that of a product is the geometric mean of
        the words' probabilities.

        Parameters
        ----------
        score : array-like
            Scores of pictures for the query.
        weights, words : array-like
            The weights of its words, and their positions in the model. Positions may be left out
            where there are no curves.
        """
        w = np.asarray(weights, np.float64).reshape(-1)
        s, total = np.asarray(score, np.float64), float(w.sum()) or 1.0
        if self.curves_ is not None:
            if words is None:
                raise ParameterError.of("words", "Combination", "given with curves", None)
            at = np.asarray(words, np.int64).reshape(-1)
            return self.curves_.of_query(self._logits(s / total), at, w)
        if self.how == "product":
            return np.asarray(np.exp(np.minimum(s / total, 0.0)))
        return sigmoid(s * self.shown_[0] + self.shown_[1])

    def word_probabilities(self, rows: ArrayLike, words: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each of some words by its published numbers, one a column."""
        table, at = np.asarray(rows, np.float64), np.asarray(words, np.int64)
        if self.curves_ is not None:
            return self.curves_.of_words(self._logits(table), at)
        return np.asarray(self.probability(table, [1.0]))

    @property
    def is_calibrated(self) -> bool:
        """Whether published numbers of a word are logs of probabilities already."""
        return self.how == "product" and not self.of_ranked_logits

    def joint_logits(
        self, score: ArrayLike, weights: NDArray[np.float64], words: ArrayLike
    ) -> NDArray[np.float64]:
        """Return the logits that a query would have if its words were independent."""
        if self.curves_ is None:
            raise ValueError("A combination without curves has no logits of queries.")
        total = float(weights.sum()) or 1.0
        logits = self._logits(np.asarray(score, np.float64) / total)
        return self.curves_.joint_logit(logits, words, weights)

    def base_logits(self, scores: ArrayLike) -> NDArray[np.float64]:
        """Return what curves start from, for raw scores of every word."""
        if self.how == "product":
            # The logit of sigmoid(x) is x.
            return np.asarray(np.minimum(_table(scores) * self.slope_ + self.offset_, MOST_LOGIT))
        return self._logits(self.rows(scores))

    def with_curves(self, curves: ProbabilityCurves) -> Combination:
        """Return the same combination with the curves that make its scores probabilities."""
        combination = copy(self)
        combination.curves_ = curves
        return combination

    def _logits(self, published: ArrayLike) -> NDArray[np.float64]:
        r = np.asarray(published, np.float64)
        return logit_of_log(r) if self.how == "product" else r

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return the fitted arrays; `from_arrays` makes the same combination."""
        curves = {} if self.curves_ is None else self.curves_.to_arrays()
        return {
            "slope": self.slope_, "offset": self.offset_, "known": self.known_,
            "shown": self.shown_, **curves,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, how: How, arrays: Mapping[str, NDArray[np.float64]]) -> Combination:
        """Return a combination as it was when `to_arrays` was called."""
        combination = cls(how)
        for name in ("slope", "offset", "known", "shown"):
            if name not in arrays:
                raise DataError(f"The combination's array {name!r} is missing. Train again.")
            setattr(combination, f"{name}_", np.asarray(arrays[name], dtype=np.float64))
        combination.curves_ = ProbabilityCurves.from_arrays(arrays)
        return combination

    def fill_flat(self) -> Self:
        """Give words with constant scores the median slope.

        A model fitted to more pictures may score them differently, and would be multiplied by 0.
        """
        flat = self.slope_ == 0
        if flat.any() and not flat.all():
            self.slope_ = np.where(flat, np.median(self.slope_[~flat]), self.slope_)
        return self

    def some(self, words: NDArray[np.int64]) -> Combination:
        """Return the combination for the words at some positions alone."""
        combination = Combination(self.how)
        combination.slope_, combination.offset_ = self.slope_[words], self.offset_[words]
        combination.known_, combination.shown_ = self.known_[words], self.shown_
        combination.curves_ = None if self.curves_ is None else self.curves_.some(words)
        return combination

    def _known(
        self, g: NDArray[np.float32], tagged: NDArray[np.bool_] | None
    ) -> NDArray[np.float64]:
        if self.how == "product":
            return np.zeros(g.shape[1])
        rows = self.rows(g).astype(np.float64)
        if tagged is None or not tagged.any():
            return np.asarray(rows.max(axis=0))
        usual = float(np.quantile(rows[tagged], _KNOWN_QUANTILE))
        return np.array(
            [
                np.quantile(r[c], _KNOWN_QUANTILE) if c.any() else usual
                for r, c in zip(rows.T, tagged.T, strict=True)
            ]
        )


def _standard(g: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mean = g.mean(axis=0, dtype=np.float64)
    std = g.std(axis=0, dtype=np.float64)
    # Equal numbers may leave rounding where the std should be 0.
    flat = (g == g[:1]).all(axis=0) | (std == 0)
    slope = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, std))
    return slope, -mean * slope


def _table(scores: ArrayLike) -> NDArray[np.float32]:
    g = np.asarray(scores, dtype=np.float32)
    if g.ndim != 2 or not g.size:
        raise DataError(f"Word scores must be pictures by words. Got shape {g.shape}.")
    if not np.isfinite(g).all():
        picture, word = np.argwhere(~np.isfinite(g))[0]
        raise DataError(
            f"The score of word {word} for picture {picture} is {g[picture, word]}. "
            "Give every picture a number."
        )
    return g


def _tagged(Y: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    table = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)
    if table.shape != shape:
        raise DataError(
            f"Words must be a table of shape {shape}, as the scores. Got {table.shape}."
        )
    yes: NDArray[np.bool_] = table.astype(np.bool_)
    if not np.array_equal(yes, table):
        raise DataError("Words must be 1 on pictures that have them, else 0.")
    return yes
