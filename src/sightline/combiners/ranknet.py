"""RankNet: a small network whose score orders pairs of pictures.

    s(q, p) = v . sigmoid(A phi(q, p) + b) + c,        loss sum log(1 + exp(-(s(q, p+) - s(q, p-))))

over all pairs of a list with different relevance (Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton
and Hullender, "Learning to rank using gradient descent", 2005). Gradient steps are taken list by
list: with lambda_p the sum over p's pairs of +-1 / (1 + exp(s+ - s-)), one pass backwards serves
all pairs of a list. Paper D's batch baseline; parameters as in RankLib.

Departures: the output is linear, without another sigmoid, which would not change an order. The
paper leaves the initial weights open; here they are uniform within 1 / sqrt(inputs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats
from sightline.combiners.examples import Source, judging, lists
from sightline.combiners.linear import Combiner, positive, whole_number
from sightline.errors import DataError

Layers = tuple[Doubles, Doubles, Doubles, Doubles]
_BLOCK = 1 << 16


class RankNet(Combiner):
    """A network with one hidden layer.

    Parameters
    ----------
    n_hidden : int, default=10
        Nodes of the hidden layer.
    n_epochs : int, default=100
        Passes over all lists.
    rate : float, default=5e-05
        Learning rate.
    random_state : int, default=0
        Seed of the first weights and of the order of lists.

    Attributes
    ----------
    layers_ : tuple of ndarray
        A, b, v, c.
    history_ : list of float
        The mean AvgP of validation lists after each pass, where there are any; the best layers are
        kept, else the last.

    Examples
    --------
    >>> phi, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> net = RankNet(n_epochs=200, rate=0.1).fit(phi, y, [0, 0, 0, 0])
    >>> net.score(phi, y, [0, 0, 0, 0])
    1.0
    """

    def __init__(
        self,
        *,
        n_hidden: int = 10,
        n_epochs: int = 100,
        rate: float = 5e-5,
        random_state: int = 0,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_epochs = n_epochs
        self.rate = rate
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        source: Source | None = None,
        validation: tuple[Any, Any, Any] | None = None,
    ) -> Self:
        """Learn from lists, or triplets of pictures; `validation` is (X, y, qid) to stop by."""
        for name in ("n_hidden", "n_epochs"):
            whole_number(name, getattr(self, name), "RankNet")
        rate = positive("rate", self.rate, "RankNet")
        training = lists(X, y, qid, source, "RankNet")
        judge = judging(validation, "RankNet")
        random = np.random.default_rng(self.random_state)
        layers = self._first(training.rows.shape[1], random)
        self.history_: list[float] = []
        self.layers_, best = layers, -np.inf
        for _ in range(self.n_epochs):
            for i in random.permutation(len(training)):
                part = slice(training.start[i], training.start[i + 1])
                gradients = gradient(layers, training.rows[part], training.relevance[part])
                layers = _moved(layers, gradients, rate)
            if judge is None:
                self.layers_ = layers
                continue
            self.history_.append(judge.mean_avgp(_scores(layers, judge.rows)))
            if self.history_[-1] > best:
                best, self.layers_ = self.history_[-1], layers
        if not all(np.isfinite(part).all() for part in self.layers_):
            raise DataError(f"RankNet's weights grew without bound. Use a rate below {rate:g}.")
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of components that phi had in `fit`."""
        return int(self.layers_[0].shape[1])

    def decision_function(self, phi: Any) -> Floats:
        """Return scores of shape (…,) for phi of shape (…, components)."""
        self._check_fitted()
        rows = self._rows(phi, self.n_features_in_)
        flat = rows.reshape(-1, rows.shape[-1])
        out = np.empty(len(flat), dtype=np.float32)
        for begin in range(0, len(flat), _BLOCK):
            out[begin : begin + _BLOCK] = _scores(self.layers_, flat[begin : begin + _BLOCK])
        return self._checked(out.reshape(rows.shape[:-1]))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that scoring needs."""
        self._check_fitted()
        return dict(zip("Abvc", self.layers_, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted network, with default parameters."""
        net = cls()
        net.layers_ = (arrays["A"], arrays["b"], arrays["v"], arrays["c"])
        return net

    def _first(self, n: int, random: np.random.Generator) -> Layers:
        h, inner, outer = self.n_hidden, n**-0.5, self.n_hidden**-0.5
        A, v = random.uniform(-inner, inner, (h, n)), random.uniform(-outer, outer, h)
        return A, np.zeros(h), v, np.zeros(1)


def loss(layers: Layers, rows: NDArray[Any], relevance: Doubles) -> float:
    """Return the loss of one list: the sum over its pairs of different relevance."""
    s = _scores(layers, rows)
    gaps = (s[:, None] - s[None, :])[relevance[:, None] > relevance[None, :]]
    return float(np.logaddexp(0.0, -gaps).sum())


def gradient(layers: Layers, rows: NDArray[Any], relevance: Doubles) -> Layers:
    """Return the gradients of `loss` by all weights, by one pass forwards and one backwards."""
    A, b, v, _ = layers
    X = rows.astype(np.float64)
    hidden = _sigmoid(X @ A.T + b)
    s = hidden @ v
    above = relevance[:, None] > relevance[None, :]
    pull = np.where(above, _sigmoid(s[None, :] - s[:, None]), 0.0)
    slope = pull.sum(axis=0) - pull.sum(axis=1)
    back = slope[:, None] * v * hidden * (1.0 - hidden)
    return back.T @ X, back.sum(axis=0), slope @ hidden, np.array([slope.sum()])


def _moved(layers: Layers, slopes: Layers, rate: float) -> Layers:
    A, b, v, c = (part - rate * slope for part, slope in zip(layers, slopes, strict=True))
    return A, b, v, c


def _scores(layers: Layers, rows: NDArray[Any]) -> Doubles:
    A, b, v, c = layers
    return np.asarray(_sigmoid(rows.astype(np.float64) @ A.T + b) @ v + c[0])


def _sigmoid(x: Doubles) -> Doubles:
    # By tanh, which overflows on neither side.
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))
