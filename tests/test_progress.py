"""Progress: a bar with rate and remaining time on a terminal, one line elsewhere."""

from __future__ import annotations

import io

import pytest

from sightline.progress import NoProgress, ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 10.0, 10.05, 100.0, 100.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    out = Terminal()
    bar = ProgressBar(out)
    bar.start("index", 200)
    bar.advance(20)
    bar.advance(1)
    drawn = out.getvalue()
    assert drawn.count("\r") == 1, "it is not redrawn more often than can be seen"
    assert "20/200 2/s, 2 min left" in drawn and "█" in drawn
    bar.finish()
    assert out.getvalue().endswith("index: 21/200 in 100.0 s (0/s)\n")


def test_elsewhere_one_line_at_the_end() -> None:
    out = io.StringIO()
    bar = ProgressBar(out)
    bar.start("index", None)
    bar.advance(5)
    assert out.getvalue() == ""
    bar.finish()
    assert out.getvalue().startswith("index: 5 in ")


def test_silence() -> None:
    quiet = NoProgress()
    quiet.start("x", 1)
    quiet.advance()
    quiet.finish()
