"""What tests share: those that use a server follow each other, and it runs only while they do.

A cluster or an engine that nobody asks takes a tenth of a core all the same, and what is learnt for
many tests would be learnt by every process of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pytest

# Fixtures by which files of tests are put together, in the order in which they run; those of the
# first line begin the first half of all tests, the others the second. Each process of a run of two
# begins with a half, and takes from the end of the other's when it has done its own.
_FIRST = ("one_cluster",)
_SECOND = ("browser", "milvus", "tagged", "served")
_SOON = 60
# What takes long comes early, so that little is left to wait for at the end.
_EARLY = (
    "testing",
    "reproduce",
    "collection",
    "store",
    "compute",
    "web",
    "cli",
    "regions",
    "features",
)


class Server(Protocol):
    """Something that can be started again after it was stopped."""

    def start(self) -> object: ...

    def stop(self) -> object: ...


_servers: dict[str, Server] = {}
_stopped: set[str] = set()


def share(fixture: str, server: Server) -> None:
    """Have a server of a fixture stopped while no test uses it."""
    _servers[fixture] = server
    _stopped.discard(fixture)


def unshare(fixture: str) -> None:
    """Leave it to its fixture again, running or not."""
    _servers.pop(fixture)


def start_used(item: pytest.Item) -> None:
    """Start what a test uses and was stopped."""
    for fixture in _stopped & _used(item) & set(_servers):
        _servers[fixture].start()
        _stopped.discard(fixture)


def stop_unused(following: Sequence[pytest.Item]) -> None:
    """Stop what none of the tests that follow uses."""
    used = {fixture for item in following for fixture in _used(item)}
    for fixture in set(_servers) - _stopped - used:
        _servers[fixture].stop()
        _stopped.add(fixture)


def following(item: pytest.Item | None) -> list[pytest.Item]:
    """Return a test and those soon after it: files that use a server have other tests as well."""
    if item is None or not _servers:
        return []
    at = item.session.items.index(item)
    return item.session.items[at : at + _SOON]


def ordered(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return tests so that those that share something follow each other, file by file."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    first = [f for fixture in _FIRST for f in _using(fixture, files)]
    second = [f for fixture in _SECOND for f in _using(fixture, files) if f not in first]
    second = list(dict.fromkeys(second))
    rest = [f for f in files if f not in {*first, *second}]
    rest.sort(key=_lateness)
    begin, end, between = ([i for f in some for i in files[f]] for some in (first, second, rest))
    # Half of the rest in turns, so that both halves begin with what takes long.
    cut = max(0, len(items) // 2 - len(begin))
    one, other = _dealt(between, cut)
    return [*begin, *one, *end, *other]


def _dealt(items: Sequence[pytest.Item], n: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Deal tests to two, file by file, until the first has n of them."""
    one: list[pytest.Item] = []
    other: list[pytest.Item] = []
    turn: dict[str, list[pytest.Item]] = {}
    for item in items:
        file = item.nodeid.partition("::")[0]
        if file not in turn:
            turn[file] = one if len(turn) % 2 == 0 else other
        turn[file].append(item)
    while len(one) > n:
        other.append(one.pop())
    while len(one) < n and other:
        one.append(other.pop())
    return one, other


def _lateness(file: str) -> int:
    found = (i for i, d in enumerate(_EARLY) if file.startswith(f"tests/{d}/"))
    return next(found, len(_EARLY))


def _using(fixture: str, files: dict[str, list[pytest.Item]]) -> list[str]:
    return [f for f, items in files.items() if any(fixture in _used(i) for i in items)]


def _used(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))
