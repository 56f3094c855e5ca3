"""low-rank-query: the 10 best of a million pictures for a text, in a space of 32 dimensions.

Points of pictures lie in a store written by the real writer, as a ranker across kinds publishes
them. Beside it the least any exact scan can do, one pass over the same mapped bytes (numpy's sum,
and its maximum, which reads faster), and faiss's exact index holding the same points in memory. CPU
time, one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.progress import NoProgress
from sightline.records import Batch, DenseQuery, Top
from sightline.store.folder import StoreFolder
from sightline.store.models import save_model
from sightline.store.scores import Scores, points_feature
from sightline.store.segments import MERGED_ROWS, OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer

NAME = "low-rank-query"
ROWS = ("low-rank-query/read", "low-rank-query/fastest-read", "low-rank-query/faiss")
_DIMENSIONS, _K = 32, 10
_ROUNDS = 10  # a repetition is the sum of so many queries, each another one
_READ = Goal("ratio", 1.1)

Float = NDArray[np.float32]


def measure(bench: Bench) -> list[Row]:
    """Rank the points, read their bytes once, and rank them by faiss, in turn."""
    n = bench.sizes.vectors
    store_folder, model = bench.once(f"points-{n}", lambda folder: _store(folder, n))
    index = _faiss_index(n)
    queries = np.random.default_rng(11).standard_normal((_ROUNDS, _DIMENSIONS), dtype=np.float32)
    with store_folder.reader() as reader:
        snapshot, name = reader.snapshot, points_feature(model, "pictures")
        _check(snapshot, name, index, queries)
        sides: list[Callable[[], Cost]] = [
            lambda: clocked(lambda: [_top(snapshot, name, q) for q in queries]),
            lambda: clocked(lambda: [_read_once(snapshot, name, np.add) for _ in queries]),
            lambda: clocked(lambda: [_read_once(snapshot, name, np.maximum) for _ in queries]),
            lambda: clocked(lambda: [index.search(q[None], _K) for q in queries]),
        ]
        taken = interleaved(bench.sizes.repetitions, sides)
    ours, read, fastest, faiss = ([1e3 * s / _ROUNDS for s in cpus(c)] for c in taken)
    note = f"{n} points in {len(snapshot.segments)} segments; results equal faiss's"
    return [
        compared(ROWS[0], "CPU ms", ours, "CPU ms sum of the same bytes", read, _READ, note),
        compared(ROWS[1], "CPU ms", ours, "CPU ms maximum of the same bytes", fastest),
        compared(ROWS[2], "CPU ms", ours, "CPU ms faiss IndexFlatIP", faiss),
    ]


class _Scorer:
    """Gives pictures seeded points; a single word has a score, which nobody asks for."""

    def __init__(self, store_folder: StoreFolder) -> None:
        self.model = save_model(store_folder.models, "words", {}, {"terms": np.ones(1, np.int64)})

    def scores(self, segment: OpenSegment) -> Scores:
        rows = np.zeros((1, len(segment.ids)), np.float32)
        return Scores(self.model, np.ones(1, np.int64), rows, {"pictures": _points(segment.ids)})


def _points(ids: NDArray[np.int64]) -> Float:
    rng = np.random.default_rng(int(ids[0]))
    return rng.standard_normal((len(ids), _DIMENSIONS), dtype=np.float32)


def _ids(n: int) -> list[NDArray[np.int64]]:
    firsts = range(0, n, MERGED_ROWS)
    return [np.arange(f, min(f + MERGED_ROWS, n), dtype=np.int64) + 1 for f in firsts]


def _store(folder: Path, n: int) -> tuple[StoreFolder, str]:
    store_folder = StoreFolder(folder)
    with Writer(store_folder, "bench") as writer:
        for ids in _ids(n):
            batch = Batch(ids, ((),) * len(ids), (b"",) * len(ids))
            writer.publish(Change(batches=[batch]), finished=False)
        scorer = _Scorer(store_folder)
        writer.publish_model(scorer, "bench", NoProgress())
    return store_folder, scorer.model


def _faiss_index(n: int) -> Any:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(_DIMENSIONS)
    for ids in _ids(n):
        index.add(_points(ids))
    return index


def _top(snapshot: Snapshot, name: str, weights: Float) -> Top:
    return snapshot.top(DenseQuery(name, weights), _K)


def _read_once(snapshot: Snapshot, name: str, how: np.ufunc) -> list[Any]:
    return [how.reduce(np.asarray(s.matrix(name)).reshape(-1)) for s in snapshot.segments]


def _check(snapshot: Snapshot, name: str, index: Any, queries: Float) -> None:
    for q in queries:
        top, (scores, rows) = _top(snapshot, name, q), index.search(q[None], _K)
        if not np.array_equal(top.ids, rows[0] + 1) or not np.allclose(top.scores, scores[0]):
            raise BenchmarkError(f"The best of all points differ: {top.ids} and {rows[0] + 1}.")
