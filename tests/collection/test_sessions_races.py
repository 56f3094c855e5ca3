"""Sessions that are saved and reverted at the same time, and logs of many other events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.collection import Collection
from sightline.collection.sessions import tags
from sightline.collection.sessions.log import read_session, read_sessions
from sightline.errors import UsageError
from sightline.store.events import EventLog, NewEvent
from sightline.store.writer import Judging
from tests.factories.judging_collections import judged_collection


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return judged_collection(tmp_path)


def tagged(c: Collection, session: str) -> list[int]:
    with c.store_folder.reader() as reader:
        return reader.catalogue.with_source(f"session:{session}")


def reverted(session: str) -> NewEvent:
    key = f"session-reverted:{session}"
    return NewEvent("session-reverted", None, {"session": session}, session, key)


def once_before(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, do: Callable[[], object]
) -> None:
    """Have something done by somebody else right before a function is called for the first time."""
    real = getattr(where, name)

    def instead(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(where, name, real)
        do()
        return real(*args, **named)

    monkeypatch.setattr(where, name, instead)


def test_a_word_saved_after_a_revert_is_refused(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2])
    # While the lock is waited for, somebody else reverts.
    once_before(monkeypatch, tags, "Writer", lambda: c.sessions.revert(session.id))
    with pytest.raises(UsageError, match="was reverted, so no word can be made of it"):
        session.save_as("find")
    assert not tagged(c, session.id) and not c.search("find").hits


def test_a_revert_while_words_are_written_takes_them_too(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2])
    once_before(monkeypatch, tags, "publish_source", lambda: c.sessions.revert(session.id))
    with pytest.raises(UsageError, match="was reverted, so no word can be made of it"):
        session.save_as("find")
    assert not tagged(c, session.id) and not c.search("find").hits and c.store.verify().sound


def test_a_word_saved_while_its_session_is_reverted_goes_with_it(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2])
    # The record was read, and had no words, when somebody else saves.
    once_before(monkeypatch, tags, "Judging", lambda: session.save_as("find"))
    assert c.sessions.revert(session.id)
    assert not tagged(c, session.id) and not c.search("find").hits and c.store.verify().sound
    assert not c.sessions.revert(session.id)


def test_words_left_over_from_an_earlier_revert_are_dropped(c: Collection) -> None:
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2])
    session.save_as("find")
    with Judging(c.store_folder) as judging:
        judging.append([reverted(session.id)])
    assert tagged(c, session.id) == [7, 13]
    assert c.sessions.revert(session.id) and not c.sessions.revert(session.id)
    assert not tagged(c, session.id) and not c.search("find").hits and c.store.verify().sound


def test_a_look_at_sessions_reads_no_other_events(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.sqlite3", write=True)
    log.append([NewEvent("picture-seen", None, {"path": f"{i}.jpg"}) for i in range(20_000)])
    for session in ("one", "two"):
        log.append([NewEvent("judged", 3, {"query": "tree", "relevance": 1.0}, session)])
        log.append([reverted(session)])
    log.append([NewEvent("judged", 4, {"query": "tree", "relevance": 1.0}, "three")])
    steps = []
    # Called after each so many steps of SQLite's machine.
    log._db.set_progress_handler(lambda: steps.append(1), 100)
    one, all_of_them = read_session(log, "two"), read_sessions(log)
    log._db.set_progress_handler(None, 0)
    assert one is not None and one.reverted and one.judged == {3: True}
    assert [(r.session, r.reverted) for r in all_of_them] == [
        ("one", True), ("two", True), ("three", False),
    ]  # fmt: skip
    assert len(steps) < 20
    log.close()
