"""Regions of a picture as features that a store keeps: `regions`, and `regions-deep`.

Neither is a vector to compare pictures by: a row holds all regions of one picture, with their
outlines (`cut_picture`). Their descriptors are fitted to the collection once, and then frozen:

    regions       codewords of shape, texture, colour and place, as in the paper
    regions-deep  vectors of a network trained on ImageNet, in the 256 strongest directions of some
                  of the collection's regions

Pictures are cut before their tags are known, so every picture is cut into eight regions at least:
where there are fewer, finer, and at last in halves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB, Floats
from sightline.contracts import Json
from sightline.features.deep import session
from sightline.features.deep.network import LITE2
from sightline.features.local.fitted import checksum, needed
from sightline.regions import segment
from sightline.regions.codewords import Codewords
from sightline.regions.cut_picture import LENGTH, MOST_NUMBERS, CutPicture, packed
from sightline.regions.deep import picture_vectors
from sightline.regions.descriptors import KINDS, Described, choose_textons, describe_regions
from sightline.regions.segment import Segmenter

AT_LEAST = 8
_TEXTON_PICTURES, _PICTURES = 80, 120


class RegionWords:
    """Regions by their codewords.

    Examples
    --------
    >>> pictures = [np.full((40, 60, 3), c, np.uint8) for c in (0, 90, 200)]
    >>> feature = RegionWords(RegionWords.fit(pictures))
    >>> feature.describe(pictures[0])[:3].tolist()
    [40.0, 60.0, 8.0]
    """

    name = "regions"
    version = 1
    sparse = True
    length = LENGTH
    cut = Segmenter()

    @staticmethod
    def require() -> None:
        """Raise `MissingExtra` unless what it needs is installed."""
        segment.require()

    @classmethod
    def fit(cls, pictures: Sequence[RGB], seed: int = 0) -> dict[str, Floats]:
        """Choose textons and codewords by some pictures."""
        textons = choose_textons(_some(pictures, _TEXTON_PICTURES), seed=seed)
        some = _some(pictures, _PICTURES)
        described = [cls._described(rgb, textons)[1] for rgb in some]
        return {"textons": textons, **Codewords.fit(described, seed=seed).to_arrays()}

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        names = [f"{k}.{a}" for k in KINDS for a in ("mean", "scale", "centres")]
        self._arrays = needed(self.name, arrays, ["textons", *names])
        self._words = Codewords({n: self._arrays[n] for n in names})

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {**_cut_parameters(self.cut), "arrays": checksum(self._arrays)}

    def describe(self, rgb: RGB) -> Floats:
        """Return the regions of a picture as one row."""
        labels, described = self._described(rgb, self._arrays["textons"])
        return packed(CutPicture.of(labels, self._words.rows(described)))

    @classmethod
    def _described(cls, rgb: RGB, textons: Floats) -> tuple[NDArray[np.int32], Described]:
        labels = cls.cut.cut(rgb, AT_LEAST)
        return labels, describe_regions(rgb, labels, textons)


class DeepRegions:
    """Regions by a network's features, and the whole picture by the same."""

    name = "regions-deep"
    version = 1
    sparse = True
    length = LENGTH
    cut = Segmenter(scale=100.0, smallest=0.005)
    network, size = LITE2, 320

    @classmethod
    def require(cls) -> None:
        """Raise `MissingExtra` unless what it needs is installed."""
        segment.require()
        session.require(cls.network)

    @classmethod
    def fit(cls, pictures: Sequence[RGB], seed: int = 0) -> dict[str, Floats]:
        """Find the strongest directions of the regions of some pictures."""
        session.require(cls.network)
        region_rows = [cls._vectors(rgb)[1] for rgb in _some(pictures, _PICTURES)]
        rows = np.concatenate(region_rows).astype(np.float64)
        mean = rows.mean(axis=0)
        centered = rows - mean
        strength, basis = np.linalg.eigh(centered.T @ centered)
        n = min(MOST_NUMBERS, max(1, int((strength > 1e-9).sum())))
        directions = basis[:, ::-1][:, :n]
        # The sign of a direction is arbitrary.
        directions = directions * np.sign(
            directions[np.abs(directions).argmax(axis=0), np.arange(n)]
        )
        scale = float(np.sqrt(np.square(centered @ directions).sum(axis=1).mean())) or 1.0
        arrays = {"mean": mean, "basis": directions / scale}
        return {k: np.ascontiguousarray(a, np.float32) for k, a in arrays.items()}

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        self._arrays = needed(self.name, arrays, ["mean", "basis"])

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        network: list[Json] = [self.network.name, self.size]
        return {
            **_cut_parameters(self.cut), "network": network, "arrays": checksum(self._arrays)
        }  # fmt: skip

    def describe(self, rgb: RGB) -> Floats:
        """Return the regions of a picture as one row."""
        labels, rows, whole = self._vectors(rgb)
        centered = np.vstack([rows, whole]) - self._arrays["mean"]
        both = np.asarray(centered @ self._arrays["basis"], np.float32)
        return packed(CutPicture.of(labels, both[:-1], both[-1]))

    @classmethod
    def _vectors(cls, rgb: RGB) -> tuple[NDArray[np.int32], Floats, Floats]:
        labels = cls.cut.cut(rgb, AT_LEAST)
        return labels, *picture_vectors(rgb, labels, cls.network, cls.size)


def _cut_parameters(cut: Segmenter) -> dict[str, Json]:
    return {
        "scale": cut.scale, "sigma": cut.sigma, "smallest": cut.smallest, "most": cut.most,
        "at_least": AT_LEAST,
    }  # fmt: skip


def _some(pictures: Sequence[RGB], most: int) -> list[RGB]:
    """Return at most `most` pictures, those whose pixels hash least, whatever their order."""
    if len(pictures) <= most:
        return list(pictures)
    return sorted(pictures, key=lambda rgb: hashlib.blake2b(rgb.tobytes()).digest())[:most]
