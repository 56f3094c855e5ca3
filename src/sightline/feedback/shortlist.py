"""A shortlist: the best rows for weights, selected by 8-bit quantised rows, then ranked exactly.

A round of feedback reads every row of a collection, and what it costs is reading. Rows rounded to
whole numbers from -127 to 127 are a quarter as long:

    x ~ s c,   s = max |x_k| / 127,   c_k = round(x_k / s)          w ~ t v,   v of 16 bits

The rows with the largest s (c.v) are ranked by w.x itself, so that scores are exact; only a row
whose rounded score is below the shortlist is missed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.errors import DataError
from sightline.feedback.learner import finite_rows, weights, whole_number

N_CANDIDATES = 200
_LARGEST = 127
_BLOCK = 1 << 14


class Shortlist:
    """Rows of a collection, quantised for repeated rounds of feedback.

    Parameters
    ----------
    rows : array-like of shape (pictures, d)
        Finite; they are read for every query, and may be memory-mapped.
    n_candidates : int, default=200
        How many rows are ranked exactly.

    Examples
    --------
    >>> found = Shortlist([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]]).top([1.0, 1.0], 2)
    >>> found[0].tolist(), found[1].tolist()
    ([2, 0], [2.0, 1.0])
    """

    def __init__(self, rows: Any, n_candidates: int = N_CANDIDATES) -> None:
        self.n_candidates = whole_number("n_candidates", n_candidates, "Shortlist")
        table = np.asarray(rows, dtype=np.float32)
        if table.ndim != 2 or not table.size:
            raise DataError(f"A shortlist needs a table of rows. Got shape {table.shape}.")
        self.rows: Floats = table
        self.codes = np.empty(table.shape, dtype=np.int8)
        self.scale: Floats = np.empty(len(table), dtype=np.float32)
        for begin in range(0, len(table), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            self.codes[part], self.scale[part] = rounded(finite_rows(table[part], "Shortlist"))

    def top(self, w: Any, k: int) -> tuple[Ints, Floats]:
        """Return places and exact scores of the k best rows, ties by place."""
        from sightline.feedback import _shortlist_fast

        exact = weights(w, "Shortlist").astype(np.float32)
        if len(exact) != self.rows.shape[1]:
            raise DataError(f"Weights must be of length {self.rows.shape[1]}. Got {len(exact)}.")
        whole_number("k", k, "Shortlist")
        n = min(max(self.n_candidates, k), len(self.rows))
        scores, places = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.int64)
        _shortlist_fast.scan(self.codes, self.scale, whole_weights(exact), scores, places)
        places.sort()
        scores_of_rows = self.rows[places] @ exact
        best = np.argsort(-scores_of_rows, kind="stable")[:k]
        return places[best], scores_of_rows[best]


def rounded(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return rows as whole numbers of a byte, and what one of them stands for.

    >>> codes, scale = rounded(np.array([[1.0, -0.5], [0.0, 0.0]], np.float32))
    >>> codes.tolist(), (127 * scale).tolist()
    ([[127, -64], [0, 0]], [1.0, 0.0])
    """
    scale = np.abs(rows).max(axis=1) / np.float32(_LARGEST)
    by = np.where(scale > 0, scale, np.float32(1.0))
    return np.rint(rows / by[:, None]).astype(np.int8), scale


def whole_weights(w: Floats) -> NDArray[np.int16]:
    """Return weights as whole numbers, as large as sums of 32 bits allow."""
    largest = min(2**15 - 1, (2**31 - 1) // (_LARGEST * len(w)))
    longest = float(np.abs(w).max())
    rounded_weights = np.rint(w * (largest / longest if longest > 0 else 0.0))
    return np.asarray(rounded_weights, dtype=np.int16)
