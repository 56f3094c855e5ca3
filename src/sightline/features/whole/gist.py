"""GIST (512): the responses to 32 filters in each of 4×4 cells, the spatial envelope of a scene.

1. The grey picture is squeezed to a square (`side`, 128 pixels).
2. Contrast is made even: of log(1 + 255 grey), continued on each side by five mirrored pixels, the
   mean under a Gaussian is subtracted, whose transfer function falls to one half at four cycles a
   picture; what is left is divided by .2 plus its deviation under the same Gaussian.
3. It is continued by mirrored pixels, an eighth of its side, and filtered, by Fourier transforms.
   Filter (i, j), of 4 scales and 8 directions, has at the frequency f (cycles a pixel) and the
   angle t the transfer function exp(-3.5 (f / f_i - 1)² - 2π (t + π j / 8)²), f_i = .3 / 1.85^i,
   t + π j / 8 being taken from -π to π.
4. The size of each response is averaged over each of 4×4 cells. Order: scales from fine to coarse,
   in each the directions, of each the cells row by row.

Oliva, Torralba: Modeling the shape of the scene: a holistic representation of the spatial envelope,
2001; the constants are those of their published programme. Departures: the picture is squeezed to a
square instead of cut to one; 128 pixels instead of 256, a quarter of the time; one log of grey.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats
from sightline.contracts import Json
from sightline.features.local.lbp import checked
from sightline.features.whole.gabor import small_grey

N_SCALES, N_DIRECTIONS, CELLS = 4, 8, 4
_CYCLES = 4.0
_LEAST: Final = 0.2
_BORDER = 5


class Gist:
    """Responses to oriented filters in 4×4 cells.

    A subclass with another `side`, a multiple of 8, is of larger or smaller copies.

    Examples
    --------
    >>> Gist().describe(np.full((30, 40, 3), 90, np.uint8)).any()
    np.False_
    """

    name = "gist"
    version = 1
    length = N_SCALES * N_DIRECTIONS * CELLS * CELLS

    side: ClassVar[int] = 128

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {"side": self.side, "scales": N_SCALES, "directions": N_DIRECTIONS, "cells": CELLS}

    def describe(self, rgb: NDArray[np.uint8]) -> Floats:
        """Return the mean response of each filter in each cell."""
        from scipy.fft import fft2, ifft2

        grey = small_grey(checked(rgb), self.side)
        if not np.ptp(grey):
            return np.zeros(self.length, np.float32)
        border = self.side // 8
        image = np.pad(evened(grey), border, "symmetric")
        inner = slice(border, border + self.side)
        spectrum = fft2(image)
        row = np.empty((N_SCALES * N_DIRECTIONS, CELLS, CELLS), np.float32)
        cell = self.side // CELLS
        for i, transfer in enumerate(_filters(len(image))):
            answer = np.abs(ifft2(spectrum * transfer)[inner, inner])
            row[i] = answer.reshape(CELLS, cell, CELLS, cell).mean(axis=(1, 3))
        return row.ravel()


def evened(grey: Floats) -> Floats:
    """Return a square grey picture, from 0 to 1, without its coarse shades and with even contrast.

    >>> step = np.repeat(np.float32([[0.2, 0.8]]), 32, axis=1).repeat(64, axis=0)
    >>> abs(float(evened(step).mean())) < 0.2, evened(step).shape
    (True, (64, 64))
    """
    from scipy.fft import fft2, ifft2

    image = np.pad(np.log1p(255 * grey), _BORDER, "symmetric")
    n = len(image)
    f = np.fft.fftfreq(n, 1 / n)
    low = np.exp(-np.log(2) * (f[:, None] ** 2 + f**2) / _CYCLES**2).astype(np.float32)
    image = image - ifft2(fft2(image) * low).real
    deviation = np.sqrt(np.abs(ifft2(fft2(image * image) * low)))
    evened = image / (np.float32(_LEAST) + deviation)
    inner: Floats = evened[_BORDER:-_BORDER, _BORDER:-_BORDER].astype(np.float32)
    return inner


@cache
def _filters(n: int) -> Floats:
    """Return the transfer functions for a square of n pixels, (32, n, n)."""
    f = np.fft.fftfreq(n)
    distance, angle = np.hypot(f[:, None], f), np.arctan2(f[:, None], f)
    functions = []
    for i in range(N_SCALES):
        for j in range(N_DIRECTIONS):
            turned = (angle + np.pi * j / N_DIRECTIONS + np.pi) % (2 * np.pi) - np.pi
            along = (distance / (0.3 / 1.85**i) - 1) ** 2
            functions.append(np.exp(-3.5 * along - 2 * np.pi * turned**2))
    return np.stack(functions).astype(np.float32)
