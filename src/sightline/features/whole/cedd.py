"""Colour and edge directivity (144): the histogram of 24 colours in blocks of 6 textures.

Index = 24 texture + colour. A picture whose short side is at least 80 pixels has 40×40 blocks, at
least 40 pixels 20×20, else blocks of 2×2 pixels; sides of blocks are even, and what is left over at
the right and at the bottom is ignored. Each block adds how far its mean colour belongs to each of
24 colours, to each of its textures; the sum, divided by its total, becomes codes 0 to 7.

Textures: 0 none, 1 without direction, 2 horizontal, 3 vertical, 4 of 45 and 5 of 135 degrees, by
the mean brightness of a block's four quarters; a block can have several.
Colours: white, grey, black, then red, orange, yellow, green, cyan, blue and magenta, each light,
pure and dark, by two fuzzy systems over hue, saturation and value (`colors_of`).

Chatzichristofis, Boutalis: CEDD: color and edge directivity descriptor, 2008, in the form of the
library that paper B used. Departure: brightness and hue are computed in whole numbers, where the
library's may be rounded just below one. Pictures one pixel wide or high have no block.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.contracts import Json
from sightline.errors import DataError
from sightline.features.local.lbp import checked, frozen

N_TEXTURES, N_COLORS = 6, 24

_CENTERS: Final = np.array([
    [.00018019686541, .02373002449915, .06145715291254, .11391855437577,
     .17912246400036, .26098033259404, .34179593301552, .55472998648386],
    [.00020925176966, .02249058728624, .06025089351418, .12070578805758,
     .18112808709063, .23413208135690, .32566061773311, .52070217585866],
    [.00040546421732, .00487797633191, .01088217009063, .01816723908122,
     .02704338556879, .03812941320130, .05267522131629, .07955540260700],
    [.00096888475978, .01072515903366, .02416120536038, .04155591734439,
     .06289562844640, .09306627137969, .13697613317822, .26289786056221],
])  # fmt: skip
CENTERS: Final = _CENTERS[[0, 1, 2, 2, 3, 3]]
"""The share of each code, by texture."""

HUES: Final = np.array([
    [0, 0, 5, 10], [5, 10, 35, 50], [35, 50, 70, 85], [70, 85, 150, 165], [150, 165, 195, 205],
    [195, 205, 265, 280], [265, 280, 315, 330], [315, 330, 360, 360],
])  # fmt: skip
"""Where each set of hues begins, is full, and ends; the last is red again, as the first."""

Rows = NDArray[np.float32] | Doubles


class CEDD:
    """Colours and directions of edges, as codes from 0 to 7.

    Examples
    --------
    >>> red = np.zeros((50, 50, 3), np.uint8)
    >>> red[..., 0] = 255
    >>> row = CEDD().describe(red)
    >>> np.flatnonzero(row).tolist(), float(row[4])
    ([4], 7.0)
    """

    name = "cedd"
    version = 1
    length = N_TEXTURES * N_COLORS

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"blocks": [40, 20]}

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the codes."""
        return quantized(shares(rgb)).ravel().astype(np.float32)


def grid(height: int, width: int) -> tuple[int, int, int, int]:
    """Return the height and width of a block in pixels, and how many go down and across.

    >>> grid(256, 384), grid(50, 70), grid(9, 90)
    ((6, 8, 40, 40), (2, 2, 20, 20), (2, 2, 4, 45))
    """
    short = min(height, width)
    if short < 2:
        raise DataError(
            f"CEDD needs pictures of at least 2 pixels each way. Got {height}×{width} pixels."
        )
    if short < 40:
        return 2, 2, height // 2, width // 2
    n = 40 if short >= 80 else 20
    return height // n // 2 * 2, width // n // 2 * 2, n, n


def shares(rgb: NDArray[np.uint8]) -> Doubles:
    """Return the share of each texture and colour, (6, 24), before it becomes a code.

    >>> float(shares(np.zeros((4, 4, 3), np.uint8))[0, 2])
    1.0
    """
    from sightline.features.whole._cedd_fast import add_blocks

    height, width = checked(rgb).shape[:2]
    histogram = np.zeros((N_TEXTURES, N_COLORS))
    add_blocks(frozen(rgb), *grid(height, width), HUES, histogram)
    normalised: Doubles = histogram / histogram.sum()
    return normalised


def colors_of(red: int, green: int, blue: int) -> Doubles:
    """Return how far a colour belongs to each of the 24.

    Examples
    --------
    A dark grey is partly grey, partly black.

    >>> colors_of(60, 60, 60)[:3].round(4).tolist()
    [0.0, 0.7692, 0.2308]
    """
    from sightline.features.whole._cedd_fast import fill_colors

    colors = np.zeros(N_COLORS)
    fill_colors(red, green, blue, HUES, np.zeros(10), colors)
    return colors


def quantized(values: Doubles) -> NDArray[np.int64]:
    """Return the code of each share, that of the nearest centre, the first of equally near ones.

    >>> quantized(np.full((6, 24), 0.05))[:, 0].tolist()
    [2, 2, 6, 6, 3, 3]
    """
    near = np.abs(values[..., None] - CENTERS[:, None, :])
    return np.asarray(near.argmin(axis=-1), np.int64)


def tanimoto_distance(a: Rows, b: Rows) -> Doubles:
    """Return Tanimoto's distance, 0 to 100, of rows, with rows of one or as many others.

    Rows are divided by their sums first: 100 (1 - xy / (xx + yy - xy)). Two rows of zeros have
    distance 0, and a row of zeros has 100 to any other.

    Examples
    --------
    >>> tanimoto_distance(np.eye(3, 144), np.eye(1, 144)).tolist()
    [0.0, 100.0, 100.0]
    """
    x, y = _scaled(a), _scaled(b)
    xy, xx, yy = ((p * q).sum(axis=-1) for p, q in ((x, y), (x, x), (y, y)))
    below = xx + yy - xy
    distances: Doubles = np.where(below > 0, 100 * (1 - xy / np.where(below > 0, below, 1)), 0.0)
    return distances


def _scaled(rows: Rows) -> Doubles:
    wide = np.asarray(rows, np.float64)
    if not np.isfinite(wide).all() or wide.min(initial=0) < 0:
        raise DataError("Tanimoto's distance needs finite numbers, none below 0. Got others.")
    total = wide.sum(axis=-1, keepdims=True)
    return wide / np.where(total > 0, total, 1)
