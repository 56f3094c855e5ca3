"""Learners by distances of a picture to the judged ones, instead of by a direction.

They need only the distances of a picture to the judged ones. A caller that has these already, such
as an experiment with thousands of sessions over one collection, passes them instead of rows.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from sightline._typing import Bools, Doubles, Floats
from sightline.errors import DataError
from sightline.feedback.learner import Learner


class NearnessLearner(Learner):
    """A learner that keeps the judged rows.

    Attributes
    ----------
    rows_, relevant_ : ndarray of float32 or ndarray of bool
        The judgements of the last call of `partial_fit`.
    query_ : ndarray of float64 or None
        See `Learner`; only the length of the query is used.
    n_rounds_ : int
        See `Learner`; only the length of the query is used.
    """

    rows_: Floats
    relevant_: Bools

    def scores_by_distance(self, squared: Any) -> Doubles:
        """Return a score for each picture, given its squared distances to the judged ones.

        Parameters
        ----------
        squared : array-like
            (pictures, judged), in the order of the judgements.
        """
        self._check_ready()
        table = np.asarray(squared)
        if table.ndim != 2 or table.shape[1] != len(self.rows_):
            raise DataError(
                f"There must be distances to {len(self.rows_)} judged pictures. "
                f"Got shape {table.shape}."
            )
        return np.asarray(self._by_distance(table), dtype=np.float64)

    @abstractmethod
    def _by_distance(self, squared: Any) -> Doubles:
        """Return scores of pictures by their squared distances to the judged ones."""

    def _begin(self) -> None:
        self.rows_ = np.zeros((0, self._length() or 0), dtype=np.float32)
        self.relevant_ = np.zeros(0, dtype=bool)

    def _keep(self, rows: Floats, relevant: Bools) -> None:
        self.rows_, self.relevant_ = rows.copy(), relevant.copy()

    def _scores(self, rows: Floats) -> Doubles:
        return self._by_distance(squared_distances(rows, self.rows_))

    def _length(self) -> int | None:
        if self.query_ is None and len(getattr(self, "rows_", ())):
            return int(self.rows_.shape[1])
        return super()._length()


def squared_distances(X: Any, Y: Any) -> Doubles:
    """Return ||x - y||^2 of each row x of X and y of Y; equal rows are exactly 0 apart.

    >>> squared_distances([[0.0, 0.0], [3.0, 4.0]], [[3.0, 4.0]]).tolist()
    [[25.0], [0.0]]
    """
    a, b = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    lengths = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b)[None, :]
    squared: Doubles = np.maximum(lengths - 2.0 * (a @ b.T), 0.0)
    # Rounding may leave a small distance between equal rows, which roots enlarge.
    i, j = np.nonzero(squared <= 1e-9 * lengths)
    squared[i, j] = ((a[i] - b[j]) ** 2).sum(axis=1)
    return squared
