"""Work in this process, without limits: for tests, and to measure the cost of isolation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sightline.compute.tasks import attempt, find_task
from sightline.contracts import Done, Failed, Job, SerialMapper, WorkerKind


class InlineCompute(SerialMapper):
    """Runs each job in this process; a crash of a decoder is a crash of the program."""

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        """Yield the answers in order."""
        function = find_task(task)
        for job in jobs:
            yield attempt(function, job, alone=True)

    def close(self) -> None:
        """Nothing to end."""
