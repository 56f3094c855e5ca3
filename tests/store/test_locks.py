"""Who is at work on a store: messages name the true command, and the state says what runs."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.contracts import Done, Failed, Job, WorkerKind
from sightline.errors import StoreBusy
from sightline.progress import NoProgress
from sightline.store import locks
from sightline.store.locks import Lock, commands, running
from sightline.web import work
from tests.factories.photos import make_photo, make_photos, paint

HOLDS = """
import sys
from pathlib import Path
from sightline.store.locks import Lock, running
with running(Path(sys.argv[1]), "train"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    found = Collection.open(make_photos(tmp_path / "photos"), store=tmp_path / "store")
    found.index(compute=InlineCompute())
    return found


def busy(c: Collection) -> str:
    """Return what somebody is told who wants the store now; nothing if it is free."""
    try:
        with Lock(c.store_folder.path, "index"):
            return ""
    except StoreBusy as e:
        return str(e)


def state(c: Collection) -> list[str]:
    """Return what `sightline` alone says, in a process of its own."""
    where = ["-C", os.fsdecode(c.root), "--store", str(c.store_folder.path)]
    ran = subprocess.run(
        [sys.executable, "-m", "sightline", *where], capture_output=True, check=True, text=True
    )
    return ran.stdout.splitlines()


class Asking(InlineCompute):
    """Asks, while files are read, who holds the store."""

    def __init__(self, c: Collection) -> None:
        self.c, self.told = c, set[str]()

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        self.told.add(busy(self.c))
        return super().run(task, jobs, kind)


class Looking(NoProgress):
    """Looks at the state at the first step of a kind of work."""

    def __init__(self, c: Collection, what: str) -> None:
        self.c, self.what, self.told = c, what, list[str]()

    def start(self, what: str, total: int | None) -> None:
        if what.startswith(self.what) and not self.told:
            self.told = state(self.c)
            assert busy(self.c) == "", "a training holds no lock while it learns"


def mine(command: str) -> str:
    since = r"since (\d{4}-\d\d-\d\d )?\d\d:\d\d"
    return rf"'sightline {command}' \(process {os.getpid()} on \S+, {since}\)"


def test_the_index_of_a_training_is_named_as_training(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 60, True, 0)
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    c.index(compute=InlineCompute())
    for train, name in (
        (lambda **o: c.train(features=["color"], rankers=["ridge"], **o), "train"),
        (lambda **o: c.index(features=["edges"], **o), "index"),
    ):
        asking = Asking(c)
        train(compute=asking)
        told = asking.told - {""}
        assert told and all(re.search(mine(name), text) for text in told), told


def test_the_index_of_a_repair_is_named_as_repair(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_photo(Path(os.fsdecode(c.root)) / "new.jpg", 9)
    real, asking = c.index, Asking(c)
    monkeypatch.setattr(c, "index", lambda **o: real(**o, compute=asking))
    c.store.repair(lambda text: None)
    (told,) = asking.told
    assert re.search(mine("store repair"), told)


def test_the_state_says_that_a_training_runs(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 60, True, 0)
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    c.index(features=["color"], compute=InlineCompute())
    assert not any(line.startswith("running:") for line in state(c))
    looking = Looking(c, "")
    c.train(rankers=["ridge"], progress=looking)
    (line,) = [line for line in looking.told if line.startswith("running:")]
    assert re.fullmatch(f"running: {mine('train')}", line)
    assert c.store.running() == [] and os.listdir(c.store_folder.path / "running") == []


def test_the_state_says_that_the_first_index_runs(tmp_path: Path) -> None:
    photos = make_photos(tmp_path / "photos")
    c = Collection.open(photos, store=tmp_path / "store")
    told: list[str] = []

    class Reading(InlineCompute):
        def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
            told.extend(state(c))
            return super().run(task, jobs, kind)

    c.index(compute=Reading())
    assert any(re.fullmatch(f"running: {mine('index')}", line) for line in told)


@contextlib.contextmanager
def another(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None and child.stdin is not None
    try:
        assert child.stdout.readline() == b"held\n"
        yield child
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


def test_a_killed_command_is_no_longer_named(c: Collection) -> None:
    with another(c.store_folder.path) as child:
        (found,) = c.store.running()
        assert (found.command, found.pid) == ("train", child.pid)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert c.store.running() == []
        assert len(os.listdir(c.store_folder.path / "running")) == 1, (
            "it could not take its sign away"
        )
        with running(c.store_folder.path, "train"):
            (found,) = c.store.running()
            assert found.pid == os.getpid()
    assert os.listdir(c.store_folder.path / "running") == [], (
        "signs of the dead go with the next one"
    )
    assert c.store.verify().sound


def test_two_commands_are_both_named_the_oldest_first(c: Collection) -> None:
    with another(c.store_folder.path) as child, Lock(c.store_folder.path, "index"):
        assert [r.pid for r in commands(c.store_folder.path)] == [child.pid, os.getpid()]
        assert re.search(mine("index"), busy(c))


def test_a_job_of_a_server_is_named_as_its(c: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_program", "")
    told: list[str] = []

    def run(found: Collection, verb: str, options: object, progress: object) -> None:
        with Lock(found.store_folder.path, verb):
            told.extend([busy(found), *map(str, found.store.running())])

    monkeypatch.setattr(work, "run", run)
    request = {
        "root": os.fsdecode(c.root), "store": str(c.store_folder.path), "verb": "train",
        "options": {},
    }  # fmt: skip
    work._done(request, work.JobProgress(lambda event: None))
    wanted = rf"'sightline train', started by 'sightline serve' \(process {os.getpid()} on "
    assert len(told) == 2 and all(re.search(wanted, text) for text in told)


def test_a_lock_of_an_older_release_is_understood(c: Collection) -> None:
    with Lock(c.store_folder.path, "index") as lock:
        os.ftruncate(lock._fd, 0)
        os.pwrite(lock._fd, b'{"pid": 12, "verb": "train", "host": "box"}', 0)
        assert "'sightline train' (process 12 on box)" in busy(c)


def test_without_a_place_for_signs_commands_run_all_the_same(c: Collection, tmp_path: Path) -> None:
    (c.store_folder.path / "running").rmdir()
    (c.store_folder.path / "running").write_text("in the way")
    with running(c.store_folder.path, "train"), Lock(c.store_folder.path, "index"):
        assert c.store.running() == [] and re.search(mine("train"), busy(c))
    with running(tmp_path / "nowhere", "train"):
        assert not (tmp_path / "nowhere").exists()
