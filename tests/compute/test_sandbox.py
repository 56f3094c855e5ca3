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
from tests.worker_tasks import PERFORM, let_workers_import

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
    assert os.listdir(tmp_path) == ["home", "target"] or sorted(os.listdir(tmp_path))[-1] == "target"
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


EXTRA = (
    "mkdir", "link", "symlink", "truncate", "chmod", "mkfifo", "xattr", "listen", "pair", "create",
)  # fmt: skip


@needs_filter
def test_more_ways_out_are_shut_too(compute: LocalCompute, tmp_path: Path) -> None:
    for kind, expected in (("decode", []), ("describe", list(EXTRA))):
        folder = tmp_path / str(kind)
        folder.mkdir()
        (folder / "target").write_text("as it was")
        got = value(compute, "worker_tasks:escape_further", kind, folder=str(folder))  # type: ignore[arg-type]
        assert got["done"] == [n for n in expected if n not in ("xattr",)] or got["done"] == expected
        if kind == "decode":
            assert (folder / "target").read_text() == "as it was"
            assert os.listdir(folder) == ["target"]


def test_memory_has_a_limit_in_both_kinds(compute: LocalCompute) -> None:
    for kind in ("decode", "describe"):
        limits = value(compute, PERFORM, kind, do="facts")["limits"]  # type: ignore[arg-type]
        size = 0 if kind == "decode" else resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        assert limits == [[MEMORY[kind]] * 2, [0, 0], [size, size]]
        beyond = ask(compute, PERFORM, kind, do="take", bytes=MEMORY[kind])  # type: ignore[arg-type]
        assert isinstance(beyond, Failed) and beyond.kind == "memory"
        assert ask(compute, PERFORM, kind, do="take", bytes=64 << 20) == ask(  # type: ignore[arg-type]
            compute, PERFORM, kind, do="take", bytes=64 << 20  # type: ignore[arg-type]
        )
    hog = ask(compute, PERFORM, "decode", do="hog")
    assert isinstance(hog, Failed) and hog.kind == "memory"


def test_decode_worker_has_imported_nothing_large(compute: LocalCompute) -> None:
    modules = value(compute, PERFORM, "decode", do="facts")["modules"]
    assert isinstance(modules, list)
    assert not {"scipy", "numba", "cv2", "onnxruntime", "pluggy", "click", "sqlite3"} & set(
        map(str, modules)
    )
