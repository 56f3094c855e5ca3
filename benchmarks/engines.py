"""engines: the 50 best of a million rows by cosine, by the flat scan, faiss and Milvus in turn.

Rows are those of Caltech-101 by `deep` on 128 axes, repeated with noise to a million (tiled and
perturbed, as there are no million pictures here); without data, Gaussian rows around 2,000 centres.
Queries are rows perturbed anew and the weights that judging sessions come to. Filters leave every
second and every hundredth picture, drawn at random. Each answers twenty queries, then the next one
does. Wall time on one thread, Milvus' own aside.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench
from benchmarks.real_sessions import real_sessions
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.stores import of_rows
from sightline.errors import SightlineError
from sightline.progress import NoProgress
from sightline.records import DenseQuery
from sightline.store.engines import faiss_files
from sightline.store.engines.candidates import Engine
from sightline.store.engines.faiss_ivf import FaissEngine
from sightline.store.engines.milvus_engine import MilvusEngine
from sightline.store.engines.milvus_load import load
from sightline.store.engines.milvus_tables import Tables
from sightline.store.engines.probing import Probes
from sightline.store.engines.tables import Measure
from sightline.store.folder import StoreFolder
from sightline.store.identity import create_identity
from sightline.store.snapshot import Snapshot
from sightline.testing.milvus import MilvusProcess

NAME = "engines"
_ENGINES = ("faiss", "milvus")
ROWS = (
    "engines/flat",
    *(f"engines/{e}{what}" for e in _ENGINES for what in ("", "-missed", "-half", "-hundredth")),
)
FEATURE = "bench-128"
_K = 50
_QUERIES = 200
_TURN = 20
_BY: tuple[Measure, ...] = ("cosine",)
_TIME, _MISSED, _FILTERED = Goal("ratio", 0.1), Goal("value", 0.05), Goal("value", 0.01)

Matrix = NDArray[np.float32]
Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers of one engine: seconds and ids, by filter and query."""

    seconds: list[list[float]]
    ids: list[list[Int]]


def measure(bench: Bench) -> list[Row]:
    """Build all engines over one store, then ask them in turn."""
    rows, queries, what = _workload(bench)
    (n, length), store_folder = rows.shape, of_rows(bench.fresh("engines"), rows, FEATURE)
    what = f"{what}, {length} numbers each"
    del rows
    random = np.random.default_rng(3)
    wheres = [None, *(np.sort(random.choice(n, n // s, replace=False)) + 1 for s in (2, 100))]
    with store_folder.reader() as reader, _server(bench) as server:
        flat = reader.snapshot
        built, faiss, faiss_probes = _faiss(store_folder, flat)
        loaded, milvus, milvus_probes = _milvus(store_folder, flat, server)
        sides = [_ask([flat, faiss, milvus], queries, w) for w in wheres]
        memory = server.memory()
    answers = [Answers([s[e].seconds[0] for s in sides], [s[e].ids[0] for s in sides])
               for e in range(3)]  # fmt: skip
    base, held = answers[0], f"{n} {what}; {len(queries)} queries"
    out = [
        alone(ROWS[0], "ms", _ms(base.seconds[0]), note=f"{held}; {_summary(base, 4 * n * length)}")
    ]
    costs = [(built, _size(store_folder.ivf), faiss_probes), (loaded, memory, milvus_probes)]
    for i, (seconds, size, probes) in enumerate(costs, 1):
        names = ROWS[4 * i - 3 : 4 * i + 1]
        how = f"{probes.plain} ({probes.filtered} with a filter) of {probes.lists} lists"
        note = f"built in {seconds:.0f} s; {_summary(answers[i], size)}, {how}"
        out += _rows(names, answers[i], base, note)
    return out


def _rows(names: Sequence[str], ours: Answers, flat: Answers, note: str) -> list[Row]:
    missed = [1 - np.mean([len(np.intersect1d(a, b)) / max(1, len(b))
                           for a, b in zip(our_ids, flat_ids, strict=True)])
              for our_ids, flat_ids in zip(ours.ids, flat.ids, strict=True)]  # fmt: skip
    percentiles = [
        f"p50 {_p(t, 50):.1f}, p99 {_p(t, 99):.1f} ms; the scan {_p(f, 50):.1f} and {_p(f, 99):.1f}"
        for t, f in zip(ours.seconds, flat.seconds, strict=True)
    ]
    return [
        compared(names[0], "ms", _ms(ours.seconds[0]), "ms flat scan", _ms(flat.seconds[0]), _TIME,
                 note),
        alone(names[1], "share", [float(missed[0])], _MISSED, "of the exact 50 best"),
        alone(names[2], "share", [float(missed[1])], _FILTERED, f"half the rows; {percentiles[1]}"),
        alone(names[3], "share", [float(missed[2])], _FILTERED, f"a hundredth; {percentiles[2]}"),
    ]  # fmt: skip


def _summary(answers: Answers, size: int) -> str:
    t = answers.seconds[0]
    speed = f"{len(t) / sum(t):.0f} queries/s"
    return f"p50 {_p(t, 50):.1f}, p99 {_p(t, 99):.1f} ms, {speed}, {size / 1e6:.0f} MB"


def _p(seconds: Sequence[float], share: float) -> float:
    return 1e3 * float(np.percentile(seconds, share))


def _ms(seconds: Sequence[float]) -> list[float]:
    return [1e3 * s for s in seconds]


def _size(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.iterdir())


def _ask(sides: Sequence[Snapshot], queries: Matrix, where: Int | None) -> list[Answers]:
    """Ask all sides in turn, some queries at a time; the first answer of each turn is left out.

    What serves has answered just before, while a scan of all rows leaves nothing else in the cache:
    asked query by query in turn, the others would be measured as they never are.
    """
    seconds: list[list[float]] = [[] for _ in sides]
    ids: list[list[Int]] = [[] for _ in sides]
    for first in range(0, len(queries), _TURN):
        turn = queries[first : first + _TURN]
        for side, snapshot in enumerate(sides):
            for i, weights in enumerate([turn[0], *turn]):
                begun = time.perf_counter()
                top = snapshot.top(DenseQuery(FEATURE, weights, "cosine"), _K, where)
                if i:
                    seconds[side].append(time.perf_counter() - begun)
                    ids[side].append(top.ids)
    for snapshot in sides:
        if snapshot.engine is not None and snapshot.engine.notice():
            raise BenchmarkError(f"{snapshot.engine.name}: {snapshot.engine.notice()}")
    return [Answers([s], [f]) for s, f in zip(seconds, ids, strict=True)]


def _served(snapshot: Snapshot, store_folder: StoreFolder, engine: Engine) -> Snapshot:
    other = Snapshot(store_folder.shards, store_folder.versions.read(snapshot.version))
    other.engine = engine
    engine.begin()
    return other


def _faiss(store_folder: StoreFolder, snapshot: Snapshot) -> tuple[float, Snapshot, Probes]:
    begun = time.perf_counter()
    (built,) = faiss_files.build(store_folder.ivf, snapshot.published, 1, NoProgress(), _BY)
    seconds = time.perf_counter() - begun
    return seconds, _served(snapshot, store_folder, FaissEngine(store_folder.ivf)), built.probes


def _server(bench: Bench) -> MilvusProcess:
    try:
        return MilvusProcess(bench.folder / "milvus", bench.folder / "milvus-program")
    except SightlineError as e:
        raise BenchmarkError(str(e)) from e


def _milvus(
    store_folder: StoreFolder, snapshot: Snapshot, server: MilvusProcess
) -> tuple[float, Snapshot, Probes]:
    store, tables = create_identity(store_folder.path), Tables(server.uri)
    begun = time.perf_counter()
    done = load(tables, store, snapshot.published, set(), NoProgress(), measures=_BY, listed_rows=1)
    tables.close()
    seconds = time.perf_counter() - begun
    served = _served(snapshot, store_folder, MilvusEngine(server.uri, lambda: store, _BY))
    return seconds, served, done.tables[0].probes


def _workload(bench: Bench) -> tuple[Matrix, Matrix, str]:
    """Return rows, queries of both kinds, and what they are."""
    n, random = bench.sizes.vectors, np.random.default_rng(17)
    real = None if bench.data is None else real_sessions(bench.data, _QUERIES, "deep")
    if real is not None:
        half = min(_QUERIES // 2, len(real))
        chosen = real.rows[random.choice(len(real.rows), half, replace=False)]
        noise = random.standard_normal(chosen.shape, dtype=np.float32)
        learnt = np.stack([real.weights(i) for i in range(half)]).astype(np.float32)
        queries = np.concatenate([chosen * (1 + np.float32(0.1) * noise), learnt])
        return real.repeated(n), queries, "rows of Caltech-101 (deep, reduced), tiled and perturbed"
    centres = random.standard_normal((2_000, 128), dtype=np.float32)
    rows = centres[random.integers(2_000, size=n)]
    rows += np.float32(0.7) * random.standard_normal(rows.shape, dtype=np.float32)
    drawn = rows[random.choice(n, _QUERIES, replace=False)]
    return rows, drawn, "Gaussian rows around 2,000 centres"
