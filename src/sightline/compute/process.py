"""The parent's side of one worker process: start, send, receive, end."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass

from sightline.compute.channel import DEPTH, REGION_BYTES, Channel, Closed
from sightline.contracts import Job, Json, WorkerKind
from sightline.errors import ComputeError

START_SECONDS = 60.0
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A job that was taken: its position, whether it runs alone, and how often it was tried."""

    index: int
    job: Job
    alone: bool = False
    tries: int = 0


class WorkerProcess:
    """A worker with up to `DEPTH` jobs under way; it works on them in the order they were sent."""

    def __init__(self, kind: WorkerKind, memory: int, task: str) -> None:
        to_worker, from_us = os.pipe()
        from_worker, to_us = os.pipe()
        region_fd = os.memfd_create("sightline") if hasattr(os, "memfd_create") else _unlinked()
        os.ftruncate(region_fd, REGION_BYTES)
        args = [kind, str(memory), str(to_worker), str(to_us), str(region_fd), task]
        try:
            self._process = subprocess.Popen(
                # Without -P, Python files in the current folder could be imported and run.
                [sys.executable, "-P", "-m", "sightline.compute.worker", *args],
                pass_fds=(to_worker, to_us, region_fd),
                stdin=subprocess.DEVNULL,
                env={**os.environ, **_ONE_THREAD},
            )
        except OSError as e:
            raise ComputeError(f"A worker process cannot be started: {e.strerror}.") from e
        finally:
            os.close(to_worker)
            os.close(to_us)
        self._region = mmap.mmap(region_fd, REGION_BYTES)
        os.close(region_fd)
        self._fds: tuple[int, ...] = (from_worker, from_us)
        self.channel = Channel(from_worker, from_us, self._region, is_parent=True)
        self.under_way: deque[Ticket] = deque()
        self.ready = self.filtered = False
        self._since = time.monotonic()

    def has_room(self) -> bool:
        """Return whether another job can be sent; one that is still starting gets only a few."""
        return len(self.under_way) < (DEPTH if self.ready else 2)

    def is_alive(self) -> bool:
        """Return whether the process is running."""
        return self._process.poll() is None

    def restart_clock(self) -> None:
        """Restart the time limit of its current job."""
        self._since = time.monotonic()

    def is_busy(self) -> bool:
        """Return whether more than half of its slots are in use."""
        return len(self.under_way) > DEPTH // 2

    def send(self, task: str, ticket: Ticket) -> None:
        """Send a job. A worker that has just died is noticed when its answer is awaited."""
        if not self.under_way:
            self._since = time.monotonic()
        self.under_way.append(ticket)
        header: dict[str, Json] = {"task": task, "args": ticket.job.args, "alone": ticket.alone}
        try:
            self.channel.send(header, ticket.job.blob)
        except Closed:
            return

    def receive(self) -> tuple[Ticket, dict[str, Json], bytes] | None:
        """Return the next answer, or None for the message that it is ready.

        Raises `Closed` if the worker has died.
        """
        value, blob = self.channel.receive()
        self._since = time.monotonic()
        if not self.ready:
            self.ready, self.filtered = True, bool(value.get("filtered"))
            return None
        if not self.under_way:
            raise ComputeError("A worker sent an answer without a job.")
        return self.under_way.popleft(), value, blob

    def seconds_left(self, limit: float) -> float:
        """Return how many seconds the current job has left; negative if its time is over."""
        allowed = limit if self.ready else START_SECONDS
        return self._since + allowed - time.monotonic() if self.under_way else limit

    def kill(self) -> None:
        """Kill the process, from any thread; `receive` then raises `Closed`."""
        self._process.kill()

    def end(self) -> str:
        """End the process and say how it ended."""
        if self._process.poll() is None and self.under_way:
            self._process.kill()
        for fd in self._fds:
            os.close(fd)
        self._fds = ()
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._region.close()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _unlinked() -> int:
    import tempfile

    fd, path = tempfile.mkstemp()
    os.unlink(path)
    return fd
