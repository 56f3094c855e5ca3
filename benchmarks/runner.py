"""Which benchmarks there are, and how they are run and reported."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from benchmarks import machine
from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Row
from sightline.contracts import Json

# Names are quoted in documents and compared over time: they never change.
SUBJECTS = (
    "index-throughput",
    "isolation-cost",
    "top-1m-128",
    "engines",
    "compact-lists",
    "describe",
    "extraction",
    "lbp",
    "descriptors",
    "codebook",
    "pamir",
    "pamir-growth",
    "online-ranking",
    "feedback-round",
    "feedback-shard",
    "lscmr-oracle",
    "lscmr-growth",
    "low-rank-pairs",
    "low-rank-query",
    "region-inference",
    "text-query",
    "sentence-query",
    "correction",
    "similar-query",
    "feedback-session",
    "replay",
    "service",
    "first-search",
    "page",
    "start-up",
    "restart-after-kill",
    "second-index",
    "cluster",
    "mixing",
    "growth",
    "train-growth",
    "train-ridge",
)


class Subject(Protocol):
    """A module with one benchmark: its name, the names of its rows, and how to measure them."""

    NAME: str
    ROWS: tuple[str, ...]

    def measure(self, bench: Bench) -> list[Row]: ...


def subject(name: str) -> Subject:
    """Return the module of a benchmark."""
    if name not in SUBJECTS:
        raise BenchmarkError(f"There is no benchmark {name!r}. Known: {', '.join(SUBJECTS)}.")
    return cast(Subject, importlib.import_module(f"benchmarks.{name.replace('-', '_')}"))


def run(names: Iterable[str], bench: Bench) -> list[Row]:
    """Run some benchmarks and return their rows."""
    rows: list[Row] = []
    for chosen in [subject(name) for name in names]:
        bench.say(chosen.NAME)
        begun = time.monotonic()
        measured = chosen.measure(bench)
        if tuple(r.name for r in measured) != chosen.ROWS:
            raise BenchmarkError(f"{chosen.NAME} gave other rows than it promises.")
        rows += measured
        bench.say(f"{chosen.NAME} took {time.monotonic() - begun:.0f} s")
    return rows


def report(rows: Sequence[Row], bench: Bench, *, quick: bool) -> dict[str, Json]:
    """Return everything as plain values, to be kept as JSON."""
    return {
        "quick": quick,
        "machine": machine.facts(bench.folder),
        "rows": [r.as_json() for r in rows],
    }
