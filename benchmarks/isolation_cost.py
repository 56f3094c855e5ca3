"""isolation-cost: reading pictures in a limited worker process against reading them in this one.

Both run the very same task over the same files; the worker is warm, so its start is left out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from benchmarks.bench import Bench
from benchmarks.pictures import real_or_synthetic
from benchmarks.rows import BenchmarkError, Goal, Row, compared
from benchmarks.timing import clocked, cpus, interleaved, walls
from sightline.compute.inline import InlineCompute
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute, Done, Job
from sightline.pictures.folder import PictureFile, walk
from sightline.pictures.reading import READ_TASK, ReadLimits, request

NAME = "isolation-cost"
ROWS = ("isolation-cost/wall", "isolation-cost/cpu")
_GOAL = Goal("ratio", 1.10)


def measure(bench: Bench) -> list[Row]:
    """Read the files in turn by one warm worker and in process."""
    folder = real_or_synthetic(bench)
    root = os.fsencode(folder.path)
    picture_files = [f for f in walk(root) if isinstance(f, PictureFile)][: bench.sizes.isolation]
    jobs = [request(root, f, ReadLimits(), pixels=False) for f in picture_files]
    inline = InlineCompute()
    with LocalCompute(1) as local:
        ours, in_process_costs = interleaved(
            bench.sizes.repetitions,
            [
                lambda: clocked(lambda: _read(local, jobs)),
                lambda: clocked(lambda: _read(inline, jobs)),
            ],
        )
    note = f"{len(jobs)} files of: {folder.what}; cpu is parent and worker together"
    in_process = "s in this process"
    return [
        compared(ROWS[0], "s", walls(ours), in_process, walls(in_process_costs), _GOAL, note),
        compared(ROWS[1], "CPU s", cpus(ours), f"CPU {in_process}", cpus(in_process_costs), _GOAL),
    ]


def _read(compute: Compute, jobs: Sequence[Job]) -> None:
    read = sum(isinstance(a, Done) for a in compute.run(READ_TASK, jobs, "decode"))
    if read != len(jobs):
        raise BenchmarkError(f"{read} of {len(jobs)} pictures were read.")
