"""Letting an iterator run ahead in a thread, so that its maker is never kept waiting."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")
_LOOK = 0.1


class _End:
    """Comes after the last item, with what went wrong, if anything did."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def run_ahead(items: Iterator[T], n: int) -> Generator[T, None, None]:
    """Yield items in order while up to `n` more are made in another thread.

    What the maker raises is raised here. When nobody wants more items the maker is stopped after
    the one it is at, or at once where the iterator has a `stop` for other threads to call.

    >>> list(run_ahead(iter("abc"), 2))
    ['a', 'b', 'c']
    """
    box: queue.Queue[T | _End] = queue.Queue(n)
    stopped = threading.Event()
    maker = threading.Thread(target=_make, args=(items, box, stopped), daemon=True)
    maker.start()
    try:
        while True:
            item = box.get()
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
        maker.join()


def _make(items: Iterator[T], box: queue.Queue[T | _End], stopped: threading.Event) -> None:
    error: BaseException | None = None
    try:
        for item in items:
            if not _put(box, item, stopped):
                break
        close = getattr(items, "close", None)
        if close is not None:
            close()
    except BaseException as e:
        error = e
    _put(box, _End(error), stopped)


def _put(box: queue.Queue[T | _End], item: T | _End, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            box.put(item, timeout=_LOOK)
        except queue.Full:
            continue
        return True
    return False
