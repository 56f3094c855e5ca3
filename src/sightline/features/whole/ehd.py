"""Edge histogram (80): the shares of five kinds of edge in each of 4×4 parts of a picture.

The picture is cut into about 1,100 square tiles. A tile's four quarters, by their mean brightness,
are correlated with five filters: vertical, horizontal, 45 degrees, 135 degrees, without direction.
The strongest response is the tile's kind of edge (the first of equal ones), unless it is below 11.
Of the tiles of each part, row by row, the share of each kind is kept, as one of 8 codes from a
table.

    luma    int(219 (.299 R + .587 G + .114 B) / 256 + 16.5), from 16 to 234
    tile    a = int(sqrt(w h / 1100)), its side 2 floor(a / 2), at least 2; tiles at multiples of
            the side, as long as they lie inside; part int(4 x / w) + 4 int(4 y / h) of its corner
    code    the smallest j with share <= (c_j + c_j+1) / 2, else 7

The edge histogram of MPEG-7 (Manjunath, Ohm, Vasudevan, Yamada: Color and texture descriptors,
2001), in the form of the library that paper B used. A part without any tile, in pictures of a few
pixels, has no edges: codes 0 (there the library divides 0 by 0).
"""

from __future__ import annotations

from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles
from sightline.contracts import Json
from sightline.errors import DataError
from sightline.features.local.lbp import checked, frozen

N_PARTS, N_KINDS = 16, 5
_TILES = 1100

CENTERS: Final = np.array([
    [0.010867, 0.057915, 0.099526, 0.144849, 0.195573, 0.260504, 0.358031, 0.530128],
    [0.012266, 0.069934, 0.125879, 0.182307, 0.243396, 0.314563, 0.411728, 0.564319],
    [0.004193, 0.025852, 0.046860, 0.068519, 0.093286, 0.123490, 0.161505, 0.228960],
    [0.004174, 0.025924, 0.046232, 0.067163, 0.089655, 0.115391, 0.151904, 0.217745],
    [0.006778, 0.051667, 0.108650, 0.166257, 0.224226, 0.285691, 0.356375, 0.450972],
])  # fmt: skip
"""The share of each code, of vertical, horizontal, 45°, 135° and other edges."""

Rows = NDArray[np.float32] | Doubles


class EdgeHistogram:
    """Kinds of edge in 4×4 parts, as codes from 0 to 7.

    Examples
    --------
    >>> stripes = np.zeros((64, 64, 3), np.uint8)
    >>> stripes[:, ::2] = 255
    >>> EdgeHistogram().describe(stripes)[:10].tolist()
    [7.0, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0]
    """

    name = "ehd"
    version = 1
    length = N_PARTS * N_KINDS

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"tiles": _TILES, "least": 11}

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the codes."""
        return quantized(shares(rgb)).ravel().astype(np.float32)


def shares(rgb: NDArray[np.uint8]) -> Doubles:
    """Return the share of tiles with each kind of edge, (16, 5), before it becomes a code.

    >>> shares(np.zeros((9, 9, 3), np.uint8)).any()
    np.False_
    """
    from sightline.features.whole._ehd_fast import count_edges

    height, width = checked(rgb).shape[:2]
    side = max(2, isqrt(height * width // _TILES) // 2 * 2)
    counts, tiles = np.zeros((N_PARTS, N_KINDS), np.int64), np.zeros(N_PARTS, np.int64)
    count_edges(frozen(rgb), side, counts, tiles)
    return counts / np.maximum(tiles, 1)[:, None]


def quantized(values: Doubles) -> NDArray[np.int64]:
    """Return the code of each share; the last axis is the five kinds.

    >>> quantized(np.array([[0.0, 0.04, 0.1, 0.9, 0.031]])).tolist()
    [[0, 0, 4, 7, 1]]
    """
    borders = (CENTERS[:, 1:] + CENTERS[:, :-1]) / 2
    return np.asarray((values[..., None] > borders).sum(axis=-1), np.int64)


def values_of(codes: Rows) -> Doubles:
    """Return the shares of rows of codes.

    >>> values_of(np.zeros((1, 80), np.float32))[0, :5].tolist()
    [0.010867, 0.012266, 0.004193, 0.004174, 0.006778]
    """
    kinds = np.arange(N_PARTS * N_KINDS) % N_KINDS
    values: Doubles = CENTERS[kinds, _whole(codes)]
    return values


def standard_distance(a: Rows, b: Rows) -> Doubles:
    """Return the standard's distance of rows of codes, with rows of one or as many others.

    It adds up the differences of the codes' shares: of the 16 parts; five times those of the whole
    picture, the mean of all parts; and those of 13 groups of four parts, the four rows, the four
    columns, the four quarters and the middle.

    Examples
    --------
    >>> float(standard_distance(np.full(80, 7.0), np.full(80, 7.0)))
    0.0
    """
    difference = values_of(a) - values_of(b)
    parts = difference.reshape(*difference.shape[:-1], N_PARTS, N_KINDS)
    groups = np.einsum("gp,...pk->...gk", _GROUPS, parts)
    whole = np.abs(parts.mean(axis=-2)).sum(axis=-1)
    near = np.abs(parts).sum(axis=(-2, -1)) + np.abs(groups).sum(axis=(-2, -1))
    distances: Doubles = near + 5 * whole
    return distances


def library_distance(a: Rows, b: Rows) -> Doubles:
    """Return the distance of rows of codes in the library that paper B used.

    It adds up the differences of shares and those of the codes themselves, of which the first
    part's five count five times: the library takes them for those of the whole picture.

    Examples
    --------
    >>> float(library_distance(np.zeros(80), np.eye(1, 80)[0]).round(6))
    5.047048
    """
    weights = np.where(np.arange(N_PARTS * N_KINDS) < N_KINDS, 5, 1)
    codes = np.abs(_whole(a) - _whole(b)) @ weights
    distances: Doubles = np.abs(values_of(a) - values_of(b)).sum(axis=-1) + codes
    return distances


DISTANCES: Final = {"standard": standard_distance, "library": library_distance}


def _whole(codes: Rows) -> NDArray[np.int64]:
    integers = np.asarray(codes).astype(np.int64)
    fits = integers.shape[-1:] == (N_PARTS * N_KINDS,)
    if not fits or not np.array_equal(integers, codes) or integers.min() < 0 or integers.max() > 7:
        raise DataError("A row of edge codes holds 80 whole numbers from 0 to 7. Got another.")
    return integers


def _groups() -> Doubles:
    part = np.arange(N_PARTS).reshape(4, 4)
    squares = [part[y : y + 2, x : x + 2] for y in (0, 2) for x in (0, 2)]
    table = np.zeros((13, N_PARTS))
    for i, members in enumerate([*part, *part.T, *squares, part[1:3, 1:3]]):
        table[i, members.ravel()] = 0.25
    return table


_GROUPS: Final = _groups()
