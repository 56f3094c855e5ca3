"""The loops of the grey picture and its local binary patterns.

A point between pixels is never computed. On the circle of radius 2 the four corner points lie
1.41421 pixels off in both directions, where bilinear interpolation weighs the near pixel, the two
beside it and the far one as 2 : √2 : √2 : 1. With √2 taken as 41/29 everything fits 16 bits, and
the comparison comes out as in exact arithmetic unless the two beside it differ from the centre by
more than 28 grey levels together and the others nearly cancel that.

Indices are unsigned where neighbours are read, so that none has to be tested for being negative,
which would keep the compiler from using vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Bytes

_1, _2, _3, _4 = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
_RED, _GREEN, _BLUE, _HALF = np.uint16(77), np.uint16(150), np.uint16(29), np.uint16(128)
_TWICE, _FAR, _SIDE, _ALL = np.uint16(2), np.uint16(29), np.uint16(41), np.uint16(169)
_EIGHT, _LOW = np.uint16(8), np.uint16(255)


@njit(cache=True, nogil=True)
def fill_grey(rgb: Bytes, padded: Bytes) -> None:
    """Write the grey picture with two pixels more on each side, which repeat the nearest one."""
    height, width, _ = rgb.shape
    red, green, blue = channels(width)
    for y in range(height):
        split(rgb[y].reshape(-1), red, green, blue)
        mix(red, green, blue, padded[y + 2])
    repeat_lines(padded)


@njit(cache=True, nogil=True)
def channels(width: int) -> tuple[Bytes, Bytes, Bytes]:
    """Return room for the channels of one line."""
    return np.empty(width, np.uint8), np.empty(width, np.uint8), np.empty(width, np.uint8)


@njit(cache=True, nogil=True)
def split(pixels: Bytes, red: Bytes, green: Bytes, blue: Bytes) -> None:
    """Split the channels of a line, so that the following loops are vectorised."""
    for x in range(pixels.size // 3):
        red[x] = pixels[3 * x]
        green[x] = pixels[3 * x + 1]
        blue[x] = pixels[3 * x + 2]


@njit(cache=True, nogil=True)
def mix(red: Bytes, green: Bytes, blue: Bytes, line: Bytes) -> None:
    """Write one grey line with two pixels more at both ends."""
    inner = line[2:-2]
    for x in range(inner.size):
        total = np.uint16(red[x]) * _RED + np.uint16(green[x]) * _GREEN
        inner[x] = (total + np.uint16(blue[x]) * _BLUE + _HALF) >> _EIGHT
    line[0] = line[1] = line[2]
    line[-1] = line[-2] = line[-3]


@njit(cache=True, nogil=True)
def repeat_lines(padded: Bytes) -> None:
    """Fill the two lines at the top and at the bottom."""
    first, second, top = padded[0], padded[1], padded[2]
    bottom, last_but_one, last = padded[-3], padded[-2], padded[-1]
    for x in range(top.size):
        first[x] = second[x] = top[x]
        last_but_one[x] = last[x] = bottom[x]


@njit(cache=True, nogil=True)
def corner(near: int, far: int, beside: int, above: int) -> np.uint16:
    """Return 169 times the grey level at a corner point, from the four pixels around it."""
    straight = np.uint16(_TWICE * np.uint16(near) + np.uint16(far)) * _FAR
    return np.uint16(straight + np.uint16(np.uint16(beside) + np.uint16(above)) * _SIDE)


@njit(cache=True, nogil=True)
def fill_codes(padded: Bytes, codes: Bytes) -> None:
    """Write the code of each pixel; bit k is the point at 45k degrees, from the right.

    Each line of `codes` reads five lines of the padded picture, a to e; c is the line itself.
    """
    width = np.uint64(codes.shape[1])
    for y in range(codes.shape[0]):
        a, b, c, d, e = padded[y], padded[y + 1], padded[y + 2], padded[y + 3], padded[y + 4]
        out = codes[y]
        for x in range(width):
            center = c[x + _2]
            limit = np.uint16(np.uint16(center) * _ALL)
            right_up = corner(b[x + _3], a[x + _4], b[x + _4], a[x + _3])
            left_up = corner(b[x + _1], a[x], b[x], a[x + _1])
            left_down = corner(d[x + _1], e[x], d[x], e[x + _1])
            right_down = corner(d[x + _3], e[x + _4], d[x + _4], e[x + _3])
            out[x] = (
                (c[x + _4] >= center) * 1
                | (right_up >= limit) * 2
                | (a[x + _2] >= center) * 4
                | (left_up >= limit) * 8
                | (c[x] >= center) * 16
                | (left_down >= limit) * 32
                | (e[x + _2] >= center) * 64
                | (right_down >= limit) * 128
            )


@njit(cache=True, nogil=True)
def fill_even_codes(pairs: NDArray[np.uint16], first: int, codes: Bytes) -> None:
    """Write the codes of every second pixel of every second line from `first` on.

    `pairs` is the padded picture with two pixels seen as one number, the first in its lower half:
    so one load gives even and odd columns, each pixel 16 bits wide as it is needed.
    """
    width = np.uint64(codes.shape[1])
    for i in range(codes.shape[0]):
        y = first + 2 * i
        a, b, c, d, e = pairs[y], pairs[y + 1], pairs[y + 2], pairs[y + 3], pairs[y + 4]
        out = codes[i]
        for x in range(width):
            center = c[x + _1] & _LOW
            limit = np.uint16(center * _ALL)
            a4, b4 = a[x + _2] & _LOW, b[x + _2] & _LOW
            d4, e4 = d[x + _2] & _LOW, e[x + _2] & _LOW
            a0, b0, d0, e0 = a[x] & _LOW, b[x] & _LOW, d[x] & _LOW, e[x] & _LOW
            right_up = corner(b[x + _1] >> _EIGHT, a4, b4, a[x + _1] >> _EIGHT)
            left_up = corner(b[x] >> _EIGHT, a0, b0, a[x] >> _EIGHT)
            left_down = corner(d[x] >> _EIGHT, e0, d0, e[x] >> _EIGHT)
            right_down = corner(d[x + _1] >> _EIGHT, e4, d4, e[x + _1] >> _EIGHT)
            out[x] = (
                ((c[x + _2] & _LOW) >= center) * 1
                | (right_up >= limit) * 2
                | ((a[x + _1] & _LOW) >= center) * 4
                | (left_up >= limit) * 8
                | ((c[x] & _LOW) >= center) * 16
                | (left_down >= limit) * 32
                | ((e[x + _1] & _LOW) >= center) * 64
                | (right_down >= limit) * 128
            )
