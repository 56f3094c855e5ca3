"""Servers and folders that tests share; tests that use a server run one after the other.

A server runs only as long as tests use it, since an idle cluster or engine still takes a tenth of a
core. A folder that many tests need is built by one process of the run.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pytest

# Fixtures by which test files are grouped, in the order in which they run. Each process of a run
# begins with an equal share of all tests, in order, and steals from the end of another's share when
# its own is done; so the share of each process begins with one group.
_GROUPS = (("one_cluster",), ("milvus", "tagged", "served"), ("browser",))
_LOOKAHEAD = 60
# Slow tests come early, so that no process waits long for another at the end.
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
    """A server that can be started again after it was stopped."""

    def start(self) -> object: ...

    def stop(self) -> object: ...


_servers: dict[str, Server] = {}
_stopped: set[str] = set()


def share(fixture: str, server: Server) -> None:
    """Stop the server of a fixture while no test uses it."""
    _servers[fixture] = server
    _stopped.discard(fixture)


def unshare(fixture: str) -> None:
    """Return control of a server to its fixture, running or not."""
    _servers.pop(fixture)


def built_once(name: str, build: Callable[[Path], object]) -> Path:
    """Return a folder, built by the first process of the run that needs it; others wait.

    Tests must copy it before they change anything.
    """
    folder = Path(tempfile.gettempdir(), name)
    complete = folder / "complete"
    with open(f"{folder}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            build(folder)
            complete.touch()
    return folder


def start_used(item: pytest.Item) -> None:
    """Start the stopped servers that a test uses."""
    for fixture in _stopped & _used(item) & set(_servers):
        _servers[fixture].start()
        _stopped.discard(fixture)


def stop_unused(following: Sequence[pytest.Item]) -> None:
    """Stop the servers that none of the following tests uses."""
    used = {fixture for item in following for fixture in _used(item)}
    for fixture in set(_servers) - _stopped - used:
        _servers[fixture].stop()
        _stopped.add(fixture)


def following(item: pytest.Item | None) -> list[pytest.Item]:
    """Return a test and the next ones: files that use a server have other tests as well."""
    if item is None or not _servers:
        return []
    at = item.session.items.index(item)
    return item.session.items[at : at + _LOOKAHEAD]


def ordered(items: Sequence[pytest.Item], processes: int = 2) -> list[pytest.Item]:
    """Return the tests in an order in which those that share a server follow each other.

    With fewer processes than groups, the last share begins with all groups that are left.
    """
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    shares: list[list[str]] = [[] for _ in range(max(1, processes))]
    placed: set[str] = set()
    for n, group in enumerate(_GROUPS):
        for fixture in group:
            using = [f for f in _using(fixture, files) if f not in placed]
            shares[min(n, len(shares) - 1)] += using
            placed.update(using)
    rest = sorted((f for f in files if f not in placed), key=_rank)
    heads = [[i for f in share for i in files[f]] for share in shares]
    return _deal(heads, [files[f] for f in rest], len(items))


def _deal(
    heads: Sequence[Sequence[pytest.Item]], rest: Sequence[Sequence[pytest.Item]], n: int
) -> list[pytest.Item]:
    """Deal files to shares in turn, cut so that each of equal size begins with its own head."""
    tails: list[list[pytest.Item]] = [[] for _ in heads]
    for number, tests in enumerate(rest):
        tails[number % len(tails)] += tests
    ends = [n * k // len(heads) for k in range(len(heads) + 1)]
    spare: list[pytest.Item] = []
    for k, head in enumerate(heads):
        size = max(0, ends[k + 1] - ends[k] - len(head))
        spare += tails[k][size:]
        del tails[k][size:]
    out: list[pytest.Item] = []
    for k, head in enumerate(heads):
        out += [*head, *tails[k]]
        missing = max(0, ends[k + 1] - len(out))
        out += spare[:missing]
        del spare[:missing]
    return [*out, *spare]


def _rank(file: str) -> int:
    ranks = (i for i, d in enumerate(_EARLY) if file.startswith(f"tests/{d}/"))
    return next(ranks, len(_EARLY))


def _using(fixture: str, files: dict[str, list[pytest.Item]]) -> list[str]:
    return [f for f, items in files.items() if any(fixture in _used(i) for i in items)]


def _used(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))
