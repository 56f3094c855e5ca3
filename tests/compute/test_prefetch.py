"""Running ahead: order, errors, bounds and stopping."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sightline.compute.prefetch import prefetch
from tests.waiting import LIMIT


def test_order_is_kept() -> None:
    assert list(prefetch(iter(range(1000)), 7)) == list(range(1000))


def test_it_runs_ahead_but_not_further_than_allowed() -> None:
    made = 0
    enough = threading.Event()

    def make() -> Iterator[int]:
        nonlocal made
        for i in range(100):
            made += 1
            if made == 6:
                enough.set()
            yield i

    items = prefetch(make(), 4)
    assert next(items) == 0
    assert enough.wait(LIMIT), "four wait in the box, and one more waits to get in"
    assert made == 6
    assert list(items) == list(range(1, 100))


@pytest.mark.parametrize("error", [ValueError("planted"), KeyboardInterrupt()])
def test_what_the_maker_raises_arrives(error: BaseException) -> None:
    def make() -> Iterator[int]:
        yield 1
        raise error

    items = prefetch(make(), 2)
    assert next(items) == 1
    with pytest.raises(type(error)):
        next(items)


def test_a_maker_nobody_listens_to_is_closed() -> None:
    closed = threading.Event()

    def make() -> Iterator[int]:
        try:
            yield from range(10**9)
        finally:
            closed.set()

    before = threading.active_count()
    items = prefetch(make(), 2)
    next(items)
    items.close()
    assert closed.is_set() and threading.active_count() == before
