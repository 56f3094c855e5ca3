"""Fetching the results of a cluster, and turning its failures into one-line errors."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

from sightline.errors import ComputeError

T = TypeVar("T")
# How soon a request to stop is noticed.
_POLL_SECONDS = 0.2
_LOOK_SECONDS = 5.0
# A cluster may be without machines for a moment, when one is being replaced.
_ALONE_SECONDS = 30.0


class ResultFetcher:
    """Fetches results, as long as there is a machine that could still compute them.

    Parameters
    ----------
    ray : module
        The library.
    remind : callable, optional
        Is called every few seconds while a result is waited for.
    """

    def __init__(self, ray: Any, remind: Callable[[], None] = lambda: None) -> None:
        self._ray, self._remind = ray, remind
        self._left = threading.Event()

    def leave(self) -> None:
        """End all waiting, in any thread: the cluster is left."""
        self._left.set()

    def was_left(self) -> bool:
        """Return whether the cluster was left."""
        return self._left.is_set()

    def check(self, stop: threading.Event | None = None) -> None:
        """Raise if the cluster was left, or if `stop` is set."""
        if self._left.is_set():
            raise ComputeError("The Ray cluster was left. Make another RayCompute to go on.")
        if stop is not None and stop.is_set():
            raise ComputeError("The work was stopped.")

    def get(self, ref: Any, stop: threading.Event | None = None) -> Any:
        """Return one result."""
        self.check(stop)
        since = looked = time.monotonic()
        with clear(self._ray):
            while not self._ray.wait([ref], timeout=_POLL_SECONDS)[0]:
                self.check(stop)
                now = time.monotonic()
                if now - looked < _LOOK_SECONDS:
                    continue
                looked = now
                self._remind()
                if self._machines():
                    since = now
                elif now - since > _ALONE_SECONDS:
                    raise ComputeError(
                        "No machine of the Ray cluster is left to compute. Start one and run the "
                        "same command again, or use --compute local."
                    )
            return self._ray.get(ref)

    def _machines(self) -> bool:
        return any(n["Alive"] and n["Resources"].get("CPU") for n in self._ray.nodes())


class Stoppable(Generic[T]):
    """An iterator that another thread can stop while it waits."""

    def __init__(self, make: Callable[[threading.Event], Generator[T, None, None]]) -> None:
        self._stop = threading.Event()
        self._items = make(self._stop)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """End it, from the thread that iterates."""
        self._items.close()

    def stop(self) -> None:
        """Make the iterator raise a `ComputeError`, from any thread."""
        self._stop.set()


@contextlib.contextmanager
def clear(ray: Any) -> Iterator[None]:
    """Turn Ray's exceptions into a `ComputeError` that says what to do."""
    exceptions = ray.exceptions
    try:
        yield
    except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as e:
        raise ComputeError(_no_space(str(e))) from e
    except exceptions.OutOfMemoryError as e:
        raise ComputeError(
            "A machine of the Ray cluster ran out of memory and ended the work. Use fewer workers "
            "(--workers), more machines or, for PAMIR, more shards."
        ) from e
    except (
        exceptions.NodeDiedError,
        exceptions.WorkerCrashedError,
        exceptions.ObjectLostError,
    ) as e:
        raise ComputeError(
            f"Machines of the Ray cluster died again and again ({type(e).__name__}). What was "
            "acknowledged is kept; run the same command again when the cluster is well."
        ) from e
    except exceptions.RayTaskError as e:
        raise ComputeError(_task_failure(e)) from e
    except (exceptions.RayError, ConnectionError) as e:
        raise ComputeError(f"The Ray cluster failed: {type(e).__name__}: {_first(e)}") from e


def _no_space(message: str) -> str:
    return (
        "The Ray cluster has no space left for the data sent between its machines "
        f"({_first(message)}). Give its nodes more (ray start --object-store-memory), or free "
        "their disks; then run the same command again."
    )


def _task_failure(error: Any) -> str:
    cause = str(getattr(error, "cause", error)).strip()
    last = cause.splitlines()[-1].removeprefix("RuntimeError: ") if cause else "no reason given"
    if "no space left" in last or "No space left" in last:
        return _no_space(last)
    return f"A machine of the Ray cluster could not do its part: {last[:300]}"


def _first(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Lines with "ray::" say where a task failed; the cause comes after them.
    lines = [line for line in lines if "ray::" not in line] or lines
    return (lines[0] if lines else "no reason given")[:200].rstrip(".")
