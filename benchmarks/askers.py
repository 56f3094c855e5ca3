"""Clients of a server under test: many that ask as people do, and some that only hold on.

Each is a thread with a connection that stays open: 80 % searches, 15 % judgements, 5 % thumbnails.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.rows import BenchmarkError
from sightline.web.client import Client

QUERIES = ("cluster3", "cluster7 ten0", "ten2", "cluster21 -cluster3")
_DRIP_SECONDS = 1.0


@dataclass
class Load:
    """What clients saw: how long each success took, in ms, and how often each status came."""

    taken: list[float] = field(default_factory=list)
    statuses: Counter[object] = field(default_factory=Counter)
    seconds: float = 0.0

    def at(self, share: float) -> float:
        """Return the time within which a share of the answers came."""
        return float(np.percentile(self.taken, 100 * share))

    @property
    def each(self) -> float:
        """Milliseconds of the server's for each success: how many there were in the time."""
        return 1e3 * self.seconds / len(self.taken)

    @property
    def refused(self) -> int:
        """Number of requests that were rejected for now."""
        return self.statuses[429] + self.statuses[503]


def ask(client: Client, clients: int, seconds: float, *, searches_only: bool = False) -> Load:
    """Run clients for some seconds."""
    end = time.monotonic() + seconds
    return run_clients(client, clients, lambda: time.monotonic() < end, searches_only)


def run_clients(
    client: Client, clients: int, go_on: Callable[[], bool], searches_only: bool
) -> Load:
    load, lock = Load(), threading.Lock()

    def run(who: int) -> None:
        asker = Asker(client, random.Random(who), searches_only)
        while go_on():
            asker.ask()
        with lock:
            load.taken += asker.load.taken
            load.statuses += asker.load.statuses

    begun = time.monotonic()
    threads = [threading.Thread(target=run, args=(i,)) for i in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    load.seconds = time.monotonic() - begun
    return load


class Asker:
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
            status, _ = self._sent("/v1/search", {"query": self._chance.choice(QUERIES)})
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


def refuse(load: Load, allowed: set[object]) -> None:
    wrong = {s: n for s, n in load.statuses.items() if s not in allowed}
    if wrong or not load.taken:
        raise BenchmarkError(f"Under load these answers came: {wrong}.")


@contextlib.contextmanager
def slow_sockets(client: Client, n: int) -> Iterator[list[int]]:
    """Hold connections that send a byte a second: half never end a head, half never a body.

    Yield a list that counts, in the end, how often one was closed and opened again.
    """
    host, port = client.url.removeprefix("http://").rsplit(":", 1)
    shown = "".join(f"{k}: {v}\r\n" for k, v in client._headers().items())
    head = f"POST /v1/search HTTP/1.1\r\nHost: {host}:{port}\r\n{shown}".encode()
    body = head + b"Content-Type: application/json\r\nContent-Length: 99999\r\n\r\n"
    stop, again = threading.Event(), [0]
    held: list[socket.socket] = []

    def open_one(i: int) -> socket.socket:
        one = socket.create_connection((host, int(port)), timeout=60)
        one.sendall(body if i % 2 else head)
        return one

    def drip() -> None:
        while not stop.wait(_DRIP_SECONDS):
            for i, one in enumerate(held):
                try:
                    one.sendall(b"x")
                except OSError:
                    one.close()
                    again[0] += 1
                    held[i] = open_one(i)

    held += [open_one(i) for i in range(n)]
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield again
    finally:
        stop.set()
        thread.join()
        for one in held:
            one.close()
