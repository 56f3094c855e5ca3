"""The deep features of a picture in few numbers: each reduced to its main directions, side by side.

`deep`, `deep-stages` and `deep-peaks` are one pass of the network and 6,080 numbers together. Here
each is centred, turned to the main directions of some pictures of the collection, and L2-normalised
again; the three unit vectors are divided by sqrt(3) and joined:

    z_v = V_v' (x_v - m_v),   z = (z_1 / |z_1|, z_2 / |z_2|, z_3 / |z_3|) / sqrt(3)

The three stay apart because one set of directions for all of them follows the feature that varies
most: see the record of the decision. The network was trained on ImageNet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

import numpy as np

from sightline._typing import RGB, Floats
from sightline.contracts import Feature, Json
from sightline.errors import DataError
from sightline.features.deep import session
from sightline.features.deep.network import LITE0
from sightline.features.deep.outputs import unit_vector
from sightline.features.deep.stages import DeepPeaks, DeepStages
from sightline.features.deep.vector import DeepVector
from sightline.features.local.fitted import checksum, needed


class CompactVector:
    """`deep`, `deep-stages` and `deep-peaks` in 256 numbers each, fitted to a collection.

    A subclass with other class attributes has other parameters; they are part of the fingerprint.

    Attributes
    ----------
    n_directions : int
        Numbers that are kept of each feature.
    least_pictures : int
        Fewer say too little about as many directions, so that none are fitted to them.
    most_pictures : int
        The largest number of pictures that the directions are fitted to.
    """

    name = "compact"
    version = 1

    n_directions: ClassVar[int] = 256
    least_pictures: ClassVar[int] = 512
    most_pictures: ClassVar[int] = 1_500

    @classmethod
    def require(cls) -> None:
        """Raise `MissingExtra` unless what the network needs is installed."""
        session.require(LITE0)

    @classmethod
    def fit(cls, pictures: Sequence[RGB], seed: int = 0) -> dict[str, Floats]:
        """Fit the main directions of each feature to some pictures."""
        if len(pictures) < cls.least_pictures:
            raise DataError(
                f"{cls.name} is fitted to at least {cls.least_pictures} pictures. "
                f"Got {len(pictures)}. Use the features deep, deep-stages and deep-peaks."
            )
        chosen = np.arange(len(pictures))
        if len(chosen) > cls.most_pictures:
            rng = np.random.default_rng(seed)
            chosen = np.sort(rng.choice(chosen, cls.most_pictures, replace=False))
        # Picture by picture, since the features of one share a pass of the network.
        rows = [[part.describe(pictures[i]) for part in _parts()] for i in chosen.tolist()]
        arrays: dict[str, Floats] = {}
        for part, of_part in zip(_parts(), zip(*rows, strict=True), strict=True):
            mean, directions = principal_directions(np.stack(of_part), cls.n_directions)
            arrays |= {f"{part.name}_mean": mean, f"{part.name}_directions": directions}
        return arrays

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        self.require()
        names = [f"{part.name}_{kind}" for part in _parts() for kind in ("mean", "directions")]
        self.arrays = needed(self.name, arrays, names)
        self.length = sum(self.arrays[f"{part.name}_directions"].shape[1] for part in _parts())

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        parts: dict[str, Json] = {part.name: part.parameters for part in _parts()}
        return {"features": parts, "arrays": checksum(self.arrays)}

    def describe(self, rgb: RGB) -> Floats:
        """Return the picture's unit vector."""
        reduced = []
        for part in _parts():
            mean, directions = (self.arrays[f"{part.name}_{n}"] for n in ("mean", "directions"))
            point = np.asarray((part.describe(rgb) - mean) @ directions, np.float32)
            reduced.append(unit_vector(point))
        return unit_vector(np.concatenate(reduced))


@cache
def _parts() -> tuple[Feature, ...]:
    """Return the features that are reduced, by one network."""
    return DeepVector(), DeepStages(), DeepPeaks()


def principal_directions(rows: Floats, n_directions: int) -> tuple[Floats, Floats]:
    """Return the mean of rows, and as columns the directions in which they vary most.

    >>> mean, directions = principal_directions(np.array([[0, 1], [4, 1]], np.float32), 1)
    >>> mean.tolist(), np.abs(directions).ravel().tolist()
    ([2.0, 1.0], [1.0, 0.0])
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    directions = np.linalg.svd(rows - mean, full_matrices=False)[2][:n_directions]
    return mean.astype(np.float32), np.ascontiguousarray(directions.T, np.float32)
