"""What runs on a machine of the cluster: batches of jobs under limits, and parts of computations.

A Ray worker never opens a picture itself. It owns one decode and one describe worker of
`compute.local`, with their limits of memory and time and their system-call filter, and passes jobs
to them; the answers are plain values and bytes.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bytes
from sightline.compute.local import LocalCompute
from sightline.compute.ray_cluster import memory, staging
from sightline.compute.ray_cluster.identity import Identity, difference, identity
from sightline.compute.ray_cluster.messages import Message, pack_answers, unpack_jobs
from sightline.contracts import Done, Failed, Job, Json, WorkerKind
from sightline.errors import SightlineError
from sightline.pictures import transfer


def probe() -> tuple[Identity, str]:
    """Return this machine's versions and name; remove files that dead processes left."""
    staging.sweep()
    return identity(), os.uname().nodename


def run_batch(
    expected: Identity,
    task: str,
    kind: WorkerKind,
    seconds: float,
    jobs: Message,
    names: Sequence[str],
    *files: Bytes,
) -> Message:
    """Run jobs under the limits of their kind; `files` holds the fitted features in `names`."""
    _check_identity(expected)
    interrupts = _Interrupts()
    unpacked = unpack_jobs(jobs)
    with contextlib.ExitStack() as stack:
        with _disk():
            staging.sweep()
            local_files = {
                n: staging.cached(b.tobytes()) for n, b in zip(names, files, strict=True)
            }
            folder = stack.enter_context(staging.folder())
            local_jobs = [
                _localised(job, os.path.join(folder, str(i)), local_files)
                for i, job in enumerate(unpacked)
            ]
        with interrupts.allowed():
            results = _answers(task, local_jobs, kind, seconds)
    answers = [
        transfer.with_problems(f, j.args) if isinstance(f, Done) else f
        for f, j in zip(results, unpacked, strict=True)
    ]
    return pack_answers(answers)


def run_part(
    expected: Identity, task: str, args: dict[str, Json], *array_sets: dict[str, NDArray[Any]]
) -> tuple[dict[str, Json], dict[str, NDArray[Any]]]:
    """Compute a part under a limit of memory; held arrays come first, its own last."""
    _check_identity(expected)
    arrays = TaskArrays({name: a for arrays in array_sets for name, a in arrays.items()})
    share = memory.share()
    try:
        with memory.bounded(share):
            value, result = _function(task)(args, arrays)
    except SightlineError as e:
        return {"error": [type(e).__name__, str(e)]}, {}
    except MemoryError:
        return {"error": ["ComputeError", memory.exceeded(share)]}, {}
    return {"value": value}, {name: np.asarray(a) for name, a in result.items()}


class TaskArrays(Mapping[str, NDArray[Any]]):
    """The arrays of a task: matrices are read-only views of the object store, vectors are copies.

    All processes of a machine share the object store, so none may write into it. Sparse matrices
    do so when they sort their entries or drop zeros; their arrays are vectors, copied on access.

    >>> arrays = TaskArrays({"x": np.zeros((2, 2)), "y": np.zeros(3)})
    >>> [(name, a.flags.writeable) for name, a in arrays.items()]
    [('x', False), ('y', True)]
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._own: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._own:
            a = self._arrays[name]
            self._own[name] = a.view() if a.ndim > 1 else np.array(a)
            self._own[name].setflags(write=a.ndim <= 1)
        return self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


class _Interrupts:
    """A cancellation, which Ray sends as SIGINT, interrupts the work on files once.

    Before and after it waits: what interrupts the creation or the removal of a folder leaves the
    folder behind. A cluster that was started in the background of a shell ignores the signal.
    """

    def __init__(self) -> None:
        self._is_held, self._is_pending, self._is_over = True, False, False
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._interrupt)

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Let one cancellation interrupt a block, one that waits too."""
        try:
            self._is_held = False
            if self._is_pending:
                self._interrupt(signal.SIGINT, None)
            yield
        finally:
            self._is_held = True

    def _interrupt(self, number: int, frame: object) -> None:
        if self._is_held:
            self._is_pending = True
        elif not self._is_over:
            self._is_over = True
            raise KeyboardInterrupt


def _check_identity(expected: Identity) -> None:
    """Raise if this machine, which may have joined later, has other versions."""
    if differing := difference(expected, identity()):
        raise RuntimeError(f"the node {os.uname().nodename} has {differing}")


def _answers(
    task: str, jobs: Sequence[Job], kind: WorkerKind, seconds: float
) -> list[Done | Failed]:
    workers = _limited(seconds)
    try:
        return list(workers.run(task, jobs, kind))
    except BaseException:
        # The workers may have been interrupted in the middle of a job.
        _limited.cache_clear()
        workers.close()
        raise


@cache
def _limited(seconds: float) -> LocalCompute:
    """Return the limited workers of this Ray worker, one of each kind."""
    return LocalCompute(1, seconds=seconds)


@cache
def _function(task: str) -> Callable[..., tuple[dict[str, Json], dict[str, NDArray[Any]]]]:
    module, _, name = task.partition(":")
    function: Any = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    return function  # type: ignore[no-any-return]


def _localised(job: Job, folder: str, places: dict[str, str]) -> Job:
    """Return a job with the files that it names on this machine."""
    if "carried" in job.args:
        os.mkdir(folder)
        return transfer.unpack(job, os.fsencode(folder))
    features = job.args.get("features")
    if not places or not isinstance(features, list):
        return job
    return replace(job, args={**job.args, "features": [_place(str(f), places) for f in features]})


def _place(feature: str, places: dict[str, str]) -> str:
    class_path, _, file = feature.partition("@")
    return f"{class_path}@{places[file]}" if file else feature


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    """Name the machine in the error of a full disk."""
    try:
        yield
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = f"{tempfile.gettempdir()} of {os.uname().nodename}"
        raise RuntimeError(f"there is no space left in {where}") from e
