"""Ctrl-C and SIGTERM end the server in seconds, whatever waits, and who waits is told."""

from __future__ import annotations

import os
import queue
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.compute.local import LocalCompute
from sightline.contracts import Job
from sightline.errors import ComputeError
from sightline.web.client import Client, ServiceError
from tests.served import Process, painted
from tests.worker_tasks import PERFORM, let_workers_import

LATEST = 5.0
# Every picture that is sent keeps its worker for an hour.
SLOW = """
from sightline.collection import Collection
from sightline.contracts import Job
def slow(self, *pictures, compute=None, **more):
    return list(compute.run("worker_tasks:perform", [Job(b"x", {"do": "hang"})], "describe"))
Collection.similar = slow
"""
# A request that lasts for an hour in a thread of the server, and a job that hears nothing.
DEAF = """
import subprocess, sys, time
from sightline.collection import Collection
from sightline.web import jobs
Collection.skipped = lambda self: time.sleep(3600)
def started():
    code = "import os, time; open('PID', 'w').write(str(os.getpid())); time.sleep(3600)"
    run = [sys.executable, "-c", code]
    return subprocess.Popen(run, stdin=-1, stdout=-1, start_new_session=True)
jobs._started = started
"""


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return painted(tmp_path_factory.mktemp("few"), train=False, n=6)


def ended_within(server: Process, number: int) -> float:
    begun = time.monotonic()
    server.kill(number)
    return time.monotonic() - begun


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pictures_that_wait_are_refused_and_the_server_ends(
    few: Collection, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_workers_import(monkeypatch)
    picture = Path(os.fsdecode(few.root), "000_x.png").read_bytes()
    said: queue.Queue[tuple[int, str, int | None]] = queue.Queue()

    def send(client: Client) -> None:
        try:
            client.similar_to(picture)
        except ServiceError as e:
            said.put((e.status, e.code, e.retry))

    with Process(few, SLOW) as server:
        waiting = [threading.Thread(target=send, args=(server.client,)) for _ in range(9)]
        for t in waiting:
            t.start()
        # Once there is no room for one of them, all the others wait.
        assert said.get(timeout=60)[:2] == (429, "uploads")
        assert ended_within(server, number) < LATEST
        for t in waiting:
            t.join()
    assert [said.get_nowait() for _ in range(8)] == [(503, "ending", 5)] * 8


def test_nothing_that_lasts_holds_up_the_end(few: Collection, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with Process(few, DEAF.replace("PID", str(pid))) as server:
        job = server.client.start("index").id
        listener = server.client.follow(job)
        while next(listener)[0] != "running":
            pass
        latest = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()):
            assert time.monotonic() < latest
        port = int(server.client.url.rpartition(":")[2])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        token = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {server.token}\r\n"
        held[0].sendall(f"GET /v1/skipped HTTP/1.1\r\n{token}\r\n".encode())
        held[1].sendall(
            f"POST /v1/search/picture HTTP/1.1\r\n{token}Content-Length: 99\r\n\r\nx".encode()
        )
        assert server.client.search("red").hits
        assert ended_within(server, signal.SIGINT) < LATEST
        assert server.process.returncode == 0
        for one in held:
            one.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_workers_can_be_stopped_from_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    let_workers_import(monkeypatch)
    with LocalCompute(1) as compute:
        answers = compute.run(PERFORM, [Job(b"x", {"do": "hang"})] * 3, "describe")
        threading.Timer(0.2, compute.stop).start()
        with pytest.raises(ComputeError, match="stopped"):
            list(answers)
        with pytest.raises(ComputeError, match="stopped"):
            compute.run(PERFORM, [Job(b"x", {})], "describe")
