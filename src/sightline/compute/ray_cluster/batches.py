"""Batches of jobs, as they leave for a cluster: with the bytes of the files that they name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sightline.compute.describing import DESCRIBE_TASK
from sightline.compute.tasks import attempt
from sightline.contracts import Done, Failed, Job, Json
from sightline.pictures import carrying
from sightline.pictures.reading import READ_TASK, WORDS_TASK

# A batch ends at so many jobs or bytes.
_JOBS, _BYTES = 16, 8 << 20


def batches(task: str, jobs: Iterable[Job]) -> Iterator[list[Job | Failed]]:
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


def books(task: str, job: Job) -> list[str]:
    """Return the files of arrays that a describing job names."""
    features = job.args.get("features") if task == DESCRIBE_TASK else None
    if not isinstance(features, list):
        return []
    return [str(f).partition("@")[2] for f in features if "@" in str(f)]
