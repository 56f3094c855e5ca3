"""service: the collection over HTTP, alone, under load, and while it learns or grows.

A server in a process of its own; clients are threads here, each with a connection that stays open:
80 % searches, 15 % judgements, 5 % thumbnails. Clients and server share the machine, so times are
compared with each other. With 256 clients every answer must be a success, 429 or 503.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.bench import FULL, Bench
from benchmarks.rows import BenchmarkError, Goal, Row, alone, compared
from benchmarks.stores import taught
from sightline.collection import Collection
from sightline.web.client import Client

NAME = "service"
ROWS = (
    "service/search", "service/clients-64", "service/memory", "service/while-training",
    "service/while-indexing",
)  # fmt: skip
_QUERIES = ("cluster3", "cluster7 ten0", "ten2", "cluster21 -cluster3")


@dataclass
class Load:
    """What clients saw: how long each success took, in ms, and how often each status came."""

    taken: list[float] = field(default_factory=list)
    statuses: Counter[object] = field(default_factory=Counter)

    def at(self, share: float) -> float:
        """Return the time within which a share of the answers came."""
        return float(np.percentile(self.taken, 100 * share))


def measure(bench: Bench) -> list[Row]:
    """Ask one by one, then by many, then while a job learns."""
    n, seconds = (2_000, 60.0) if bench.sizes == FULL else (600, 3.0)
    root, home = taught(bench, n)
    c = Collection.open(root, store=home.folder)
    with _server(root, home.folder) as (client, pid):
        pairs = [_one_by_one(client, c) for _ in range(bench.sizes.repetitions + 1)][1:]
        _ask(client, 4, 1.0)
        before = _memory(pid)
        many = _ask(client, 64, seconds)
        after = _memory(pid)
        _refuse(many, {200, 201})
        _refuse(_ask(client, 256, min(seconds, 10.0)), {200, 201, 429, 503})
        idle = _ask(client, 1, min(seconds, 20.0), searches_only=True)
        busy = _while(client, client.start("train", rankers=["ridge"], dry_run=True).id)
    still, growing = _while_indexing(bench, seconds)
    said = f"{n:,} pictures, {len(many.taken):,} answers in {seconds:g} s"
    return [
        compared(ROWS[0], "wall ms, p50", [p[0] for p in pairs], "Collection.search in a process",
                 [p[1] for p in pairs]),
        alone(ROWS[1], "p99 / p50", [many.at(0.99) / many.at(0.5)], Goal("value", 4.0),
              f"{said}, p50 {many.at(0.5):.0f} ms, 0 errors"),
        compared(ROWS[2], "MB after", [after], "MB before", [before], Goal("ratio", 1.1)),
        compared(ROWS[3], "wall ms, p99", [busy.at(0.99)], "wall ms, p99, idle", [idle.at(0.99)],
                 Goal("ratio", 3.0), f"{len(busy.taken):,} searches while a job trained"),
        compared(ROWS[4], "wall ms, p99", [growing.at(0.99)], "wall ms, p99, idle",
                 [still.at(0.99)], Goal("ratio", 3.0),
                 f"{len(growing.taken):,} searches while a job indexed"),
    ]  # fmt: skip


@contextlib.contextmanager
def _server(root: Path, store: Path) -> Iterator[tuple[Client, int]]:
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
    c.home.fast = True
    over, here = [], []
    for query in _QUERIES * 10:
        begun = time.perf_counter()
        found = client.search(query)
        over.append(1e3 * (time.perf_counter() - begun))
        begun = time.perf_counter()
        own = c.search(query)
        here.append(1e3 * (time.perf_counter() - begun))
        if [h.id for h in found.hits] != [h.picture for h in own]:
            raise BenchmarkError(f"The server and the collection differ on {query!r}.")
    return float(np.median(over)), float(np.median(here))


def _ask(client: Client, clients: int, seconds: float, *, searches_only: bool = False) -> Load:
    """Have clients ask for a while."""
    end = time.monotonic() + seconds
    return _asked(client, clients, lambda: time.monotonic() < end, searches_only)


def _asked(client: Client, clients: int, go_on: Callable[[], bool], searches_only: bool) -> Load:
    load, lock = Load(), threading.Lock()

    def run(who: int) -> None:
        mine = _Asker(client, random.Random(who), searches_only)
        while go_on():
            mine.ask()
        with lock:
            load.taken += mine.load.taken
            load.statuses += mine.load.statuses

    threads = [threading.Thread(target=run, args=(i,)) for i in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return load


class _Asker:
    """A client whose connection stays open."""

    def __init__(self, client: Client, chance: random.Random, searches_only: bool) -> None:
        host, _, port = client.url.removeprefix("http://").rpartition(":")
        self._connection = http.client.HTTPConnection(host, int(port), timeout=120)
        self._headers = {**client._headers(), "Content-Type": "application/json"}
        self._chance, self._searches_only, self._session = chance, searches_only, ""
        self.load = Load()

    def ask(self) -> None:
        """Ask one thing."""
        kind = 0.0 if self._searches_only else self._chance.random()
        begun = time.perf_counter()
        if kind < 0.8:
            status, _ = self._sent("/v1/search", {"query": self._chance.choice(_QUERIES)})
        elif kind >= 0.95:
            status, _ = self._sent(f"/v1/pictures/{self._chance.randrange(1, 500)}/thumbnail", None)
        elif self._session:
            judged = {"relevant": [self._chance.randrange(1, 500)]}
            status, _ = self._sent(f"/v1/sessions/{self._session}/judgements", judged)
        else:
            status, body = self._sent("/v1/sessions", {"query": "cluster1"})
            self._session = json.loads(body)["session"] if status == 201 else ""
        self.load.statuses[status] += 1
        if status in (200, 201):
            self.load.taken.append(1e3 * (time.perf_counter() - begun))

    def _sent(self, path: str, body: object) -> tuple[object, bytes]:
        data = None if body is None else json.dumps(body)
        self._connection.request("GET" if body is None else "POST", path, data, self._headers)
        reply = self._connection.getresponse()
        return reply.status, reply.read()


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
    with _server(root, store) as (client, _):
        _ask(client, 1, 1.0, searches_only=True)
        idle = _ask(client, 1, min(seconds, 20.0), searches_only=True)
        _draw(root, n, n)
        busy = _while(client, client.start("index").id)
    if (there := c.state().pictures) != 2 * n:
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
    load = _asked(client, 1, lambda: not ended.is_set(), True)
    thread.join()
    if client.job(job).state != "done":
        raise BenchmarkError(f"The job ended otherwise: {client.job(job).detail}")
    _refuse(load, {200})
    return load


def _refuse(load: Load, allowed: set[object]) -> None:
    wrong = {s: n for s, n in load.statuses.items() if s not in allowed}
    if wrong or not load.taken:
        raise BenchmarkError(f"Under load these answers came: {wrong}.")


def _memory(pid: int) -> float:
    """Return how much memory a process has, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
