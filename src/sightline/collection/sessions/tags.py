"""What outlives a session: a word made of it, or its revert, which takes all of it back.

A word made of a session is a source of words of its own on each picture that fits, `session:` and
the session's id. Reverting writes one event, and with it, at once, that these words are gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from sightline.collection.index.tags import SESSION, Words, publish_words
from sightline.collection.models.word_model import scorer_of
from sightline.collection.sessions.log import SessionRecord, read_session
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
    source = SESSION + session
    with Writer(home, "judge", wait) as writer:
        record = read_session(writer.log, session) or SessionRecord(session)
        _refuse_reverted(record)
        here = writer.catalogue.facts(p for p, fits in record.judged.items() if fits)
        if not here:
            raise UsageError(
                f"No picture of the collection was judged to fit in the session {session}, so "
                f"{label!r} would find none. Judge some first."
            )

        def renamed(picture: int, tags: tuple[str, ...]) -> tuple[str, ...]:
            others = tuple(t for t in tags if t != label)
            return (*others, label) if picture in here else others

        before = writer.catalogue.with_source(source)
        publish_source(writer, source, {*here, *before}, renamed, session)
        # A revert that saw no words yet did not wait for us, so what it could not drop we do.
        record = read_session(writer.log, session) or record
        if record.reverted:
            _drop(writer, session)
        _refuse_reverted(record)
    return len(here)


def _refuse_reverted(record: SessionRecord) -> None:
    if record.reverted:
        raise UsageError(
            f"The session {record.session} was reverted, so no word can be made of it. Begin a new "
            "one."
        )


def revert(home: Home, session: str, wait: float) -> bool:
    """Take back all that a session said, and the words made of it; return whether any stood.

    Only words need the lock, so a session without any is reverted while others change the store.
    Whoever saves one looks for a revert after the words are written, and here words are looked
    for after the revert is: one of the two sees the other, and drops them.
    """
    record = _read(home, session)
    event = NewEvent(
        "session-reverted", None, {"session": session}, session, f"session-reverted:{session}"
    )
    if not record.reverted and not record.words:
        with Judging(home) as judging:
            judging.append([event])
    elif record.reverted and not _left(home, session):
        return False
    if _read(home, session).words:
        with Writer(home, "sessions revert", wait) as writer:
            now = read_session(writer.log, session) or record
            _drop(writer, session, *[event] * (not now.reverted))
    return True


def _read(home: Home, session: str) -> SessionRecord:
    with contextlib.closing(EventLog(home.events, write=False)) as log:
        record = read_session(log, session)
    if record is None:
        raise UsageError(f"There is no session {session!r} here. See: sightline sessions")
    return record


def _left(home: Home, session: str) -> bool:
    """Say whether pictures still carry words of a session."""
    with home.reader() as reader:
        return bool(reader.catalogue.with_source(SESSION + session))


def _drop(writer: Writer, session: str, *first: NewEvent) -> None:
    """Take the words of a session from every picture, together with events that come first."""
    source = SESSION + session
    pictures = set(writer.catalogue.with_source(source))
    if pictures or first:
        publish_source(writer, source, pictures, lambda *_: (), session, *first)


def revert_saved(home: Home, sessions: Sequence[str], wait: float) -> None:
    """Revert those of some sessions that words were made of."""
    with contextlib.closing(EventLog(home.events, write=False)) as log:
        found = [read_session(log, s) for s in sessions]
    for record in found:
        if record is not None and record.words:
            revert(home, record.session, wait)


def publish_source(
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
