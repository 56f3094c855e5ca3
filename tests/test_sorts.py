"""Tests are marked by what they use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import sorts

ROOT = Path(__file__).parents[1]


def test_slow_files_are_there_and_named_once_in_order() -> None:
    named = sorts.slow_files()
    assert named == sorted(set(named))
    assert [name for name in named if not (ROOT / name).is_file()] == []


class Item:
    """What is asked of a test, and the marks it was given."""

    def __init__(self, file: str, *fixtures: str) -> None:
        self.nodeid, self.path, self.fixturenames = f"{file}::test", ROOT / file, fixtures
        self.marks: list[str] = []

    def add_marker(self, name: str) -> None:
        self.marks.append(name)


@pytest.mark.parametrize(
    ("file", "fixtures", "marks"),
    [
        ("tests/words/test_tokens.py", (), []),
        ("tests/words/test_tokens.py", ("browser", "tmp_path"), ["browser"]),
        ("tests/words/test_tokens.py", ("one_cluster", "milvus"), ["cluster", "engine"]),
        ("tests/compute/test_ray_cluster.py", (), ["cluster"]),
        ("tests/store/test_crashes.py", (), ["crash", "slow"]),
    ],
)
def test_marks_follow_from_what_is_used(
    file: str, fixtures: Any, marks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorts, "slow_files", lambda: ["tests/store/test_crashes.py"])
    item: Any = Item(file, *fixtures)
    sorts.mark([item])
    assert item.marks == marks
