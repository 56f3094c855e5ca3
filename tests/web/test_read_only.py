"""A store that cannot be written: it is read as ever, and what must write is refused at once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sightline.collection import Collection
from sightline.errors import StoreReadOnly
from sightline.store.writer import Judging, Writer
from sightline.testing import watchdog
from tests.factories.servers import Served, painted, running

NOBODY = 65534
WRITES: list[tuple[str, Any]] = [
    ("/v1/sessions", {"query": "red"}),
    ("/v1/sessions/{session}/judgements", {"relevant": [1]}),
    ("/v1/sessions/{session}/undo", {}),
    ("/v1/sessions/{session}/word", {"word": "found"}),
    ("/v1/sessions/{session}/revert", {}),
    ("/v1/jobs", {"verb": "index"}),
    ("/v1/jobs", {"verb": "train", "rankers": ["ridge"]}),
    ("/v1/jobs", {"verb": "train", "similar": True}),
    ("/v1/models/rollback", {}),
    ("/v1/tags/answers", {"answers": [{"picture": 1, "word": "red", "add": True, "yes": True}]}),
    ("/v1/tags/carry", {}),
    (
        "/feedback",
        {
            "event": "ranking", "id": "r", "user": "u", "session": "s", "timestamp": 1,
            "fields": [{"name": "query", "value": "red"}], "items": [{"id": "1"}, {"id": "2"}],
        },
    ),
]  # fmt: skip
READS = [
    ("POST", "/v1/search", {"query": "red"}),
    ("POST", "/v1/similar", {"like": [1]}),
    ("GET", "/v1/pictures/1", None),
    ("GET", "/v1/pictures/1/thumbnail", None),
    ("GET", "/v1/words?prefix=r", None),
    ("GET", "/v1/folders", None),
    ("GET", "/v1/models", None),
    ("GET", "/v1/report", None),
    ("GET", "/v1/health", None),
    ("GET", "/v1/sessions", None),
    ("GET", "/v1/sessions/{session}", None),
    ("GET", "/v1/sessions/{session}/hits", None),
    ("GET", "/v1/jobs", None),
]


@pytest.fixture
def judged(tmp_path: Path) -> tuple[Collection, str]:
    """A collection with a session in which something was judged."""
    c = painted(tmp_path, n=30)
    session = c.judge("red")
    session.mark(positive=[1])
    session.close()
    return c, session.id


@pytest.fixture
def mounted(tmp_path: Path, judged: tuple[Collection, str]) -> Iterator[Collection]:
    """The same store, on a file system that is mounted read-only."""
    c, _ = judged
    place = tmp_path / "mounted"
    place.mkdir()
    bind = ["mount", "--bind", str(c.store_folder.path), str(place)]
    if shutil.which("mount") is None or subprocess.run(bind, capture_output=True).returncode:
        pytest.skip("a bind mount needs privileges")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield Collection.open(c.root, store=place)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def asked(s: Served, method: str, path: str, body: object) -> Any:
    return s.ask(method, path, b"" if body is None else json.dumps(body).encode())


def test_a_server_reads_and_refuses_to_write_at_once(
    judged: tuple[Collection, str], mounted: Collection
) -> None:
    _, session = judged
    with running(mounted) as s:
        for method, path, body in READS:
            reply = asked(s, method, path.format(session=session), body)
            assert reply.status == 200, (path, reply.body)
        for path, body in WRITES:
            reply = asked(s, "POST", path.format(session=session), body)
            assert (reply.status, reply.code) == (409, "read-only"), (path, reply.body)
            detail = reply.json["detail"]
            assert detail.startswith("the store is read-only: its file system is mounted read-only")
            assert "Mount it for writing" in detail and str(mounted.store_folder.path) not in detail
        assert s.service.jobs.all() == [], "no job was begun that could not end well"
        measured = s.client.finish(s.client.start("evaluate", curve=False).id)
        assert measured.state == "done"
        page = s.ask("POST", "/v1/jobs", b'{"verb": "index"}', {"Accept": "text/html"})
        assert b"Searching works." in page.body


def test_commands_that_must_write_say_that_the_store_is_read_only(mounted: Collection) -> None:
    where = ["-C", os.fsdecode(mounted.root), "--store", str(mounted.store_folder.path)]

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sightline", *command, *where],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    for command in (
        ["index"], ["train"], ["train", "--similar"], ["train", "--regions"], ["store", "rollback"],
        ["store", "repair"], ["store", "purge", "000_x.png", "--yes"], ["tag", "--review"],
    ):  # fmt: skip
        ran = run(*command)
        assert ran.returncode == 1 and ran.stdout == "", (command, ran)
        assert ran.stderr.startswith("sightline: ") and ran.stderr.count("\n") == 1, ran.stderr
        assert "is read-only: its file system is mounted read-only" in ran.stderr
        assert "Mount it for writing" in ran.stderr and "--store" in ran.stderr
    for command in (["search", "red"], ["sessions"], ["store", "verify"], []):
        assert run(*command).returncode == 0, command


def in_child(user: int, work: Callable[[], object]) -> Any:
    """Return what some work returns, done by another user in a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            os.write(writer, json.dumps(work()).encode())
        except BaseException as e:
            os.write(writer, json.dumps(repr(e)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as f:
        said = f.read()
    os.waitpid(pid, 0)
    return json.loads(said)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_store_of_which_a_user_may_read_only_is_named_so(
    judged: tuple[Collection, str],
) -> None:
    c, session = judged
    # The folder for temporary files of the tests is closed to others.
    beside = os.path.dirname(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(dir=beside) as folder:
        watchdog.remove_later(folder)
        os.chmod(folder, 0o755)
        store = Path(folder, "store")
        shutil.copytree(c.store_folder.path, store)
        shutil.copytree(os.fsdecode(c.root), Path(folder, "photos"))
        for path in (store, *store.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        theirs = Collection.open(Path(folder, "photos"), store=store)

        def tried() -> list[str]:
            out = []
            for write in (
                theirs.index, theirs.train, theirs.store.rollback, theirs.store.require_writable,
                lambda: theirs.judge(resume=session).mark(positive=[2]),
                lambda: Writer(theirs.store_folder, "test"), lambda: Judging(theirs.store_folder),
            ):  # fmt: skip
                try:
                    write()
                    out.append("written")
                except StoreReadOnly as e:
                    out.append(str(e))
            return [*out, str(len(theirs.search("red", 3).hits))]

        theirs.search("red")  # All that it takes is imported before the user changes.
        *refused, hits = in_child(NOBODY, tried)
    assert hits == "3" and len(refused) == 7
    for text in refused:
        assert "is read-only: this user may not write there (Permission denied)" in text
        assert "Give this user the right to write there" in text


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
@pytest.mark.parametrize("name", ["lock", "writers"])
def test_a_file_system_that_becomes_read_only_is_named_so(
    judged: tuple[Collection, str], monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """Planted where a store looks writable and the kernel refuses all the same."""
    c, session = judged
    real = os.open

    def refusing(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if os.fspath(path) == str(c.store_folder.path / name) and flags & os.O_RDWR:
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refusing)
    with running(c) as s:
        path = f"/v1/sessions/{session}/judgements"
        body: dict[str, Any] = {"relevant": [2]}
        if name == "lock":
            path, body = "/v1/models/rollback", {}
        reply = s.post(path, body)
        assert (reply.status, reply.code) == (409, "read-only"), reply.body
        assert asked(s, "POST", "/v1/search", {"query": "red"}).status == 200
