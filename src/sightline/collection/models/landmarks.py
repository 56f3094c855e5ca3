"""Landmarks that the two fits of a model share: the rows of the one are among those of the other.

A model holds the served fit and its proof, which was fitted without the held-out pictures. Where
both compare pictures with the same rows, the proof stores their positions in place of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Ints

LANDMARKS = "landmarks."
_POSITIONS = "landmark_positions"


class LandmarksOf(Mapping[str, NDArray[Any]]):
    """The arrays of a fit, of which some are rows of another fit's, taken when they are needed.

    Parameters
    ----------
    own : dict
        The arrays that only this fit has.
    whole : Mapping
        The arrays of the other fit.
    positions : ndarray of int64
        Which of its rows are landmarks of this one.

    Examples
    --------
    >>> whole = {"landmarks.0": np.eye(3, dtype=np.float32)}
    >>> part = LandmarksOf({"dual": np.ones(2)}, whole, np.array([0, 2]))
    >>> sorted(part), part["landmarks.0"].shape, sorted(part.stored())
    (['dual', 'landmarks.0'], (2, 3), ['dual', 'landmark_positions'])
    """

    def __init__(self, own: Arrays, whole: Mapping[str, NDArray[Any]], positions: Ints) -> None:
        self._own, self._whole, self._positions = own, whole, positions
        self._shared = [n for n in whole if n.startswith(LANDMARKS) and n not in own]

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name in self._own:
            return self._own[name]
        if name not in self._shared:
            raise KeyError(name)
        return np.asarray(self._whole[name][self._positions])

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._shared

    def __len__(self) -> int:
        return len(self._own) + len(self._shared)

    def joined(self, more: Arrays) -> LandmarksOf:
        """Return the same with more arrays that only this fit has."""
        return LandmarksOf({**self._own, **more}, self._whole, self._positions)

    def stored(self) -> Arrays:
        """Return what is stored of it beside the other fit."""
        return {**self._own, _POSITIONS: self._positions}

    @classmethod
    def of_stored(
        cls, stored: Mapping[str, NDArray[Any]], whole: Mapping[str, NDArray[Any]]
    ) -> Self | None:
        """Return it from what was stored; None of a fit that has all its arrays."""
        if _POSITIONS not in stored:
            return None
        own = {name: a for name, a in stored.items() if name != _POSITIONS}
        return cls(own, whole, np.asarray(stored[_POSITIONS]))
