"""Worker processes on this machine.

Decode workers see files nobody vouches for: little memory, no network, nothing writable, a clock on
every file. Describe workers see only pictures already made small: more memory, no clock to speak
of. A worker that dies or hangs is replaced, the file it was at is named, and the files sent after
it are sent again.
"""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Iterable, Iterator

from sightline.compute.channel import Closed
from sightline.compute.process import Ticket, WorkerProcess
from sightline.contracts import Done, Failed, InTurn, Job, Json, WorkerKind
from sightline.errors import ComputeError, ParameterError

MEMORY = {"decode": 1 << 30, "describe": 2 << 30}
SECONDS = {"decode": 10.0, "describe": 120.0}
# How far answers may run ahead of the one that is waited for; bounds what is held in memory.
_WINDOW = 256
_TRIES = 2
_HANDFUL_SECONDS = 0.002
_OVERSLEPT_SECONDS = 1.0
# Whoever asks this thread to stop without a signal of its own is heard after so long.
_TURN_SECONDS = 1.0


class LocalCompute(InTurn):
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
        # Started here and not when the first answer is asked for: the kernel ends a worker with
        # the thread that started it, and answers may be asked for in a thread of a shorter life.
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
            raise ComputeError("The workers were stopped.")
        return pool

    def seconds(self, kind: WorkerKind) -> float:
        """Return the time limit for one job."""
        return self._seconds[kind]

    def filtered(self) -> bool:
        """Return whether the kernel holds decode workers off files, sockets and programs."""
        worker = self.pool("decode", "sightline.pictures.reading:read_picture")[0]
        while not worker.ready:
            worker.receive()
        return worker.filtered

    def stop(self) -> None:
        """Give up whatever is under way, from any thread: its answers end in a `ComputeError`.

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
    """One call of `run`: which jobs wait, which are under way, which answers wait their turn."""

    def __init__(
        self, compute: LocalCompute, task: str, jobs: Iterable[Job], kind: WorkerKind
    ) -> None:
        self.compute, self.task, self.kind = compute, task, kind
        self.fresh = iter(jobs)
        self.taken = 0
        self.again: deque[Ticket] = deque()
        self.alone: deque[Ticket] = deque()
        self.alone_under_way = False
        self.answered: dict[int, Done | Failed] = {}
        self.next = 0
        self.last: int | None = None
        self.deaths_at_start = 0

    def answers(self) -> Iterator[Done | Failed]:
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
                self._listen(pool)
        finally:
            # Somebody stopped listening half-way: answers still to come belong to nobody.
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
        if self.again:
            return self.again.popleft()
        if self.last is not None or self.taken >= self.next + _WINDOW:
            return None
        job = next(self.fresh, None)
        if job is None:
            self.last = self.taken
            return None
        self.taken += 1
        return Ticket(self.taken - 1, job)

    def _watch(self, pool: list[WorkerProcess]) -> None:
        """Wait from now on for the workers there are now."""
        self.poll = select.poll()
        self.watched = {w.channel.fileno(): w for w in pool}
        for fd in self.watched:
            self.poll.register(fd, select.POLLIN)

    def _listen(self, pool: list[WorkerProcess]) -> None:
        limit = self.compute.seconds(self.kind)
        if all(w.is_busy() for w in pool):
            # Nobody is about to run dry, so take answers by the handful: to wake up for each costs
            # about as much as the answer itself.
            time.sleep(_HANDFUL_SECONDS)
        wait = min(_TURN_SECONDS, max(0.0, min(w.late(limit) for w in pool)))
        before = time.monotonic()
        poll, ready = self.poll, self.poll.poll(wait * 1000 + 1)
        if time.monotonic() - before > wait + _OVERSLEPT_SECONDS:
            # We were stopped (Ctrl-Z, a sleeping laptop), and so were the workers.
            for worker in pool:
                worker.forgive()
        while ready:
            for fd, _ in ready:
                self._hear(pool, self.watched[fd])
                if self.poll is not poll:
                    return  # A worker was replaced; its number may be another's now.
            ready = poll.poll(0)
        for worker in [w for w in pool if w.late(limit) <= 0]:
            self._replace(pool, worker, f"it took longer than {limit:g} seconds", "timeout")

    def _hear(self, pool: list[WorkerProcess], worker: WorkerProcess) -> None:
        try:
            heard = worker.receive()
        except (Closed, ValueError, KeyError, RecursionError, ComputeError):
            self._replace(pool, worker, "", "crash")
            return
        if heard is None:
            return
        ticket, value, blob = heard
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
        """End a worker, blame the job it was at, and send the others again."""
        started = worker.ready
        tickets = list(worker.under_way)
        how = worker.end()
        pool.remove(worker)
        if not started:
            self.deaths_at_start += 1
            if self.deaths_at_start > 3:
                raise ComputeError(f"Worker processes die while starting ({how}).")
            self._again(tickets)
        elif tickets:
            self._blame(tickets[0], kind, reason or f"it made the decoder die ({how})")
            self._again(tickets[1:])
        self._watch(self.compute.pool(self.kind, self.task))

    def _blame(self, ticket: Ticket, kind: str, reason: str) -> None:
        if ticket.alone:
            self.alone_under_way = False
        if kind == "crash" and ticket.tries + 1 < _TRIES:
            # Memory that an earlier file spoilt can kill a worker later: give it a fresh one.
            again = Ticket(ticket.index, ticket.job, ticket.alone, ticket.tries + 1)
            (self.alone if ticket.alone else self.again).appendleft(again)
        else:
            self.answered[ticket.index] = Failed(kind, reason)

    def _again(self, tickets: list[Ticket]) -> None:
        for t in reversed(tickets):
            if t.alone:
                self.alone_under_way = False
                self.alone.appendleft(t)
            else:
                self.again.appendleft(t)


def _text(value: Json) -> str:
    """Return what a worker says, without halves of characters, which nothing can store or print."""
    return str(value).encode("utf-8", "replace").decode()
