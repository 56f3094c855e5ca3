"""Marks that say what a test needs, given by what it uses, so that nobody has to think of them.

`make quick` leaves out all that is marked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

# By fixtures.
_FIXTURES = {
    "one_cluster": "cluster",
    "client_address": "cluster",
    "milvus": "engine",
    "browser": "browser",
}
# By what a file imports to do what it does.
_IMPORTS = {
    "tests.factories.ray_clusters": "cluster",
    "tests.factories.failing_disks": "crash",
    "tests.factories.small_disks": "crash",
    "tests.factories.engine_stores": "engine",
}
_SLOW = Path(__file__).with_name("slow.txt")


def mark(items: Iterable[pytest.Item]) -> None:
    """Give tests the marks of what they use, and `slow` to those of files that take long."""
    slow = frozenset(slow_files())
    imported: dict[str, set[str]] = {}
    for item in items:
        file = item.nodeid.partition("::")[0]
        if file not in imported:
            imported[file] = set(_imported(item))
        fixtures = set(getattr(item, "fixturenames", ()))
        marks = {m for name, m in _FIXTURES.items() if name in fixtures} | imported[file]
        if file in slow:
            marks.add("slow")
        for name in sorted(marks):
            item.add_marker(name)


def slow_files() -> list[str]:
    """Return the files whose tests take more than some seconds together."""
    return [line for line in _SLOW.read_text("utf-8").splitlines() if line]


def _imported(item: pytest.Item) -> Iterator[str]:
    text = item.path.read_text("utf-8") if item.path.suffix == ".py" else ""
    for module, name in _IMPORTS.items():
        if f"from {module} import" in text:
            yield name
