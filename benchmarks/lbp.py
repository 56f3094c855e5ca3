"""lbp: local binary patterns of a picture, beside scikit-image's.

LBP(8,2) of every pixel of a picture of 384×256. Theirs starts from the grey picture and gives bins
(`method="nri_uniform"`); ours starts from RGB and gives codes, whose bins are looked up when they
are counted. CPU time of one thread.

Codes are compared with their `method="default"`, on a picture that is continued at the border as
ours is. Where a point between pixels is exactly as bright as the pixel, they let rounding decide;
ours counts it as bright, as defined. So the note says how many codes are equal, and how many are
apart from such ties; fewer than 99.5 % of the latter is a wrong result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.paper_size import RGB, decode, files
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.features.local.lbp import RADIUS, padded_grey, pattern_codes

NAME = "lbp"
ROWS = ("lbp/map",)
_GOAL = Goal("ratio", 0.01)
_PICTURES = 20
_ROUNDS = 20  # ours for one of theirs: a tenth of a millisecond is too short to be clocked
_LEAST_EQUAL = 0.995


def measure(bench: Bench) -> list[Row]:
    """Find the patterns of the same pictures in turn."""
    local_binary_pattern = _theirs()
    jpegs = files(bench, _PICTURES)
    decoded = [decode(f) for f in jpegs.data]
    greys = [_inner(padded_grey(rgb)) for rgb in decoded]
    equal, apart_from_ties = np.mean([_equal(rgb) for rgb in decoded], axis=0)
    if apart_from_ties < _LEAST_EQUAL:
        raise BenchmarkError(f"Only {apart_from_ties:.2%} of the codes equal scikit-image's.")
    sides: list[Callable[[], Cost]] = [
        lambda: _clocked(decoded * _ROUNDS, lambda p: pattern_codes(padded_grey(p))),
        lambda: _clocked(greys, lambda g: local_binary_pattern(g, 8, 2, "nri_uniform")),
    ]
    ours, reference = interleaved(bench.sizes.repetitions, sides)
    n = len(greys)
    note = f"{equal:.2%} of the codes equal, {apart_from_ties:.2%} apart from ties; {jpegs.what}"
    return [
        compared(
            ROWS[0],
            "CPU ms",
            [1e3 * s / n / _ROUNDS for s in cpus(ours)],
            "CPU ms scikit-image",
            [1e3 * s / n for s in cpus(reference)],
            _GOAL,
            note,
        )
    ]


def _clocked(pictures: Sequence[RGB], work: Callable[[RGB], object]) -> Cost:
    def run() -> None:
        for picture in pictures:
            work(picture)

    return clocked(run)


def _inner(padded: RGB) -> RGB:
    return np.ascontiguousarray(padded[RADIUS:-RADIUS, RADIUS:-RADIUS])


def _equal(rgb: RGB) -> tuple[float, float]:
    """Return the share of equal codes, and of codes that are equal apart from ties."""
    padded = padded_grey(rgb)
    # What their own border would change lies in the continued part, which is cut off.
    theirs = _inner(_theirs()(padded, 8, 2, "default")).astype(np.uint8)
    different = pattern_codes(padded) ^ theirs
    return float(np.mean(different == 0)), float(np.mean(different & ~_ties(padded) == 0))


def _ties(padded: RGB) -> RGB:
    """Return the bits of points that are exactly as bright as the pixel.

    At a corner the near pixel, the two beside it and the far one weigh 2 : √2 : √2 : 1, so the
    two beside it have to cancel each other, and the others too.
    """
    grey = padded.astype(np.int64)
    height, width = (n - 2 * RADIUS for n in grey.shape)

    def at(dy: int, dx: int) -> NDArray[np.int64]:
        moved = grey[RADIUS + dy : RADIUS + dy + height, RADIUS + dx : RADIUS + dx + width]
        return moved - grey[RADIUS : RADIUS + height, RADIUS : RADIUS + width]

    tied_bits = np.zeros((height, width), np.uint8)
    for bit, (dy, dx) in {1: (-1, 1), 3: (-1, -1), 5: (1, -1), 7: (1, 1)}.items():
        straight = 2 * at(dy, dx) + at(2 * dy, 2 * dx)
        beside = at(dy, 2 * dx) + at(2 * dy, dx)
        tied_bits |= ((straight == 0) & (beside == 0)).astype(np.uint8) << np.uint8(bit)
    return tied_bits


def _theirs() -> Any:
    from skimage.feature import local_binary_pattern

    return local_binary_pattern
