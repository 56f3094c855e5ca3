"""Learners that look at how near a picture lies to the judged ones, instead of along a direction.

They need no more of a picture than its distances to the judged pictures. Whoever knows these
already, such as an experiment with thousands of sessions over one collection, hands them over
instead of rows.
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
        The judgements it learnt from last.
    query_ : ndarray of float64 or None
        See `Learner`; the query only tells how long rows are.
    n_rounds_ : int
        See `Learner`; the query only tells how long rows are.
    """

    rows_: Floats
    relevant_: Bools

    def scores_by_distance(self, squared: Any) -> Doubles:
        """Return a score for each picture, given its squared distances to the judged ones.

        Parameters
        ----------
        squared : array-like
            (pictures, judged), in the order in which judgements were learnt.
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
    found: Doubles = np.maximum(lengths - 2.0 * (a @ b.T), 0.0)
    # Rounding may leave something between equal rows, and roots make much of it.
    i, j = np.nonzero(found <= 1e-9 * lengths)
    found[i, j] = ((a[i] - b[j]) ** 2).sum(axis=1)
    return found
