"""Ctrl-C and SIGTERM end the server in seconds, whatever waits, and who waits is told."""

from __future__ import annotations

import os
import queue
import signal
import socket
import threading
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.compute.local import LocalCompute
from sightline.contracts import Job
from sightline.errors import ComputeError
from sightline.web.client import Client, ServiceError
from sightline.web.serving.ending import LATEST_SECONDS
from tests.factories.servers import Process, painted
from tests.factories.worker_tasks import PERFORM, let_workers_import
from tests.waiting import LIMIT, start_daemon, until, until_ended

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


def test_the_last_resort_comes_within_seconds() -> None:
    """What the tests below rely on: nothing they start would end within the hour."""
    assert LATEST_SECONDS <= 5.0 < LIMIT < 3600


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
        assert said.get(timeout=LIMIT)[:2] == (429, "uploads")
        server.kill(number)
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
        until(lambda: pid.exists() and pid.read_text(), "the job")
        port = int(server.client.url.rpartition(":")[2])
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        token = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {server.token}\r\n"
        held[0].sendall(f"GET /v1/skipped HTTP/1.1\r\n{token}\r\n".encode())
        held[1].sendall(
            f"POST /v1/search/picture HTTP/1.1\r\n{token}Content-Length: 99\r\n\r\nx".encode()
        )
        assert server.client.search("red").hits
        server.kill(signal.SIGINT)
        assert server.process.returncode == 0
        for one in held:
            one.close()
    until_ended(int(pid.read_text()))


def test_workers_can_be_stopped_from_another_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_workers_import(monkeypatch)
    begun, never = tmp_path / "begun", tmp_path / "never"
    for pipe in (begun, never):
        os.mkfifo(pipe)

    def stop() -> None:
        begun.read_text()
        compute.stop()

    with LocalCompute(1) as compute:
        waits = {"do": "wait", "begun": str(begun), "pipe": str(never)}
        answers = compute.run(PERFORM, [Job(b"x", {**waits})] * 3, "describe")
        start_daemon(stop)
        with pytest.raises(ComputeError, match="stopped"):
            list(answers)
        with pytest.raises(ComputeError, match="stopped"):
            compute.run(PERFORM, [Job(b"x", {})], "describe")
