"""The choice of each word's C, by the AvgP of validation pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.annotators._svm_solving import Solver, fit_words, learnable
from sightline.measures.ranking import average_precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline._typing import Doubles


class Trials:
    """Every word fitted with every C, and how well validation pictures are ranked by it.

    Parameters
    ----------
    solver, Y : Solver or ndarray of bool
        The pictures to learn from and the words they have.
    table, judged : ndarray or sparse matrix, and ndarray of bool
        The validation pictures as inputs of the solver's coefficients, and their words.
    tried : ndarray of float64
        Values of C, ascending.

    Attributes
    ----------
    avgp : ndarray of shape (values of C, words)
        NaN for a word without a machine or without a validation picture.
    """

    def __init__(
        self,
        solver: Solver,
        Y: NDArray[np.bool_],
        table: Any,
        judged: NDArray[np.bool_],
        tried: Doubles,
    ) -> None:
        self.tried = tried
        self.avgp = np.full((len(tried), Y.shape[1]), np.nan)
        self.fits = [fit_words(solver, Y, np.full(Y.shape[1], C)) for C in tried]
        for row, (coefficients, offsets) in zip(self.avgp, self.fits, strict=True):
            scores = np.asarray(table @ coefficients) + offsets
            for t in np.flatnonzero(learnable(Y) & judged.any(axis=0)):
                row[t] = average_precision(scores[:, t], judged[:, t])

    def best(self) -> Doubles:
        """Return the C of each word; of equals the smallest, which overfits least.

        A word without an AvgP takes the C that is best for the others on average, and the middle
        one if there are none.
        """
        measured = ~np.isnan(self.avgp[0])
        usual = (len(self.tried) - 1) // 2
        if measured.any():
            usual = int(np.argmax(self.avgp[:, measured].mean(axis=1)))
        at = np.full(self.avgp.shape[1], usual)
        at[measured] = np.argmax(self.avgp[:, measured], axis=0)
        return np.asarray(self.tried[at])

    def chosen(self, C: Doubles) -> tuple[Doubles, Doubles]:
        """Return coefficients and offsets of the words, each with its C."""
        at = np.searchsorted(self.tried, C)
        columns = [self.fits[i][0][:, t] for t, i in enumerate(at)]
        return np.stack(columns, axis=1), np.array([self.fits[i][1][t] for t, i in enumerate(at)])
