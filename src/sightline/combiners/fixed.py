"""Baselines with next to no training: the best component alone, and all of them equally."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sightline.combiners.examples import Source, differences, lists
from sightline.combiners.linear import LinearCombiner
from sightline.errors import DataError


class BestSingle(LinearCombiner):
    """The one component by which validation lists have the best mean AvgP; of equals the first.

    Attributes
    ----------
    w_ : ndarray
        1 for that component, 0 for the others.
    best_, scores_ : int or ndarray
        Which it is, and the mean AvgP of each component.

    Examples
    --------
    >>> phi = [[0.0, 2.0], [1.0, 1.0], [0.5, 0.0]]
    >>> best = BestSingle().fit(phi, [1, 0, 0], [0, 0, 0])
    >>> best.best_, best.w_.tolist()
    (1, [0.0, 1.0])
    """

    def __init__(self) -> None:
        pass

    def fit(self, X: Any, y: Any = None, qid: Any = None, *, source: Source | None = None) -> Self:
        """Choose on lists, or on triplets of pictures; give those held out for validation."""
        judged = lists(X, y, qid, source, "BestSingle")
        columns = np.ascontiguousarray(judged.rows.T)
        self.scores_ = np.array([judged.mean_avgp(column) for column in columns])
        if np.isnan(self.scores_).all():
            raise DataError("No list has a relevant picture to choose by. Give more lists.")
        self.best_ = int(np.argmax(self.scores_))
        self.w_ = np.zeros(len(self.scores_))
        self.w_[self.best_] = 1.0
        return self


class Uniform(LinearCombiner):
    """All components equally: w = 1, which ranks as their mean does.

    Examples
    --------
    >>> Uniform().fit([[1.0, 2.0]]).decision_function([[3.0, 4.0]]).tolist()
    [7.0]
    """

    def __init__(self) -> None:
        pass

    def fit(self, X: Any, y: Any = None, qid: Any = None, *, source: Source | None = None) -> Self:
        """Set a weight of 1 for each component."""
        self.w_ = np.ones(differences(X, None, None, source, "Uniform").n_components)
        return self
