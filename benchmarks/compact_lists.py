"""compact-lists: the 50 best of very many rows of 256 numbers, by faiss' lists of rounded rows.

Rows are those of Caltech-101 by `deep`, on 256 axes, repeated with noise (tiled and perturbed:
there are no ten million pictures here); without data, Gaussian rows around 2,000 centres. Half of
the queries are rows perturbed anew, half the weights that judging sessions come to. The
store holds the rows as float32, mapped; the lists hold them as bytes, and name candidates that the
store's rows rank. Beside them stands an exact ranking of all rows by products in float32. One
thread. `--ten-million` has ten million rows, 13 GB of disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.real_sessions import RealSessions, real_rows
from benchmarks.rows import BenchmarkError, Goal, Row, alone
from sightline.progress import NoProgress
from sightline.records import Batch, DenseQuery, FeatureRows
from sightline.similarity.scaling import COMPACT, FeatureScaling
from sightline.store.engines import faiss_files
from sightline.store.engines.faiss_ivf import FaissEngine
from sightline.store.engines.flat import Best
from sightline.store.folder import StoreFolder
from sightline.store.segments import MERGED_ROWS
from sightline.store.writer import Change, Writer

NAME = "compact-lists"
ROWS = (
    "compact-lists/p50", "compact-lists/p99", "compact-lists/missed", "compact-lists/bytes",
    "compact-lists/build",
)  # fmt: skip
FEATURE = "bench-256"
_LENGTH, _K, _QUERIES, _WARM = 256, 50, 220, 20
_NOISE = np.float32(0.1)
_P99, _MISSED, _BYTES = Goal("value", 50.0), Goal("value", 0.03), Goal("value", 320.0)

Matrix = NDArray[np.float32]
Int = NDArray[np.int64]


class _Workload:
    """Unit rows block by block, and queries."""

    def __init__(self, bench: Bench) -> None:
        self.n, random = bench.sizes.listed, np.random.default_rng(17)
        real = None if bench.data is None else real_rows(bench.data, "deep")
        if real is None:
            self.what = "Gaussian rows around 2,000 centres"
            self.base = _unit(random.standard_normal((2_000, _LENGTH), dtype=np.float32))
            self.spread = np.float32(0.7 / np.sqrt(_LENGTH))
            weights = self.base[:0]
        else:
            self.what = "rows of Caltech-101 (deep, compact), tiled and perturbed"
            scaled = np.asarray(FeatureScaling.of(COMPACT, real[0])(real[0]), np.float32)
            self.base, self.spread = scaled, np.float32(0)
            sessions = RealSessions(scaled, real[1], _QUERIES // 2)
            weights = np.stack([sessions.weights(i) for i in range(len(sessions))])
        drawn = self.base[random.choice(len(self.base), _QUERIES - len(weights))]
        self.queries = np.concatenate([self._noisy(random, drawn), weights]).astype(np.float32)
        random.shuffle(self.queries)

    def _noisy(self, random: np.random.Generator, rows: Matrix) -> Matrix:
        noise = random.standard_normal(rows.shape, dtype=np.float32)
        return _unit(rows + noise * (self.spread if self.spread else _NOISE * np.abs(rows)))

    def blocks(self) -> Iterator[tuple[int, Matrix]]:
        """Yield the first id of each block and its rows."""
        for first in range(0, self.n, MERGED_ROWS):
            random = np.random.default_rng([31, first])
            at = np.arange(first, min(self.n, first + MERGED_ROWS)) % len(self.base)
            yield first + 1, self._noisy(random, self.base[at])


def measure(bench: Bench) -> list[Row]:
    """Write the store, rank exactly on the way, build the lists and ask them."""
    work, folder = _Workload(bench), bench.fresh("compact")
    best = [Best(_K) for _ in work.queries]
    store_folder = StoreFolder(folder)
    with Writer(store_folder, "bench") as writer:
        for first, rows in work.blocks():
            ids = np.arange(first, first + len(rows), dtype=np.int64)
            _offer(best, ids, rows, work.queries)
            nothing = ((),) * len(ids), (b"",) * len(ids)
            batch = Batch(ids, *nothing, (FeatureRows(FEATURE, rows),))
            writer.publish(Change(batches=[batch]), finished=False)
        writer.publish(Change(), finished=True)
    bench.say(f"{work.n:,} rows are written")
    store_folder.engine, store_folder.listed_rows = "faiss", 1
    store_folder.fast = True
    store_folder.quantised_bytes = 0
    with store_folder.reader() as reader:
        begun = time.perf_counter()
        p = reader.snapshot.published
        (built,) = faiss_files.build(store_folder.ivf, p, 1, NoProgress(), ("cosine",))
        seconds = time.perf_counter() - begun
        bench.say(f"lists are built in {seconds:.0f} s")
        taken, shares = [], []
        for weights, exact in zip(work.queries, best, strict=True):
            query = DenseQuery(FEATURE, weights, "cosine")
            begun = time.perf_counter()
            top = reader.snapshot.top(query, _K)
            taken.append(1e3 * (time.perf_counter() - begun))
            shares.append(len(np.intersect1d(top.ids, exact.top().ids)) / _K)
        engine = reader.snapshot.engine
        if not isinstance(engine, FaissEngine) or engine.notice():
            raise BenchmarkError(f"The lists did not answer: {reader.notice()}")
    size = sum(f.stat().st_size for f in store_folder.ivf.iterdir()) / work.n
    probes = built.probes
    note = f"{work.n:,} {work.what}, {_LENGTH} numbers; {len(taken)} queries, "
    note += f"{probes.plain} of {probes.lists} lists"
    return [
        alone(ROWS[0], "wall ms", [float(np.percentile(taken[_WARM:], 50))], note=note),
        alone(ROWS[1], "wall ms", [float(np.percentile(taken[_WARM:], 99))], _P99),
        alone(ROWS[2], "share", [1 - float(np.mean(shares))], _MISSED, "of the exact 50 best"),
        alone(ROWS[3], "bytes a row in lists", [size], _BYTES),
        alone(ROWS[4], "wall µs a row", [1e6 * seconds / work.n]),
    ]


def _offer(best: list[Best], ids: Int, rows: Matrix, queries: Matrix) -> None:
    """Offer a block to the exact ranking of every query."""
    products = queries @ rows.T
    for b, scores in zip(best, products, strict=True):
        at = np.flatnonzero(scores >= b.threshold)
        b.offer(ids[at], scores[at])


def _unit(rows: Matrix) -> Matrix:
    lengths = np.sqrt(np.vecdot(rows, rows))
    return np.asarray(rows / np.maximum(lengths, np.float32(1e-9))[:, None], np.float32)
