"""The permanent split of pictures into folds, by a hash of their ids.

Fold 0 is held out: nothing is selected or fitted on it before a model has been evaluated on it. A
new picture falls into a fold by its own id alone, so a picture never changes its fold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
HELD_OUT = 0
VALIDATION = 1


def fold_of(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the fold, 0 to 4, of each picture.

    The mixing is that of splitmix64, which spreads neighbouring numbers evenly.

    >>> fold_of(np.arange(1, 9)).tolist()
    [0, 0, 3, 3, 3, 2, 2, 2]
    """
    z = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(FOLDS)).astype(np.int64)
