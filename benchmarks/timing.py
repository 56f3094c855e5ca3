"""Clocks: wall time and CPU time of work in this process, its workers, and whole commands."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.rows import BenchmarkError

_TICK = os.sysconf("SC_CLK_TCK")
# This process pins its libraries to one thread; a command that is timed runs as a user's would.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Cost(NamedTuple):
    """Seconds by the clock on the wall, and seconds of CPU."""

    wall: float
    cpu: float


class Ran(NamedTuple):
    """A command that ended well: what it cost and what it said."""

    cost: Cost
    out: str
    err: str


def clocked(work: Callable[[], object]) -> Cost:
    """Run some work; its CPU time includes that of child processes, ended or still there."""
    # Asking for the children takes a millisecond of its own, so it is done outside the two clocks.
    children = _children()
    wall, own = time.perf_counter(), time.process_time()
    work()
    wall, own = time.perf_counter() - wall, time.process_time() - own
    return Cost(wall, own + _children() - children)


def _children() -> float:
    """Return the CPU time of the children of this process, ended or still there.

    A child's time moves from one sum to the other when it ends, so differences stay right. Living
    children count in ticks of the kernel, usually 10 ms.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(_living(os.getpid()))


def _living(parent: int) -> Iterator[float]:
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            # The program's name, in brackets, may itself hold spaces and brackets.
            fields = Path("/proc", name, "stat").read_text("latin-1").rpartition(") ")[2].split()
            if int(fields[1]) == parent:
                yield (int(fields[11]) + int(fields[12])) / _TICK


def interleaved(
    repetitions: int, sides: Sequence[Callable[[], Cost]], warm: int = 1
) -> list[list[Cost]]:
    """Measure A B … A B … and return the costs of each side; the first `warm` rounds are thrown."""
    taken: list[list[Cost]] = [[] for _ in sides]
    for repetition in range(-warm, repetitions):
        for side, costs in zip(sides, taken, strict=True):
            cost = side()
            if repetition >= 0:
                costs.append(cost)
    return taken


def walls(costs: Sequence[Cost]) -> list[float]:
    """Return the wall times of some costs."""
    return [c.wall for c in costs]


def cpus(costs: Sequence[Cost]) -> list[float]:
    """Return the CPU times of some costs."""
    return [c.cpu for c in costs]


def environment(store_folder: Path) -> dict[str, str]:
    """Return the environment of a timed command: a user's, but with no settings of anybody's.

    Bytecode is kept in the bench's folder, so that a command finds it as after any installation,
    also where this environment was told to write none.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SIGHTLINE_")}
    for name in (*THREADS, "PYTHONDONTWRITEBYTECODE"):
        kept.pop(name, None)
    places = {"XDG_CONFIG_HOME": "home", "XDG_DATA_HOME": "home", "PYTHONPYCACHEPREFIX": "bytecode"}
    return {**kept, **{name: str(store_folder / place) for name, place in places.items()}}


def command(args: Sequence[str], store_folder: Path) -> Ran:
    """Run a command to its end; its cost is that of this child alone."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begun = time.perf_counter()
        process = subprocess.Popen(args, stdout=out, stderr=err, env=environment(store_folder))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        ran = Ran(Cost(wall, usage.ru_utime + usage.ru_stime), out.read(), err.read())
    if process.returncode:
        raise BenchmarkError(f"{' '.join(args)} ended with {process.returncode}: {ran.err[-500:]}")
    return ran


def sightline(*args: str | Path) -> list[str]:
    """Return the words of a `sightline` command of this environment."""
    return [str(Path(sys.executable).with_name("sightline")), *map(str, args)]


def python(*args: str) -> list[str]:
    """Return the words of a `python` command of this environment."""
    return [sys.executable, *args]
