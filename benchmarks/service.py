"""service: the collection over HTTP, alone, under load, and while it learns or grows.

A server in a process of its own; clients are threads here (`askers`). Clients and server share the
machine, so times are compared with each other. With 4 and 64 clients every answer must be a
success, with 256 a success, 429 or 503.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.askers import QUERIES, Load, ask, refuse, run_clients, slow_sockets
from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.stores import taught
from sightline.collection import Collection
from sightline.web.client import Client

NAME = "service"
ROWS = (
    "service/search", "service/clients-64", "service/throughput", "service/clients-256",
    "service/slow-sockets", "service/memory", "service/while-training", "service/while-indexing",
)  # fmt: skip
_SLOW = 200
# What is compared with an idle server is measured by turns, since other work comes and goes.
_PAIRS = 3


def measure(bench: Bench) -> list[Row]:
    """Ask one by one, then by many, then beside those who hold on, then while a job learns."""
    n, seconds = (2_000, 60.0) if bench.sizes == FULL else (600, 3.0)
    root, store_folder = taught(bench, n)
    c = Collection.open(root, store=store_folder.path)
    with serving(root, store_folder.path) as (client, pid):
        pairs = [_one_by_one(client, c) for _ in range(bench.sizes.repetitions + 1)][1:]
        rows = _many(client, seconds, n)
        rows.append(_slow(client, seconds / _PAIRS))
        training = _while_training(client, seconds / _PAIRS)
        before = _memory(pid)
        refuse(ask(client, 16, 10 * seconds), {200, 201})
        after = _memory(pid)
    still, growing = _while_indexing(bench, seconds)
    return [
        compared(ROWS[0], "wall ms, p50", [p[0] for p in pairs], "Collection.search in a process",
                 [p[1] for p in pairs]),
        *rows,
        compared(ROWS[5], "MB after", [after], "MB before", [before], Goal("ratio", 1.1),
                 f"16 clients for {10 * seconds:g} s"),
        training,
        compared(ROWS[7], "wall ms, p99", [growing.at(0.99)], "wall ms, p99, idle",
                 [still.at(0.99)], Goal("ratio", 3.0),
                 f"{len(growing.taken):,} searches while a job indexed"),
    ]  # fmt: skip


def _many(client: Client, seconds: float, n: int) -> list[Row]:
    """Ask by 4, 64 and 256 at once."""
    ask(client, 4, 1.0)
    few = ask(client, 4, seconds)
    many = ask(client, 64, seconds)
    for load in (few, many):
        refuse(load, {200, 201})
    most = ask(client, 256, min(seconds, 20.0))
    refuse(most, {200, 201, 429, 503})
    note = f"{n:,} pictures, {len(many.taken):,} answers in {seconds:g} s"
    return [
        alone(ROWS[1], "p99 / p50", [many.at(0.99) / many.at(0.5)], Goal("value", 4.0),
              f"{note}, p50 {many.at(0.5):.0f} ms, 0 errors"),
        compared(ROWS[2], "ms per answer, 64 clients", [many.each], "ms per answer, 4 clients",
                 [few.each], Goal("ratio", 1.25)),
        alone(ROWS[3], "share asked to come back", [most.refused / most.statuses.total()], None,
              f"{len(most.taken):,} successes, {most.refused:,} times 429 or 503, nothing else, "
              f"p50 {most.at(0.5):.0f} ms, p99 {most.at(0.99):.0f} ms"),
    ]  # fmt: skip


def _slow(client: Client, seconds: float) -> Row:
    """Search alone and while others hold connections and send a byte a second, by turns."""
    idle, beside, closed = [], [], 0
    for _ in range(_PAIRS):
        idle.append(ask(client, 1, seconds, searches_only=True))
        with slow_sockets(client, _SLOW) as again:
            beside.append(ask(client, 1, seconds, searches_only=True))
        closed += again[0]
    note = f"{_n(beside):,} searches beside {_SLOW} sockets, closed {closed:,} times"
    return _beside(ROWS[4], beside, idle, Goal("ratio", 2.0), note)


def _while_training(client: Client, seconds: float) -> Row:
    """Search alone and while a job trains, by turns."""
    idle, busy = [], []
    for _ in range(_PAIRS):
        idle.append(ask(client, 1, seconds, searches_only=True))
        busy.append(_while(client, client.start("train", rankers=["ridge"], dry_run=True).id))
    note = f"{_n(busy):,} searches while jobs trained"
    return _beside(ROWS[6], busy, idle, Goal("ratio", 3.0), note)


def _n(loads: Sequence[Load]) -> int:
    return sum(len(load.taken) for load in loads)


def _beside(name: str, busy: Sequence[Load], idle: Sequence[Load], goal: Goal, note: str) -> Row:
    for load in (*busy, *idle):
        refuse(load, {200})
    ours, theirs = ([load.at(0.99) for load in loads] for loads in (busy, idle))
    return compared(name, "wall ms, p99", ours, "wall ms, p99, idle", theirs, goal, note)


@contextlib.contextmanager
def serving(root: Path, store: Path) -> Iterator[tuple[Client, int]]:
    command = [sys.executable, "-m", "sightline", "serve", "-C", str(root), "--store", str(store)]
    server = subprocess.Popen(
        [*command, "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        line = server.stdout.readline() if server.stdout else b""
        at = json.loads(line)
        yield Client(at["url"], at["token"]), server.pid
    finally:
        server.terminate()
        server.communicate(timeout=30)


def _one_by_one(client: Client, c: Collection) -> tuple[float, float]:
    """Return the median time of a search over HTTP, and of the same in this process."""
    c.store_folder.fast = True
    over, here = [], []
    for query in QUERIES * 10:
        begun = time.perf_counter()
        served = client.search(query)
        over.append(1e3 * (time.perf_counter() - begun))
        begun = time.perf_counter()
        hits = c.search(query)
        here.append(1e3 * (time.perf_counter() - begun))
        if [h.id for h in served.hits] != [h.picture for h in hits]:
            raise BenchmarkError(f"The server and the collection differ on {query!r}.")
    return float(np.median(over)), float(np.median(here))


def _while_indexing(bench: Bench, seconds: float) -> tuple[Load, Load]:
    """Return searches in a collection of real files, idle and while a job adds as many again."""
    n = 1_000 if bench.sizes == FULL else 200
    folder = bench.fresh("growing")
    root, store = folder / "pictures", folder / "store"
    root.mkdir(parents=True)
    _draw(root, 0, n)
    c = Collection.open(root, store=store)
    c.index(features=["color", "edges"])
    c.train(rankers=["ridge"], force=True)
    with serving(root, store) as (client, _):
        ask(client, 1, 1.0, searches_only=True)
        idle = ask(client, 1, min(seconds, 20.0), searches_only=True)
        _draw(root, n, n)
        busy = _while(client, client.start("index").id)
    if (there := c.status().pictures) != 2 * n:
        raise BenchmarkError(f"The job left {there} pictures of {2 * n}.")
    return idle, busy


def _draw(root: Path, first: int, n: int) -> None:
    """Draw pictures that share a colour and words with every fortieth, in much noise."""
    from PIL import Image

    rng = np.random.default_rng(first)
    for i in range(first, first + n):
        k = i % 40
        colour = np.array([6 * k, 255 - 6 * k, (37 * k) % 256])
        pixels = np.clip(colour + rng.normal(0, 40, (480, 640, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(root / f"{i:05d}.jpg", quality=80)
        (root / f"{i:05d}.txt").write_text(f"cluster{k}, ten{k // 10}", encoding="utf-8")


def _while(client: Client, job: str) -> Load:
    """Search as long as a job runs."""
    ended = threading.Event()

    def wait() -> None:
        client.finish(job)
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    load = run_clients(client, 1, lambda: not ended.is_set(), True)
    thread.join()
    if client.job(job).state != "done":
        raise BenchmarkError(f"The job ended otherwise: {client.job(job).detail}")
    refuse(load, {200})
    return load


def _memory(pid: int) -> float:
    """Return how much memory a process has, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
