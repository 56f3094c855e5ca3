"""How much each neighbour counts, learned by maximising the likelihood of left-out words.

With x_it the weight of the neighbours of picture i that have word t, and P(1 | x) linear in x, or
a logistic function of it,

    max  sum_it c_it log P(y_it | x_it)        x_it = sum_k pi_ik y_(n_ik) t

over the weights of ranks, pi_ik = softmax(u)_k, or over theta >= 0, pi_ik = softmax_k(-theta d_ik).
By rank this is concave in pi; by distance it need not be. Both are climbed by L-BFGS, whose line
search never lowers the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline._typing import Doubles


By = Literal["rank", "distance"]
_STEPS = 100
# Least gain of a step, and least gradient: a weight's third digit changes no ranking.
_LEAST_GAIN, _LEAST_SLOPE = 1e-7, 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class WordIncidence:
    """Words as sparse rows: those of picture j are `word[start[j] : start[j + 1]]`."""

    start: NDArray[np.int64]
    word: NDArray[np.int32]
    n_words: int

    @classmethod
    def of(cls, Y: NDArray[Any]) -> WordIncidence:
        """Return them from a table of 0 and 1."""
        start = np.zeros(len(Y) + 1, dtype=np.int64)
        np.cumsum(np.count_nonzero(Y, axis=1), out=start[1:])
        return cls(start, np.nonzero(Y)[1].astype(np.int32), Y.shape[1])

    def some(self, words: NDArray[np.int64]) -> WordIncidence:
        """Return the same pictures with some of the words alone, each at its place in `words`."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self.word), dtype=np.int8)
        table = csr_matrix((ones, self.word, self.start), (len(self.start) - 1, self.n_words))
        columns = table[:, words]
        return WordIncidence(
            columns.indptr.astype(np.int64), columns.indices.astype(np.int32), len(words)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """P(word | x) of each word: slope x + offset, or the logistic function of that."""

    slope: Doubles
    offset: Doubles
    logistic: bool

    @classmethod
    def straight(cls, eps: float, n_words: int) -> Curve:
        """Return 1 - eps where all neighbours have the word, and eps where none does."""
        return cls(np.full(n_words, 1.0 - 2.0 * eps), np.full(n_words, eps), False)

    def log_p(self, x: Doubles) -> Doubles:
        """Return log P."""
        z = x * self.slope + self.offset
        return np.asarray(-np.logaddexp(0.0, -z) if self.logistic else np.log(z))

    def some(self, words: NDArray[np.int64]) -> Curve:
        """Return the curves of some words."""
        return Curve(self.slope[words], self.offset[words], self.logistic)

    def absent(self) -> Doubles:
        """Return log P(no word | x = 0)."""
        if self.logistic:
            return np.asarray(-np.logaddexp(0.0, self.offset))
        return np.asarray(np.log1p(-self.offset))


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOutNeighbours:
    """Training pictures, each with its nearest other training pictures, and their words.

    Attributes
    ----------
    own : ndarray of int64
        Positions of these pictures among all.
    nearest : ndarray of shape (pictures, k)
        Nearest first.
    distances : ndarray of shape (pictures, k, views)
        How far the neighbours are.
    words : WordIncidence
        The words of all training pictures.
    cost : ndarray of float64
        C of absent and of present words.
    """

    own: NDArray[np.int64]
    nearest: NDArray[np.int32]
    distances: NDArray[np.float32]
    words: WordIncidence
    cost: Doubles

    @classmethod
    def of(
        cls,
        pictures: NDArray[np.int64],
        nearest: NDArray[np.int32],
        distances: NDArray[np.float32],
        words: WordIncidence,
    ) -> LeaveOneOutNeighbours:
        """Return them with the costs by which present and absent words count equally, 1 in all."""
        n_tagged = int((words.start[pictures + 1] - words.start[pictures]).sum())
        absent = len(pictures) * words.n_words - n_tagged
        cost = np.array([1.0 / absent if absent else 0.0, 1.0 / n_tagged if n_tagged else 0.0])
        return cls(pictures, nearest, distances, words, cost)

    def word_evidence(
        self, pi: Doubles, words: NDArray[np.int64]
    ) -> tuple[Doubles, NDArray[np.bool_]]:
        """Return x, the weight of neighbours with a word, and y, whether the picture has it."""
        from sightline.annotators._neighbours_fast import propagate

        some = self.words.some(words)
        x = np.zeros((len(self.own), len(words)))
        propagate(self.nearest, pi, some.start, some.word, x)
        y = np.zeros(x.shape)
        propagate(
            self.own[:, None].astype(np.int32), np.ones((len(y), 1)), some.start, some.word, y
        )
        return x, y > 0

    def likelihood(self, pi: Doubles, curve: Curve) -> tuple[float, Doubles]:
        """Return the log-likelihood and its derivatives by pi."""
        from sightline.annotators._neighbours_fast import log_likelihood

        gradient = np.empty(pi.shape)
        cost = np.append(self.cost, float(curve.logistic))
        value = log_likelihood(
            self.own, self.nearest, pi, self.words.start, self.words.word, cost,
            self.cost[0] * curve.absent(), curve.slope, curve.offset, gradient,
        )  # fmt: skip
        return float(value), gradient


def weights_of(by: By, parameters: Doubles, distances: NDArray[np.float32]) -> Doubles:
    """Return pi of pictures, (pictures, k), from the fitted parameters.

    >>> weights_of("distance", np.array([2.0]), np.zeros((1, 4, 1), np.float32))
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    if by == "rank" or not distances.shape[1]:
        return np.array(np.broadcast_to(parameters, distances.shape[:2]), dtype=np.float64)
    return _softmax(-(distances.astype(np.float64) @ parameters))


def learn(
    by: By, problem: LeaveOneOutNeighbours, curve: Curve, start: Doubles
) -> tuple[Doubles, list[float]]:
    """Return the weights of ranks, or theta, and the log-likelihood at each step."""
    from scipy.optimize import minimize

    if by == "rank":
        objective, x, bounds = _by_rank(problem, curve), np.log(np.maximum(start, 1e-12)), None
    else:
        objective, x, bounds = _by_distance(problem, curve), start, [(0.0, None)] * len(start)
    history = [-objective(x)[0]]

    def note(intermediate_result: Any) -> None:
        history.append(-float(intermediate_result.fun))

    options = {"maxiter": _STEPS, "ftol": _LEAST_GAIN, "gtol": _LEAST_SLOPE}
    fitted = minimize(
        objective, x, jac=True, method="L-BFGS-B", bounds=bounds, callback=note, options=options
    )
    return (_softmax(fitted.x) if by == "rank" else fitted.x), history


_Objective = Callable[["Doubles"], tuple[float, "Doubles"]]


def _by_rank(problem: LeaveOneOutNeighbours, curve: Curve) -> _Objective:
    def objective(u: Doubles) -> tuple[float, Doubles]:
        gamma = _softmax(u)
        pi = weights_of("rank", gamma, problem.distances)
        value, by_pi = problem.likelihood(pi, curve)
        by_gamma = by_pi.sum(axis=0)
        return -value, -gamma * (by_gamma - gamma @ by_gamma)

    return objective


def _by_distance(problem: LeaveOneOutNeighbours, curve: Curve) -> _Objective:
    def objective(theta: Doubles) -> tuple[float, Doubles]:
        pi = weights_of("distance", theta, problem.distances)
        value, by_pi = problem.likelihood(pi, curve)
        pull = pi * (by_pi - (pi * by_pi).sum(axis=1, keepdims=True))
        return -value, np.einsum("ik,ikv->v", pull, problem.distances)

    return objective


def _softmax(z: Doubles) -> Doubles:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))
