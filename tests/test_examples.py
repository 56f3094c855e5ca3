"""The scripts in `examples/` run, and notice what does not hold."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
# The region model takes minutes; `tests/tagging` and `tests/cli` review suggestions.
LEFT_OUT = ("review",)


@pytest.fixture(scope="module")
def first_hour() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("first_hour", EXAMPLES / "first_hour.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["first_hour"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["first_hour"]


def test_the_first_hour_holds_on_300_emoji(
    first_hour: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("SIGHTLINE_WORKERS", "1")
    steps = [s.__name__ for s in first_hour.STEPS if s.__name__ not in LEFT_OUT]
    walk = first_hour.first_hour(tmp_path, features="color", ranker="ridge", steps=steps)
    text = capsys.readouterr().out
    assert len(walk.truth) == 300 and len(walk.tagged) == 150
    assert re.findall(r"^## (.*)", text, re.M) == [
        s.__doc__ for s in first_hour.STEPS if s.__name__ in steps
    ]
    assert text.count("   ok: ") > 20
    assert {"index", "train", "search", "describe", "judge", "export"} <= set(walk.used)


def test_a_broken_promise_stops_the_walk(
    first_hour: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pictures").mkdir()
    walk = first_hour.Walk(tmp_path, {"a.png": ["dog"]}, {"a.png"})
    with pytest.raises(first_hour.PromiseBroken, match=r"search dog ended with \d, not 0"):
        walk.search("dog")
    with pytest.raises(first_hour.PromiseBroken, match="nothing holds"):
        first_hour.check(False, "nothing holds")
    assert "$ sightline search dog" in capsys.readouterr().out
