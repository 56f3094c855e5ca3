"""Weighted nearest neighbours: a word fits a picture if pictures like it have that word.

    P(t | p) = sum_j pi_pj P(t | j)        P(t | j) = 1 - eps if picture j has t, else eps

over the K nearest training pictures j of p, with weights pi of sum 1 by rank, pi_pj = gamma_k for
the k-th nearest, or by distance, pi_pj ~ exp(-theta . d_pj) with a distance d for each view and
theta >= 0. Both maximise the likelihood of the training pictures' words, each picture left out,

    max  sum_jt c_jt log P(y_jt | j)        c = 1 / n+ where a picture has the word, else 1 / n-

with n+ present and n- absent words in all (Guillaumin, Mensink, Verbeek and Schmid, "TagProp:
Discriminative metric learning in nearest neighbor models for image auto-annotation", 2009). With
`sigmoid`, P is a logistic function of sum_j pi_pj y_jt with two numbers for each word, fitted
alternately with the weights.

Scores are log P, whose sums rank as the products of probabilities do by which the paper ranks
queries of several words.

Departures: weights by rank go by the mean distance over views, where the paper also has weights for
each view's own ranks; L-BFGS takes the place of its projected gradient; curves of rare words are
regularised towards that of all words (`_neighbour_sigmoid`). Of more than 20,000 pictures a seeded
sample is learned from, while all are neighbours. Neighbours are found exactly, by comparing every
pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sightline.annotators._alpha import sample
from sightline.annotators._neighbour_search import (
    Choice,
    NearestPictures,
    Search,
    scale_of,
    views_of,
)
from sightline.annotators._neighbour_sigmoid import fit_curves, shared_curve
from sightline.annotators._neighbour_weights import (
    By,
    Curve,
    LeaveOneOutNeighbours,
    WordIncidence,
    learn,
    weights_of,
)
from sightline.annotators.targets import as_targets, mean_average_precision
from sightline.contracts import PersistentEstimator
from sightline.errors import DataError, ParameterError
from sightline.similarity.kernels import check_columns
from sightline.similarity.serialization import (
    names_from_array,
    names_to_array,
    rows_from_arrays,
    rows_to_arrays,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_PICTURES = 20_000
_ROUNDS = 3
# Where learning starts, in units of the mean distance between pictures.
_START = 10.0
_BLOCK = 1024


class Neighbours(PersistentEstimator):
    """Scores of all words for a picture, from the words that the pictures nearest to it have.

    Parameters
    ----------
    weights : {"rank", "distance"}, default="distance"
        "distance" learns how fast a neighbour counts less the farther it is, a number for each
        view; "rank" learns a weight for each of the K places.
    K : int, default=100
        Number of neighbours; all there are, if that is fewer.
    distance : str or tuple of str, default="l2"
        "l2", "l1" or "chi2", or one for each view. chi2 and l1 need dense features, chi2
        non-negative ones.
    neighbours : {"union", "mean"}, default="mean"
        Of several views, "union" takes the nearest by every view, as deep in each as K allows (the
        paper); "mean" the nearest by the mean of the views' distances.
    sigmoid : bool, default=False
        Learn a curve for each word, which changes how words compare, not the order by one word.
    eps : float, default=0.0001
        How likely a word is that the neighbour does not have.
    random_state : int, default=0
        Seed of the sample that is learned from, and of the one that scales distances.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    gamma_ : ndarray
        Weights of the ranks, of sum 1; of length 0 where weights go by distance.
    theta_ : ndarray
        How much each view's distance counts; of length 0 where weights go by rank.
    curve_ : Curve
        From the weight of the neighbours that have a word to its probability, for each word.
    leave_one_out_ : ndarray
        Scores of the training pictures as if unseen, (pictures, words), float32.
    history_ : list of float
        The log-likelihood at each step of learning, never falling; with `sigmoid` from the first
        curves on, less the penalty for leaving the shared curve.
    K_ : int
        Number of neighbours taken.

    Examples
    --------
    >>> X = np.array([[0.0], [0.2], [0.3], [1.0], [1.1], [1.3]], dtype=np.float32)
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> model = Neighbours(K=3).fit(X, Y)
    >>> model.predict_proba([[0.1], [1.2]]).round(2)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> model.score(X, Y)
    1.0
    """

    _saved = ("classes_",)

    def __init__(
        self,
        *,
        weights: By = "distance",
        K: int = 100,
        distance: str | tuple[str, ...] = "l2",
        neighbours: Choice = "mean",
        sigmoid: bool = False,
        eps: float = 1e-4,
        random_state: int = 0,
    ) -> None:
        self.weights = weights
        self.K = K
        self.distance = distance
        self.neighbours = neighbours
        self.sigmoid = sigmoid
        self.eps = eps
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from pictures X, a matrix or a tuple of views, and the words y they have, 0 or 1.

        y may also be one label for each picture, which is then a word.
        """
        self._check()
        views, names = views_of(X, self.distance)
        targets, self.classes_ = as_targets(y, views[0].shape[0], type(self).__name__)
        scales = tuple(
            scale_of(v, name, self.random_state) for v, name in zip(views, names, strict=True)
        )
        self.search_ = Search(views, names, scales, self.neighbours)
        self.words_ = WordIncidence.of(targets)
        n = len(targets)
        # Left out, a picture has one neighbour fewer to choose from.
        self.K_ = min(self.K, max(n - 1, 1))
        neighbourhoods = list(self.search_.among_themselves(min(self.K_, n - 1)))
        nearest = np.concatenate([part.nearest for part in neighbourhoods])
        distances = np.concatenate([part.distances for part in neighbourhoods])
        del neighbourhoods
        self._learn(nearest, distances)
        parts = (slice(at, at + _BLOCK) for at in range(0, n, _BLOCK))
        left_out = (NearestPictures(part, nearest[part], distances[part]) for part in parts)
        self.leave_one_out_ = self._propagated(left_out, n, None)
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that X had in `fit`, of all views."""
        return sum(int(rows.shape[1]) for rows in self.search_.views)

    def decision_function(
        self, X: Any, words: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return log P(t | p), (pictures, words): of all words, or of those at some positions."""
        self._check_fitted()
        views, _ = views_of(X, self.search_.names)
        check_columns(views, self.n_features_in_, type(self).__name__)
        return self._propagated(self.search_.of(views, self.K_), views[0].shape[0], words)

    def predict_proba(self, X: Any, words: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return P(t | p), (pictures, words): of all words, or of those at some positions."""
        return np.asarray(np.exp(self.decision_function(X, words)))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: what the distances of `distance` take."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_label=True)
        names = self.distance if isinstance(self.distance, tuple) else (self.distance,)
        tags.input_tags.sparse = all(name == "l2" for name in names)
        tags.input_tags.positive_only = "chi2" in names
        return tags

    def score(self, X: Any, y: Any) -> float:
        """Return the mean AvgP over the words that some picture of X has."""
        scores = self.decision_function(X)
        targets, _ = as_targets(y, len(scores), type(self).__name__, self.classes_)
        return mean_average_precision(scores, targets)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs; `from_arrays` makes the same scorer of it."""
        self._check_fitted()
        search = self.search_
        arrays: dict[str, NDArray[Any]] = {
            "gamma": self.gamma_,
            "theta": self.theta_,
            "slope": self.curve_.slope,
            "offset": self.curve_.offset,
            "form": np.array(
                [self.K_, self.curve_.logistic, search.choice == "mean"], dtype=np.int64
            ),
            "distances": names_to_array(search.names),
            "scales": np.array(search.scales),
            "words.start": self.words_.start,
            "words.word": self.words_.word,
        }
        for at, rows in enumerate(search.views):
            arrays |= rows_to_arrays(f"views.{at}", rows)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a scorer as it was when `to_arrays` was called."""
        names = names_from_array(arrays["distances"])
        k, sigmoid, mean = arrays["form"].tolist()
        choice: Choice = "mean" if mean else "union"
        model = cls(
            weights="rank" if len(arrays["gamma"]) else "distance",
            K=k,
            distance=names,
            neighbours=choice,
            sigmoid=bool(sigmoid),
        )
        views = tuple(rows_from_arrays(f"views.{at}", arrays) for at in range(len(names)))
        model.search_ = Search(views, names, tuple(arrays["scales"].tolist()), choice)
        model.gamma_, model.theta_ = arrays["gamma"], arrays["theta"]
        model.curve_ = Curve(arrays["slope"], arrays["offset"], bool(sigmoid))
        model.words_ = WordIncidence(
            arrays["words.start"], arrays["words.word"], len(arrays["slope"])
        )
        model.K_ = k
        model.classes_ = np.arange(model.words_.n_words)
        return model

    def _check(self) -> None:
        name = type(self).__name__
        if self.weights not in ("rank", "distance"):
            raise ParameterError.of("weights", name, "'rank' or 'distance'", self.weights)
        if self.neighbours not in ("union", "mean"):
            raise ParameterError.of("neighbours", name, "'union' or 'mean'", self.neighbours)
        whole = isinstance(self.K, int | np.integer) and not isinstance(self.K, bool)
        if not (whole and self.K >= 1):
            raise ParameterError.of("K", name, "a whole number of at least 1", self.K)
        if not (isinstance(self.eps, float) and 1e-9 <= self.eps < 0.5):
            raise ParameterError.of("eps", name, "from 1e-9 to less than 0.5", self.eps)

    def _learn(self, nearest: NDArray[np.int32], distances: NDArray[np.float32]) -> None:
        scales = np.array(self.search_.scales)
        pictures = sample(np.arange(len(nearest)), _MOST_PICTURES, self.random_state)
        scaled = (distances[pictures] / scales).astype(np.float32)
        problem = LeaveOneOutNeighbours.of(pictures, nearest[pictures], scaled, self.words_)
        if self.weights == "rank":
            parameters = np.full(self.K_, 1.0 / self.K_)
        else:
            parameters = np.full(len(scales), _START / len(scales))
        curve = Curve.straight(float(self.eps), self.words_.n_words)
        self.history_: list[float] = []
        # One picture has no other to learn from.
        if nearest.shape[1]:
            parameters, self.history_ = learn(self.weights, problem, curve, parameters)
            if self.sigmoid:
                parameters, curve = self._learn_curves(problem, parameters)
        self.gamma_ = parameters if self.weights == "rank" else np.zeros(0)
        self.theta_ = parameters / scales if self.weights == "distance" else np.zeros(0)
        self.curve_ = curve

    def _learn_curves(
        self, problem: LeaveOneOutNeighbours, parameters: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], Curve]:
        pi = weights_of(self.weights, parameters, problem.distances)
        prior = shared_curve(problem, pi)
        curve = fit_curves(problem, pi, prior)
        self.history_ = []
        for _ in range(_ROUNDS):
            parameters, steps = learn(self.weights, problem, curve, parameters)
            cost = float(prior.penalty(curve.slope, curve.offset).sum())
            self.history_ += [step - cost for step in steps]
            pi = weights_of(self.weights, parameters, problem.distances)
            curve = fit_curves(problem, pi, prior, curve)
        return parameters, curve

    def _propagated(
        self, neighbourhoods: Iterator[NearestPictures], n: int, words: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        from sightline.annotators._neighbours_fast import propagate

        tags, curve = self.words_, self.curve_
        if words is not None:
            chosen = _positions(words, tags.n_words)
            tags, curve = tags.some(chosen), curve.some(chosen)
        parameters = self.gamma_ if self.weights == "rank" else self.theta_
        out = np.empty((n, tags.n_words), dtype=np.float32)
        for part in neighbourhoods:
            pi = weights_of(self.weights, parameters, part.distances)
            x = np.zeros((len(pi), tags.n_words))
            propagate(part.nearest, pi, tags.start, tags.word, x)
            out[part.rows] = curve.log_p(x)
        return out


def _positions(words: Any, n_words: int) -> NDArray[np.int64]:
    at = np.asarray(words, dtype=np.int64).reshape(-1)
    if at.size and not (at.min() >= 0 and at.max() < n_words):
        wrong = at[(at < 0) | (at >= n_words)][0]
        raise DataError(f"Words are positions from 0 to {n_words - 1}. Got {wrong}.")
    return at
