"""The process of one job: `python -m sightline.web.work`, started by `jobs`.

It reads the job from stdin as a line of JSON, and writes events to stdout, one line of JSON each.
When stdin closes, because the job was cancelled or the server is gone, it stops as on Ctrl-C:
nothing partial is published.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sightline.errors import Interrupted, SightlineError
from sightline.progress import Pace
from sightline.records import shown
from sightline.web.redaction import where_it_failed

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.contracts import Json

# A lower priority than the server.
_NICE = 19
_TELL_SECONDS = 0.1


class JobProgress:
    """Progress as events, at a limited rate."""

    def __init__(self, say: Callable[[dict[str, Any]], None]) -> None:
        self._say, self._last = say, 0.0
        self._what, self._total = "", None  # type: str, int | None
        self._pace = Pace(0.0)

    def start(self, what: str, total: int | None) -> None:
        """Start a task."""
        self._what, self._total = what, total
        self._pace = Pace(time.monotonic())
        self._tell("")

    def advance(self, n: int = 1) -> None:
        """Advance by `n` steps."""
        self._pace.advance(n, time.monotonic())
        if time.monotonic() - self._last >= _TELL_SECONDS:
            self._tell("")

    def note(self, text: str) -> None:
        """Set the status text."""
        if time.monotonic() - self._last >= _TELL_SECONDS:
            self._tell(text)

    def finish(self) -> None:
        """Finish the task."""
        self._tell("")

    def _tell(self, note: str) -> None:
        now = self._last = time.monotonic()
        pace = self._pace
        rate, left = pace.rate(now), pace.seconds_left(now, self._total)
        state = {"what": self._what, "done": pace.done, "total": self._total, "note": note}
        state |= {"rate": _rounded(rate), "seconds_left": _rounded(left)}
        self._say({"kind": "progress", **state})


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)


def run(
    c: Collection, verb: str, options: dict[str, Any], progress: JobProgress
) -> dict[str, Json]:
    """Run one job and return its report as plain values."""
    if verb == "index":
        return c.index(**options, progress=progress).to_dict()
    if verb == "evaluate":
        return c.evaluate(**options, progress=progress).to_dict()
    rankers, features = options.pop("rankers"), options.pop("features")
    similar, regions, text = (options.pop(kind) for kind in ("similar", "regions", "text"))
    budget = {name: options.pop(name) for name in ("search", "trials")}
    if similar:
        return c.models.train_similarity(features=features, **options, progress=progress).to_dict()
    if regions:
        feature = features[0] if features else ""
        return c.models.train_regions(feature=feature, **options, progress=progress).to_dict()
    named = {"rankers": rankers, "features": features, **options}
    if text:
        return c.models.train_text(**named, progress=progress).to_dict()
    return c.train(**named, **budget, progress=progress).to_dict()


def plain(value: object) -> Any:
    r"""Return a report's plain values as they may be sent: NaN as None, text that is UTF-8.

    >>> plain({"path": "a\udcff.jpg", "p": float("nan"), "n": [1, 2]})
    {'path': 'a\\xff.jpg', 'p': None, 'n': [1, 2]}
    """
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str) and not value.isprintable():
        return shown(os.fsencode(value))
    return value


def main() -> int:
    """Read a job, run it, and write its result."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    request = json.loads(_first_line())
    threading.Thread(target=_stop_at_end, daemon=True).start()
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Output of libraries must not mix with events.
    os.dup2(2, 1)

    def say(event: dict[str, Any]) -> None:
        out.write(json.dumps(event) + "\n")
        out.flush()

    try:
        say({"kind": "result", "report": plain(_done(request, JobProgress(say)))})
    except (KeyboardInterrupt, Interrupted):
        say({"kind": "cancelled"})
    except SightlineError as e:
        say({"kind": "failed", "error": type(e).__name__, "detail": str(e)})
    except Exception as e:
        # Nobody reads stderr, and a message may contain the user's words.
        say({"kind": "broken", "error": type(e).__name__, "where": where_it_failed(e)})
    return 0


def _done(request: dict[str, Any], progress: JobProgress) -> dict[str, Json]:
    from sightline.collection import Collection
    from sightline.store.locks import set_program

    set_program("sightline serve")

    root = request["root"].encode("utf-8", "surrogateescape")
    c = Collection.open(root, store=request["store"])
    return run(c, request["verb"], dict(request["options"]), progress)


def _first_line() -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        more = os.read(0, 1)
        if not more:
            raise SystemExit(1)
        line += more
    return bytes(line)


def _stop_at_end() -> None:
    # Not through sys.stdin: a thread that waits there blocks the exit of the process.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
