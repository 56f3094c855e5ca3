"""cluster: what a Ray cluster on this machine costs, and what a second worker gains.

The same index and the same training run under `compute.local` with one worker, on a cluster of one
worker and on one of two. Each is warmed by a smaller run of its own, so that neither starting
processes nor loading what they need is counted; what joining takes is a row by itself. The ideal of
two workers is half the time of one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.pictures import synthetic
from benchmarks.rows import BenchmarkError, Row, alone, compared
from sightline.collection import Collection
from sightline.collection.models.training import TrainOptions, train
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute
from sightline.progress import NoProgress
from sightline.store.folder import StoreFolder

NAME = "cluster"
ROWS = (
    "cluster/join",
    "cluster/index-overhead",
    "cluster/index-two-workers",
    "cluster/train-overhead",
    "cluster/train-two-workers",
)
_FEATURES = ["color", "gist", "gabor"]
_RANKERS = ("pamir", "ridge", "neighbours", "warp")
_WARM = 40


def measure(bench: Bench) -> list[Row]:
    """Index and train by one worker here, one there, and two there, in turn."""
    if importlib.util.find_spec("ray") is None:
        raise BenchmarkError("It needs Ray: pip install 'sightline[ray]'")
    n = bench.sizes.synthetic
    photos = bench.once("cluster-photos", lambda f: synthetic(f, n, (256, 192), words=True))
    few = bench.once("cluster-few", lambda f: synthetic(f, _WARM, (256, 192), words=True))
    sides: tuple[Callable[[], contextlib.AbstractContextManager[Compute]], ...] = (
        lambda: LocalCompute(1), lambda: _cluster(1), lambda: _cluster(2)
    )  # fmt: skip
    index: list[list[float]] = [[], [], []]
    learn: list[list[float]] = [[], [], []]
    joins: list[float] = []
    for _ in range(bench.sizes.repetitions):
        for side, make in enumerate(sides):
            begun = time.perf_counter()
            with make() as compute:
                if side == 1:
                    joins.append(time.perf_counter() - begun)
                _indexed(bench, few, compute)
                store_folder, seconds = _indexed(bench, photos, compute)
                index[side].append(seconds)
                learn[side].append(_trained(store_folder, None if side == 0 else compute))
    note = (
        f"{n} synthetic JPEGs of 256×192, features {', '.join(_FEATURES)}; load and cores as said"
    )
    two = f"{os.cpu_count()} cores; the ideal is .5"
    learnt = f"{', '.join(_RANKERS)} tried, proven and served"
    return [
        alone("cluster/join", "s", joins, note="starting a cluster of our own and looking at it"),
        compared(ROWS[1], "s on Ray", index[1], "s by one worker here", index[0], None, note),
        compared(ROWS[2], "s by two", index[2], "s by one on Ray", index[1], None, two),
        compared(ROWS[3], "s on Ray", learn[1], "s in this process", learn[0], None, learnt),
        compared(ROWS[4], "s by two", learn[2], "s by one on Ray", learn[1], None, two),
    ]


@contextlib.contextmanager
def _cluster(workers: int) -> Iterator[Compute]:
    from sightline.compute.ray_cluster import RayCompute

    with RayCompute(workers=workers) as compute:
        yield compute


def _indexed(bench: Bench, photos: Path, compute: Compute) -> tuple[StoreFolder, float]:
    collection = Collection.open(photos, store=bench.fresh("cluster-store"))
    begun = time.perf_counter()
    report = collection.index(features=_FEATURES, compute=compute)
    seconds = time.perf_counter() - begun
    if report.skipped or report.problems or not report.indexed:
        raise BenchmarkError(f"{len(report.skipped)} of {report.seen} pictures were skipped.")
    return collection.store_folder, seconds


def _trained(store_folder: StoreFolder, compute: Compute | None) -> float:
    begun = time.perf_counter()
    train(store_folder, TrainOptions(rankers=_RANKERS, force=True), 0.0, NoProgress(), compute)
    return time.perf_counter() - begun
