"""Framing: the scaling and padding of a picture to the network's input size.

pad
    The whole picture in a square, with its aspect ratio, padded with grey.
squash
    The whole picture stretched to a square.
area
    The picture's own aspect ratio with the area of a square: no distortion, no padding. Sides are
    multiples of 32, the network's last step, and at most twice as long as the square's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline.errors import DataError

FRAMINGS = ("pad", "squash", "area")
STEP = 32
_GREY = 127  # The value of the network's own padding.


def check_picture(rgb: NDArray[np.uint8]) -> None:
    """Raise DataError for what is no picture."""
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or 0 in rgb.shape:
        raise DataError(f"A picture is (height, width, 3) of uint8. Got {rgb.shape} {rgb.dtype}.")


def framed(rgb: NDArray[np.uint8], size: int, framing: str) -> NDArray[np.uint8]:
    """Return the picture in the given framing for a square of `size` pixels."""
    height, width = rgb.shape[:2]
    if framing == "squash":
        return resized(rgb, size, size)
    if framing == "area":
        return resized(rgb, *area_sides(height, width, size))
    longer = max(height, width)
    h, w = (max(1, round(side * size / longer)) for side in (height, width))
    canvas = np.full((size, size, 3), _GREY, np.uint8)
    top, left = (size - h) // 2, (size - w) // 2
    canvas[top : top + h, left : left + w] = resized(rgb, h, w)
    return canvas


def area_sides(height: int, width: int, size: int) -> tuple[int, int]:
    """Return height and width, in whole steps, of the picture's shape and about size² pixels.

    >>> area_sides(256, 384, 224)
    (192, 288)
    >>> area_sides(10, 4000, 224)
    (128, 448)
    """
    shape = (height / width) ** 0.5
    sides = (size * shape, size / shape)
    bounded = (min(max(s, size / 2), size * 2) for s in sides)
    h, w = (max(1, round(s / STEP)) * STEP for s in bounded)
    return h, w


def resized(rgb: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """Return the picture in another size, filtered so that shrinking does not alias."""
    from PIL import Image

    if rgb.shape[:2] == (height, width):
        return rgb
    picture = Image.fromarray(np.ascontiguousarray(rgb))
    return np.asarray(picture.resize((width, height), Image.Resampling.BICUBIC))
