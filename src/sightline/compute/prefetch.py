"""Prefetching the items of an iterator in a thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")
_POLL_SECONDS = 0.1


class _End:
    """Marks the end of the items, with the error that ended them, if any."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetch(items: Iterator[T], n: int) -> Generator[T, None, None]:
    """Yield items in order while up to `n` more are produced in another thread.

    Errors of the iterator are raised here. When this generator is closed, the thread ends after its
    current item, or at once if the iterator has a method `stop` that other threads may call.

    >>> list(prefetch(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    items_ready: queue.Queue[T | _End] = queue.Queue(n)
    stopped = threading.Event()
    producer = threading.Thread(target=_produce, args=(items, items_ready, stopped), daemon=True)
    producer.start()
    try:
        while True:
            item = items_ready.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stopped.set()
        stop = getattr(items, "stop", None)
        if stop is not None:
            stop()
        producer.join()


def _produce(
    items: Iterator[T], items_ready: queue.Queue[T | _End], stopped: threading.Event
) -> None:
    error: BaseException | None = None
    try:
        for item in items:
            if not _put(items_ready, item, stopped):
                break
        close = getattr(items, "close", None)
        if close is not None:
            close()
    except BaseException as e:
        error = e
    _put(items_ready, _End(error), stopped)


def _put(items_ready: queue.Queue[T | _End], item: T | _End, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            items_ready.put(item, timeout=_POLL_SECONDS)
        except queue.Full:
            continue
        return True
    return False
