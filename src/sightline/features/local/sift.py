"""SIFT: keypoints that are invariant to rotation and scale, and their descriptors.

A picture is smoothed more and more; where the difference of two neighbours in that row is extreme,
in space and in scale, lies a keypoint. Its descriptor holds the gradients around it in 4×4 cells by
8 directions, 128 numbers, relative to the main direction there and as large as the keypoint's own
scale, so that they stay the same when the picture is turned, scaled or lit differently.

1. Grey from 0 to 1, twice as large by linear interpolation, smoothed to sigma = 1.6 (the picture
   itself counting as .5); each octave has 3 scales, and the next one every second pixel.
2. Extremes among 26 neighbours of the differences, five pixels off the border, moved to the extreme
   of a quadric. Kept if stronger than .04 / 3 and if no curvature is ten times the other.
3. Main directions: peaks of a histogram of 36, smoothed, within 4.5 sigma; every peak of at least
   .8 of the highest makes a keypoint of its own.
4. Gradients at 20×20 places, a quarter of a cell apart, a cell being 3 sigma wide, weighted by a
   Gaussian of two cells, each shared between the nearest cells and directions.
5. L2-normalised, clipped at .2, L1-normalised, square-rooted.

Lowe: Distinctive image features from scale-invariant keypoints, 2004; the patent has ended.
Arandjelović, Zisserman: Three things everyone should know to improve object retrieval, 2012 (the
square root). Departures: gradients are read at a fixed number of places, each from the nearest
pixel, so that a descriptor costs the same at any scale; at most 1,000 places, the strongest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import pi
from typing import Final

import numpy as np

from sightline._typing import RGB, Doubles, Floats
from sightline.features.local.gradients import brightness
from sightline.features.local.lbp import checked
from sightline.vectors import l2_normalize, l2_norms

LENGTH: Final = 128
CONTRAST, EDGE, MOST = 0.04, 10.0, 1000
_SIGMA, _SCALES = 1.6, 3
_LEAST_SIDE = 12  # of an octave: below, all of it is border
_PEAK, _CLIP = 0.8, 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Keypoints:
    """Keypoints of one picture.

    Attributes
    ----------
    descriptors : ndarray of shape (keypoints, 128)
        Histograms of gradients around each.
    positions : ndarray of float64
        (down, right) in pixels of the picture.
    sigmas : ndarray of float64
        The scale of each, in pixels.
    angles : ndarray of float64
        The main direction of each, in radians, from the right clockwise.
    """

    descriptors: Floats
    positions: Doubles
    sigmas: Doubles
    angles: Doubles

    def __len__(self) -> int:
        return len(self.descriptors)


@dataclass(frozen=True, slots=True, eq=False)
class _Octave:
    images: Floats  # smoothed more and more, (scales + 3, height, width)
    pixel: float  # its size in those of the picture


def keypoints(rgb: RGB, most: int = MOST) -> Keypoints:
    """Return the keypoints of a picture, from fine to coarse; there can be none.

    Parameters
    ----------
    rgb : ndarray of uint8
        A picture.
    most : int, default=1000
        Places, at most, the strongest; some have more than one main direction.

    Examples
    --------
    A disc has a keypoint at its middle; sigma is about its radius, 10, divided by sqrt(2).

    >>> y, x = np.indices((64, 64))
    >>> disc = ((y - 30) ** 2 + (x - 30) ** 2 < 100).astype(np.uint8)[..., None] * 255
    >>> found = keypoints(np.repeat(disc, 3, axis=2))
    >>> {tuple(p) for p in found.positions.round().tolist()}, float(found.sigmas[0].round())
    ({(30.0, 30.0)}, 6.0)
    """
    octaves = _octaves(checked(rgb))
    places = _strongest([_extremes(o) for o in octaves], most)
    parts = [_described(o, p) for o, p in zip(octaves, places, strict=True)]
    empty = (np.zeros((0, LENGTH), np.float32), np.zeros((0, 4)))
    rows, where = (np.concatenate(p) for p in zip(empty, *parts, strict=True))
    return Keypoints(rows, where[:, :2], where[:, 2], where[:, 3])


def _octaves(rgb: RGB) -> list[_Octave]:
    doubled = _doubled(brightness(rgb) / np.float32(255))
    image = _blurred(doubled, (_SIGMA**2 - 1) ** 0.5)
    octaves: list[_Octave] = []
    while min(image.shape) >= _LEAST_SIDE:
        images = np.empty((_SCALES + 3, *image.shape), np.float32)
        images[0] = image
        for s in range(1, _SCALES + 3):
            sigma = _SIGMA * 2 ** ((s - 1) / _SCALES) * (2 ** (2 / _SCALES) - 1) ** 0.5
            images[s] = _blurred(images[s - 1], sigma)
        octaves.append(_Octave(images, 0.5 * 2 ** len(octaves)))
        image = np.ascontiguousarray(images[_SCALES, ::2, ::2])
    return octaves


def _doubled(image: Floats) -> Floats:
    """Return an image with a linearly interpolated pixel between any two."""
    for _ in range(2):
        wide = np.empty((2 * len(image) - 1, image.shape[1]), np.float32)
        wide[::2], wide[1::2] = image, (image[1:] + image[:-1]) / 2
        image = wide.T
    return np.ascontiguousarray(image)


def _blurred(image: Floats, sigma: float) -> Floats:
    from sightline.features.local._sift_fast import blur

    out = np.empty_like(image)
    blur(image, half_gaussian(sigma), out)
    return out


def half_gaussian(sigma: float) -> Floats:
    """Return the middle and the right half of a Gaussian of sum one, up to four sigma.

    >>> [round(float(weight), 3) for weight in half_gaussian(0.5)]
    [0.787, 0.106, 0.0]
    """
    half = np.exp(-0.5 * (np.arange(int(4 * sigma + 0.5) + 1) / sigma) ** 2)
    weights: Floats = (half / (2 * half.sum() - half[0])).astype(np.float32)
    return weights


def _extremes(octave: _Octave) -> Doubles:
    """Return (layer, its fraction, row, column, strength) of the good extremes of an octave."""
    from sightline.features.local._sift_fast import find_extremes

    stack = octave.images[1:] - octave.images[:-1]
    # So smooth a picture has far fewer.
    room = np.zeros((stack[0].size // 8 + 64, 5))
    n = find_extremes(stack, CONTRAST / _SCALES, EDGE, room)
    # Two equal neighbours are both extreme, and move to the same place.
    return np.unique(room[:n].round(6), axis=0)


def _strongest(places: list[Doubles], most: int) -> list[Doubles]:
    strengths = np.concatenate([np.zeros(0), *(p[:, 4] for p in places)])
    if len(strengths) <= most:
        return places
    kept = np.zeros(len(strengths), np.bool_)
    kept[np.argsort(-strengths, kind="stable")[:most]] = True
    ends = np.cumsum([len(p) for p in places])[:-1]
    return [p[k] for p, k in zip(places, np.split(kept, ends), strict=True)]


def _described(octave: _Octave, places: Doubles) -> tuple[Floats, Doubles]:
    """Return descriptors, and (down, right, sigma, angle) in pixels of the picture."""
    from sightline.features.local._sift_fast import fill_descriptor, fill_directions

    samples, weights = _samples()
    strengths, row = np.empty(36), np.empty(LENGTH, np.float32)
    rows, where = [np.zeros((0, LENGTH), np.float32)], [np.zeros((0, 4))]
    for layer, fraction, y, x, _ in places.tolist():
        image = octave.images[int(layer)]
        sigma = _SIGMA * 2 ** ((layer + fraction) / _SCALES)
        fill_directions(image, y, x, sigma, strengths)
        for angle in main_directions(strengths):
            fill_descriptor(image, y, x, sigma, angle, samples, weights, row)
            rows.append(row[None].copy())
            pixel = octave.pixel
            where.append(np.array([[y * pixel, x * pixel, sigma * pixel, angle]]))
    return _root(np.concatenate(rows)), np.concatenate(where)


def main_directions(strengths: Doubles) -> list[float]:
    """Return the angles of the peaks of a histogram of directions, that of the highest first.

    >>> [round(float(np.rad2deg(a))) for a in main_directions(np.eye(36)[9] + np.eye(36)[20] * 0.9)]
    [90, 200]
    """
    # A list: for 36 numbers, whole arrays take ten times as long.
    heights: list[float] = strengths.tolist()
    least = _PEAK * max(heights)
    peaks: list[tuple[float, float]] = []
    for k, height in enumerate(heights):
        before, after = heights[k - 1], heights[(k + 1) % 36]
        if height >= least and height > before and height > after:
            turn = k + 0.5 * (before - after) / (before - 2 * height + after)
            peaks.append((-height, turn % 36 * (2 * pi / 36)))
    return [angle for _, angle in sorted(peaks)]


@cache
def _samples() -> tuple[Doubles, Doubles]:
    """Return the positions of gradients, in cells (down, right) from the middle, and weights."""
    steps = (np.arange(20) - 9.5) / 4
    places = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    return places, np.exp(-(places**2).sum(axis=1) / 8)


def _root(rows: Floats) -> Floats:
    """Scale descriptors: length one, clipped, sum one, square root."""
    tiny = np.float32(1e-12)
    rows = l2_normalize(rows, np.maximum(l2_norms(rows), tiny))
    rows = np.minimum(rows, np.float32(_CLIP))
    rooted: Floats = np.sqrt(rows / np.maximum(rows.sum(axis=1), tiny)[:, None])
    return rooted
