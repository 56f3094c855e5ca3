"""index-throughput: pictures a second from a folder to a published, durable version.

A run decodes, hashes, reads words, makes thumbnails and publishes, in limited worker processes.
The limit beside it reads and decodes the same files in this process, and does nothing else.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import simplejpeg

from benchmarks.bench import Bench
from benchmarks.pictures import Folder, real_or_synthetic
from benchmarks.rows import BenchmarkError, Row, alone, compared
from benchmarks.timing import Cost, clocked, cpus, interleaved, walls
from sightline.collection import Collection

NAME = "index-throughput"
ROWS = (
    "index-throughput/one-worker",
    "index-throughput/all-cores",
    "index-throughput/per-core",
    "index-throughput/cpu",
)
_DECODE = "pictures/s read and decoded only, one core"


def measure(bench: Bench) -> list[Row]:
    """Index the same folder anew with one worker and with one for each core."""
    folder = real_or_synthetic(bench)
    cores = len(os.sched_getaffinity(0))
    files = sorted(folder.path.rglob("*.jpg"))
    one, every, limit = interleaved(
        bench.sizes.repetitions,
        [
            lambda: _index(bench, folder, 1),
            lambda: _index(bench, folder, cores),
            lambda: clocked(lambda: _decode(files)),
        ],
    )
    n = folder.pictures
    decoded = _rates(n, walls(limit))
    rates = _rates(n, walls(every))
    per_core = [r / cores for r in rates]
    spent, least = ([1e3 * s / n for s in cpus(c)] for c in (every, limit))
    about = f"{folder.what}; {cores} cores"
    return [
        compared(ROWS[0], "pictures/s", _rates(n, walls(one)), _DECODE, decoded, note=about),
        alone(ROWS[1], "pictures/s", rates),
        compared(ROWS[2], "pictures/s", per_core, _DECODE, decoded),
        compared(ROWS[3], "CPU ms/picture", spent, "CPU ms/picture read and decoded only", least),
    ]


def _index(bench: Bench, folder: Folder, workers: int) -> Cost:
    store = bench.fresh("throughput")
    c = Collection.open(folder.path, store, workers=workers, folder_words=True)
    indexed: list[int] = []
    cost = clocked(lambda: indexed.append(c.index().indexed))
    shutil.rmtree(store)
    if indexed != [folder.pictures]:
        raise BenchmarkError(f"{indexed} pictures were indexed, not {folder.pictures}.")
    return cost


def _decode(files: Sequence[Path]) -> None:
    for path in files:
        simplejpeg.decode_jpeg(path.read_bytes(), "RGB")


def _rates(n: int, seconds: Sequence[float]) -> list[float]:
    return [n / s for s in seconds]
