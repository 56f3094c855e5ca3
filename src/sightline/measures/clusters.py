"""How well a grouping of pictures agrees with their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def normalized_mutual_information(clusters: ArrayLike, classes: ArrayLike) -> float:
    """Return NMI = I(clusters; classes) / ((H(clusters) + H(classes)) / 2), with natural logs.

    Two groupings that both put everything into one group agree fully: 1. If only one of them does,
    it is independent of the other: 0.

    Parameters
    ----------
    clusters, classes : array-like
        One label for each picture, numbers or strings; their names do not matter.

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> normalized_mutual_information([0, 0, 0, 0], ["b", "b", "a", "a"])
    0.0
    """
    joint = _contingency(_labels(clusters, "clusters"), _labels(classes, "classes"))
    h_clusters, h_classes = _entropy(joint.sum(axis=1)), _entropy(joint.sum(axis=0))
    if h_clusters + h_classes == 0:
        return 1.0
    information = h_clusters + h_classes - _entropy(joint.ravel())
    # Rounding may leave the quotient a hair outside its range.
    return min(1.0, max(0.0, 2 * information / (h_clusters + h_classes)))


def _labels(values: ArrayLike, what: str) -> NDArray[np.intp]:
    labels = np.asarray(values)
    if labels.ndim != 1 or not labels.size:
        raise DataError(
            f"There must be one label for each picture in {what}, and at least one picture. "
            f"Got shape {labels.shape}."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        position = np.flatnonzero(np.isnan(labels))[0]
        raise DataError(f"The label at position {position} of {what} is NaN. Name every group.")
    return np.unique(labels, return_inverse=True)[1]


def _contingency(a: NDArray[np.intp], b: NDArray[np.intp]) -> NDArray[np.float64]:
    if a.size != b.size:
        raise DataError(f"Clusters and classes must be of one length. Got {a.size} and {b.size}.")
    width = int(b.max()) + 1
    counts = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width)
    return counts.reshape(-1, width).astype(np.float64)


def _entropy(counts: NDArray[np.float64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-np.sum(shares * np.log(shares)))
