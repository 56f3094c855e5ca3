"""Edge direction histogram (37): the shares of 36 directions among the edges of a picture.

Edges are found after Canny (1986). The grey picture (`lbp.padded_grey`) is smoothed by (1 4 6 4 1)
in both directions, a deviation of one pixel; Sobel's operators give its slope. A pixel is on an
edge if its slope is not below that of its two neighbours along the slope (to one of four
directions), is at least 8 grey levels a pixel, and reaches, or is connected in eight directions by
such pixels to one that reaches, 20. Up to there everything is whole numbers, so that mirror images
and upside-down ones have exactly the mirrored edges.

Bins 0 to 35 are the shares of edge pixels whose slope, from dark to bright, points to within five
degrees of 10 k degrees, counted from the right clockwise as rows grow downwards; they sum to 1, or
are 0 if there is no edge. The last is the share of all pixels that are on no edge (norms as in
Vailaya, Figueiredo, Jain, Zhang: Image classification for content-based indexing, 2001, who have 72
directions; 36 as in the papers of the group of paper D). The two thresholds are ours.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints
from sightline.contracts import Json
from sightline.features.local.lbp import RADIUS, padded_grey

N_DIRECTIONS: Final = 36
LOW, HIGH = 8, 20  # grey levels a pixel
_SCALE = 16 * 16 * 8  # of whole numbers to grey levels a pixel: the smoothing's and Sobel's sums
_TAN = np.tan(np.pi / 8)


class EdgeDirections:
    """The directions of edges of a picture.

    Examples
    --------
    Dark on the left, bright on the right: all edges rise to the right.

    >>> half = np.zeros((40, 60, 3), np.uint8)
    >>> half[:, 30:] = 200
    >>> row = EdgeDirections().describe(half)
    >>> row[0], row[1:36].any(), row[36].round(3)
    (np.float32(1.0), np.False_, np.float32(0.967))
    """

    name = "edges"
    version = 1
    length = N_DIRECTIONS + 1

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"low": LOW, "high": HIGH}

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the share of each direction among edge pixels, and of pixels without edge."""
        right, down = slopes(padded_grey(rgb)[RADIUS:-RADIUS, RADIUS:-RADIUS])
        edge = edge_pixels(right, down)
        angle = np.arctan2(down[edge], right[edge]) * (N_DIRECTIONS / (2 * np.pi))
        direction = np.rint(angle).astype(np.int64) % N_DIRECTIONS
        row = np.empty(self.length)
        row[:-1] = np.bincount(direction, minlength=N_DIRECTIONS) / max(1, len(direction))
        row[-1] = 1 - len(direction) / edge.size
        return row.astype(np.float32)


def slopes(grey: NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """Return the slope of a grey picture to the right and downwards, 2,048 for a level a pixel.

    >>> ramp = np.tile(np.arange(0, 90, 10, dtype=np.uint8), (9, 1))
    >>> right, down = slopes(ramp)
    >>> int(right[4, 4]), int(down[4, 4])
    (20480, 0)
    """
    image = np.pad(grey.astype(np.int64), 3, "edge")
    for _ in range(2):
        image = image[:-4] + image[4:] + 4 * (image[1:-3] + image[3:-1]) + 6 * image[2:-2]
        image = image.T
    rows, columns = (a[:-2] + 2 * a[1:-1] + a[2:] for a in (image, image.T))
    return rows[:, 2:] - rows[:, :-2], (columns[:, 2:] - columns[:, :-2]).T


def edge_pixels(right: Ints, down: Ints) -> NDArray[np.bool_]:
    """Return which pixels are on an edge, by slopes in both directions."""
    strength = right * right + down * down
    ridge = (strength >= (LOW * _SCALE) ** 2) & _is_ridge(strength, right, down)
    strong = ridge & (strength >= (HIGH * _SCALE) ** 2)
    if not strong.any():
        return strong
    from scipy.ndimage import label

    parts, n = label(ridge, np.ones((3, 3), np.int64))
    kept = np.zeros(n + 1, np.bool_)
    kept[parts[strong]] = True
    edges: NDArray[np.bool_] = kept[parts]
    return edges


def _is_ridge(strength: Ints, right: Ints, down: Ints) -> NDArray[np.bool_]:
    """Return where the slope is not below that of the next pixels uphill and downhill."""
    around = np.pad(strength, 1)
    height, width = strength.shape

    def least(dy: int, dx: int) -> Ints:
        one = around[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
        other = around[1 - dy : 1 - dy + height, 1 - dx : 1 - dx + width]
        return np.maximum(one, other)

    flat, steep = np.abs(down) < _TAN * np.abs(right), np.abs(right) < _TAN * np.abs(down)
    falling = (right > 0) == (down > 0)
    diagonal = np.where(falling, least(1, 1), least(1, -1))
    beside = np.where(flat, least(0, 1), np.where(steep, least(1, 0), diagonal))
    return strength >= beside
