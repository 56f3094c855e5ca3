"""A ranking loss in the log-product form, learned on top of any annotator's word scores.

An annotator scores words one by one, and a query of several words is answered by the product of
their probabilities. What makes a good probability of a word is not what makes a good ranking by
such products: words depend on each other, and only the order counts. So with x_t(p) the calibrated
logit of word t for picture p and z(p) the leading directions of all words' scores,

    f_t(p) = a_t x_t(p) + b_t + m_t . z(p)          F(q, p) = sum_{t in q} log sigmoid(f_t(p))

are fitted so that the pictures R(q) that fit a query come first among all training pictures,

    min  mean_q  -1/|R(q)| sum_{p in R(q)} log softmax_p F(q, p)  +  s/2 |M|^2 + r/2 |a - 1, b|^2

over the queries that captions make. The softmax of a log-product is the probability that a picture
is meant by a query, if every picture is as likely beforehand: the list-wise loss of Cao and others,
"Learning to rank: from pairwise approach to listwise approach", 2007, on products of words, which
Grangier and Bengio (2008, section VI) leave to later work.

It must be fitted to scores of pictures that the annotator has *not* learned from, such as the
leave-one-out scores of kernel ridge: on the others all pictures seem well ranked, and there is
nothing to learn. m_t corrects word t by the other words, with strong regularisation: for s = 0 it
overfits the training pictures.

Solved by Adam (Kingma and Ba, 2015) on batches of queries, with a learning rate that falls to 0;
only the words of a batch are updated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sightline.contracts import PersistentEstimator, Progress
from sightline.errors import DataError, ParameterError
from sightline.measures.many import measure_queries
from sightline.progress import NoProgress
from sightline.rankers._list_loss import Adam, loss_and_slopes
from sightline.solvers.targets import from_indicator
from sightline.validation import check_finite, check_shape, dense_table
from sightline.words.calibration import calibrate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.records import QuerySet

_MOST_PICTURES = 6_000
_SILENT = NoProgress()


class LogProduct(PersistentEstimator):
    """Ranks pictures by the log of a product of word probabilities.

    Parameters
    ----------
    n_directions : int, default=128
        Length of z, the leading directions of all words' scores; 0 corrects no word by others.
    strength : float, default=0.03
        s, how strongly M is regularised towards 0.
    own_strength : float, default=0.01
        r, how strongly a is regularised towards 1 and b towards 0.
    rate : float, default=0.02
        Learning rate of the first step; it falls linearly to 0.
    n_steps : int, default=100
        Steps, each by the gradient of a batch.
    batch : int, default=512
        Queries in a step; all of them where they are fewer.
    max_len : int, default=5
        Words that a query made from captions may have.
    most_queries : int, default=8000
        Maximum number to learn from, a seeded sample.
    random_state : int, default=0
        Seed of that choice and of the order.

    Attributes
    ----------
    a_, b_ : ndarray
        One for each word.
    M_ : ndarray of shape (directions, words)
        What corrects each word by the directions of all.
    history_ : list of float
        Mean loss of each step's queries, without the regularisers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> tagged = rng.random((60, 4)) < 0.4
    >>> scores = tagged + 0.4 * rng.normal(size=tagged.shape)
    >>> ranker = LogProduct().fit(scores, tagged)
    >>> ranker.history_[-1] < ranker.history_[0]
    True
    >>> ranker.decision_function(scores[:5]).shape
    (5, 4)
    """

    def __init__(
        self,
        *,
        n_directions: int = 128,
        strength: float = 0.03,
        own_strength: float = 0.01,
        rate: float = 0.02,
        n_steps: int = 100,
        batch: int = 512,
        max_len: int = 5,
        most_queries: int = 8_000,
        random_state: int = 0,
    ) -> None:
        self.n_directions = n_directions
        self.strength = strength
        self.own_strength = own_strength
        self.rate = rate
        self.n_steps = n_steps
        self.batch = batch
        self.max_len = max_len
        self.most_queries = most_queries
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        queries: QuerySet | None = None,
        progress: Progress = _SILENT,
    ) -> Self:
        """Learn from word scores X of unseen pictures and the words y they have, 0 or 1.

        `queries` over the rows of X replace those that captions make.
        """
        self._check()
        scores = _table(X)
        y = _tagged(y, scores.shape)
        scores, y, queries = self._few(scores, y, queries)
        if queries is None:
            queries = from_indicator(y, len(y), self.max_len).queries
        self.slope_, self.offset_ = calibrate(scores, y)
        self.mean_, self.directions_ = _directions(scores, self.n_directions)
        self._train(scores, queries, progress)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of words that had scores in `fit`."""
        return len(self.a_)

    def decision_function(
        self, X: Any, words: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return f_t(p) from the scores X of all words, for all words or those at some positions.

        The log of its sigmoid, summed over the words of a query, ranks pictures.
        """
        self._check_fitted()
        scores = _table(X, self.n_features_in_)
        at = slice(None) if words is None else words
        x = scores[:, at] * self.slope_[at] + self.offset_[at]
        z = (scores - self.mean_) @ self.directions_
        return np.asarray(x * self.a_[at] + self.b_[at] + z @ self.M_[:, at], np.float32)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse input is not taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def score(self, X: Any, y: Any) -> float:
        """Return the mean AvgP of the queries that the words of some pictures make."""
        f = self.decision_function(X)
        queries = from_indicator(_tagged(y, f.shape), len(f), self.max_len).queries
        unweighted = query_set_of_ones(queries)
        return measure_queries(-np.logaddexp(0.0, -f.astype(np.float64)), unweighted).mean_avgp

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes the same ranker of it."""
        self._check_fitted()
        return {name: getattr(self, f"{name}_") for name in _SAVED}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted ranker as far as scoring goes."""
        ranker = cls()
        for name in _SAVED:
            setattr(ranker, f"{name}_", arrays[name])
        return ranker

    def _few(
        self, scores: NDArray[np.float32], Y: NDArray[np.bool_], queries: QuerySet | None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_], QuerySet | None]:
        """Return a seeded sample of many pictures, or all of them where queries name their rows."""
        if queries is not None or len(scores) <= _MOST_PICTURES:
            return scores, Y, queries
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.choice(len(scores), _MOST_PICTURES, replace=False))
        return scores[rows], Y[rows], None

    def _train(self, scores: NDArray[np.float32], queries: QuerySet, progress: Progress) -> None:
        n_words = scores.shape[1]
        x = (scores * self.slope_ + self.offset_).astype(np.float32)
        z = np.asarray((scores - self.mean_) @ self.directions_, np.float32)
        Q, R = _matrices(queries, n_words, len(scores))
        rng = np.random.default_rng(self.random_state)
        usable = np.flatnonzero(
            (np.diff(queries.start) > 0) & (np.diff(queries.relevant_start) > 0)
        )
        if not len(usable):
            raise DataError("No query has both a word and a picture that fits it.")
        if len(usable) > self.most_queries:
            usable = np.sort(rng.choice(usable, self.most_queries, replace=False))
        adam = Adam(n_words, z.shape[1], self.rate, self.n_steps)
        holds = (self.own_strength, self.own_strength, self.strength)
        self.history_: list[float] = []
        progress.start("training", self.n_steps)
        order = np.zeros(0, np.int64)
        for _ in range(self.n_steps):
            if len(order) < min(self.batch, len(usable)):
                order = np.concatenate([order, rng.permutation(usable)])
            batch, order = order[: self.batch], order[self.batch :]
            words = np.unique(Q[batch].indices)
            loss, gradients = loss_and_slopes(
                x[:, words], z, Q[batch][:, words], R[batch], *adam.at(words)
            )
            adam.step(words, gradients, holds)
            self.history_.append(loss)
            progress.advance()
        progress.finish()
        self.a_, self.b_, self.M_ = adam.a, adam.b, adam.M

    def _check(self) -> None:
        name = type(self).__name__
        for whole in ("n_steps", "batch", "max_len", "most_queries"):
            if not isinstance(getattr(self, whole), int) or getattr(self, whole) < 1:
                raise ParameterError.of(whole, name, "at least 1", getattr(self, whole))
        if not isinstance(self.n_directions, int) or self.n_directions < 0:
            raise ParameterError.of("n_directions", name, "at least 0", self.n_directions)
        for number in ("strength", "own_strength"):
            if not 0 <= getattr(self, number) < np.inf:
                raise ParameterError.of(number, name, "at least 0", getattr(self, number))
        if not 0 < self.rate < np.inf:
            raise ParameterError.of("rate", name, "greater than 0", self.rate)


# Directions below this share of the strongest one's variance are dropped.
_LEAST = 1e-6
_SAVED = ("a", "b", "M", "slope", "offset", "mean", "directions")


def _directions(
    scores: NDArray[np.float32], n: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean of scores and their leading directions, of variance 1 on average."""
    from scipy.linalg import eigh

    mean = scores.mean(axis=0)
    spread = scores.std(axis=0)
    flat = spread <= 1e-6 * max(float(spread.max()), 1e-30)
    inverse = np.where(flat, 0.0, 1.0 / np.where(flat, 1.0, spread))
    n = min(n, *scores.shape)
    if not n or flat.all():
        return mean, np.zeros((scores.shape[1], 0), np.float32)
    z = (scores - mean) * inverse.astype(np.float32)
    if z.shape[1] <= z.shape[0]:
        table = (z.T @ z).astype(np.float64)
        values, vectors = eigh(table, subset_by_index=[len(table) - n, len(table) - 1])
    else:
        table = (z @ z.T).astype(np.float64)
        values, left = eigh(table, subset_by_index=[len(table) - n, len(table) - 1])
        vectors = z.T @ (left / np.sqrt(np.maximum(values, _LEAST * values[-1])))
    # Centred scores leave at least one direction of nothing but rounding where pictures are few.
    significant = values > _LEAST * values[-1]
    values, vectors = values[significant], vectors[:, significant]
    scale = np.sqrt(float(values.mean()) / len(z))
    return mean, np.asarray(inverse[:, None] * vectors / scale, np.float32)


def _matrices(queries: QuerySet, n_words: int, n_pictures: int) -> tuple[Any, Any]:
    from scipy.sparse import csr_matrix

    ones = np.ones(len(queries.term), np.float32)
    Q = csr_matrix((ones, queries.term, queries.start), shape=(len(queries), n_words))
    ones = np.ones(len(queries.relevant), np.float32)
    R = csr_matrix(
        (ones, queries.relevant, queries.relevant_start), shape=(len(queries), n_pictures)
    )
    return Q, R


def query_set_of_ones(queries: QuerySet) -> QuerySet:
    """Return the queries with equal weights of words, as in a product."""
    from dataclasses import replace

    return replace(queries, weight=np.ones(len(queries.term), np.float32))


def _table(X: Any, n_features: int | None = None) -> NDArray[np.float32]:
    scores: NDArray[np.float32] = dense_table(X, np.float32)
    check_shape(scores.shape, "LogProduct", n_features=n_features, min_samples=1)
    check_finite(scores, "LogProduct")
    return scores


def _tagged(Y: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    table = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)
    if table.shape != shape:
        raise DataError(f"Words must be a table of shape {shape}. Got {table.shape}.")
    return table > 0
