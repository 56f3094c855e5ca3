"""Relevance score feedback by the nearest relevant and other picture; a baseline of paper B.

Giacinto, "A nearest-neighbor approach to relevance feedback in content based image retrieval", CIVR
2007. With the distances dR and dN to the nearest relevant and the nearest other judged picture,

    RS(x) = dN / (dN + dR) = 1 / (1 + dR / dN)

The stabilised form adds how near a picture lies to a query Q that has moved away from the other
pictures, the more so the more of them there are:

    (u / (1 + u)) (1 - e^(1 - d(x, Q) / dmax)) / (1 - e) + (1 / (1 + u)) RS(x)
    u = |N| / (|N| + |R|)
    Q = mR + (sigma / ||mR - mN||) (1 - (|R| - |N|) / max(|R|, |N|)) (mR - mN)

mR and mN are means of both kinds, sigma the root mean square distance of relevant pictures from mR,
and dmax the largest d(x, Q) of the pictures that are scored together.

Without other pictures the score is -dR, without relevant ones dN; a picture that is equal to one of
both kinds has 1/2. Paper B has "the ratio of the distances", so the plain form is the default.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Floats
from sightline.feedback.nearness import NearnessLearner, squared_distances


class RelevanceScore(NearnessLearner):
    """The nearest relevant picture against the nearest other one.

    Parameters
    ----------
    stabilised : bool, default=False
        Add the nearness to a query that has moved.

    Attributes
    ----------
    rows_ : ndarray
        See `NearnessLearner`.
    relevant_ : ndarray
        See `NearnessLearner`.
    query_ : ndarray
        See `NearnessLearner`.
    n_rounds_ : int
        See `NearnessLearner`.

    Examples
    --------
    >>> learner = RelevanceScore().partial_fit([[0.0], [4.0]], [1, -1])
    >>> learner.decision_function([[0.0], [1.0], [4.0]]).tolist()
    [1.0, 0.75, 0.0]
    """

    def __init__(self, *, stabilised: bool = False) -> None:
        self.stabilised = stabilised

    @property
    def ready(self) -> bool:
        """Whether there are judgements."""
        return bool(len(getattr(self, "rows_", ())))

    def _check(self) -> None:
        return

    def _learn(self, rows: Floats, relevant: Bools) -> None:
        self._keep(rows, relevant)
        # Q is an affine combination of judged rows, so distances to them determine that to Q.
        self._parts = moved_query(rows, relevant)
        between = squared_distances(rows, rows)
        self._offset = 0.5 * float(self._parts @ between @ self._parts)

    def _by_distance(self, squared: Any) -> Doubles:
        relevant = self.relevant_
        if relevant.all():
            return -nearest(squared)
        if not relevant.any():
            return nearest(squared)
        score = ratio(nearest(squared[:, relevant]), nearest(squared[:, ~relevant]))
        if not self.stabilised:
            return score
        away = np.sqrt(np.maximum(squared @ self._parts - self._offset, 0.0))
        longest = away.max(initial=0.0)
        near = (1 - np.exp(1 - away / (longest if longest > 0 else 1.0))) / (1 - np.e)
        u = float((~relevant).mean())
        return np.asarray((u * near + score) / (1 + u))


def nearest(squared: Any) -> Doubles:
    """Return the distance of each picture to the nearest of some."""
    return np.sqrt(np.asarray(squared.min(axis=1), dtype=np.float64))


def ratio(to_relevant: Doubles, to_negative: Doubles) -> Doubles:
    """Return dN / (dN + dR), and 1/2 where both are 0.

    >>> ratio(np.array([0.0, 1.0, 0.0]), np.array([2.0, 3.0, 0.0])).tolist()
    [1.0, 0.75, 0.5]
    """
    both = to_relevant + to_negative
    return np.where(both > 0, to_negative / np.where(both > 0, both, 1.0), 0.5)


def moved_query(rows: Floats, relevant: Bools) -> Doubles:
    """Return Q as its parts of each judged row; they sum to 1.

    >>> rows, relevant = np.array([[0], [2], [4]], np.float32), np.array([True, True, False])
    >>> moved_query(rows, relevant).round(3).tolist()
    [0.583, 0.583, -0.167]
    """
    n_relevant, n_other = int(relevant.sum()), int((~relevant).sum())
    parts = np.where(relevant, 1.0 / max(n_relevant, 1), 0.0)
    if not n_relevant or not n_other:
        return parts if n_relevant else np.full(len(rows), 1.0 / max(len(rows), 1))
    exact = rows.astype(np.float64)
    mean, other = exact[relevant].mean(axis=0), exact[~relevant].mean(axis=0)
    apart = float(np.linalg.norm(mean - other))
    if apart == 0:
        return parts
    sigma = float(np.sqrt(((exact[relevant] - mean) ** 2).sum(axis=1).mean()))
    c = sigma / apart * (1 - (n_relevant - n_other) / max(n_relevant, n_other))
    return np.where(relevant, (1 + c) / n_relevant, -c / n_other)
