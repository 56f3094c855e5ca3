"""How much is taken on: bodies, answers, listeners and connections, and what is said beyond it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fastapi.responses import StreamingResponse
from PIL import Image

from sightline.collection import Collection
from sightline.collection.pictures import Pictures
from sightline.compute.inline import InlineCompute
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute
from sightline.web.answers import Message
from sightline.web.app import guarded
from sightline.web.client import ServiceError
from sightline.web.guard import UPLOADS
from sightline.web.hosts import Hosts
from sightline.web.jobs import ServerJob
from sightline.web.limits import Limits
from sightline.web.routes.pictures import original
from sightline.web.service import Service
from sightline.web.serving.connection import room_for
from tests.factories.servers import Process, Reply, Served, painted, running
from tests.waiting import LIMIT, until


def test_slow_bodies_are_given_up(tmp_path: Path) -> None:
    with running(painted(tmp_path, train=False, n=6), Limits(body_seconds=0.05)) as s:
        reply = s.ask("POST", "/v1/search", b"{", {"Content-Length": "100"})
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (408, "slow", "5")
        # On a busy machine any body could be that slow.
        s.service.limits = Limits()
        assert s.client.search("red").hits


def test_too_much_at_once_is_said_and_when_to_come_back(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=6)
    with running(c, Limits(waiting=0)) as s:
        reply = s.ask("GET", "/v1/health")
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (503, "overload", "1")
    with running(c, Limits(uploads=0, jobs=0)) as s:
        picture = {"Content-Type": "image/png"}
        for path in UPLOADS:
            reply = s.ask("POST", f"{path}?query=red", b"x", picture)
            assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "uploads", "2")
        reply = s.post("/v1/jobs", {"verb": "index"})
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "jobs", "10")
    with running(c, Limits(streams=1)) as s:
        # A job that never ends, so that whoever listens to it stays.
        s.service.jobs._jobs["waits"] = ServerJob("waits", "index", {})
        path = "/v1/jobs/waits/events"
        first = s.client.follow("waits")
        s.service.jobs.get("waits").tell("queued")
        assert next(first)[0] == "queued"
        reply = s.ask("GET", path)
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (429, "streams", "5")
        s.service.jobs.get("waits").end("done")
        assert [kind for kind, _ in first] == ["end"]
        # The place is free again.
        assert s.ask("GET", path).status == 200


def test_uploads_have_the_time_limit_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "config.toml").write_text("seconds = 2.5\n")
    (tmp_path / "photos").mkdir()
    describer = Service(Collection.open(tmp_path / "photos", tmp_path / "store")).describer

    def limit(compute: Compute) -> float:
        assert isinstance(compute, LocalCompute)
        return compute.seconds("decode")

    try:
        assert asyncio.run(describer.lend(limit)) == 2.5
    finally:
        describer.close()


def test_no_more_listen_than_may_however_they_come_at_once(taught: Collection) -> None:
    service = Service(taught, limits=Limits(streams=2))
    service.jobs._jobs["waits"] = job = ServerJob("waits", "index", {})
    app, statuses = guarded(service, Hosts(80)), []

    async def listen(begun: asyncio.Semaphore, go_on: asyncio.Event) -> None:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                begun.release()
                # Nobody gets further before all have come so far.
                await go_on.wait()

        heard: Iterator[Message] = iter([{"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Message:
            for message in heard:
                return message
            return await asyncio.Future()

        shown = [(b"host", b"localhost"), (b"authorization", f"Bearer {service.token}".encode())]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": "/v1/jobs/waits/events", "raw_path": b"", "query_string": b"",
            "root_path": "", "headers": shown, "client": ("127.0.0.1", 0), "server": ("x", 80),
        }  # fmt: skip
        await app(scope, receive, send)

    async def all_at_once() -> None:
        begun, go_on = asyncio.Semaphore(0), asyncio.Event()
        listeners = [asyncio.ensure_future(listen(begun, go_on)) for _ in range(9)]
        for _ in listeners:
            await begun.acquire()
        job.end("done")
        go_on.set()
        await asyncio.gather(*listeners)

    asyncio.run(all_at_once())
    assert sorted(statuses) == [200] * 2 + [429] * 7 and service.streams == 0
    service.close()


def test_an_answer_that_takes_too_long_is_given_up_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()
    monkeypatch.setattr(Pictures, "skipped", lambda self: list("x" * (not free.wait(LIMIT))))
    with running(painted(tmp_path, train=False, n=6), Limits(answer_seconds=0.05)) as s:
        reply = s.ask("GET", "/v1/skipped")
        assert (reply.status, reply.code, reply.headers["retry-after"]) == (503, "slow", "5")
        # What was given up is still worked on while others are answered, for which a busy machine
        # has the usual time.
        s.service.limits = Limits()
        assert s.client.search("red").hits and not free.is_set()
        free.set()


def test_a_connection_without_a_whole_request_is_closed(
    taught: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.web.serving.connection.HEAD_SECONDS", 0.2)
    with running(taught) as s:
        ours = (
            f"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n"
            f"Authorization: Bearer {s.service.token}\r\n\r\n"
        ).encode()
        for sent in (b"", b"GET /v1/health HTTP/1.1\r\nHost: ", ours + b"GET /v1/hea"):
            with socket.create_connection(("127.0.0.1", s.port), timeout=LIMIT) as held:
                held.sendall(sent)
                # The end comes, whether or not there was an answer before it.
                with contextlib.suppress(ConnectionResetError):
                    while held.recv(1 << 16):
                        pass
        # A head that is on its way may be as slow as the machine is.
        monkeypatch.setattr("sightline.web.serving.connection.HEAD_SECONDS", LIMIT)
        assert s.client.search("red").hits


def test_an_answer_that_nobody_takes_gives_its_place_back(tmp_path: Path) -> None:
    c = painted(tmp_path, train=False, n=12)
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (1500, 1500, 3), dtype=np.uint8))
    noise.save(os.fsdecode(c.root) + "/noise.png")
    c.index(compute=InlineCompute())
    with c.store_folder.reader() as reader:
        large = reader.catalogue.find(b"noise.png")
    with running(c, Limits(waiting=2, send_seconds=0.3)) as s:
        head = (
            f"GET /v1/pictures/{large}/original HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\n"
            f"Authorization: Bearer {s.service.token}\r\n\r\n"
        ).encode()
        held = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(2)]
        for one in held:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.sendall(head)
        until(lambda: s.ask("GET", "/v1/health").status == 200, "room for others")
        for one in held:
            one.close()


def test_a_file_is_closed_even_if_its_client_leaves_before_the_first_block(
    served: Served,
) -> None:
    async def left() -> Message:
        return {"type": "http.disconnect"}

    async def sent(message: Message) -> None:
        # The first thing that is sent is already too late.
        await asyncio.sleep(0)

    answer = original(1, served.service)
    assert isinstance(answer, StreamingResponse)
    asyncio.run(answer({"type": "http", "asgi": {"spec_version": "2.3"}}, left, sent))
    assert vars(answer)["file"].closed


def test_sockets_that_say_nothing_hold_nobody_up(served: Served) -> None:
    silent = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(400)]
    head = (
        f"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nContent-Length: 99\r\n"
        f"Authorization: Bearer {served.service.token}\r\nContent-Type: application/json\r\n\r\n{{"
    )
    try:
        for s in silent[:200]:
            s.sendall(b"POST /v1/search HTTP/1.1\r\nHost: 127")
        for s in silent[200:]:
            s.sendall(head.encode())
        assert served.client.search("red").hits
    finally:
        for s in silent:
            s.close()


def test_connections_beyond_the_most_are_told_so_and_closed(taught: Collection) -> None:
    with running(taught, Limits(connections=20)) as s, contextlib.ExitStack() as held:
        silent = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(40)]
        for one in silent:
            held.enter_context(one)
            one.settimeout(LIMIT)
        # The first come in; the others are told at once, before they asked anything.
        for one in silent[20:]:
            reply = Reply.of(one.recv(65536))
            assert (reply.status, reply.code, reply.headers["retry-after"]) == (
                503, "connections", "5",
            )  # fmt: skip
            assert "version" not in reply.json and one.recv(1) == b""
        assert s.ask("GET", "/v1/health").status in (0, 503)
        for one in silent[:5]:
            one.close()
        until(lambda: s.ask("GET", "/v1/health").status == 200, "room of those who left")
        for one in silent[5:20]:
            one.sendall(f"GET / HTTP/1.1\r\nHost: x:{s.port}\r\n\r\n".encode())
            assert one.recv(12) == b"HTTP/1.1 403"


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(500, soft), hard))
    try:
        assert room_for(1_024) <= 1_024
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_sockets_than_files_leave_the_server_whole(tmp_path: Path) -> None:
    few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))"
    with Process(painted(tmp_path, train=False, n=6), few) as server:
        port = int(server.client.url.rpartition(":")[2])
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        for one in silent[150:]:
            one.settimeout(LIMIT)
            assert one.recv(12) == b"HTTP/1.1 503"
        for one in silent:
            one.close()

        def answers() -> bool:
            with contextlib.suppress(ServiceError, OSError, http.client.HTTPException):
                return bool(server.client.search("red").hits)
            return False

        until(answers, "an answer of the server")
