"""Pictures that clients send: they are looked at in limited workers, never in the server."""

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
# So long the end waits for whoever is being stopped.
_END_SECONDS = 1.0


class Describer:
    """Pictures that clients send, decoded and described in limited workers, one after another.

    The kernel ends a worker with the thread that started it, so all of them have the same one.
    """

    def __init__(self, waiting: int) -> None:
        self._waiting = threading.BoundedSemaphore(waiting)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="describe")
        self._compute: LocalCompute | None = None
        self._ends = False

    async def run(self, picture: bytes, use: Callable[[str, Compute], T]) -> T:
        """Put a picture into a file of its own, have it used, and remove it again."""

        def with_file(compute: Compute) -> T:
            with scratch_folder(2 * len(picture)) as folder:
                path = os.path.join(folder, "picture")
                with disk_errors(path), open(path, "wb") as file:
                    file.write(picture)
                try:
                    return use(path, compute)
                except DataError as e:
                    # Where it lay meanwhile is nobody's business.
                    told = str(e).replace(path, "The picture that was sent")
                    raise DataError(told) from e

        return await self.lend(with_file)

    async def lend(self, use: Callable[[Compute], T]) -> T:
        """Let somebody use the workers, when it is their turn."""
        if not self._waiting.acquire(blocking=False):
            raise Problem(429, "uploads", "Too many pictures wait to be looked at. Come back.")
        # No thread that could answer others waits meanwhile.
        return await asyncio.wrap_future(self._thread.submit(self._use, use))

    def _use(self, use: Callable[[Compute], T]) -> T:
        try:
            self._compute = self._compute or LocalCompute(1)
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
        """Stop what is looked at, and refuse all that waits; returns at once."""
        self._ends = True
        if self._compute is not None:
            self._compute.stop()

    def close(self) -> None:
        """End the workers."""
        self.end()
        closed = self._thread.submit(self._close)
        with contextlib.suppress(TimeoutError):
            closed.result(_END_SECONDS)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        if self._compute is not None:
            self._compute.close()
