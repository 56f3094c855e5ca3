"""Waiting in tests: for events, never for a time; one limit keeps tests from hanging."""

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

# Seconds after which a test gives up on what must happen. No test checks how
# long anything takes. A lower limit shows failures of the page sooner.
LIMIT = float(os.environ.get("SIGHTLINE_TEST_LIMIT", "600"))
REAL_SECONDS_LEFT = WorkerProcess.seconds_left
# Seconds between two polls of a state that notifies nobody when it changes.
_POLL = 0.01


def until(condition: Callable[..., object], what: str = "the condition") -> None:
    """Poll until a condition is true."""
    end = monotonic() + LIMIT
    while not condition():
        assert monotonic() < end, f"{what} never became true"
        threading.Event().wait(_POLL)


def until_ended(*pids: int) -> None:
    """Wait until processes have ended, as the kernel reports it."""
    for pid in pids:
        assert ended(pid, int(LIMIT * 1000)), f"the process {pid} never ended"


def alive(pid: int) -> bool:
    """Return whether a process runs; one that ended and was not waited for does not."""
    return not ended(pid, 0)


def joined(*threads: threading.Thread) -> bool:
    """Wait until threads have ended; return whether they have."""
    for thread in threads:
        thread.join(LIMIT)
    return not any(t.is_alive() for t in threads)


def start_daemon(work: Callable[..., object]) -> threading.Thread:
    """Start a daemon thread, which does not keep the process from ending."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@contextmanager
def must_end() -> Iterator[None]:
    """Fail if a block does not end."""

    def late(number: int, frame: Any) -> None:
        raise AssertionError("it never ends")

    before = signal(SIGALRM, late)
    setitimer(ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)


def time_only_hanging_jobs(monkeypatch: Any) -> None:
    """Apply the time limit of workers only to jobs that hang on purpose.

    However slow the machine is, no other job then exceeds its limit.
    """

    def late(self: WorkerProcess, limit: float) -> float:
        args = self.under_way[0].job.args if self.under_way else {}
        named = os.path.basename(str(args.get("path", "")))
        hangs = "hang" in (args.get("do"), args.get("then")) or named.startswith("hang")
        return REAL_SECONDS_LEFT(self, limit) if hangs or not self.ready else limit

    monkeypatch.setattr(WorkerProcess, "seconds_left", late)
