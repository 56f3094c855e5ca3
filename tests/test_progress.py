"""Progress: the rate of the last seconds and the time left, on a terminal, in a log, in events."""

from __future__ import annotations

import io
from typing import Any

import pytest

from sightline.progress import NoProgress, Pace, ProgressBar
from sightline.web.work import JobProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.monotonic", clock)
    return clock


def work(clock: Clock, progress: Any, steps: int, seconds_each: float) -> None:
    for _ in range(steps):
        clock.now += seconds_each
        progress.advance()


def test_a_terminal_gets_a_bar(clock: Clock) -> None:
    out = Terminal()
    bar = ProgressBar(out)
    bar.start("index", 200)
    clock.now += 10
    bar.advance(20)
    clock.now += 0.05
    bar.advance(1)
    drawn = out.getvalue()
    assert drawn.count("\r") == 1, "it is not redrawn more often than can be seen"
    assert "20/200 2.0/s, 2 min left" in drawn and "█" in drawn
    clock.now += 89.95
    bar.finish()
    assert out.getvalue().endswith("index: 21/200 in 100.0 s (0.2/s)\n")


def test_without_a_terminal_one_line_at_the_end_of_what_is_soon_done() -> None:
    out = io.StringIO()
    bar = ProgressBar(out)
    bar.start("index", None)
    bar.advance(5)
    assert out.getvalue() == ""
    bar.finish()
    assert out.getvalue().startswith("index: 5 in ")


def test_without_a_terminal_lines_say_rate_and_time_left_ever_more_rarely(clock: Clock) -> None:
    out = io.StringIO()
    bar = ProgressBar(out)
    bar.start("index", 72_000)
    work(clock, bar, 72_000, 1 / 25)
    bar.finish()
    lines = out.getvalue().splitlines()
    assert lines[0] == "index: 126/72000 25/s, 48 min left"
    assert lines[1] == "index: 252/72000 25/s, 48 min left"
    assert all(" 25/s, " in line for line in lines[:-1])
    assert 45 < len(lines) < 75, "48 minutes are a line a minute, and some more at the start"
    assert lines[-1] == "index: 72000/72000 in 2880.0 s (25/s)"


def test_the_rate_is_that_of_the_last_seconds() -> None:
    pace = Pace(0.0)
    now = 0.0
    for seconds_each in [1 / 151] * 1024 + [1 / 25] * 1000:
        now += seconds_each
        pace.advance(1, now)
    rate = pace.rate(now)
    assert rate is not None and rate == pytest.approx(25, rel=0.01)
    assert pace.seconds_left(now, 2024 + 2500) == pytest.approx(100, rel=0.01)


@pytest.mark.parametrize("burst", [1, 64, 1024])
def test_the_time_left_is_right_after_the_first_batch_whatever_its_size(burst: int) -> None:
    pace = Pace(0.0)
    total, rate = 50 * burst, 25.0
    for done in range(burst, 20 * burst + 1, burst):
        now = done / rate
        pace.advance(burst, now)
        left = pace.seconds_left(now, total)
        assert left is not None and left == pytest.approx((total - done) / rate)


def test_nothing_is_foretold_before_the_first_step() -> None:
    pace = Pace(5.0)
    assert pace.rate(9.0) is None and pace.seconds_left(9.0, 10) is None
    pace.advance(1, 9.0)
    assert pace.seconds_left(9.0, 10) == 36.0 and pace.seconds_left(9.0, None) is None


def test_work_that_stands_still_takes_ever_longer() -> None:
    pace = Pace(0.0)
    for second in range(1, 31):
        pace.advance(10, float(second))
    left = [pace.seconds_left(now, 1000) for now in (30.0, 60.0, 90.0)]
    assert left[0] == pytest.approx(70, rel=0.1) and sorted(left, key=float) == left  # type: ignore[arg-type]
    assert left[2] is not None and left[2] > 250


def test_events_of_jobs_have_rate_and_time_left(clock: Clock) -> None:
    events: list[dict[str, Any]] = []
    progress = JobProgress(events.append)
    progress.start("index", 1000)
    assert events[-1]["rate"] is None and events[-1]["seconds_left"] is None
    work(clock, progress, 500, 1 / 25)
    assert events[-1]["rate"] == pytest.approx(25, rel=0.01)
    assert events[-1]["seconds_left"] == pytest.approx((1000 - events[-1]["done"]) / 25, rel=0.02)
    progress.finish()
    assert events[-1]["seconds_left"] == pytest.approx(20, rel=0.02)


def test_silence() -> None:
    quiet = NoProgress()
    quiet.start("x", 1)
    quiet.advance()
    quiet.finish()
