"""The first three moments of some numbers, all in the unit of the numbers themselves.

Mean E[x]; deviation sqrt(E[(x - mean)²]); skewness as the cube root of E[(x - mean)³], with its
sign. Unlike skewness divided by the deviation, this is defined, and 0, where all numbers are equal.

Stricker, Orengo: Similarity of color images, 1995.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles


def moments(values: NDArray[np.float32] | Doubles) -> Doubles:
    """Return mean, deviation and skewness over the last axis, side by side on a new last axis.

    Examples
    --------
    >>> moments(np.array([[1.0, 1, 1, 9], [4, 4, 4, 4]])).round(3).tolist()
    [[3.0, 3.464, 3.634], [4.0, 0.0, 0.0]]
    """
    wide = np.asarray(values, np.float64)
    mean = wide.mean(axis=-1, keepdims=True)
    # A mean of equal numbers can be rounded; then they lie apart from it by as little.
    spread = np.ptp(wide, axis=-1, keepdims=True)
    centred = np.where(spread > 0, wide - mean, 0.0)
    square = centred * centred
    deviation = np.sqrt(square.mean(axis=-1))
    skewness = np.cbrt((square * centred).mean(axis=-1))
    return np.stack([mean[..., 0], deviation, skewness], axis=-1)
