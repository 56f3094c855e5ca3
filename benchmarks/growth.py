"""growth: what one more picture costs, in a small collection and in larger ones.

CPU time divided by the number of pictures, at several sizes measured in turn; the ratio is that of
the largest to the smallest. Workers are warm, so that their start does not flatter large sizes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import stores
from benchmarks.bench import Bench
from benchmarks.pictures import collection
from benchmarks.rows import BenchmarkError, Goal, Row, curve
from benchmarks.timing import Cost, clocked, cpus, interleaved
from sightline.collection import Collection
from sightline.collection.models.training import TrainOptions, train
from sightline.compute.local import LocalCompute
from sightline.progress import NoProgress

NAME = "growth"
ROWS = ("growth/index", "growth/search", "growth/words", "growth/train")
_GOAL = Goal("ratio", 1.1)
_SEARCHES = 20


def measure(bench: Bench) -> list[Row]:
    """Index, search what was indexed, and search larger synthetic stores."""
    sizes, repetitions = bench.sizes.growth, bench.sizes.repetitions
    folders = [collection(bench, n) for n in sizes]
    with LocalCompute() as pool:
        indexed = interleaved(repetitions, [_indexing(bench, f, pool) for f in folders])
    searched = interleaved(repetitions, [_searching(_indexed(bench, f)) for f in folders])
    larger = bench.sizes.queries
    by_words = interleaved(repetitions, [_searching_words(bench, n) for n in larger])
    taught = tuple(3 * n for n in sizes)
    trained = interleaved(repetitions, [_training(bench, n) for n in taught])
    return [
        _curve(ROWS[0], sizes, indexed, 1),
        _curve(ROWS[1], sizes, searched, _SEARCHES),
        _curve(ROWS[2], larger, by_words, _SEARCHES),
        _curve(ROWS[3], taught, trained, 1),
    ]


def _indexing(bench: Bench, folder: Path, pool: LocalCompute) -> Callable[[], Cost]:
    def index() -> Cost:
        store = bench.fresh("growth")
        c = Collection.open(folder, store)
        cost = clocked(lambda: c.index(compute=pool))
        shutil.rmtree(store)
        return cost

    return index


def _indexed(bench: Bench, folder: Path) -> Collection:
    c = Collection.open(folder, bench.fresh("grown"))
    c.index()
    return c


def _searching(
    c: Collection, queries: Sequence[str] = ("tree", "snow river")
) -> Callable[[], Cost]:
    def search() -> None:
        for i in range(_SEARCHES):
            if not c.search(queries[i % len(queries)]).hits:
                raise BenchmarkError("A search found nothing.")

    return lambda: clocked(search)


def _searching_words(bench: Bench, n: int) -> Callable[[], Cost]:
    root, store_folder = stores.worded(bench, n)
    w = stores.vocabulary(bench.sizes.vocabulary)
    queries = (w[0], w[10], w[100], f"{w[0]} {w[5]}", f"{w[3]} {w[30]} {w[300]}")
    return _searching(Collection.open(root, store_folder.path), queries)


def _training(bench: Bench, n: int) -> Callable[[], Cost]:
    store_folder = stores.planted(bench, n)

    def run() -> None:
        report = train(store_folder, TrainOptions(("pamir",), force=True), 0.0, NoProgress())
        if report.proof.candidate < 2 * report.proof.baseline:
            raise BenchmarkError(f"Training learnt nothing: {report.proof}.")

    return lambda: clocked(run)


def _curve(name: str, sizes: Sequence[int], taken: list[list[Cost]], times: int) -> Row:
    each = [
        [1e6 * s / (n * times) for s in cpus(costs)] for n, costs in zip(sizes, taken, strict=True)
    ]
    return curve(name, "CPU µs/picture", sizes, "pictures", each, _GOAL)
