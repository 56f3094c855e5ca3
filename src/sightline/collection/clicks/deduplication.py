"""What stands of a list that several files tell of: it counts once, with the clicks of them all.

A program that exports its log again has the same lists, some with more clicks. The log is only
appended to, so a file that knows of more clicks than there are writes the list once more, under the
next number of its key. Each of these events has what its own file says and nothing else, so when a
session is reverted the others stand as if it had never been.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sightline.records import ClickedList
from sightline.store.events import EventLog

SOURCE = "clicks"


def keys_of(key: str) -> Iterator[str]:
    """Yield the keys that events of one list have, first to last; there is no end to them.

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
    """Return what all events of one list have in common, from the key and number of any.

    >>> list_name("clicks:ab:2", 9), list_name(None, 9)
    ('clicks:ab', '9')
    """
    # One without a key is told of by nothing else.
    return ":".join((key or f"{seq}").split(":")[:2])


def known_clicks(
    key: str, log: EventLog, reverted: frozenset[str]
) -> tuple[str, frozenset[int] | None]:
    """Return the next free key of a list, and its clicks that stand; None if it does not."""
    clicks: frozenset[int] | None = None
    names = keys_of(key)
    name = next(names)
    while (event := log.with_keys([name]).get(name)) is not None:
        if event.session not in reverted:
            said = event.body.get("clicked")
            pictures = said if isinstance(said, list) else []
            clicks = (clicks or frozenset()) | {p for p in pictures if isinstance(p, int)}
        name = next(names)
    return name, clicks


def distinct_impressions(log: EventLog) -> list[ClickedList]:
    """Return each list once: as its last event shows it, with the clicks that any has of these."""
    keys = {e.seq: e.key for e in log.read(kinds=["clicked"])}
    found: dict[str, ClickedList] = {}
    for x in log.clicked_lists():
        name = list_name(keys[x.seq], x.seq)
        before = found.pop(name, None)
        if before is not None:
            x = replace(x, clicked=x.clicked | (before.clicked & frozenset(x.pictures)))
        found[name] = x
    return list(found.values())
