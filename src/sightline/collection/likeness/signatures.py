"""Signatures: what a picture looks like from afar, to tell nearly equal pictures from others.

A signature is the thumbnail shrunk to 16 by 16 cells of colour. Of two signatures a, b the
difference is

    d = max( rms(a - b), largest rms of a - b in any 2 by 2 cells / 4 ) / contrast

where contrast is the larger root mean square deviation of the two from their own mean colour, and
at least 16 of 255 levels. It is 0 for equal pictures, and small where one was resized or encoded
anew; a detail that differs in one place shows by the second term. Crops, mirror images and turned
pictures are different pictures here, and so are pictures whose sides have another ratio.

Means over larger cells bound the difference from below, so most pairs are never looked at closely.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CELLS = 16
COARSE = 4
FLOOR = 16.0
# Largest difference of the logarithms of width / height.
RATIO = 0.06

Float = NDArray[np.float32]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """The signatures of many pictures, in ascending order of their mean.

    Attributes
    ----------
    cells : (pictures, 16 * 16 * 3), uint8.
    coarse : (pictures, 4 * 4 * 3), means of them.
    mean, contrast, ratio : of each picture; ratio is log(width / height).
    """

    cells: NDArray[np.uint8]
    coarse: Float
    mean: Float
    contrast: Float
    ratio: Float

    def __len__(self) -> int:
        return len(self.cells)

    @classmethod
    def of(
        cls, cells: NDArray[np.uint8], ratio: Float, block: int = 4096
    ) -> tuple[Signatures, Int]:
        """Return signatures, sorted, and which of the given each one is."""
        n = len(cells)
        coarse = np.empty((n, COARSE * COARSE * 3), np.float32)
        mean, contrast = np.empty(n, np.float32), np.empty(n, np.float32)
        side = CELLS // COARSE
        for start in range(0, n, block):
            part = slice(start, start + block)
            whole = cells[part].reshape(-1, CELLS * CELLS, 3).astype(np.float32)
            contrast[part] = np.sqrt(whole.var(axis=1).mean(axis=1))
            mean[part] = whole.mean(axis=(1, 2))
            boxes = whole.reshape(-1, COARSE, side, COARSE, side, 3)
            coarse[part] = boxes.mean(axis=(2, 4)).reshape(len(whole), -1)
        order = np.argsort(mean, kind="stable")
        of_picture = (mean[order], contrast[order], ratio[order])
        return cls(cells[order], coarse[order], *of_picture), order

    def near(self, i: int, among: NDArray[np.bool_], most: float) -> tuple[Int, Float]:
        """Return those of some signatures that differ from the i-th by at most so much.

        The second part is by how much; the i-th itself is left out.
        """
        # No signature has a contrast above this, so a larger difference of means is too large.
        reach = most * max(127.5, FLOOR)
        low, high = np.searchsorted(self.mean, [self.mean[i] - reach, self.mean[i] + reach])
        at = np.arange(low, high)[among[low:high]]
        at = at[at != i]
        allowed = most * np.maximum(np.maximum(self.contrast[at], self.contrast[i]), FLOOR)
        kept = np.abs(self.mean[at] - self.mean[i]) <= allowed + _ROUNDING
        kept &= np.abs(self.ratio[at] - self.ratio[i]) <= RATIO
        at, allowed = at[kept], allowed[kept]
        apart = self.coarse[at] - self.coarse[i]
        kept = np.sqrt(np.square(apart).mean(axis=1)) <= allowed + _ROUNDING
        at = at[kept]
        found = self.differences(i, at)
        kept = found <= most
        return at[kept], found[kept]

    def differences(self, i: int, at: Int) -> Float:
        """Return by how much the i-th signature differs from some others."""
        out = np.empty(len(at), np.float32)
        mine = self.cells[i].astype(np.float32)
        for start in range(0, len(at), 1024):
            part = at[start : start + 1024]
            squares = np.square(self.cells[part].astype(np.float32) - mine)
            tiles = squares.reshape(-1, CELLS // 2, 2, CELLS // 2, 2, 3).mean(axis=(2, 4, 5))
            worst = np.sqrt(tiles.reshape(len(part), -1).max(axis=1)) / 4
            contrast = np.maximum(np.maximum(self.contrast[part], self.contrast[i]), FLOOR)
            whole = np.sqrt(squares.mean(axis=1))
            out[start : start + 1024] = np.maximum(whole, worst) / contrast
        return out


_ROUNDING = 1e-2


def cells_of(thumbnail: bytes) -> tuple[NDArray[np.uint8], float] | None:
    """Return the cells of one thumbnail and log(width / height); None if it is no picture.

    >>> from sightline.pictures.thumbnails import thumbnail
    >>> cells, ratio = cells_of(thumbnail(np.full((40, 80, 3), 200, np.uint8)))
    >>> cells.shape, int(cells.min()), round(ratio, 2)
    ((768,), 200, 0.69)
    >>> cells_of(b"nothing") is None
    True
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(thumbnail), formats=("JPEG",)) as picture:
            width, height = picture.size
            small = picture.convert("RGB").resize((CELLS, CELLS), Image.Resampling.BOX)
    except (OSError, ValueError, SyntaxError):
        return None
    return np.asarray(small, np.uint8).reshape(-1), float(np.log(width / height))


def gathered(
    thumbnails: Iterable[tuple[int, bytes]], n: int
) -> tuple[Int, NDArray[np.uint8], Float]:
    """Return the ids, cells and ratios of at most n pictures; those without any are left out."""
    ids = np.empty(n, np.int64)
    cells = np.empty((n, CELLS * CELLS * 3), np.uint8)
    ratio = np.empty(n, np.float32)
    count = 0
    for picture, data in thumbnails:
        found = cells_of(data)
        if found is not None:
            ids[count], (cells[count], ratio[count]) = picture, found
            count += 1
    return ids[:count], cells[:count], ratio[:count]
