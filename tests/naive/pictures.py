"""Slow, readable twins of the picture room: a whole picture at once, a pixel at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

RGB = NDArray[np.uint8]


def small_rgb(image: Image.Image, side: int) -> RGB:
    """Bring a picture to RGB on white in one go, then shrink it as the real decoder does."""
    width, height = image.size
    rgb = Image.fromarray(_on_white(image))
    factor = max(1, max(width, height) // (2 * side))
    rgb = rgb.reduce(factor) if factor > 1 else rgb
    if max(rgb.size) > side:
        scale = side / max(rgb.size)
        size = (max(1, round(rgb.width * scale)), max(1, round(rgb.height * scale)))
        rgb = rgb.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(rgb)


def _on_white(image: Image.Image) -> RGB:
    if image.mode == "I;16":
        grey = np.asarray(image).astype(np.float64) * 255 / 65535
        return _rounded(np.stack([grey, grey, grey], axis=2))
    if image.mode == "F":
        values = np.asarray(image).astype(np.float64)
        grey = values * 255 if values.max() <= 1 else values
        return _rounded(np.stack([grey, grey, grey], axis=2))
    clear = image.mode in ("RGBA", "LA") or "transparency" in image.info
    rgba = np.asarray((image if clear else image.convert("RGB")).convert("RGBA"), np.float64)
    alpha = rgba[..., 3:] / 255
    return _rounded(rgba[..., :3] * alpha + 255 * (1 - alpha))


def _rounded(values: NDArray[np.float64]) -> RGB:
    return np.clip(np.round(values), 0, 255).astype(np.uint8)
