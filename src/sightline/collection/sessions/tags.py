"""Save a session as a word on the pictures that fit, and revert a session.

A saved word is stored on each fitting picture under a source of its own, `session:` and the
session's id. A revert is one event; the removal of these words is published together with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from sightline.collection.index.tags import Words, publish_words
from sightline.collection.models.text_model import text_scorer_of
from sightline.collection.models.word_model import scorer_of
from sightline.collection.sessions.log import SessionRecord, read_session
from sightline.errors import UsageError
from sightline.records import Tags
from sightline.store.events import OF_SESSION, EventLog, NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Judging, Writer
from sightline.words.tokens import labels


def save(store_folder: StoreFolder, session: str, word: str, wait: float) -> int:
    """Add a word to the pictures that were judged to fit; return their number.

    If the session was saved as this word before, pictures that no longer fit lose it.
    """
    if len(labels(word)) != 1:
        raise UsageError(
            f"{word!r} cannot be a word to search for. Name one label of letters or digits, "
            "without / and |."
        )
    label = " ".join(word.split())
    source = OF_SESSION + session
    with Writer(store_folder, "judge", wait) as writer:
        record = read_session(writer.log, session) or SessionRecord(session)
        _check_not_reverted(record)
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
        # A concurrent revert that read the log before these words were written could not remove
        # them, so they are removed here.
        record = read_session(writer.log, session) or record
        if record.reverted:
            _drop(writer, session)
        _check_not_reverted(record)
    return len(here)


def _check_not_reverted(record: SessionRecord) -> None:
    if record.reverted:
        raise UsageError(
            f"The session {record.session} was reverted, so no word can be made of it. Begin a new "
            "one."
        )


def revert(store_folder: StoreFolder, session: str, wait: float) -> bool:
    """Undo all judgements of a session and its saved words; return whether there were any.

    Only words need the writer lock, so a session without saved words can be reverted while another
    process changes the store. `save` checks for a revert after it has written words, and this
    function checks for words after it has written the revert, so one of them removes the words.
    """
    record = _read(store_folder, session)
    event = NewEvent(
        "session-reverted", None, {"session": session}, session, f"session-reverted:{session}"
    )
    if not record.reverted and not record.words:
        with Judging(store_folder) as judging:
            judging.append([event])
    elif record.reverted and not _left(store_folder, session):
        return False
    if _read(store_folder, session).words:
        with Writer(store_folder, "sessions revert", wait) as writer:
            now = read_session(writer.log, session) or record
            _drop(writer, session, *[event] * (not now.reverted))
    return True


def _read(store_folder: StoreFolder, session: str) -> SessionRecord:
    with contextlib.closing(EventLog(store_folder.events, write=False)) as log:
        record = read_session(log, session)
    if record is None:
        raise UsageError(f"There is no session {session!r} here. See: sightline sessions")
    return record


def _left(store_folder: StoreFolder, session: str) -> bool:
    """Return whether any picture still has a word of the session."""
    with store_folder.reader() as reader:
        return bool(reader.catalogue.with_source(OF_SESSION + session))


def _drop(writer: Writer, session: str, *first: NewEvent) -> None:
    """Remove the words of a session from every picture; the events `first` are written before."""
    source = OF_SESSION + session
    pictures = set(writer.catalogue.with_source(source))
    if pictures or first:
        publish_source(writer, source, pictures, lambda *_: (), session, *first)


def revert_saved(store_folder: StoreFolder, sessions: Sequence[str], wait: float) -> None:
    """Revert those of the given sessions that were saved as words."""
    with contextlib.closing(EventLog(store_folder.events, write=False)) as log:
        records = [read_session(log, s) for s in sessions]
    for record in records:
        if record is not None and record.words:
            revert(store_folder, record.session, wait)


def publish_source(
    writer: Writer,
    source: str,
    pictures: set[int],
    tags_of: Callable[[int, tuple[str, ...]], tuple[str, ...]],
    session: str,
    *first: NewEvent,
) -> None:
    """Replace the words that one source gives to pictures, and publish the change."""
    writer.scorer = scorer_of(writer.store_folder, writer.version)
    writer.text_scorer = text_scorer_of(writer.store_folder, writer.version)
    now: dict[int, Words] = {}
    for p in sorted(pictures):
        by_source = {t.source: t for t in writer.catalogue.words(p)}
        tags = tags_of(p, by_source.get(source, Tags(source)).tags)
        by_source.pop(source, None)
        now[p] = {**by_source, source: Tags(source, tags)} if tags else by_source
    publish_words(writer, now, [], session=session, first=first, finished=True)
    writer.compact()
