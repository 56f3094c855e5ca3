"""Progress: rate and remaining time, bars on stderr, and a progress object that prints nothing."""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from typing import TextIO

_REDRAW_SECONDS = 0.1
_NOTE_SECONDS = 5.0
_BAR = 24
# Rates are of this long; steps that come in bursts are measured from burst to burst.
_WINDOW_SECONDS = 15.0
_SAMPLE_SECONDS = 0.5
# Lines in a log become rarer: the next one comes after this share of the time so far.
_LATER, _RARELY_SECONDS = 0.25, 60.0


class Pace:
    """The rate of the last seconds, and the time left at that rate.

    Parameters
    ----------
    now : float
        When the task began, in seconds of any clock.

    Examples
    --------
    >>> pace = Pace(0.0)
    >>> pace.rate(1.0) is None
    True
    >>> pace.advance(500, 20.0); pace.rate(20.0), pace.seconds_left(20.0, 1000)
    (25.0, 20.0)
    """

    def __init__(self, now: float) -> None:
        self.done = 0
        self._samples = deque([(now, 0)])

    def advance(self, n: int, now: float) -> None:
        """Advance by `n` steps."""
        self.done += n
        samples = self._samples
        if now - samples[-1][0] >= _SAMPLE_SECONDS:
            samples.append((now, self.done))
            while len(samples) > 2 and samples[1][0] <= now - _WINDOW_SECONDS:
                samples.popleft()

    def rate(self, now: float) -> float | None:
        """Return steps a second; None before the first step."""
        begun, before = self._samples[0]
        if self.done == before or now <= begun:
            return None
        return (self.done - before) / (now - begun)

    def seconds_left(self, now: float, total: int | None) -> float | None:
        """Return how long the rest takes; None if that cannot be known yet."""
        rate = self.rate(now)
        return max(0, total - self.done) / rate if rate and total is not None else None


class NoProgress:
    """Prints nothing; the default for library use."""

    def start(self, what: str, total: int | None) -> None:
        """Start a task of `total` steps, or of unknown length."""

    def advance(self, n: int = 1) -> None:
        """Advance by `n` steps."""

    def note(self, text: str) -> None:
        """Set the status text."""

    def finish(self) -> None:
        """Finish the task."""


class ProgressBar:
    """A bar with rate and remaining time, redrawn in place on a terminal.

    If stderr is not a terminal, lines with the same are written, every few seconds at first and
    every minute later, and one at the end.

    >>> import io
    >>> out = io.StringIO()
    >>> bar = ProgressBar(out)
    >>> bar.start("index", 2); bar.advance(2); bar.finish()
    >>> out.getvalue().startswith("index: 2/2 in ")
    True
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._what, self._total = "", None  # type: str, int | None
        self._pace = Pace(0.0)
        self._begun = self._drawn = self._noted = 0.0
        self._note = ""

    def start(self, what: str, total: int | None) -> None:
        """Start a task of `total` steps, or of unknown length."""
        self._what, self._total = what, total
        self._begun = self._noted = time.monotonic()
        self._pace = Pace(self._begun)
        self._drawn, self._note = 0.0, ""

    def advance(self, n: int = 1) -> None:
        """Advance by `n` steps."""
        now = time.monotonic()
        self._pace.advance(n, now)
        self._redraw(now)
        later = min(max(_NOTE_SECONDS, _LATER * (now - self._begun)), _RARELY_SECONDS)
        if not self._live and now - self._noted >= later and self._pace.done != self._total:
            self._write_note(now, f"{self._far()} {self._rate(now)}")

    def note(self, text: str) -> None:
        """Show a status text beside the bar, or from time to time on its own line in a log."""
        self._note = text
        now = time.monotonic()
        if self._live:
            self._redraw(now)
        elif now - self._noted >= _NOTE_SECONDS:
            self._write_note(now, text)

    def _write_note(self, now: float, text: str) -> None:
        self._noted = now
        self._stream.write(f"{self._what}: {text}\n")
        self._stream.flush()

    def _redraw(self, now: float) -> None:
        if self._live and now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            line = self._line(now) + (f"; {self._note}" if self._note else "")
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + line[:width] + "\x1b[K")
            self._stream.flush()

    def finish(self) -> None:
        """Finish the task with one line that stays."""
        seconds = time.monotonic() - self._begun
        done = self._pace.done
        rate = f" ({_per_second(done / seconds)})" if seconds > 0.05 and done else ""
        clear = "\r\x1b[K" if self._live else ""
        self._stream.write(f"{clear}{self._what}: {self._far()} in {seconds:.1f} s{rate}\n")
        self._stream.flush()

    def _line(self, now: float) -> str:
        if not self._total:
            return f"{self._what}: {self._far()} {self._rate(now)}"
        filled = round(min(1.0, self._pace.done / self._total) * _BAR)
        bar = "█" * filled + "·" * (_BAR - filled)
        return f"{self._what} {bar} {self._far()} {self._rate(now)}"

    def _far(self) -> str:
        return f"{self._pace.done}" + (f"/{self._total}" if self._total is not None else "")

    def _rate(self, now: float) -> str:
        """Return the rate of the last seconds and the time left, as far as they are known."""
        rate, left = self._pace.rate(now), self._pace.seconds_left(now, self._total)
        if rate is None:
            return ""
        return _per_second(rate) + (f", {_duration(left)} left" if left is not None else "")


def _per_second(rate: float) -> str:
    return f"{rate:.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(-(-seconds // 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
