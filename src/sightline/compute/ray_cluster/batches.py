"""Batches of jobs for a cluster, with the bytes of the files that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sightline.compute.features import DESCRIBE_TASK
from sightline.compute.tasks import attempt
from sightline.contracts import Done, Failed, Job, Json
from sightline.pictures import transfer
from sightline.pictures.reading import READ_TASK, WORDS_TASK

# A batch ends at this many jobs or bytes.
_JOBS, _BYTES = 16, 8 << 20


def batches(task: str, jobs: Iterable[Job]) -> Iterator[list[Job | Failed]]:
    """Yield jobs in batches with the bytes of their files; unreadable files become `Failed`."""
    batch: list[Job | Failed] = []
    size = 0
    for job in jobs:
        ready = _with_files(task, job)
        batch.append(ready)
        size += len(ready.blob) if isinstance(ready, Job) else 0
        if len(batch) >= _JOBS or size >= _BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _with_files(task: str, job: Job) -> Job | Failed:
    if task not in (READ_TASK, WORDS_TASK):
        return job
    packed: list[Job] = []

    def pack(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
        packed.append(transfer.pack(task, replace(job, args=args)))
        return Done({})

    # A file that cannot be read becomes an answer, as in a worker.
    outcome = attempt(pack, job, alone=True)
    return outcome if isinstance(outcome, Failed) else packed[0]


def array_files(task: str, job: Job) -> list[str]:
    """Return the files of fitted features that a describe job names."""
    features = job.args.get("features") if task == DESCRIBE_TASK else None
    if not isinstance(features, list):
        return []
    return [str(f).partition("@")[2] for f in features if "@" in str(f)]
