"""codebook: 10,000 centres of 40,000 block descriptors, beside flat k-means of faiss.

Theirs compares every point with every centre, five times over, on one thread. The error is the mean
squared distance of new descriptors, of other pictures, to their nearest centre; ours may be 1 %
larger. CPU time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import FULL, Bench
from benchmarks.paper_size import decode, files
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.features.local.blocks import block_descriptors
from sightline.features.local.codebook import assign, codebook, quantization_error
from sightline.features.local.color import choose_colors, color_table, sample_pixels

NAME = "codebook"
ROWS = ("codebook/train", "codebook/assign")
_GOAL = Goal("ratio", 0.025)
_PASSES = 5
_MOST_ERROR = 0.01
_PICTURES = 660
_ROUNDS = 5  # assignments of one picture's blocks, each another one

Floats = NDArray[np.float32]


def measure(bench: Bench) -> list[Row]:
    """Train both on the same points, in turn, and assign new ones."""
    quick = bench.sizes.vectors < FULL.vectors
    n_points, n_centers = (10_000, 2_500) if quick else (40_000, 10_000)
    points, new, what = _descriptors(bench, n_points)
    ours, reference = codebook(points, n_centers), _flat(points, n_centers)
    index = _index(reference)
    parts = np.array_split(new, max(1, len(new) // 77))[:_ROUNDS]
    sides: list[Callable[[], Cost]] = [
        lambda: clocked(lambda: codebook(points, n_centers)),
        lambda: clocked(lambda: _flat(points, n_centers)),
        lambda: clocked(lambda: [assign(p, reference) for p in parts]),
        lambda: clocked(lambda: [index.search(p, 1) for p in parts]),
    ]
    taken = interleaved(bench.sizes.repetitions, sides)
    our_seconds, flat, nearest, searched = (cpus(c) for c in taken)
    note = f"{_error(ours, reference, new)}; {n_centers} centres of {len(points)} blocks of {what}"
    per_picture = [[1e3 * s / len(parts) for s in side] for side in (nearest, searched)]
    return [
        compared(ROWS[0], "CPU s", our_seconds, "CPU s faiss, five passes", flat, _GOAL, note),
        compared(ROWS[1], "CPU ms/77 blocks", per_picture[0], "CPU ms faiss IndexFlatL2",
                 per_picture[1], note=_same(assign(new, reference), index.search(new, 1)[1][:, 0])),
    ]  # fmt: skip


def _descriptors(bench: Bench, n_points: int) -> tuple[Floats, Floats, str]:
    """Return descriptors to train on and, of other pictures, a quarter as many to test on."""
    jpegs = files(bench, _PICTURES)
    decoded = [decode(f) for f in jpegs.data]
    colors = choose_colors(sample_pixels(decoded))
    table = color_table(colors)
    rng = np.random.default_rng(3)
    found = [
        block_descriptors(decoded[i], table, len(colors))[0][1]
        for i in rng.permutation(len(decoded))
    ]
    rows = np.concatenate(found)
    if len(rows) < n_points * 5 // 4:
        raise BenchmarkError(f"There are only {len(rows)} blocks; {n_points * 5 // 4} are needed.")
    return rows[:n_points], rows[-n_points // 4 :], jpegs.what


def _flat(points: Floats, n_centers: int) -> Floats:
    import faiss

    faiss.omp_set_num_threads(1)
    # It complains of fewer than 39 points for each centre, but does the same.
    k_means: Any = faiss.Kmeans(
        points.shape[1], n_centers, niter=_PASSES, seed=1, min_points_per_centroid=1
    )
    k_means.train(points)
    centers: Floats = k_means.centroids
    return centers


def _index(centers: Floats) -> Any:
    import faiss

    index = faiss.IndexFlatL2(centers.shape[1])
    index.add(centers)
    return index


def _error(ours: Floats, theirs: Floats, new: Floats) -> str:
    more = quantization_error(new, ours) / quantization_error(new, theirs) - 1
    judged = "within" if more <= _MOST_ERROR else "MORE THAN"
    return f"error on new blocks {more:+.1%}, {judged} the {_MOST_ERROR:+.0%} allowed"


def _same(ours: NDArray[np.int32], theirs: NDArray[np.int64]) -> str:
    return f"{np.mean(ours == theirs):.2%} of the assignments equal"
