"""What a decode worker may not do, and that the same attempts work where nothing forbids them."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sightline.compute.local import MEMORY, LocalCompute
from sightline.contracts import Done, Failed, Job, Json, WorkerKind
from sightline.testing.faults import ESCAPE_TASK
from tests.factories.worker_tasks import PERFORM, let_workers_import

FILTERED = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
needs_filter = pytest.mark.skipif(
    not FILTERED, reason="the system-call filter needs Linux on x86-64 or arm64"
)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    let_workers_import(monkeypatch)


@pytest.fixture
def compute() -> Iterator[LocalCompute]:
    with LocalCompute(1) as c:
        yield c


def ask(c: LocalCompute, task: str, kind: WorkerKind, **args: Json) -> Done | Failed:
    (answer,) = c.run(task, [Job(b"", args)], kind)
    return answer


def value(c: LocalCompute, task: str, kind: WorkerKind, **args: Json) -> dict[str, Json]:
    answer = ask(c, task, kind, **args)
    assert isinstance(answer, Done), answer
    return answer.value


@needs_filter
def test_decode_worker_can_do_nothing_of_the_kind(compute: LocalCompute, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("as it was")
    os.utime(target, ns=(1, 2))
    assert value(compute, ESCAPE_TASK, "decode", target=str(target)) == {"done": []}
    assert target.read_text() == "as it was" and target.stat().st_mtime_ns == 2
    assert set(os.listdir(tmp_path)) <= {"home", "target"}
    assert compute.filtered()


def test_the_same_attempts_work_where_nothing_forbids_them(
    compute: LocalCompute, tmp_path: Path
) -> None:
    """Running another program would end the describe worker, so that one makes the job die."""
    target = tmp_path / "target"
    target.write_text("as it was")
    answer = ask(compute, ESCAPE_TASK, "describe", target=str(target))
    assert isinstance(answer, Failed) and answer.kind == "crash" and "exit code 0" in answer.reason
    assert not target.exists()


EXTRA = {
    "mkdir", "link", "symlink", "truncate", "chmod", "mkfifo", "xattr", "listen", "pair", "create",
}  # fmt: skip
KINDS: tuple[WorkerKind, ...] = ("decode", "describe")


@needs_filter
@pytest.mark.parametrize("kind", KINDS)
def test_more_ways_out_are_shut_too(
    compute: LocalCompute, tmp_path: Path, kind: WorkerKind
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "target").write_text("as it was")
    done = value(compute, "worker_tasks:escape_further", kind, folder=str(folder))["done"]
    assert isinstance(done, list)
    if kind == "describe":  # Some file systems take no such attributes from anybody.
        assert EXTRA - {"xattr"} <= set(map(str, done)) <= EXTRA
        return
    assert done == []
    assert (folder / "target").read_text() == "as it was" and os.listdir(folder) == ["target"]


@pytest.mark.parametrize("kind", KINDS)
def test_memory_has_a_limit(compute: LocalCompute, kind: WorkerKind) -> None:
    limits = value(compute, PERFORM, kind, do="facts")["limits"]
    size = 0 if kind == "decode" else resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    assert limits == [[MEMORY[kind]] * 2, [0, 0], [size, size]]
    for deed in ({"do": "take", "bytes": MEMORY[kind]}, {"do": "hog"}):
        answer = ask(compute, PERFORM, kind, **deed)
        assert isinstance(answer, Failed) and answer.kind == "memory"
    value(compute, PERFORM, kind, do="take", bytes=64 << 20)


def test_decode_worker_has_imported_nothing_large(compute: LocalCompute) -> None:
    modules = value(compute, PERFORM, "decode", do="facts")["modules"]
    assert isinstance(modules, list) and "numpy" in modules
    large = {"scipy", "numba", "cv2", "onnxruntime", "pluggy", "click", "sqlite3"}
    assert not large & set(map(str, modules))
