"""extraction: the descriptors of 77 blocks from a JPEG file, beside decoding the file alone.

By default the patterns of every second and the colours of every fourth pixel in both directions are
counted; the second row counts all, as the paper does. Ours includes the decoding. CPU time, because
all of it is one thread's work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.paper_size import RGB, decode, files
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from sightline.features.local.blocks import block_descriptors
from sightline.features.local.color import choose_colors, color_table, sample_pixels

NAME = "extraction"
ROWS = ("extraction/blocks", "extraction/every-pixel")
_GOAL = Goal("ratio", 1.3)
_PICTURES = 200
_ROUNDS = 3  # a repetition goes through all pictures so often
_BLOCKS, _PATTERNS = 77, 59


def measure(bench: Bench) -> list[Row]:
    """Decode, decode and describe, and decode and describe every pixel, in turn."""
    jpegs = files(bench, _PICTURES)
    decoded = [decode(f) for f in jpegs.data]
    colors = choose_colors(sample_pixels(decoded))
    table = color_table(colors)

    def described(rgb: RGB, every: int) -> NDArray[np.float32]:
        return block_descriptors(rgb, table, len(colors), every=every)[0][1]

    _check([described(rgb, every) for rgb in decoded for every in (1, 2)])
    works: list[Callable[[bytes], object]] = [
        decode,
        lambda f: described(decode(f), 2),
        lambda f: described(decode(f), 1),
    ]
    taken = [_in_turn(jpegs.data, works) for _ in range(bench.sizes.repetitions + 1)][1:]
    alone, half, whole = zip(*taken, strict=True)
    beside = "CPU ms/picture decoded only"
    return [
        compared(ROWS[0], "CPU ms/picture", half, beside, alone, _GOAL, jpegs.what),
        compared(ROWS[1], "CPU ms/picture", whole, beside, alone),
    ]


def _in_turn(data: Sequence[bytes], works: Sequence[Callable[[bytes], object]]) -> list[float]:
    """Return the CPU milliseconds a picture of each work, which take turns picture by picture.

    Turns of half a millisecond share whatever else the machine does. Each work is at another
    picture than the one before it, whose branches the processor would remember.
    """
    spent = [0.0] * len(works)
    n = len(data)
    for i in range(_ROUNDS * n):
        for j, work in enumerate(works):
            file = data[(i + j * n // len(works)) % n]
            begun = time.process_time()
            work(file)
            spent[j] += time.process_time() - begun
    return [1e3 * s / (_ROUNDS * n) for s in spent]


def _check(block_rows: Sequence[NDArray[np.float32]]) -> None:
    """Every picture has 77 blocks, and both halves of each sum to 1."""
    rows = np.stack(block_rows)
    sums = np.stack([rows[..., :_PATTERNS].sum(axis=-1), rows[..., _PATTERNS:].sum(axis=-1)])
    if rows.shape[1] != _BLOCKS or not np.allclose(sums, 1, atol=1e-4):
        raise BenchmarkError(
            f"Blocks are wrong: {rows.shape[1]} of them, halves sum to {sums.min():.4f}."
        )
