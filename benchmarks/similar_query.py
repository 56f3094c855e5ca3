"""similar-query: the 20 pictures most like one of a collection, by five descriptors.

Descriptors of the lengths of colour, edges, Gabor, LBP and GIST are drawn around 200 centres. Every
query is another picture; nothing was trained, so all descriptors count alike and candidates come
from each of them. Wall time of the answer in one process that has the store open, as a server has.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.stores import described
from sightline.collection.similarity.candidates import similar
from sightline.settings import Settings

NAME = "similar-query"
ROWS = ("similar-query/p50", "similar-query/p99", "similar-query/growth")
_FLAT = Goal("ratio", 1.1)
_TOP, _QUERIES, _WARM = 20, 100, 3


def measure(bench: Bench) -> list[Row]:
    """Ask a small, a large and, if wanted, a very large collection in turn."""
    small, large = bench.sizes.queries[:2]
    # A third size, where it is asked for, is what growth is measured to.
    largest = bench.sizes.queries[-1]
    n_queries = _QUERIES if large == FULL.queries[1] else _QUERIES // 5
    taken = {n: _answers(bench, n, n_queries) for n in dict.fromkeys((small, large, largest))}
    many = taken[large]
    note = f"{large:,} pictures, {n_queries} queries, five descriptors (809 numbers)"
    each = [[1e3 * ms / n for ms in taken[n]] for n in (largest, small)]
    unit = "wall µs a picture"
    return [
        alone(ROWS[0], "wall ms", [float(np.percentile(many, 50))], note=note),
        alone(ROWS[1], "wall ms", [float(np.percentile(many, 99))], note=note),
        compared(ROWS[2], unit, each[0], f"{unit} of {small:,}", each[1], _FLAT,
                 f"{unit} of {largest:,}"),
    ]  # fmt: skip


def _answers(bench: Bench, n: int, n_queries: int) -> Sequence[float]:
    root, store_folder = described(bench, n)
    store_folder.fast = True
    ids = np.random.default_rng(1).choice(n, n_queries + _WARM, replace=False) + 1
    taken = []
    with store_folder.reader() as reader:
        for picture in ids.tolist():
            begun = time.perf_counter()
            found = similar(reader, bytes(root), Settings(), [(picture, 1.0)], [], _TOP)
            taken.append(1e3 * (time.perf_counter() - begun))
            if len(found.hits) != _TOP or picture in {h.picture for h in found.hits}:
                raise BenchmarkError(f"{len(found.hits)} hits for picture {picture} of {n}.")
    return taken[_WARM:]
