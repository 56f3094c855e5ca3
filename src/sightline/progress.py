"""Progress bars on stderr, and a progress object that prints nothing."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

_REDRAW_SECONDS = 0.1
_NOTE_SECONDS = 5.0
_BAR = 24


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

    If stderr is not a terminal, a status line is written every few seconds and one line at the end.

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
        self._what, self._total, self._done = "", None, 0  # type: str, int | None, int
        self._begun = self._drawn = self._noted = 0.0
        self._note = ""

    def start(self, what: str, total: int | None) -> None:
        """Start a task of `total` steps, or of unknown length."""
        self._what, self._total, self._done = what, total, 0
        self._begun = self._noted = time.monotonic()
        self._drawn, self._note = 0.0, ""

    def advance(self, n: int = 1) -> None:
        """Advance by `n` steps."""
        self._done += n
        self._redraw(time.monotonic())

    def note(self, text: str) -> None:
        """Show a status text beside the bar, or from time to time on its own line in a log."""
        self._note = text
        now = time.monotonic()
        if self._live:
            self._redraw(now)
        elif now - self._noted >= _NOTE_SECONDS:
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
        of = f"/{self._total}" if self._total is not None else ""
        rate = f" ({self._done / seconds:.0f}/s)" if seconds > 0.05 and self._done else ""
        clear = "\r\x1b[K" if self._live else ""
        self._stream.write(f"{clear}{self._what}: {self._done}{of} in {seconds:.1f} s{rate}\n")
        self._stream.flush()

    def _line(self, now: float) -> str:
        rate = self._done / max(now - self._begun, 1e-9)
        if not self._total:
            return f"{self._what}: {self._done} ({rate:.0f}/s)"
        share = min(1.0, self._done / self._total)
        filled = round(share * _BAR)
        bar = "█" * filled + "·" * (_BAR - filled)
        left = _duration((self._total - self._done) / rate) if rate else "?"
        return f"{self._what} {bar} {self._done}/{self._total} {rate:.0f}/s, {left} left"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(-(-seconds // 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
