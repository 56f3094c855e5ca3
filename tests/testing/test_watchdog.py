"""Servers of tests end with the process that started them, even if it is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.chromium import HOW, executable
from sightline.testing import watchdog
from sightline.testing.milvus import is_installed
from tests.factories.engine_stores import WITHOUT_MILVUS
from tests.factories.ray_clusters import needs_ray
from tests.waiting import LIMIT, alive, until, until_ended

ROOT = str(Path(__file__).parents[2])
# Each starts something as the tests do, and keeps it in `held`.
MILVUS = """
from tests.factories.engine_stores import a_server
held = a_server(folder)
next(held)
"""
RAY = """
from tests.factories.ray_clusters import TwoNodes
held = TwoNodes()
held.start_second()
folder = Path(held.folder)
"""
OWN_RAY = """
from sightline.compute.ray_cluster import RayCompute
from sightline.contracts import Job
from sightline.testing.compute import ECHO_TASK
held = RayCompute(workers=1)
list(held.run(ECHO_TASK, [Job(b"", {"i": 0})], "decode"))
"""
SERVER = """
from tests.factories.servers import Process, painted
held = Process(painted(folder, train=False, n=6))
held.client.finish(held.client.start("index").id)
"""
BROWSER = """
from tests.page.browser import started
made = started(folder)
held = made.__enter__()
held.new_page().set_content("<p>here</p>")
"""
WORKERS = """
from sightline.compute.local import LocalCompute
from sightline.contracts import Job
from sightline.testing.compute import ECHO_TASK
held = LocalCompute(2)
list(held.run(ECHO_TASK, [Job(b"", {"i": i}) for i in range(4)], "describe"))
"""
STRAYS = """
import subprocess
# One in a session of its own, whose parent ends; one that knows nothing of its environment.
subprocess.run(["sh", "-c", "setsid sleep 9999 & exit"], check=True)
held = subprocess.Popen(["sh", "-c", "env -i sleep 9999 & wait"], start_new_session=True)
"""
STARTED = """
import json, os, sys
from pathlib import Path
from sightline.testing import watchdog
folder = Path(sys.argv[1])
token = watchdog.watched()
watchdog.remove_later(folder)
{}
print(json.dumps([token, str(folder)]), flush=True)
sys.stdin.read()
"""

MOUNTS = """
import subprocess
source = folder.parent / "source"
for name, how in (("a b", ["-t", "tmpfs", "tmpfs"]), ("bound", ["--bind", source])):
    (folder / name).mkdir()
    subprocess.run(["mount", *how, folder / name], check=True)
(folder / "a b" / "deep").mkdir()
subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder / "a b" / "deep"], check=True)
"""

needs_milvus = pytest.mark.skipif(not is_installed(), reason=WITHOUT_MILVUS)
needs_browser = pytest.mark.skipif(executable() is None, reason=f"no browser here: {HOW}")


def dogs(token: str) -> Iterator[int]:
    """Yield the process that watches for a token."""
    for name in os.listdir("/proc"):
        try:
            given = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in given:
            yield int(name)


def kept_by(started: str, folder: Path) -> subprocess.Popen[bytes]:
    """Run a program that keeps what it started, in a folder that goes when it ends."""
    path = [ROOT, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return subprocess.Popen(
        [sys.executable, "-c", STARTED.format(started), str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("started", "least"),
    [
        pytest.param(MILVUS, 1, id="milvus", marks=needs_milvus),
        pytest.param(RAY, 6, id="ray", marks=needs_ray),
        pytest.param(OWN_RAY, 4, id="own-ray", marks=needs_ray),
        pytest.param(SERVER, 1, id="server"),
        pytest.param(BROWSER, 3, id="browser", marks=needs_browser),
        pytest.param(WORKERS, 2, id="workers"),
        pytest.param(STRAYS, 3, id="strays"),
    ],
)
def test_what_was_started_ends_with_a_process_that_is_killed(
    started: str, least: int, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    with kept_by(started, folder) as starter:
        assert starter.stdout is not None
        token, there = json.loads(starter.stdout.readline())
        # A shell may still be about to start what it was told to.
        until(lambda: len(watchdog.processes(token)) >= least)
        servers, (dog,) = watchdog.processes(token), dogs(token)
        assert all(alive(p) for p in servers)
        assert Path(there).is_dir()
        starter.kill()
        until_ended(*servers, dog)
    # Whatever they started meanwhile has ended as well, and the folders are gone.
    until(lambda: not watchdog.processes(token))
    assert not folder.exists() and not Path(there).exists()


def test_disks_are_unmounted_before_folders_are_removed(tmp_path: Path) -> None:
    folder, source = tmp_path / "own", tmp_path / "source"
    folder.mkdir()
    source.mkdir()
    (source / "precious").touch()
    with kept_by(MOUNTS, folder) as starter:
        assert starter.stdout is not None and starter.stderr is not None
        answer = starter.stdout.readline()
        if not answer:
            error = starter.stderr.read().decode()
            assert "mount" in error, error
            pytest.skip("mounting a disk needs privileges")
        (dog,) = dogs(json.loads(answer)[0])
        mounted = watchdog.mounts_below(folder)
        assert [Path(m).name for m in mounted] == ["deep", "bound", "a b"]
        starter.kill()
        until_ended(dog)
    assert not watchdog.mounts_below(folder) and not folder.exists()
    assert (source / "precious").exists()


def test_a_process_that_ends_by_itself_keeps_what_it_said(tmp_path: Path) -> None:
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    kept.mkdir()
    removed.mkdir()
    code = (
        "import sys\nfrom sightline.testing import watchdog\n"
        "for folder in sys.argv[1:]: watchdog.remove_later(folder)\n"
        "watchdog.keep(sys.argv[1])\nprint(watchdog.watched(), flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(kept), str(removed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None and run.stdin is not None
        (dog,) = dogs(run.stdout.readline().decode().strip())
        run.stdin.close()
        assert run.wait(LIMIT) == 0
        until_ended(dog)
    assert kept.exists() and not removed.exists()


def test_a_forked_child_does_not_keep_the_watchdog_waiting() -> None:
    code = (
        "import os, sys, time\nfrom sightline.testing import watchdog\n"
        "token = watchdog.watched()\n"
        "child = os.fork()\n"
        "if child == 0: time.sleep(9999)\n"
        "print(token, child, flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        token, child = run.stdout.readline().decode().split()
        (dog,) = dogs(token)
        run.kill()
        until_ended(dog)
    os.kill(int(child), 9)
