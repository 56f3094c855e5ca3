"""Work on a Ray cluster, under the contract of `compute.local`.

Jobs go out in batches through Ray's object store, with the bytes of the files they name, so that
machines need no file system in common. A Ray worker hands them to limited workers of its own
(`node`). A batch whose machine dies is run again on another one; answers come in the jobs' order,
so that what is published depends on the pictures alone. Held arrays are handed over once; parts of
a computation name them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import errors
from sightline.compute.describing import DESCRIBE_TASK
from sightline.compute.local import SECONDS
from sightline.compute.ray_cluster import node
from sightline.compute.ray_cluster.frames import pack_jobs, unpack_answers
from sightline.compute.ray_cluster.identity import identity
from sightline.compute.ray_cluster.joining import join, leave, load_ray
from sightline.compute.ray_cluster.waiting import Waiting, clear
from sightline.compute.tasks import attempt
from sightline.contracts import (
    Done,
    Failed,
    Held,
    Job,
    Json,
    Part,
    PartDone,
    PartTask,
    WorkerKind,
)
from sightline.pictures import carrying
from sightline.pictures.reading import READ_TASK, WORDS_TASK

# A batch ends at so many jobs or bytes.
_JOBS, _BYTES = 16, 8 << 20
# How often what runs on a machine that dies is run again elsewhere.
_TRIES = 5


class RayCompute:
    """A Ray cluster that works for us.

    Parameters
    ----------
    address : HOST:PORT or ray://HOST:PORT; "" is that of RAY_ADDRESS, or a cluster of our own on
        this machine.
    workers : how much is under way at once; 0 is one task for each processor of the cluster.
    seconds : time limit for one file in a decode worker.
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
        self._ray, self._waiting = ray, Waiting(ray)
        options = {"num_cpus": 1, "max_retries": _TRIES}
        self._run_batch = ray.remote(node.run_batch).options(**options, num_returns=2)
        self._run_part = ray.remote(node.run_part).options(**options, num_returns=2)
        self._files: dict[str, Any] = {}

    @property
    def said(self) -> str:
        """Which cluster it is."""
        return self._joined.said

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        """Yield each job's answer, in the order of the jobs."""
        under_way: deque[tuple[Any, Any, list[Failed | None]]] = deque()
        try:
            for batch in _batches(task, jobs):
                while len(under_way) >= 2 * self.workers + 1:
                    yield from self._answers(*under_way.popleft())
                under_way.append(self._sent(task, batch, kind))
            while under_way:
                yield from self._answers(*under_way.popleft())
        finally:
            self._cancel([text for text, _, _ in under_way])

    def hold(self, arrays: Mapping[str, NDArray[Any]]) -> Held:
        """Put arrays into the cluster's object store, once."""
        with clear(self._ray):
            ref = self._ray.put({n: np.asarray(a) for n, a in arrays.items()})
        return Held((ref.hex(), ref))

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        """Yield what became of each part, in order."""
        name = f"{task.__module__}:{task.__qualname__}"
        under_way: deque[tuple[Any, Any]] = deque()
        try:
            for part in parts:
                while len(under_way) >= 2 * self.workers + 1:
                    yield self._part_done(*under_way.popleft())
                under_way.append(self._part_sent(name, part))
            while under_way:
                yield self._part_done(*under_way.popleft())
        finally:
            self._cancel([value for value, _ in under_way])

    def close(self) -> None:
        """Leave the cluster; one of our own ends."""
        self._files.clear()
        leave(self._joined)

    def __enter__(self) -> RayCompute:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _sent(
        self, task: str, batch: list[Job | Failed], kind: WorkerKind
    ) -> tuple[Any, Any, list[Failed | None]]:
        jobs = [j for j in batch if isinstance(j, Job)]
        failed = [j if isinstance(j, Failed) else None for j in batch]
        books = sorted({b for j in jobs for b in _books(task, j)})
        with clear(self._ray):
            refs = [self._file(b) for b in books]
            text, blob = self._run_batch.remote(
                identity(), task, kind, self._seconds, pack_jobs(jobs), books, *refs
            )
        return text, blob, failed

    def _answers(
        self, text: Any, blob: Any, failed: list[Failed | None]
    ) -> Iterator[Done | Failed]:
        try:
            found = iter(unpack_answers(self._waiting.both(text, blob)))
        except BaseException:
            self._cancel([text])
            raise
        for f in failed:
            yield f if f is not None else next(found)

    def _file(self, path: str) -> Any:
        """Return a file of ours as the cluster holds it; such files never change."""
        if path not in self._files:
            self._files[path] = self._ray.put(np.fromfile(Path(path), np.uint8))
        return self._files[path]

    def _part_sent(self, name: str, part: Part) -> tuple[Any, Any]:
        held: list[tuple[str, Any]] = [h.value for h in part.held]  # type: ignore[misc]
        own = {n: np.asarray(a) for n, a in part.arrays.items()}
        keys, refs = [key for key, _ in held], [ref for _, ref in held]
        with clear(self._ray):
            value, arrays = self._run_part.remote(identity(), name, part.args, keys, *refs, own)
        return value, arrays

    def _part_done(self, value: Any, arrays: Any) -> PartDone:
        try:
            said: dict[str, Json] = self._waiting.one(value)
        except BaseException:
            self._cancel([value])
            raise
        if "error" in said:
            raise _again(said["error"])
        plain = said["value"]
        assert isinstance(plain, dict)
        return PartDone(plain, lambda: self._waiting.one(arrays))

    def _cancel(self, refs: list[Any]) -> None:
        """Take back what nobody waits for any more."""
        for ref in refs:
            self._ray.cancel(ref, force=True)


def _batches(task: str, jobs: Iterable[Job]) -> Iterator[list[Job | Failed]]:
    """Yield jobs in batches, each with the bytes of its files; one without them has failed."""
    batch: list[Job | Failed] = []
    size = 0
    for job in jobs:
        ready = _carried(task, job)
        batch.append(ready)
        size += len(ready.blob) if isinstance(ready, Job) else 0
        if len(batch) >= _JOBS or size >= _BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _carried(task: str, job: Job) -> Job | Failed:
    if task not in (READ_TASK, WORDS_TASK):
        return job
    packed: list[Job] = []

    def pack(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
        packed.append(carrying.packed(task, replace(job, args=args)))
        return Done({})

    # What cannot be read is an answer here as it is in a worker.
    found = attempt(pack, job, alone=True)
    return found if isinstance(found, Failed) else packed[0]


def _books(task: str, job: Job) -> list[str]:
    """Return the files of arrays that a describing job names."""
    features = job.args.get("features") if task == DESCRIBE_TASK else None
    if not isinstance(features, list):
        return []
    return [str(f).partition("@")[2] for f in features if "@" in str(f)]


def _again(said: Json) -> errors.SightlineError:
    """Return what a part raised, as it was."""
    assert isinstance(said, list)
    name, text = str(said[0]), str(said[1])
    kind = getattr(errors, name, errors.ComputeError)
    made: errors.SightlineError = kind(text)
    return made
