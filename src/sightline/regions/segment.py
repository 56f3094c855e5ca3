"""Pictures cut into regions: connected parts of similar colour.

Felzenszwalb and Huttenlocher, "Efficient graph-based image segmentation", IJCV 2004, as
scikit-image has it (extra `regions`). The paper names the method and none of its parameters; here
they are sigma .8, scale 300, no region below a hundredth of the picture, and at most 50, the
smallest merged into the neighbour of most similar colour. Regions are numbered in raster order, so
that the same picture always gives the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB, Int32s
from sightline.errors import MissingExtra, ParameterError
from sightline.features.local.lbp import checked

_FINER, _TRIES = 3.0, 4
_LEAST_SIDE = 3


@dataclass(frozen=True, slots=True)
class Segmenter:
    """Cuts pictures into regions.

    Parameters
    ----------
    scale : float
        Larger ones make larger regions.
    sigma : float
        Of the blur before, in pixels.
    smallest : float
        The least size of a region, as a share of the picture.
    most : int
        Number of regions.

    Examples
    --------
    >>> picture = np.zeros((20, 30, 3), np.uint8)
    >>> picture[:, 15:] = 255
    >>> np.unique(Segmenter(sigma=0.1).cut(picture)).tolist()
    [0, 1]
    """

    scale: float = 300.0
    sigma: float = 0.8
    smallest: float = 0.01
    most: int = 50

    def cut(self, rgb: RGB, at_least: int = 1) -> Int32s:
        """Return the region of each pixel, from 0.

        Parameters
        ----------
        rgb : ndarray of uint8
            Array of uint8, (height, width, 3)
        at_least : int, default=1
            Number of regions; where there are fewer the picture is cut finer, and at last its
            largest regions in halves. A picture of few pixels may still have fewer.
        """
        rgb = checked(rgb)
        self._check(at_least)
        scale, smallest = self.scale, self.smallest
        labels = self._cut(rgb, scale, smallest)
        for _ in range(_TRIES):
            if labels.max() + 1 >= at_least:
                return labels
            scale, smallest = scale / _FINER, smallest / _FINER
            labels = self._cut(rgb, scale, smallest)
        return halved(labels, at_least)

    def _cut(self, rgb: RGB, scale: float, smallest: float) -> Int32s:
        height, width = rgb.shape[:2]
        if min(height, width) < _LEAST_SIDE:
            return np.zeros((height, width), np.int32)
        try:
            from skimage.segmentation import felzenszwalb
        except ImportError as e:
            raise _missing() from e
        size = max(1, int(smallest * height * width))
        labels = felzenszwalb(rgb, scale=scale, sigma=self.sigma, min_size=size)
        return merged(numbered(labels), rgb, self.most)

    def _check(self, at_least: int) -> None:
        if not 0 < self.scale < np.inf:
            raise ParameterError.of("scale", "Segmenter", "greater than 0", self.scale)
        if not 0 <= self.smallest < 1:
            raise ParameterError.of("smallest", "Segmenter", "from 0 to below 1", self.smallest)
        if not 1 <= at_least <= self.most:
            raise ParameterError.of("at_least", "Segmenter", f"from 1 to {self.most}", at_least)


def require() -> None:
    """Raise `MissingExtra` unless pictures can be cut here; imports nothing."""
    if util.find_spec("skimage") is None:
        raise _missing()


def _missing() -> MissingExtra:
    return MissingExtra.of("Cutting pictures into regions", "regions")


def numbered(labels: NDArray[Any]) -> Int32s:
    """Return the same regions numbered from 0 in raster order.

    >>> numbered(np.array([[7, 7], [2, 7]])).tolist()
    [[0, 0], [1, 0]]
    """
    _, first, at = np.unique(labels.ravel(), return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int32)
    place[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return place[at].reshape(labels.shape)


def merged(labels: Int32s, rgb: RGB, most: int) -> Int32s:
    """Return at most `most` regions: the smallest goes to its neighbour of most similar colour."""
    labels = labels.copy()
    n = int(labels.max()) + 1
    if n <= most:
        return labels
    sizes = np.bincount(labels.ravel(), minlength=n).astype(np.float64)
    colors = np.stack(
        [np.bincount(labels.ravel(), rgb[..., c].ravel().astype(float), n) for c in range(3)], 1
    )
    for _ in range(n - most):
        small = int(np.where(sizes > 0, sizes, np.inf).argmin())
        near = _neighbours(labels, small)
        means = colors[near] / sizes[near, None]
        into = near[np.square(means - colors[small] / sizes[small]).sum(axis=1).argmin()]
        labels[labels == small] = into
        sizes[into] += sizes[small]
        colors[into] += colors[small]
        sizes[small] = 0
    return numbered(labels)


def halved(labels: Int32s, at_least: int) -> Int32s:
    """Return regions of which the largest were cut in halves, across their longer side.

    >>> halved(np.zeros((2, 4), np.int32), 2).tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1]]
    """
    labels = labels.copy()
    for number in range(int(labels.max()) + 1, min(at_least, labels.size)):
        rows, columns = np.nonzero(labels == np.bincount(labels.ravel()).argmax())
        along, across = (rows, columns) if np.ptp(rows) > np.ptp(columns) else (columns, rows)
        order = np.lexsort((across, along))
        second = order[len(order) // 2 :]
        labels[rows[second], columns[second]] = number
    return numbered(labels)


def _neighbours(labels: Int32s, region: int) -> NDArray[np.int64]:
    """Return the regions that touch a region horizontally or vertically."""
    touching = [
        side[one == region]
        for one, side in (
            (labels[:, 1:], labels[:, :-1]), (labels[:, :-1], labels[:, 1:]),
            (labels[1:], labels[:-1]), (labels[:-1], labels[1:]),
        )
    ]  # fmt: skip
    regions: NDArray[np.int64] = np.unique(np.concatenate(touching)).astype(np.int64)
    others: NDArray[np.int64] = regions[regions != region]
    return others
