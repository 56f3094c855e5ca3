"""The scale of a ranking's scores: what two rankings are standardised by before they are added.

    z(x) = (s(x) - mean) / width,     width = max(std, max |s - mean| / 10)

Mean and standard deviation are those over the pictures that are ranked, so z is the same whatever
positive factor the scores are multiplied by and whatever constant is added to them. The maximum
puts a floor under the width: where one score in a thousand differs, all of the spread is that one
picture's, and by the standard deviation alone it would lie thirty widths from the others. So the z
of a picture that was measured is never beyond 10; that of another picture may be, and is cut off
there by `bounded`.

Scores that differ by no more than the precision of float32, relative to the largest of them, rank
nothing: they are flat, and their z is 0. The same holds for differences below the smallest normal
number of float32, whose reciprocal would overflow. For another picture, whose score is not the flat
one, `bounded` gives the limit for small spreads: 10 above, -10 below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline._typing import Doubles

LARGEST = 10.0
"""The largest z, up or down, of a picture that was measured."""

_RESOLUTION = 1e-6
_TINY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, slots=True)
class Scale:
    """Mean and width of scores; `width` is 0 where they are flat.

    Attributes
    ----------
    mean : float
        Of the scores; of flat ones, the value they have.
    width : float
        What they are divided by.
    spread : float
        The standard deviation of z over the scores: 1 unless the floor holds, 0 if flat.

    Examples
    --------
    >>> Scale.of([1.0, 3.0])([1.0, 3.0, 5.0]).tolist()
    [-1.0, 1.0, 3.0]
    >>> Scale.of([0.1, 0.1, 0.1])([0.1, 7.0]).tolist()
    [0.0, 0.0]
    >>> Scale.of([0.0] * 9_999 + [5.0])([0.0, 5.0]).round(3).tolist()
    [-0.001, 10.0]
    """

    mean: float
    width: float
    spread: float

    @classmethod
    def of(cls, scores: Any) -> Scale:
        """Measure the scores of pictures that are ranked, or of a sample of them."""
        values = np.asarray(scores, dtype=np.float64)
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0.0:
            return cls(0.0, 0.0, 0.0)
        # In units of the largest, squares neither overflow nor vanish.
        values = values / largest
        reach = float(np.ptp(values))
        mean, deviation = float(values.mean()), float(values.std())
        if reach <= _RESOLUTION or reach * largest < _TINY:
            return cls(mean * largest, 0.0, 0.0)
        width = max(deviation, float(np.abs(values - mean).max()) / LARGEST)
        return cls(mean * largest, width * largest, deviation / width)

    @property
    def flat(self) -> bool:
        """Whether the scores rank nothing."""
        return self.width == 0.0

    def __call__(self, scores: Any) -> Doubles:
        """Return z of scores; 0 where the scale is flat."""
        values = np.asarray(scores, dtype=np.float64)
        if self.flat:
            return np.zeros(values.shape)
        return np.asarray(values / self.width - self.mean / self.width)

    def bounded(self, scores: Any) -> Doubles:
        """Return z of scores, none beyond 10.

        >>> Scale.of([1.0, 3.0]).bounded([1.0, -70.0, 1e9]).tolist()
        [-1.0, -10.0, 10.0]
        >>> Scale.of([0.5, 0.5]).bounded([0.5, 0.4, 3.0]).tolist()
        [0.0, -10.0, 10.0]
        """
        if not self.flat:
            return np.clip(self(scores), -LARGEST, LARGEST)
        values = np.asarray(scores, dtype=np.float64)
        least = np.maximum(_RESOLUTION * np.maximum(np.abs(values), abs(self.mean)), _TINY)
        return LARGEST * (values > self.mean + least) - LARGEST * (values < self.mean - least)
