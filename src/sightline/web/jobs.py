"""Background jobs of the server: index, train and evaluate, serially, each in its own process.

Searches continue meanwhile: requests that start after a job has published see its version.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sightline.web.problems import Problem, of_error
from sightline.web.redaction import LOG, redacted, where_it_failed

# Number of events kept for late listeners; the oldest progress events are dropped first.
_KEPT = 500
# Number of finished jobs that are kept.
_REMEMBERED = 100
# Seconds that a cancelled job has to end by itself.
_GRACE_SECONDS = 3.0
_log = logging.getLogger("sightline")
ENDED = frozenset(("done", "failed", "cancelled"))


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a job; numbers ascend and may have gaps."""

    number: int
    kind: str
    data: Mapping[str, Any]


@dataclass(slots=True, eq=False)
class ServerJob:
    """A job: queued, running, done, failed or cancelled."""

    id: str
    verb: str
    options: Mapping[str, Any]
    state: str = "queued"
    begun: float | None = None
    ended: float | None = None
    report: Any = None
    detail: str = ""
    events: list[JobEvent] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    listeners: list[Callable[[], None]] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    cancelled: bool = False
    n_events: int = 0

    def tell(self, kind: str, **data: Any) -> None:
        """Add an event and wake the listeners."""
        with self.lock:
            self.n_events += 1
            self.events.append(JobEvent(self.n_events, kind, data))
            if len(self.events) > _KEPT:
                old = next((e for e in self.events if e.kind == "progress"), self.events[0])
                self.events.remove(old)
            listeners = list(self.listeners)
        for wake in listeners:
            wake()

    def since(self, number: int) -> tuple[list[JobEvent], bool]:
        """Return the events after a number, and whether there will be no more."""
        with self.lock:
            return [e for e in self.events if e.number > number], self.state in ENDED

    @contextlib.contextmanager
    def listening(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake` after each event."""
        with self.lock:
            self.listeners.append(wake)
        try:
            yield
        finally:
            with self.lock:
                self.listeners.remove(wake)

    def end(self, state: str, detail: str = "", report: Any = None) -> None:
        """Set the final state."""
        with self.lock:
            self.state, self.detail, self.report, self.ended = state, detail, report, time.time()
        self.tell("end", state=state, detail=detail)


class Jobs:
    """All jobs of a server; the thread that runs them starts with the first."""

    def __init__(self, root: bytes, store: str, waiting: int) -> None:
        self._root, self._store, self._waiting = root, store, waiting
        self._jobs: dict[str, ServerJob] = {}
        self._queue: queue.SimpleQueue[ServerJob | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, verb: str, options: Mapping[str, Any]) -> ServerJob:
        """Put a job into the queue."""
        job = ServerJob(secrets.token_hex(6), verb, dict(options))
        with self._lock:
            if sum(j.state == "queued" for j in self._jobs.values()) >= self._waiting:
                raise Problem(429, "jobs", f"{self._waiting} jobs are waiting already. Come back.")
            self._forget()
            self._jobs[job.id] = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
                self._thread.start()
        job.tell("queued")
        self._queue.put(job)
        return job

    def _forget(self) -> None:
        old = [j.id for j in self._jobs.values() if j.state in ENDED]
        for name in old[: max(0, len(old) - _REMEMBERED)]:
            del self._jobs[name]

    def all(self) -> list[ServerJob]:
        """Return all jobs, the newest first."""
        with self._lock:
            return list(self._jobs.values())[::-1]

    def get(self, name: str) -> ServerJob:
        """Return one job."""
        with self._lock:
            job = self._jobs.get(name)
        if job is None:
            raise Problem(404, "no-job", f"There is no job {name}. Jobs end with the server.")
        return job

    def cancel(self, name: str) -> ServerJob:
        """Cancel a job; a finished one stays unchanged."""
        job = self.get(name)
        with job.lock:
            job.cancelled = True
            process, waits = job.process, job.state == "queued"
        if process is not None:
            _stop(process)
        elif waits:
            job.end("cancelled")
        return job

    def end(self) -> None:
        """Stop all jobs; returns at once."""
        for job in self.all():
            if not job.cancelled and job.state not in ENDED:
                self.cancel(job.id)

    def close(self) -> None:
        """Stop all jobs, and wait for the running one."""
        self.end()
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(_GRACE_SECONDS)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                self._run(job)
            except Exception as e:
                _log.error("job %s failed: %s", job.verb, where_it_failed(e))
                self._failed(job, of_error(e).detail)

    def _run(self, job: ServerJob) -> None:
        with job.lock:
            if not job.cancelled:
                job.process = _started()
                job.state, job.begun = "running", time.time()
        if job.process is None:
            return  # It was cancelled while it waited.
        job.tell("running")
        last = self._followed(job, job.process)
        code = job.process.wait()
        for pipe in (job.process.stdin, job.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if last.get("kind") == "result":
            job.end("done", report=last["report"])
        elif last.get("kind") == "failed":
            self._failed(job, last["detail"])
        elif last.get("kind") == "broken":
            _log.error("job %s failed: %s", job.verb, last["where"])
            job.end("failed", f"This should not happen ({last['error']}). {LOG}")
        elif job.cancelled:
            job.end("cancelled")
        else:
            _log.error("job %s ended by itself, code %d", job.verb, code)
            job.end("failed", f"The process of the job ended by itself (code {code}). {LOG}")

    def _failed(self, job: ServerJob, detail: str) -> None:
        job.end("failed", redacted(detail, self._root, self._store))

    def _followed(self, job: ServerJob, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Add the events that a job writes until it ends; return the last one."""
        request = {
            "root": self._root.decode("utf-8", "surrogateescape"), "store": self._store,
            "verb": job.verb, "options": job.options,
        }  # fmt: skip
        last: dict[str, Any] = {}
        if process.stdin is None or process.stdout is None:
            return last
        with contextlib.suppress(OSError, ValueError):
            # Cancelled before it started to read.
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        for line in process.stdout:
            last = json.loads(line)
            if last["kind"] == "progress":
                job.tell("progress", **{k: v for k, v in last.items() if k != "kind"})
        return last


def _started() -> subprocess.Popen[bytes]:
    # A new process session: the server itself handles Ctrl-C and stops the job.
    return subprocess.Popen(
        [sys.executable, "-m", "sightline.web.work"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Terminate a process, and kill it if it does not end."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    late = threading.Timer(_GRACE_SECONDS, process.kill)
    late.daemon = True
    late.start()
