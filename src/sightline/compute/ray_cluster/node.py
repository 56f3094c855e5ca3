"""What runs on a machine of the cluster: batches of jobs under limits, and parts of computations.

A Ray worker never opens a picture itself. It owns one decode and one describe worker of
`compute.local`, with their limits of memory and time and their system-call filter, and hands jobs
on to them; what comes back are plain values and bytes.
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
from sightline.compute.ray_cluster.frames import Frames, pack_answers, unpack_jobs
from sightline.compute.ray_cluster.identity import Identity, difference, identity
from sightline.contracts import Done, Failed, Job, Json, WorkerKind
from sightline.errors import SightlineError
from sightline.pictures import carrying


def who() -> tuple[Identity, str]:
    """Return what computes here, and the name of the machine, which is swept on the way."""
    staging.sweep()
    return identity(), os.uname().nodename


def run_batch(
    expected: Identity,
    task: str,
    kind: WorkerKind,
    seconds: float,
    jobs: Frames,
    names: Sequence[str],
    *books: Bytes,
) -> Frames:
    """Run jobs under the limits of their kind; `books` are files that their arguments name."""
    _refuse_other(expected)
    _allow_interrupts()
    unpacked = unpack_jobs(jobs)
    with contextlib.ExitStack() as stack:
        with _disk():
            staging.sweep()
            where = {n: staging.kept(b.tobytes()) for n, b in zip(names, books, strict=True)}
            folder = stack.enter_context(staging.folder())
            todo = [
                _here(job, os.path.join(folder, str(i)), where) for i, job in enumerate(unpacked)
            ]
        found = _answers(task, todo, kind, seconds)
    answers = [
        carrying.with_problems(f, j.args) if isinstance(f, Done) else f
        for f, j in zip(found, unpacked, strict=True)
    ]
    return pack_answers(answers)


def run_part(
    expected: Identity, task: str, args: dict[str, Json], *given: dict[str, NDArray[Any]]
) -> tuple[dict[str, Json], dict[str, NDArray[Any]]]:
    """Compute a part, under a limit of memory; held arrays come first, its own last."""
    _refuse_other(expected)
    arrays = Lent({name: a for some in given for name, a in some.items()})
    share = memory.share()
    try:
        with memory.bounded(share):
            value, result = _function(task)(args, arrays)
    except SightlineError as e:
        return {"error": [type(e).__name__, str(e)]}, {}
    except MemoryError:
        return {"error": ["ComputeError", memory.too_much(share)]}, {}
    return {"value": value}, {name: np.asarray(a) for name, a in result.items()}


class Lent(Mapping[str, NDArray[Any]]):
    """Arrays as a task gets them: matrices as they lie in the object store, all else copied.

    All processes of a machine share what is there, so that none may write into it. Sparse matrices
    do, when they sort their cells or drop zeros; their arrays are copied when they are asked for.

    >>> lent = Lent({"x": np.zeros((2, 2)), "y": np.zeros(3)})
    >>> [(name, a.flags.writeable) for name, a in lent.items()]
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


def _allow_interrupts() -> None:
    """Have a cancellation interrupt this task once, as Ray does by SIGINT.

    A cluster that was started in the background of a shell ignores that signal; and a cancellation
    that is sent again must not break into clearing up.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupt_once)


def _interrupt_once(number: int, frame: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _refuse_other(expected: Identity) -> None:
    """Stop where a machine that joined later computes by other versions."""
    if said := difference(expected, identity()):
        raise RuntimeError(f"the node {os.uname().nodename} has {said}")


def _answers(
    task: str, jobs: Sequence[Job], kind: WorkerKind, seconds: float
) -> list[Done | Failed]:
    workers = _limited(seconds)
    try:
        return list(workers.run(task, jobs, kind))
    except BaseException:
        # Whatever broke in may have left them half-way.
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
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _here(job: Job, folder: str, places: dict[str, str]) -> Job:
    """Return a job whose files are ones of this machine."""
    if "carried" in job.args:
        os.mkdir(folder)
        return carrying.laid_out(job, os.fsencode(folder))
    features = job.args.get("features")
    if not places or not isinstance(features, list):
        return job
    return replace(job, args={**job.args, "features": [_place(str(f), places) for f in features]})


def _place(feature: str, places: dict[str, str]) -> str:
    where, _, book = feature.partition("@")
    return f"{where}@{places[book]}" if book else feature


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    """Name the machine whose disk is full."""
    try:
        yield
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = f"{tempfile.gettempdir()} of {os.uname().nodename}"
        raise RuntimeError(f"there is no space left in {where}") from e
