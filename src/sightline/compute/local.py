"""Worker processes on this machine.

Decode workers read untrusted files: they have little memory, no network, nothing to write to, and a
time limit for each file. Describe workers get only scaled-down pictures: they have more memory and
a generous time limit. A worker that dies or hangs is replaced, the file it was processing is
reported, and the files sent after it are sent again.
"""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Iterable, Iterator

from sightline.compute.channel import Closed
from sightline.compute.process import Ticket, WorkerProcess
from sightline.contracts import Done, Failed, Job, Json, SerialMapper, WorkerKind
from sightline.errors import ComputeError, ParameterError

MEMORY = {"decode": 1 << 30, "describe": 2 << 30}
SECONDS = {"decode": 10.0, "describe": 120.0}
# How many answers may be ahead of the next one in order; bounds memory.
_WINDOW = 256
_TRIES = 2
_BATCH_SECONDS = 0.002
_SUSPENDED_SECONDS = 1.0
# A request to stop that comes without a signal is noticed after this long.
_POLL_SECONDS = 1.0


class LocalCompute(SerialMapper):
    """A pool of limited worker processes, started when first needed.

    Parameters
    ----------
    workers : int
        Processes of each kind; 0 means one for each core.
    seconds : float, optional
        Time limit for one file in a decode worker.
    """

    def __init__(self, workers: int = 0, *, seconds: float = SECONDS["decode"]) -> None:
        if workers < 0:
            raise ParameterError.of("workers", "LocalCompute", "0 or more", workers)
        self.workers = workers or len(os.sched_getaffinity(0))
        self._seconds = {**SECONDS, "decode": seconds}
        self._pools: dict[WorkerKind, list[WorkerProcess]] = {"decode": [], "describe": []}
        self._stopped = False

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        """Yield each job's answer, in the order of the jobs."""
        # Started here and not at the first answer: the kernel ends a worker with the thread that
        # started it, and answers may be read in a thread that ends sooner.
        self.pool(kind, task)
        return _Run(self, task, jobs, kind).answers()

    def pool(self, kind: WorkerKind, task: str) -> list[WorkerProcess]:
        """Return the workers of a kind, starting those that are missing."""
        pool = self._pools[kind]
        for worker in [w for w in pool if not w.under_way and not w.is_alive()]:
            pool.remove(worker)
            worker.end()
        while len(pool) < self.workers and not self._stopped:
            pool.append(WorkerProcess(kind, MEMORY[kind], task))
        if self._stopped:
            raise ComputeError("The workers were stopped. Make another LocalCompute to go on.")
        return pool

    def seconds(self, kind: WorkerKind) -> float:
        """Return the time limit for one job."""
        return self._seconds[kind]

    def filtered(self) -> bool:
        """Return whether the kernel keeps decode workers from files, sockets and programs."""
        worker = self.pool("decode", "sightline.pictures.reading:read_picture")[0]
        while not worker.ready:
            worker.receive()
        return worker.filtered

    def stop(self) -> None:
        """Abort what is under way, from any thread: its answers end in a `ComputeError`.

        `close` still belongs to the thread that uses the workers.
        """
        self._stopped = True
        for pool in self._pools.values():
            for worker in list(pool):
                worker.kill()

    def close(self) -> None:
        """End all workers."""
        for pool in self._pools.values():
            while pool:
                pool.pop().end()

    def __enter__(self) -> LocalCompute:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Run:
    """One call of `run`: waiting jobs, jobs under way, and answers that are not next in order."""

    def __init__(
        self, compute: LocalCompute, task: str, jobs: Iterable[Job], kind: WorkerKind
    ) -> None:
        self.compute, self.task, self.kind = compute, task, kind
        self.fresh = iter(jobs)
        self.n_taken = 0
        self.retries: deque[Ticket] = deque()
        self.alone: deque[Ticket] = deque()
        self.alone_under_way = False
        self.answered: dict[int, Done | Failed] = {}
        self.next = 0
        self.last: int | None = None
        self.deaths_at_start = 0

    def answers(self) -> Iterator[Done | Failed]:
        """Yield the answers in the order of the jobs."""
        pool = self.compute.pool(self.kind, self.task)
        self._watch(pool)
        try:
            while True:
                self._fill(pool)
                while self.next in self.answered:
                    yield self.answered.pop(self.next)
                    self.next += 1
                if self.last is not None and self.next == self.last:
                    return
                self._wait(pool)
        finally:
            # If the generator was closed early, nobody takes the answers still to come.
            for worker in [w for w in pool if w.under_way]:
                pool.remove(worker)
                worker.end()

    def _fill(self, pool: list[WorkerProcess]) -> None:
        for room in (1, 0):
            for worker in pool:
                # First one job for each idle worker, then fill all of them up.
                while worker.has_room() and not (room and worker.under_way):
                    ticket = self._next_ticket()
                    if ticket is None:
                        return
                    worker.send(self.task, ticket)

    def _next_ticket(self) -> Ticket | None:
        if self.alone and not self.alone_under_way:
            self.alone_under_way = True
            return self.alone.popleft()
        if self.retries:
            return self.retries.popleft()
        if self.last is not None or self.n_taken >= self.next + _WINDOW:
            return None
        job = next(self.fresh, None)
        if job is None:
            self.last = self.n_taken
            return None
        self.n_taken += 1
        return Ticket(self.n_taken - 1, job)

    def _watch(self, pool: list[WorkerProcess]) -> None:
        """Register the current workers with the poll object."""
        self.poll = select.poll()
        self.watched = {w.channel.fileno(): w for w in pool}
        for fd in self.watched:
            self.poll.register(fd, select.POLLIN)

    def _wait(self, pool: list[WorkerProcess]) -> None:
        limit = self.compute.seconds(self.kind)
        if all(w.is_busy() for w in pool):
            # No worker is about to run out of jobs, so take several answers at a time: waking up
            # for each costs about as much as the answer itself.
            time.sleep(_BATCH_SECONDS)
        wait = min(_POLL_SECONDS, max(0.0, min(w.seconds_left(limit) for w in pool)))
        before = time.monotonic()
        poll, ready = self.poll, self.poll.poll(wait * 1000 + 1)
        if time.monotonic() - before > wait + _SUSPENDED_SECONDS:
            # This process was suspended (Ctrl-Z, a sleeping laptop), and so were the workers.
            for worker in pool:
                worker.restart_clock()
        while ready:
            for fd, _ in ready:
                self._receive(pool, self.watched[fd])
                if self.poll is not poll:
                    return  # A worker was replaced; its descriptor may belong to another one now.
            ready = poll.poll(0)
        for worker in [w for w in pool if w.seconds_left(limit) <= 0]:
            self._replace(pool, worker, f"it took longer than {limit:g} seconds", "timeout")

    def _receive(self, pool: list[WorkerProcess], worker: WorkerProcess) -> None:
        try:
            message = worker.receive()
        except (Closed, ValueError, KeyError, RecursionError, ComputeError):
            self._replace(pool, worker, "", "crash")
            return
        if message is None:
            return
        ticket, value, blob = message
        self.deaths_at_start = 0
        self._settle(ticket, value, blob)

    def _settle(self, ticket: Ticket, value: dict[str, Json], blob: bytes) -> None:
        if ticket.alone:
            self.alone_under_way = False
        if value.get("alone"):
            self.alone.append(Ticket(ticket.index, ticket.job, True, ticket.tries))
        elif "failed" in value:
            self.answered[ticket.index] = Failed(_text(value["failed"]), _text(value["reason"]))
        else:
            answer = value.get("value")
            self.answered[ticket.index] = Done(answer if isinstance(answer, dict) else {}, blob)

    def _replace(
        self, pool: list[WorkerProcess], worker: WorkerProcess, reason: str, kind: str
    ) -> None:
        """End a worker, fail or retry its current job, and send its other jobs again."""
        started = worker.ready
        tickets = list(worker.under_way)
        how = worker.end()
        pool.remove(worker)
        if not started:
            self.deaths_at_start += 1
            if self.deaths_at_start > 3:
                raise ComputeError(
                    f"Worker processes die while starting ({how}). Run: sightline doctor"
                )
            self._send_again(tickets)
        elif tickets:
            self._blame(tickets[0], kind, reason or f"it made the decoder die ({how})")
            self._send_again(tickets[1:])
        self._watch(self.compute.pool(self.kind, self.task))

    def _blame(self, ticket: Ticket, kind: str, reason: str) -> None:
        if ticket.alone:
            self.alone_under_way = False
        if kind == "crash" and ticket.tries + 1 < _TRIES:
            # An earlier file may have corrupted the worker's memory: try again in a new worker.
            again = Ticket(ticket.index, ticket.job, ticket.alone, ticket.tries + 1)
            (self.alone if ticket.alone else self.retries).appendleft(again)
        else:
            self.answered[ticket.index] = Failed(kind, reason)

    def _send_again(self, tickets: list[Ticket]) -> None:
        for t in reversed(tickets):
            if t.alone:
                self.alone_under_way = False
                self.alone.appendleft(t)
            else:
                self.retries.appendleft(t)


def _text(value: Json) -> str:
    """Return a worker's text without lone surrogates, which cannot be stored or printed."""
    return str(value).encode("utf-8", "replace").decode()
