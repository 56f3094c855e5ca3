"""Servers for tests: on a free port of this machine, in a thread, ended with the test."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.testing import watchdog
from sightline.web.client import Client
from sightline.web.hosts import WebOrigin
from sightline.web.limits import Limits
from sightline.web.server import Address, serve
from sightline.web.service import Service
from tests.factories.photos import paint
from tests.waiting import LIMIT, joined

# A job process whose training waits before it publishes, until it is cancelled.
_HELD = """
import signal
from sightline.store.writer import Writer
from sightline.web import work
def publish_model(self, *args):
    signal.pause()
Writer.publish_model = publish_model
work.main()
"""


def hold_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings that servers start wait before they publish, until they are cancelled."""
    start_process = subprocess.Popen

    def popen(command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        assert command[1:] == ["-m", "sightline.web.work"]
        return start_process([command[0], "-c", _HELD], **more)

    monkeypatch.setattr(subprocess, "Popen", popen)


@dataclass(frozen=True)
class Served:
    """A server that is running, and a client for it."""

    service: Service
    address: Address
    client: Client

    @property
    def port(self) -> int:
        return int(self.address.url.rpartition(":")[2])

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request with the token; headers given here replace it, or are left out if ''."""
        all_headers = {
            "Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.service.token}",
            "Connection": "close", **(headers or {}),
        }  # fmt: skip
        if body or method in ("POST", "PUT", "PATCH"):
            all_headers.setdefault("Content-Type", "application/json")
            all_headers.setdefault("Content-Length", str(len(body)))
        lines = [f"{k}: {v}" for k, v in all_headers.items() if v]
        head = f"{method} {path} HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n"
        return self.raw(head.encode("latin-1") + body)

    def post(self, path: str, body: object, **headers: str) -> Reply:
        """Send JSON with the token."""
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        return self.ask("POST", path, json.dumps(body).encode(), named)

    def ask_many(
        self, requests: Iterable[tuple[str, object]], method: str = "POST"
    ) -> Iterator[tuple[int, bytes]]:
        """Send requests one after another over one connection, and yield status and body of each.

        Bodies are sent as JSON, or not at all where they are None.
        """
        headers = {
            "Authorization": f"Bearer {self.service.token}",
            "Content-Type": "application/json",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        with contextlib.closing(connection):
            for path, body in requests:
                data = None if body is None else json.dumps(body)
                connection.request(method, path, data, headers)
                reply = connection.getresponse()
                yield reply.status, reply.read()

    def raw(self, data: bytes) -> Reply:
        """Send bytes as they are and read all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT) as s:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                s.sendall(data)
            received = bytearray()
            with contextlib.suppress(ConnectionResetError):
                while block := s.recv(65536):
                    received += block
        return Reply.of(bytes(received))


@dataclass(frozen=True)
class Reply:
    """What a server sent back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, data: bytes) -> Reply:
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        if headers.get("transfer-encoding") == "chunked":
            body = _unchunked(body)
        return cls(int(first.split()[1]) if first else 0, headers, body)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem; it must be one."""
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status and self.json["title"] and self.json["detail"]
        assert self.json["type"] == f"urn:sightline:problem:{self.json['code']}"
        return str(self.json["code"])


def _unchunked(data: bytes) -> bytes:
    out = bytearray()
    while data:
        size, _, rest = data.partition(b"\r\n")
        n = int(size, 16)
        out += rest[:n]
        data = rest[n + 2 :] if n else b""
    return bytes(out)


@contextlib.contextmanager
def running(
    c: Collection, limits: Limits | None = None, origins: Sequence[str] = ()
) -> Iterator[Served]:
    """Serve a collection while a test runs, behind proxies that show it at some origins."""
    with listening(Service(c, limits=limits), origins) as served:
        yield served


@contextlib.contextmanager
def listening(service: Any, origins: Sequence[str] = ()) -> Iterator[Served]:
    """Serve a collection, or several, while a test runs."""
    ready: queue.Queue[Any] = queue.Queue()
    thread = threading.Thread(
        target=serve, args=(service, "127.0.0.1", 0, (), [WebOrigin.of(o) for o in origins]),
        kwargs={"ready": lambda *a: ready.put(a)},
    )  # fmt: skip
    thread.start()
    address, server = ready.get(timeout=LIMIT)
    try:
        yield Served(service, address, Client(address.url, address.token, LIMIT))
    finally:
        server.should_exit = True
        assert joined(thread)


class Process:
    """A server in a process of its own, after some lines of Python were run in it."""

    def __init__(self, c: Collection, before: str = "") -> None:
        watchdog.watched()
        run = f"{before}\nimport sys\nfrom sightline.cli import main\nmain(sys.argv[1:])"
        where = ["-C", os.fsdecode(c.root), "--store", str(c.store_folder.path)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", run, "serve", *where, "--port", "0", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self.process.stdout is not None
        at = json.loads(self.process.stdout.readline())
        self.token = str(at["token"])
        self.client = Client(at["url"], self.token, LIMIT)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.kill()

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait(LIMIT)
        assert self.process.stdout is not None
        self.process.stdout.close()


def painted(
    folder: Path, *, train: bool = True, n: int = 90, features: Sequence[str] = ("color", "edges")
) -> Collection:
    """Return a collection of coloured pictures in two folders, most with words, and a model."""
    for name in ("photos", "photos/late"):
        (folder / name).mkdir(parents=True)
    paint(folder / "photos", n, True, 0)
    paint(folder / "photos" / "late", 12, False, 1, start=n)
    c = Collection.open(folder / "photos", store=folder / "store", workers=1)
    c.index(features=features, compute=InlineCompute())
    if train:
        c.train(rankers=["cca"])
    return c


def grow(c: Collection, start: int = 500) -> None:
    """Add a picture to a collection, which publishes a version."""
    paint(Path(c.root.decode()), 1, True, start, start=start)
    c.index(compute=InlineCompute())
