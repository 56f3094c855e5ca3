"""Codewords: a region as four words, one for each kind of descriptor.

Every kind is standardised and clustered on training regions, into 20, 25, 40 and 8 words for shape,
texture, colour and place, as the paper does. A new region takes the nearest word of each kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from sightline._typing import Floats, Ints
from sightline.errors import DataError
from sightline.features.local.codebook import assign, codebook
from sightline.regions.descriptors import KINDS, PLACE_SIDE, Described
from sightline.vectors import standardize

SIZES: Mapping[str, int] = {"shape": 20, "texture": 25, "colour": 40, "place": 8}
_PASSES = 30


class Codewords:
    """Words of regions.

    Parameters
    ----------
    arrays : mapping
        As `fit` and `to_arrays` give them: for each kind mean, scale and centres.

    Examples
    --------
    >>> rows = np.arange(12, dtype=np.float32)[:, None]
    >>> words = Codewords.fit([Described(rows, rows, rows, rows)], sizes=dict.fromkeys(KINDS, 3))
    >>> words.of(Described(rows, rows, rows, rows)).shape, words.length
    ((12, 4), 12)
    """

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        self._arrays = dict(arrays)
        self.sizes = tuple(len(arrays[f"{kind}.centres"]) for kind in KINDS)
        self.length = sum(self.sizes)

    @classmethod
    def fit(
        cls, pictures: Sequence[Described], sizes: Mapping[str, int] = SIZES, seed: int = 0
    ) -> Self:
        """Choose words by the regions of training pictures."""
        if not pictures:
            raise DataError("Codewords need the regions of at least one picture. Got none.")
        arrays: dict[str, Floats] = {}
        for kind in KINDS:
            rows = np.concatenate([p.kind(kind) for p in pictures])
            points, mean, scale = standardize(rows)
            n = min(sizes[kind], len(np.unique(points, axis=0)))
            arrays[f"{kind}.mean"], arrays[f"{kind}.scale"] = mean, scale
            arrays[f"{kind}.centres"] = codebook(points, n, seed=seed, passes=_PASSES)
        return cls(arrays)

    def of(self, picture: Described) -> Ints:
        """Return the words of a picture's regions: (regions, 4), each kind from 0."""
        words = []
        for kind in KINDS:
            mean, scale = self._arrays[f"{kind}.mean"], self._arrays[f"{kind}.scale"]
            points = np.ascontiguousarray((picture.kind(kind) - mean) / scale, np.float32)
            words.append(assign(points, self._arrays[f"{kind}.centres"]))
        return np.stack(words, axis=1).astype(np.int64)

    def rows(self, picture: Described) -> Floats:
        """Return regions as rows of 0 and 1: (regions, words of all kinds), four ones each."""
        words = self.of(picture) + np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        indicators = np.zeros((len(words), self.length), np.float32)
        np.put_along_axis(indicators, words, 1.0, axis=1)
        return indicators

    def mask(self, place: int) -> Floats:
        """Return where in the picture a word of the kind "place" is: (8, 8), from 0 to 1."""
        a = self._arrays
        center = a["place.centres"][place] * a["place.scale"] + a["place.mean"]
        cells = center[: PLACE_SIDE**2].reshape(PLACE_SIDE, PLACE_SIDE)
        grid: Floats = np.clip(cells, 0, 1).astype(np.float32)
        return grid

    def to_arrays(self) -> dict[str, Floats]:
        """Return the fitted arrays; `Codewords(arrays)` is the same again."""
        return dict(self._arrays)
