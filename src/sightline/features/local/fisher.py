"""Fisher vectors: the gradients and colours of a picture relative to a mixture of Gaussians.

Dense local descriptors (`gradients`) of training pictures are turned to their 48 main directions,
divided by one number, so that these have a mean variance of 1, and joined by where they lie, (y, x)
from -.5 to .5. A mixture of 64 Gaussians (`mixture`) is learned for gradients and one for colours.
A picture is the Fisher vector of its descriptors in each mixture, signed square roots, each of
length one, joined: 2 × 2 × 64 × 50 = 12,800 numbers, together of length one. No labels are used.

On 500 of Corel5K's development pictures linear PAMIR (C = .1), trained on the other 4,000, has a
mean AvgP over all caption queries of .376, one split; early stopping was on the same 500, and the
mixtures were fitted to all 4,500, without words.

Perronnin, Sánchez, Mensink: Improving the Fisher kernel for large-scale image classification, 2010.
Sánchez, Perronnin, Mensink, Verbeek: Image classification with the Fisher vector, 2013. Sánchez,
Perronnin, de Campos: Modeling the spatial layout of images beyond spatial pyramids, 2012 (places
joined to descriptors). Clinchant, Csurka, Perronnin, Renders: XRCE's participation to ImagEval,
2007 (local colours). Departures: see `gradients` and `mixture`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from sightline._typing import RGB, Floats
from sightline.contracts import Json
from sightline.errors import DataError
from sightline.features.local.fitted import checksum, needed
from sightline.features.local.gradients import Descriptors, dense_descriptors
from sightline.features.local.mixture import Mixture, improved
from sightline.vectors import l2_normalize

_SAMPLE_PICTURES = 900
_SAMPLE = 135_000  # descriptors; as many take 120 MB
_LEAST_POINTS = 20  # in the sample, for each component

_ARRAYS: Final = ("middle", "directions", "weights", "means", "variances")
_KINDS: Final = ("gradients", "colors")


class Fisher:
    """Fisher vectors of local gradients and colours.

    A subclass with other class attributes has other parameters; they are part of the fingerprint.

    Attributes
    ----------
    cells : tuple of int
        Sides of a descriptor's 4×4 cells, in pixels of a picture whose long side is 192.
    step : int
        From one descriptor to the next, in such pixels.
    n_directions : int
        Of each descriptor, at most 96.
    n_components : int
        Gaussians of each mixture, at most; one for each 20 descriptors of the sample.
    parts : tuple of slice
        Where the vectors of gradients and of colours lie, each of the same length.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pictures = [rng.integers(0, 256, (64, 96, 3), dtype=np.uint8) for _ in range(4)]
    >>> fisher = Fisher(Fisher.fit(pictures))
    >>> row = fisher.describe(pictures[0])
    >>> row.shape, float(np.linalg.norm(row).round(5))
    ((12800,), 1.0)
    """

    name = "fisher"
    version = 1

    cells: ClassVar[tuple[int, ...]] = (3, 5, 8)
    step: ClassVar[int] = 5
    n_directions: ClassVar[int] = 48
    n_components: ClassVar[int] = 64

    @classmethod
    def fit(cls, pictures: Sequence[RGB], seed: int = 0) -> dict[str, Floats]:
        """Fit the main directions and the mixtures to some pictures."""
        if not len(pictures):
            raise DataError("There is no picture to fit Fisher vectors to. Give at least one.")
        sample = cls._sample(pictures, seed)
        arrays: dict[str, Floats] = {}
        for kind in _KINDS:
            middle, directions = main_directions(getattr(sample, kind), cls.n_directions)
            points = _placed(getattr(sample, kind), middle, directions, sample.positions)
            n = max(1, min(cls.n_components, len(points) // _LEAST_POINTS))
            mixture = Mixture.fit(points, n, seed)
            arrays_of_kind = (middle, directions, mixture.weights, mixture.means, mixture.variances)
            arrays |= {f"{kind}_{name}": a for name, a in zip(_ARRAYS, arrays_of_kind, strict=True)}
        return arrays

    @classmethod
    def _sample(cls, pictures: Sequence[RGB], seed: int) -> Descriptors:
        rng = np.random.default_rng(seed)
        chosen = np.arange(len(pictures))
        if len(chosen) > _SAMPLE_PICTURES:
            chosen = np.sort(rng.choice(chosen, _SAMPLE_PICTURES, replace=False))
        most = max(1, _SAMPLE // len(chosen))
        parts = []
        for i in chosen.tolist():
            points = dense_descriptors(pictures[i], cls.cells, cls.step)
            some = np.sort(rng.choice(len(points), min(most, len(points)), replace=False))
            parts.append((points.gradients[some], points.colors[some], points.positions[some]))
        gradients, colors, places = (np.concatenate(p) for p in zip(*parts, strict=True))
        return Descriptors(gradients, colors, places)

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        names = [f"{kind}_{name}" for kind in _KINDS for name in _ARRAYS]
        self.arrays = needed(self.name, arrays, names)
        self._mixtures = {
            kind: Mixture(*(self.arrays[f"{kind}_{name}"] for name in _ARRAYS[2:]))
            for kind in _KINDS
        }
        ends = np.cumsum([m.length for m in self._mixtures.values()]).tolist()
        self.parts = {n: slice(a, b) for n, a, b in zip(_KINDS, [0, *ends], ends, strict=False)}
        self.length: int = ends[-1]

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {
            "cells": list[Json](self.cells),
            "step": self.step,
            "arrays": checksum(self.arrays),
        }

    def describe(self, rgb: RGB) -> Floats:
        """Return the picture's vector."""
        descriptors = dense_descriptors(rgb, self.cells, self.step)
        row = np.empty(self.length, np.float32)
        for kind, part in self.parts.items():
            middle, directions = (self.arrays[f"{kind}_{name}"] for name in _ARRAYS[:2])
            points = _placed(getattr(descriptors, kind), middle, directions, descriptors.positions)
            row[part] = improved(self._mixtures[kind].fisher_vector(points))
        return np.asarray(l2_normalize(row, np.linalg.norm(row)))


def main_directions(points: Floats, n_directions: int) -> tuple[Floats, Floats]:
    """Return the mean of points and their directions of most variance, divided by one number.

    Parameters
    ----------
    points : ndarray of float32
        One in a row.
    n_directions : int
        How many, in columns; points turned to them have a mean variance of 1, and are not
        correlated.

    Examples
    --------
    >>> middle, directions = main_directions(np.array([[0, 1], [4, 1]], np.float32), 1)
    >>> middle.tolist(), directions.ravel().tolist()
    ([2.0, 1.0], [0.5, 0.0])
    """
    middle = points.mean(axis=0, dtype=np.float64)
    centred = points - middle.astype(np.float32)
    # In blocks, so that float32 products are added up in float64.
    products = np.zeros((points.shape[1],) * 2)
    for i in range(0, len(points), 4096):
        block = centred[i : i + 4096]
        products += block.T @ block
    variances, directions = np.linalg.eigh(products / len(points))
    variances, directions = variances[::-1][:n_directions], directions[:, ::-1][:, :n_directions]
    # The sign of an eigenvector is arbitrary: its largest number is made positive.
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
    scale = np.sqrt(max(variances.mean(), 0.0))
    directions = directions * np.where(largest < 0, -1, 1) / (scale if scale > 1e-6 else 1.0)
    return middle.astype(np.float32), np.ascontiguousarray(directions, np.float32)


def _placed(points: Floats, middle: Floats, directions: Floats, places: Floats) -> Floats:
    turned = np.empty((len(points), directions.shape[1] + 2), np.float32)
    turned[:, :-2] = (points - middle) @ directions
    turned[:, -2:] = places - np.float32(0.5)
    return turned
