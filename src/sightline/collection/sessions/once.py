"""Judgements sent twice count once: whoever got no answer can send the same again.

A client names what it sends by a key. The events of a mark get keys made of it, which the log never
takes twice; before that, the log is asked for the mark, so that another one under the same key is
refused instead of being written in part.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from sightline.collection.sessions.record import Mark, all_marks
from sightline.errors import UsageError
from sightline.store.events import EventLog


def mark_name(session: str, key: str) -> str:
    """Return the name of the mark that a key stands for.

    >>> mark_name("s", "k") == mark_name("s", "k") != mark_name("s", "l")
    True
    """
    return hashlib.sha256(f"{session}:{key}".encode()).hexdigest()[:16]


def event_key(session: str, key: str, picture: int) -> str | None:
    """Return the key in the log of one judgement; None where the client gave none."""
    return f"judged:{session}:{mark_name(session, key)}:{picture}" if key else None


def was_marked(events: Path, session: str, key: str, judged: dict[int, bool]) -> bool:
    """Say whether the same was marked under this key before, taken back since or not."""
    found = _mark(events, session, mark_name(session, key))
    if found is not None and found.judged != judged:
        raise UsageError(
            f"The key {key!r} was used for other judgements of the session {session}. "
            "Give each a key of its own."
        )
    return found is not None


def undone(events: Path, session: str, key: str) -> dict[int, bool] | None:
    """Return the judgements that an undo under this key took back; None if there was none."""
    with contextlib.closing(EventLog(events, write=False)) as log:
        for e in log.read(kinds=["mark-undone"], session=session):
            if e.body.get("request") == key:
                name = str(e.body.get("mark"))
                break
        else:
            return None
    found = _mark(events, session, name)
    return found.judged if found is not None else {}


def _mark(events: Path, session: str, name: str) -> Mark | None:
    with contextlib.closing(EventLog(events, write=False)) as log:
        return next((m for m in all_marks(log, session) if m.name == name), None)
