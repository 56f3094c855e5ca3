"""Work on a Ray cluster, under the contract of `compute.local`.

Jobs are sent in batches through Ray's object store, with the bytes of the files they name, so that
machines need no shared file system. A Ray worker passes them to its limited workers (see `node`).
A batch whose machine dies is run again on another one; answers come in the order of the jobs, so
that what is published depends on the pictures alone. Held arrays are sent once, and parts of a
computation refer to them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import errors
from sightline.compute.local import SECONDS
from sightline.compute.ray_cluster import node, staging
from sightline.compute.ray_cluster.batches import array_files, batches
from sightline.compute.ray_cluster.connection import join, leave
from sightline.compute.ray_cluster.identity import identity
from sightline.compute.ray_cluster.library import load_ray
from sightline.compute.ray_cluster.messages import pack_jobs, unpack_answers
from sightline.compute.ray_cluster.results import ResultFetcher, Stoppable, clear
from sightline.contracts import (
    Done,
    Failed,
    Job,
    Json,
    Part,
    PartDone,
    PartTask,
    SharedArrays,
    WorkerKind,
)

# How often a task whose machine died is run again on another one.
_TRIES = 5
# How long cancelled batches have for cleaning up before the cluster is left.
_END_SECONDS = 5.0
# After this long they are cancelled again: cleaning up takes less.
_CANCEL_AGAIN_SECONDS = 2.0
_Batch = tuple[Any, Any, list[Failed | None]]


class RayCompute:
    """A Ray cluster as a backend.

    Parameters
    ----------
    address : str, default=""
        HOST:PORT or ray://HOST:PORT; "" is the address in RAY_ADDRESS, or else starts a cluster on
        this machine.
    workers : int, default=0
        How many tasks run at once; 0 is one for each processor of the cluster.
    seconds : float, default=SECONDS['decode']
        Time limit for one file in a decode worker.
    """

    def __init__(
        self, address: str = "", workers: int = 0, *, seconds: float = SECONDS["decode"]
    ) -> None:
        if workers < 0:
            raise errors.ParameterError.of("workers", "RayCompute", "0 or more", workers)
        self._joined = join(address, workers)
        self.workers = workers or max(self._joined.cpus, 1)
        self._seconds = seconds
        ray = load_ray()
        self._ray, self._results = ray, ResultFetcher(ray, self._cancel_again)
        options = {"num_cpus": 1, "max_retries": _TRIES}
        self._run_batch = ray.remote(node.run_batch).options(**options, num_returns=2)
        self._run_part = ray.remote(node.run_part).options(**options, num_returns=2)
        self._files: dict[str, Any] = {}
        self._under_way: list[deque[Any]] = []
        self._ending: list[Any] = []

    @property
    def description(self) -> str:
        """A phrase that names the cluster."""
        return self._joined.description

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        """Yield each job's answer, in the order of the jobs."""
        self._results.check()
        return Stoppable(lambda stop: self._answers(task, jobs, kind, stop))

    def hold(self, arrays: Mapping[str, NDArray[Any]]) -> SharedArrays:
        """Put arrays into the cluster's object store, once."""
        self._results.check()
        with clear(self._ray):
            return SharedArrays(self._ray.put({n: np.asarray(a) for n, a in arrays.items()}))

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        """Yield the result of each part, in order."""
        self._results.check()
        name = f"{task.__module__}:{task.__qualname__}"
        return Stoppable(lambda stop: self._parts_done(name, parts, stop))

    def close(self) -> None:
        """Leave the cluster, and end it if we started it; work under way is cancelled."""
        if self._results.was_left():
            return
        try:
            for under_way in self._under_way:
                # A copy: iterators that still need them must fail with an error.
                self._cancel(under_way.copy())
            self._results.leave()
            cleared = self._wait_for_cancelled()
        finally:
            self._results.leave()
            self._files.clear()
            leave(self._joined)
        if self._joined.folder is not None:
            _sweep_local(cleared)

    def __enter__(self) -> RayCompute:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _answers(
        self, task: str, jobs: Iterable[Job], kind: WorkerKind, stop: threading.Event
    ) -> Generator[Done | Failed, None, None]:
        under_way: deque[_Batch] = deque()
        with self._watched(under_way):
            for batch in batches(task, jobs):
                while len(under_way) >= 2 * self.workers + 1:
                    yield from self._first_answers(under_way, stop)
                self._results.check(stop)
                under_way.append(self._send(task, batch, kind))
            while under_way:
                yield from self._first_answers(under_way, stop)

    def _first_answers(
        self, under_way: deque[_Batch], stop: threading.Event
    ) -> Iterator[Done | Failed]:
        text, blob, failed = under_way[0]
        message = self._results.get(text, stop), self._results.get(blob, stop)
        under_way.popleft()
        answers = iter(unpack_answers(message))
        for f in failed:
            yield f if f is not None else next(answers)

    def _send(self, task: str, batch: list[Job | Failed], kind: WorkerKind) -> _Batch:
        jobs = [j for j in batch if isinstance(j, Job)]
        failed = [j if isinstance(j, Failed) else None for j in batch]
        names = sorted({b for j in jobs for b in array_files(task, j)})
        with clear(self._ray):
            refs = [self._file(b) for b in names]
            text, blob = self._run_batch.remote(
                identity(), task, kind, self._seconds, pack_jobs(jobs), names, *refs
            )
        return text, blob, failed

    def _file(self, path: str) -> Any:
        """Return the reference to a file in the object store; such files never change."""
        if path not in self._files:
            self._files[path] = self._ray.put(np.fromfile(Path(path), np.uint8))
        return self._files[path]

    def _parts_done(
        self, name: str, parts: Iterable[Part], stop: threading.Event
    ) -> Generator[PartDone, None, None]:
        under_way: deque[tuple[Any, Any]] = deque()
        with self._watched(under_way):
            for part in parts:
                while len(under_way) >= 2 * self.workers + 1:
                    yield self._first_part(under_way, stop)
                self._results.check(stop)
                under_way.append(self._send_part(name, part))
            while under_way:
                yield self._first_part(under_way, stop)

    def _send_part(self, name: str, part: Part) -> tuple[Any, Any]:
        own_arrays = {n: np.asarray(a) for n, a in part.arrays.items()}
        refs = [h.value for h in part.held]
        with clear(self._ray):
            value, arrays = self._run_part.remote(identity(), name, part.args, *refs, own_arrays)
        return value, arrays

    def _first_part(self, under_way: deque[tuple[Any, Any]], stop: threading.Event) -> PartDone:
        value, arrays = under_way[0]
        answer: dict[str, Json] = self._results.get(value, stop)
        under_way.popleft()
        if "error" in answer:
            raise _reraised(answer["error"])
        plain = answer["value"]
        assert isinstance(plain, dict)
        return PartDone(plain, lambda: self._results.get(arrays))

    @contextlib.contextmanager
    def _watched(self, under_way: deque[Any]) -> Iterator[None]:
        """Cancel what is still under way at the end, or when the cluster is left before."""
        self._under_way.append(under_way)
        try:
            yield
        finally:
            self._under_way = [u for u in self._under_way if u is not under_way]
            self._cancel(under_way)

    def _cancel(self, under_way: deque[Any]) -> None:
        """Cancel tasks: a batch is interrupted, so that it removes its files; a part is killed.

        After the cluster was left nothing is requested: the library would start another cluster.
        """
        # Tasks of a cluster that failed have ended with it.
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError):
            while under_way and not self._results.was_left():
                first, _, *more = under_way.popleft()
                self._ray.cancel(first, force=not more)
                self._ending += [first] if more else []
            if not self._results.was_left():
                self._ending = self._unfinished(self._ending, 0.0)

    def _unfinished(self, refs: list[Any], seconds: float) -> list[Any]:
        """Wait for tasks to end; return those that have not."""
        if not refs:
            return []
        unfinished: list[Any] = self._ray.wait(refs, num_returns=len(refs), timeout=seconds)[1]
        return unfinished

    def _cancel_again(self) -> None:
        """Cancel batches again that have not ended.

        Ray loses a cancellation that reaches a worker just when it starts the task.
        """
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError):
            self._ending = self._unfinished(self._ending, 0.0)
            for ref in self._ending:
                self._ray.cancel(ref, force=False)

    def _wait_for_cancelled(self) -> bool:
        """Wait until cancelled batches have ended; return whether all have."""
        deadline = time.monotonic() + _END_SECONDS
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError):
            while self._ending:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self._ending = self._unfinished(self._ending, min(remaining, _CANCEL_AGAIN_SECONDS))
                self._cancel_again()
            return True
        return False


def _sweep_local(cleared: bool) -> None:
    """Remove files that our workers left on this machine, once killed workers have ended."""
    until = time.monotonic() + (0.0 if cleared else _END_SECONDS)
    while staging.sweep() and time.monotonic() < until:
        time.sleep(0.05)


def _reraised(error: Json) -> errors.SightlineError:
    """Return the exception that a part raised."""
    assert isinstance(error, list)
    name, text = str(error[0]), str(error[1])
    kind = getattr(errors, name, errors.ComputeError)
    raised: errors.SightlineError = kind(text)
    return raised
