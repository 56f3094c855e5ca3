"""Uploaded pictures: they are decoded in sandboxed workers, never in the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from sightline.compute.local import LocalCompute
from sightline.errors import DataError
from sightline.store.durable import disk_errors, scratch_folder
from sightline.web.problems import Problem, ending

if TYPE_CHECKING:
    from sightline.contracts import Compute

T = TypeVar("T")
# Seconds to wait at shutdown for work that is being stopped.
_END_SECONDS = 1.0


class Describer:
    """Decodes uploaded pictures and computes their features in sandboxed workers, serially.

    The kernel ends a worker with the thread that started it, so one thread starts them all.

    Parameters
    ----------
    waiting : int
        How many pictures may wait; more are rejected.
    seconds : float
        Time limit for decoding one picture.
    """

    def __init__(self, waiting: int, seconds: float) -> None:
        self._waiting = threading.BoundedSemaphore(waiting)
        self._seconds = seconds
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="describe")
        self._compute: LocalCompute | None = None
        self._ends = False

    async def run(self, picture: bytes, use: Callable[[str, Compute], T]) -> T:
        """Write a picture to a temporary file, call `use` with it, and remove it."""

        def with_file(compute: Compute) -> T:
            with scratch_folder(2 * len(picture)) as folder:
                path = os.path.join(folder, "picture")
                with disk_errors(path), open(path, "wb") as file:
                    file.write(picture)
                try:
                    return use(path, compute)
                except DataError as e:
                    # The path of the temporary file is not shown to clients.
                    raise DataError(str(e).replace(path, "The uploaded picture")) from e

        return await self.lend(with_file)

    async def lend(self, use: Callable[[Compute], T]) -> T:
        """Call `use` with the workers when they are free."""
        if not self._waiting.acquire(blocking=False):
            raise Problem(429, "uploads", "Too many uploads are waiting. Try again later.")
        # No thread of the request pool waits meanwhile.
        return await asyncio.wrap_future(self._thread.submit(self._use, use))

    def _use(self, use: Callable[[Compute], T]) -> T:
        try:
            self._compute = self._compute or LocalCompute(1, seconds=self._seconds)
            if self._ends:
                raise ending()
            return use(self._compute)
        except Exception as e:
            if self._ends:  # It is what a worker that was stopped left undone.
                raise ending() from e
            raise
        finally:
            self._waiting.release()

    def end(self) -> None:
        """Stop the current picture and reject those that wait; returns at once."""
        self._ends = True
        if self._compute is not None:
            self._compute.stop()

    def close(self) -> None:
        """Stop the workers."""
        self.end()
        closed = self._thread.submit(self._close)
        with contextlib.suppress(TimeoutError):
            closed.result(_END_SECONDS)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        if self._compute is not None:
            self._compute.close()
