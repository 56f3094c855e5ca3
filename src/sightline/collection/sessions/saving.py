"""What outlives a session: a word made of it, or its revert, which takes all of it back.

A word made of a session is a source of words of its own on each picture that fits, `session:` and
the session's id. Reverting writes one event, and with it, at once, that these words are gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from sightline.collection import words
from sightline.collection.learning.serving import scorer_of
from sightline.collection.rewording import Words, publish_words
from sightline.collection.sessions.record import Record, read_session
from sightline.errors import UsageError
from sightline.records import Tags
from sightline.store.events import EventLog, NewEvent
from sightline.store.home import Home
from sightline.store.writer import Judging, Writer
from sightline.words.tokens import labels


def save(home: Home, session: str, word: str, wait: float) -> int:
    """Give the pictures that fit a session a word; return how many there are.

    Where it was saved under that word before, pictures that no longer fit lose it.
    """
    if len(labels(word)) != 1:
        raise UsageError(
            f"{word!r} cannot be a word to search for. Name one label of letters or digits, "
            "without / and |."
        )
    label = " ".join(word.split())
    with Writer(home, "judge", wait) as writer:
        record = read_session(writer.log, session)
        judged = record.judged if record is not None else {}
        here = writer.catalogue.facts(p for p, fits in judged.items() if fits)
        if not here:
            raise UsageError(
                f"No picture of the collection was judged to fit in the session {session}, so "
                f"{label!r} would find none. Judge some first."
            )
        source = words.SESSION + session

        def renamed(picture: int, tags: tuple[str, ...]) -> tuple[str, ...]:
            others = tuple(t for t in tags if t != label)
            return (*others, label) if picture in here else others

        _publish(writer, source, {*here, *writer.catalogue.with_source(source)}, renamed, session)
    return len(here)


def revert(home: Home, session: str, wait: float) -> Record:
    """Take back all that a session said, and the words made of it; return what that was."""
    with contextlib.closing(EventLog(home.events, write=False)) as log:
        record = read_session(log, session)
    if record is None:
        raise UsageError(f"There is no session {session!r} here. See: sightline sessions")
    if record.reverted:
        return record
    event = NewEvent(
        "session-reverted", None, {"session": session}, session, f"session-reverted:{session}"
    )
    if not record.words:
        with Judging(home) as judging:
            judging.append([event])
        return record
    with Writer(home, "sessions revert", wait) as writer:
        source = words.SESSION + session
        pictures = set(writer.catalogue.with_source(source))
        _publish(writer, source, pictures, lambda *_: (), session, event)
    return record


def revert_saved(home: Home, sessions: Sequence[str], wait: float) -> None:
    """Revert those of some sessions that words were made of."""
    with contextlib.closing(EventLog(home.events, write=False)) as log:
        found = [read_session(log, s) for s in sessions]
    for record in found:
        if record is not None and record.words:
            revert(home, record.session, wait)


def _publish(
    writer: Writer,
    source: str,
    pictures: set[int],
    tags_of: Callable[[int, tuple[str, ...]], tuple[str, ...]],
    session: str,
    *first: NewEvent,
) -> None:
    """Give pictures other words of one source, and publish them."""
    writer.scorer = scorer_of(writer.home, writer.version)
    now: dict[int, Words] = {}
    for p in sorted(pictures):
        said = {t.source: t for t in writer.catalogue.words(p)}
        tags = tags_of(p, said.get(source, Tags(source)).tags)
        said.pop(source, None)
        now[p] = {**said, source: Tags(source, tags)} if tags else said
    publish_words(writer, now, [], session=session, first=first, finished=True)
    writer.compact()
