"""Local binary patterns: which of eight points around a pixel are at least as bright as it.

The points lie on a circle of radius 2, the first to the right, the others each 45 degrees further
counter-clockwise; grey levels between pixels are interpolated bilinearly. Bit k of a pixel's code
is 1 if point k >= the pixel. The 58 *uniform* codes, whose bits change at most twice around the
circle, have a bin of their own each, in ascending order; all others share the last of 59 bins. This
mapping distinguishes directions; the rotation-invariant one has ten bins and is not used here.

Border: the picture is continued by repeating its outermost pixels, so that every pixel has a code.

Ojala, Pietikäinen, Mäenpää: Multiresolution gray-scale and rotation invariant texture
classification with local binary patterns, 2002. Grangier, Bengio: A discriminative kernel-based
approach to rank images from text queries, 2008, uses it in blocks.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError

RADIUS: Final = 2
N_BINS: Final = 59


def changes(code: int) -> int:
    """Return how often the bits of a code change, going once around the circle.

    >>> changes(0b11111111), changes(0b00111000), changes(0b01010101)
    (0, 2, 8)
    """
    return (code ^ (code >> 1 | (code & 1) << 7)).bit_count()


UNIFORM: Final = np.array([c for c in range(256) if changes(c) <= 2], np.uint8)
"""The uniform codes, ascending: entry i is the code of bin i."""


def bins() -> NDArray[np.uint8]:
    """Return the bin of each code.

    >>> bins()[[0b00000000, 0b11111111, 0b01010101]].tolist()
    [0, 57, 58]
    """
    table = np.full(256, N_BINS - 1, np.uint8)
    table[UNIFORM] = np.arange(len(UNIFORM))
    return table


def padded_grey(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the grey picture, (77 R + 150 G + 29 B + 128) / 256, with its border of two pixels.

    >>> padded_grey(np.full((1, 2, 3), 9, np.uint8)).shape
    (5, 6)
    """
    from sightline.features.local._lbp_fast import fill_grey

    height, width = checked(rgb).shape[:2]
    padded = np.empty((height + 2 * RADIUS, width + 2 * RADIUS), np.uint8)
    fill_grey(frozen(rgb), padded)
    return padded


def pattern_codes(padded: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the code of every pixel of a grey picture that has a border of two pixels.

    Examples
    --------
    A bright line on dark ground; in the codes of its own pixels it goes up and down (bits 2 and 6).

    >>> grey = np.zeros((5, 7), np.uint8)
    >>> grey[:, 3] = 200
    >>> pattern_codes(np.pad(grey, 2, "edge"))[2].tolist()
    [255, 255, 255, 68, 255, 255, 255]
    """
    from sightline.features.local._lbp_fast import fill_codes

    height, width = padded.shape
    codes = np.empty((height - 2 * RADIUS, width - 2 * RADIUS), np.uint8)
    fill_codes(padded, codes)
    return codes


def frozen(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a contiguous view that cannot be written: kernels are compiled for this kind alone."""
    view = np.ascontiguousarray(rgb).view()
    view.flags.writeable = False
    return view


def checked(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the picture; raise DataError unless it is one."""
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or not rgb.size:
        raise DataError(
            "A picture must be an array of 8-bit RGB pixels, (height, width, 3), and not be empty. "
            f"Got {rgb.dtype} of shape {rgb.shape}."
        )
    return rgb
