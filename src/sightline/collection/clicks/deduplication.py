"""Impressions that several files report count once, with the clicks of all of them.

A program that exports its log again has the same impressions, some with more clicks. The log is
only appended to, so a file that knows of more clicks than the log writes the impression once more,
under the next number of its key. Each of these events has what its own file reports and nothing
else, so that when a session is reverted the others count as if it had never been.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sightline.records import ClickedList
from sightline.store.events import EventLog

SOURCE = "clicks"


def keys_of(key: str) -> Iterator[str]:
    """Yield the keys of the events of one impression, first to last, without end.

    >>> from itertools import islice
    >>> list(islice(keys_of("ab"), 3))
    ['clicks:ab', 'clicks:ab:2', 'clicks:ab:3']
    """
    yield f"{SOURCE}:{key}"
    n = 2
    while True:
        yield f"{SOURCE}:{key}:{n}"
        n += 1


def list_name(key: str | None, seq: int) -> str:
    """Return the name that all events of one impression share, from the key and number of any.

    >>> list_name("clicks:ab:2", 9), list_name(None, 9)
    ('clicks:ab', '9')
    """
    # One without a key is in no other event.
    return ":".join((key or f"{seq}").split(":")[:2])


def known_clicks(
    key: str, log: EventLog, reverted: frozenset[str]
) -> tuple[str, frozenset[int] | None]:
    """Return the next free key of an impression and its clicks; None if it is not in the log."""
    clicks: frozenset[int] | None = None
    free_keys = keys_of(key)
    name = next(free_keys)
    while (event := log.with_keys([name]).get(name)) is not None:
        if event.session not in reverted:
            stored = event.body.get("clicked")
            pictures = stored if isinstance(stored, list) else []
            clicks = (clicks or frozenset()) | {p for p in pictures if isinstance(p, int)}
        name = next(free_keys)
    return name, clicks


def distinct_impressions(log: EventLog) -> list[ClickedList]:
    """Return each impression once: as its last event has it, with the clicks of all its events."""
    keys = {e.seq: e.key for e in log.read(kinds=["clicked"])}
    by_name: dict[str, ClickedList] = {}
    for impression in log.clicked_lists():
        name = list_name(keys[impression.seq], impression.seq)
        before = by_name.pop(name, None)
        if before is not None:
            earlier = before.clicked & frozenset(impression.pictures)
            impression = replace(impression, clicked=impression.clicked | earlier)
        by_name[name] = impression
    return list(by_name.values())
