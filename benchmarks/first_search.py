"""first-search: what the first client of a started server waits for.

A fresh `sightline serve` for each figure, asked as soon as it says that it is ready: a search by
words whose hits are predicted, `similar`, and the first round of a session. Beside each stands the
same request once it has been answered ten times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.service import serving
from benchmarks.stores import taught
from sightline.web.client import Client

NAME = "first-search"
ROWS = ("first-search/words", "first-search/similar", "first-search/session", "first-search/ready")
_GOAL = Goal("value", 100.0)
_WORDS, _TIMES = "cluster3", 10
_REQUESTS: tuple[Callable[[Client], object], ...] = (
    lambda client: client.search(_WORDS, k=20, cut=False),
    lambda client: client.similar(5, k=20),
    lambda client: client.begin(_WORDS),
)


def measure(bench: Bench) -> list[Row]:
    """Start a server for each request, as often as there are repetitions."""
    n = 10_000 if bench.sizes == FULL else 1_000
    root, store_folder = taught(bench, n)
    ready: list[float] = []
    rows = []
    for name, request in zip(ROWS, _REQUESTS, strict=False):
        both = [
            _first_and_later(root, store_folder.path, request, ready)
            for _ in range(bench.sizes.repetitions)
        ]
        first, later = zip(*both, strict=True)
        beside = "wall ms, p50 of later ones"
        rows.append(compared(name, "wall ms", first, beside, later, _GOAL, f"{n:,} pictures"))
    return [*rows, alone(ROWS[3], "wall s to the ready line", ready)]


def _first_and_later(
    root: Path, store: Path, request: Callable[[Client], object], ready: list[float]
) -> tuple[float, float]:
    begun = time.perf_counter()
    with serving(root, store) as (client, _):
        ready.append(time.perf_counter() - begun)
        taken = []
        for _ in range(1 + _TIMES):
            begun = time.perf_counter()
            hits = getattr(request(client), "hits", ())
            taken.append(1e3 * (time.perf_counter() - begun))
            if len(hits) != 20:
                raise BenchmarkError(f"A started server returned {len(hits)} hits, not 20.")
    return taken[0], median(taken[1:])
