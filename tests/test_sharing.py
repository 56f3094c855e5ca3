"""Tests that share a server follow each other, and it runs only while they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from tests import sharing


@dataclass
class Item:
    """What is asked of a test: its name, and what it uses."""

    nodeid: str
    fixturenames: tuple[str, ...] = ()


@dataclass
class Noted:
    """A server that notes what is done to it."""

    done: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.done.append("start")

    def stop(self) -> None:
        self.done.append("stop")


def items(*given: Item) -> Any:
    return [cast(pytest.Item, i) for i in given]


def test_a_server_runs_only_while_tests_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_servers", {})
    monkeypatch.setattr(sharing, "_stopped", set())
    uses, other = items(Item("a::1", ("milvus",)), Item("b::1"))
    server = Noted()
    sharing.share("milvus", server)
    sharing.stop_unused([other, uses])
    assert server.done == []
    for _ in range(2):
        sharing.stop_unused([other, other])
        sharing.start_used(other)
    assert server.done == ["stop"]
    sharing.start_used(uses)
    sharing.start_used(uses)
    assert server.done == ["stop", "start"]
    sharing.stop_unused([])
    assert server.done == ["stop", "start", "stop"]
    sharing.unshare("milvus")
    sharing.start_used(uses)
    assert server.done == ["stop", "start", "stop"]


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_files_that_share_follow_each_other_and_none_is_lost(processes: int) -> None:
    names = ("milvus", "one_cluster", "", "browser", "")
    given = items(
        *(
            Item(f"tests/words/test_{n:02}.py::{i}", (names[n % 5],) if i == 1 else ())
            for n in range(60)
            for i in range(3)
        )
    )
    found = sharing.ordered(given, processes)
    assert sorted(i.nodeid for i in found) == sorted(i.nodeid for i in given)
    # The share of each process begins with whole files of one group.
    groups = [int(i.nodeid.partition("::")[0][-5:-3]) % 5 for i in found]
    n, size = len(found), 12 * 3
    begins = {1: [0], 2: [0, n // 2], 3: [0, n // 3, 2 * n // 3], 4: [0, n // 4, n // 2]}[processes]
    heads = [groups[b : b + size] for b in begins]
    assert heads == [[g] * size for g in (1, 0, 3)[: len(heads)]]
    files = [i.nodeid.partition("::")[0] for i in found[:size]]
    assert files == [f for f in files[::3] for _ in range(3)]
