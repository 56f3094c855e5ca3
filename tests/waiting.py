"""Waiting in tests: for what happens, never for a time; one limit keeps them from hanging."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import ITIMER_REAL, SIGALRM, setitimer, signal
from time import monotonic
from typing import Any

from sightline.compute.process import WorkerProcess
from sightline.testing.watchdog import ended

# Seconds after which a test gives up on what must happen. No test checks how long anything takes.
LIMIT = 600.0
LATE = WorkerProcess.seconds_left
# What is looked at again, where nothing tells of a change, is looked at after so many seconds.
_LOOK = 0.01


def until(true: Callable[..., object], what: str = "it") -> None:
    """Wait until something is so; for what tells nobody when it changes."""
    end = monotonic() + LIMIT
    while not true():
        assert monotonic() < end, f"{what} never came to pass"
        threading.Event().wait(_LOOK)


def until_ended(*pids: int) -> None:
    """Wait until processes have ended, as the kernel tells."""
    for pid in pids:
        assert ended(pid, int(LIMIT * 1000)), f"the process {pid} never ended"


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and that nobody asked about does not."""
    return not ended(pid, 0)


def joined(*threads: threading.Thread) -> bool:
    """Wait until threads have ended; say whether they have."""
    for thread in threads:
        thread.join(LIMIT)
    return not any(t.is_alive() for t in threads)


def closing(thread: Callable[..., object]) -> threading.Thread:
    """Return a thread that has begun, and keeps no process from ending."""
    begun = threading.Thread(target=thread, daemon=True)
    begun.start()
    return begun


@contextmanager
def ends() -> Iterator[None]:
    """Fail where a block would run for ever."""

    def late(number: int, frame: Any) -> None:
        raise AssertionError("it never ends")

    before = signal(SIGALRM, late)
    setitimer(ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)


def time_only_what_hangs(monkeypatch: Any) -> None:
    """Have the clock of workers run for jobs that are made to hang, and for no other.

    However slow the machine is, no honest job is then blamed for it.
    """

    def late(self: WorkerProcess, limit: float) -> float:
        args = self.under_way[0].job.args if self.under_way else {}
        named = os.path.basename(str(args.get("path", "")))
        hangs = "hang" in (args.get("do"), args.get("then")) or named.startswith("hang")
        return LATE(self, limit) if hangs or not self.ready else limit

    monkeypatch.setattr(WorkerProcess, "seconds_left", late)
