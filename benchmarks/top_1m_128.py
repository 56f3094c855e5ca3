"""top-1m-128: the 20 best of a million rows of 128 numbers, exactly, on one thread.

Beside it the least any exact scan can do, one pass over the same mapped bytes (numpy's sum, and its
maximum, which reads faster), and faiss's exact index holding the same rows in memory. Asked as a
command asks, by a scan, and as a server does, by rows rounded to a byte a number that bound every
score. CPU time, because all of them are one thread's work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.records import DenseQuery, Top
from sightline.store.snapshot import Snapshot

NAME = "top-1m-128"
ROWS = (
    "top-1m-128/read",
    "top-1m-128/fastest-read",
    "top-1m-128/faiss",
    "top-1m-128/rounded",
    "top-1m-128/one-percent",
)
_K = 20
_ROUNDS = 3  # a repetition is the sum of so many queries, each another one
_READ, _FAISS = Goal("ratio", 1.07), Goal("ratio", 1.0)

Matrix = NDArray[np.float32]
Int = NDArray[np.int64]


def measure(bench: Bench) -> list[Row]:
    """Search the store, read its bytes once, and search by faiss, in turn."""
    store_folder = stores.vectors(bench)
    index = _faiss_index(bench.sizes.vectors)
    rng = np.random.default_rng(11)
    queries = rng.standard_normal((_ROUNDS, stores.LENGTH), dtype=np.float32)
    n = bench.sizes.vectors
    some = np.sort(rng.choice(n, n // 100, replace=False)) + 1
    with store_folder.reader() as reader, stores.served(store_folder) as rounded:
        snapshot = reader.snapshot
        matrix = np.concatenate([rows for _, rows in stores.blocks(n)])
        for side in (snapshot, rounded):
            _check(side, index, queries, some, matrix[some - 1])
        sides: list[Callable[[], Cost]] = [
            lambda: clocked(lambda: [_top(snapshot, q) for q in queries]),
            lambda: clocked(lambda: [_read_once(snapshot, np.add) for _ in queries]),
            lambda: clocked(lambda: [_read_once(snapshot, np.maximum) for _ in queries]),
            lambda: clocked(lambda: [index.search(q[None], _K) for q in queries]),
            lambda: clocked(lambda: [_top(rounded, q) for q in queries]),
            lambda: clocked(lambda: [_top(snapshot, q, some) for q in queries]),
            lambda: clocked(lambda: [matrix[some - 1] @ q for q in queries]),
        ]
        taken = interleaved(bench.sizes.repetitions, sides)
        kept = 0 if rounded.quantised is None else rounded.quantised.n_bytes
    ours, read, fastest, faiss, bounded, filtered, product = (
        [1e3 * s / _ROUNDS for s in cpus(c)] for c in taken
    )
    note = f"{n} rows in {len(snapshot.segments)} segments; results equal faiss's"
    held = f"{kept / 1e6:.0f} MB of rounded rows in memory; results equal faiss's"
    masked = f"{len(some)} ids, exact; results equal a masked product's"
    return [
        compared(ROWS[0], "CPU ms", ours, "CPU ms sum of the same bytes", read, _READ, note),
        compared(ROWS[1], "CPU ms", ours, "CPU ms maximum of the same bytes", fastest),
        compared(ROWS[2], "CPU ms", ours, "CPU ms faiss IndexFlatIP", faiss, _FAISS),
        compared(ROWS[3], "CPU ms", bounded, "CPU ms faiss IndexFlatIP", faiss, _FAISS, held),
        compared(ROWS[4], "CPU ms", filtered, "CPU ms gather and product in memory",
                 product, note=masked),
    ]  # fmt: skip


def _faiss_index(n: int) -> Any:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(stores.LENGTH)
    for _, rows in stores.blocks(n):
        index.add(rows)
    return index


def _top(snapshot: Snapshot, weights: Matrix, where: Int | None = None) -> Top:
    return snapshot.top(DenseQuery(stores.FEATURE, weights), _K, where)


def _read_once(snapshot: Snapshot, how: np.ufunc) -> list[Any]:
    return [
        how.reduce(np.asarray(s.features[stores.FEATURE]).reshape(-1)) for s in snapshot.segments
    ]


def _check(snapshot: Snapshot, index: Any, queries: Matrix, some: Int, chosen: Matrix) -> None:
    """Compare with faiss, and with numpy where a filter is on."""
    for q in queries:
        scores, rows = index.search(q[None], _K)
        _same("all rows", _top(snapshot, q), rows[0] + 1, scores[0])
        product = chosen @ q
        order = np.lexsort((some, -product))[:_K]
        _same("one row in a hundred", _top(snapshot, q, some), some[order], product[order])


def _same(what: str, top: Top, ids: Int, scores: Matrix) -> None:
    if not np.array_equal(top.ids, ids) or not np.allclose(top.scores, scores, rtol=1e-5):
        raise BenchmarkError(f"The best of {what} differ: {top.ids} and {ids}.")
