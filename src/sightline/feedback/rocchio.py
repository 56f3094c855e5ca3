"""Rocchio's feedback: the query moves to the mean of relevant pictures, away from the others.

    w = a q + b mean(R) - c mean(N)

Rocchio, "Relevance feedback in information retrieval", 1971. The usual weights a = 1, b = .75 and c
= .15. A mean of no pictures is left out, and so is a missing query.
"""

from __future__ import annotations

import numpy as np

from sightline._typing import Bools, Floats
from sightline.feedback.learner import LinearLearner, number


class Rocchio(LinearLearner):
    """A query moved by means.

    Parameters
    ----------
    a, b, c : float
        Weights of the query, of relevant and of other pictures, none below 0.

    Attributes
    ----------
    w_ : ndarray
        See `LinearLearner`.
    query_ : ndarray
        See `LinearLearner`.
    n_rounds_ : int
        See `LinearLearner`.

    Examples
    --------
    >>> learner = Rocchio().start([1.0, 0.0]).partial_fit([[0, 2], [4, 0]], [1, -1])
    >>> learner.w_.round(2).tolist()
    [0.4, 1.5]
    """

    def __init__(self, *, a: float = 1.0, b: float = 0.75, c: float = 0.15) -> None:
        self.a = a
        self.b = b
        self.c = c

    def _check(self) -> None:
        for name in ("a", "b", "c"):
            number(name, getattr(self, name), self._name, 0.0)

    def _learn(self, rows: Floats, relevant: Bools) -> None:
        if not len(rows):
            self._begin()
            return
        w = np.zeros(rows.shape[1]) if self.query_ is None else self.a * self.query_
        if relevant.any():
            w = w + self.b * rows[relevant].mean(axis=0, dtype=np.float64)
        if not relevant.all():
            w = w - self.c * rows[~relevant].mean(axis=0, dtype=np.float64)
        self.w_ = w
