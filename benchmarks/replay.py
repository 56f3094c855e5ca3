"""replay: how fast the log gives back what was judged.

Judgements of sessions of 180 pictures, a tenth of their marks taken back and a tenth of the
sessions reverted, are read, checked and put in canonical order, as every training begins. Beside
it, SQLite reads the same rows and nothing is done with them.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError, Row, alone, compared
from sightline.contracts import Json
from sightline.store.events import EventLog, NewEvent

NAME = "replay"
ROWS = ("replay/judgements", "replay/events-a-second")
_SESSION, _MARK = 180, 20


def measure(bench: Bench) -> list[Row]:
    """Write a log once, and replay it again and again."""
    n = bench.sizes.worded
    path = bench.once(f"judged-{n}", lambda folder: _written(folder / "events.sqlite3", n))
    ours, plain = [], []
    with contextlib.closing(EventLog(path, write=False)) as log:
        expected = len(log.judgements())
        for _ in range(bench.sizes.repetitions):
            begun = time.perf_counter()
            if len(log.judgements()) != expected or not 0 < expected < n:
                raise BenchmarkError(f"{expected} of {n} judgements stand.")
            ours.append(1e6 * (time.perf_counter() - begun) / n)
            begun = time.perf_counter()
            rows = log._db.execute("SELECT * FROM events WHERE kind='judged'").fetchall()
            plain.append(1e6 * (time.perf_counter() - begun) / len(rows))
    note = f"{n:,} judgements, of which {expected:,} stand"
    return [
        compared(ROWS[0], "wall µs an event", ours, "wall µs, sqlite3 reads the row", plain, None,
                 note),
        alone(ROWS[1], "events a second", [1e6 / us for us in ours], note=note),
    ]  # fmt: skip


def _written(path: Path, n: int) -> Path:
    with contextlib.closing(EventLog(path, write=True)) as log:
        for first in range(0, n, _SESSION):
            number = first // _SESSION
            session = f"session-{number}"
            log.append([_judged(number, i) for i in range(min(_SESSION, n - first))])
            if number % 10 == 1:
                body: dict[str, Json] = {"session": session}
                log.append([NewEvent("session-reverted", None, body, session)])
            else:
                log.append([NewEvent("mark-undone", None, {"mark": "0"}, session)])
    return path


def _judged(number: int, i: int) -> NewEvent:
    body: dict[str, Json] = {
        "query": f"word{number % 500}", "relevance": float(i % 3 == 0), "source": "session",
        "round": 1 + i // _MARK, "mark": str(i // _MARK), "like": [], "version": 7,
        "feature": "deep-000000000000", "model": "words-000000000000",
    }  # fmt: skip
    return NewEvent("judged", 1 + (number * 7_919 + i * 31) % 1_000_000, body, f"session-{number}")
