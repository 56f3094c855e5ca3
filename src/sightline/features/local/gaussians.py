"""A picture as a Gaussian of its block descriptors: their means and variances.

Blocks are described by patterns and colours as for `visterms`, but nothing is counted: of each
number of a descriptor the mean over the picture's blocks is kept, and the logarithm of the
variance. The kernel for such rows is `likelihood` (`similarity.formulas`), the expected likelihood
kernel of one Gaussian (Grangier and Bengio, 2008). Variances are no less than a ten-thousandth of
that of all blocks of the pictures it was fitted to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sightline.contracts import Json
from sightline.features.local.blocks import block_descriptors
from sightline.features.local.color import choose_colors, color_table, sample_pixels
from sightline.features.local.fitted import checksum, needed

if TYPE_CHECKING:
    from sightline._typing import RGB, Floats


_FLOOR = 1e-4
_LEAST = 1e-8


class Gaussians:
    """Means and logarithms of variances of block descriptors, for each block size.

    A subclass with other class attributes has other parameters; they are part of the fingerprint.

    Attributes
    ----------
    blocks : tuple of int
        As of `Visterms`.
    relative : bool
        As of `Visterms`.
    n_colors : int
        As of `Visterms`.
    every : int
        As of `Visterms`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> pictures = [rng.integers(0, 256, (64, 96, 3), dtype=np.uint8) for _ in range(4)]
    >>> gaussians = Gaussians(Gaussians.fit(pictures))
    >>> row = gaussians.describe(pictures[0])
    >>> row.shape == (gaussians.length,), bool(np.isfinite(row).all())
    (True, True)
    """

    name = "gaussians"
    version = 1
    sparse = False

    blocks: ClassVar[tuple[int, ...]] = (64,)
    relative: ClassVar[bool] = True
    n_colors: ClassVar[int] = 50
    every: ClassVar[int] = 2

    @classmethod
    def fit(cls, pictures: Sequence[RGB], seed: int = 0) -> dict[str, Floats]:
        """Fit the colours and the least variances to some pictures."""
        colors = choose_colors(sample_pixels(pictures, seed=seed), cls.n_colors, seed)
        return cls.fit_floors(pictures, colors)

    @classmethod
    def fit_floors(cls, pictures: Sequence[RGB], colors: Floats) -> dict[str, Floats]:
        """Return colours, and for each block size the least variance of each number."""
        table, floors = color_table(colors), {}
        for block in cls.blocks:
            n, total, squares = 0, 0.0, 0.0
            for rgb in pictures:
                points = cls._points(rgb, table, len(colors), block).astype(np.float64)
                n, total = n + len(points), total + points.sum(axis=0)
                squares = squares + np.square(points).sum(axis=0)
            spread = np.maximum(squares / n - np.square(total / n), 0.0)
            usual = float(spread[spread > 0].mean()) if np.any(spread > 0) else 1.0
            floor = _FLOOR * np.where(spread > 0, spread, usual)
            floors[f"floor{block}"] = np.maximum(floor, _LEAST).astype(np.float32)
        return {"colors": colors, **floors}

    @classmethod
    def _points(cls, rgb: RGB, table: RGB, n_colors: int, block: int) -> Floats:
        ((_, points),) = block_descriptors(rgb, table, n_colors, (block,), cls.relative, cls.every)
        return points

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        names = ["colors", *(f"floor{b}" for b in self.blocks)]
        self.arrays = needed(self.name, arrays, names)
        self._table = color_table(self.arrays["colors"])
        self.length = 2 * sum(len(self.arrays[name]) for name in names[1:])

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {
            "blocks": list[Json](self.blocks),
            "relative": self.relative,
            "every": self.every,
            "arrays": checksum(self.arrays),
        }

    def describe(self, rgb: RGB) -> Floats:
        """Return the means of all block sizes, then the logarithms of the variances."""
        means, logs = [], []
        for block in self.blocks:
            points = self._points(rgb, self._table, len(self.arrays["colors"]), block)
            variance = points.var(axis=0, dtype=np.float64)
            means.append(points.mean(axis=0, dtype=np.float64))
            logs.append(np.log(np.maximum(variance, self.arrays[f"floor{block}"])))
        return np.concatenate([*means, *logs]).astype(np.float32)
