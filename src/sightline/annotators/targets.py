"""The checked targets of an annotator, and the mean AvgP of its scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.errors import DataError
from sightline.measures.ranking import average_precision
from sightline.validation import Classes, as_indicator

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_targets(
    Y: Any, n_pictures: int, owner: str = "An annotator", classes: Classes | None = None
) -> tuple[NDArray[np.float32], Classes]:
    """Return which words pictures have, (pictures, words), 0 or 1, and the label of each word.

    Y is a table, dense or sparse, or one label for each picture (`validation.as_indicator`).

    >>> as_targets([[True, False]], 1)[0]
    array([[1., 0.]], dtype=float32)
    """
    values, labels = as_indicator(Y, owner, classes)
    table = np.asarray(values.toarray() if hasattr(values, "toarray") else values, np.float32)
    if table.ndim != 2 or len(table) != n_pictures:
        raise DataError(
            f"Words must be a table with a row for each of the {n_pictures} pictures. "
            f"Got shape {table.shape}."
        )
    if not table.shape[1]:
        raise DataError("There is no word to learn. Give pictures that have words.")
    if not n_pictures:
        raise DataError("There is no picture to learn from. Give at least one.")
    if not ((table == 0) | (table == 1)).all():
        wrong = table[(table != 0) & (table != 1)][0]
        raise DataError(f"Words must be 1 on pictures that have them, else 0. Got {wrong}.")
    return table, labels


def mean_average_precision(scores: NDArray[np.float32], Y: NDArray[np.float32]) -> float:
    """Return the mean AvgP over the words that some picture has; NaN if there is none.

    >>> mean_average_precision(np.array([[0.9], [0.1]]), np.array([[0.0], [1.0]]))
    0.5
    """
    avgp = average_precisions(scores, Y)
    return float(avgp.mean()) if avgp.size else float("nan")


def average_precisions(scores: NDArray[np.float32], Y: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the AvgP of each word that some picture has."""
    columns = zip(scores.T, Y.T, strict=True)
    return np.array([average_precision(s, y) for s, y in columns if y.any()], dtype=np.float64)
