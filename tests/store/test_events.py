"""The log: durable, numbered without gaps, once per key, and never silently wrong."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from sightline.errors import ParameterError, StoreDamaged, StoreTooNew
from sightline.store.events import EventLog, NewEvent


def judged(query: str, picture: int, relevance: float = 1.0, **extra: str) -> NewEvent:
    body = {"query": query, "relevance": relevance, "source": "feedback"}
    return NewEvent("judged", picture, body, extra.get("session"), extra.get("key"))  # type: ignore[arg-type]


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog(tmp_path / "events.sqlite3", write=True)


def test_a_new_picture_gets_the_next_id_and_later_events_can_cite_it(log: EventLog) -> None:
    log.append([NewEvent("picture-seen", body={"path": "a"})])
    events = log.append(
        [
            NewEvent("picture-seen", body={"path": "b"}),
            NewEvent("words", -1, {"source": "txt"}),
            NewEvent("picture-seen", body={"path": "c"}),
            NewEvent("words", -3, {"source": "txt"}),
        ]
    )
    assert [e.picture for e in events] == [2, 2, 3, 3]
    assert [e.seq for e in events] == [2, 3, 4, 5]


def test_a_key_happens_once(log: EventLog) -> None:
    first = log.append([judged("tree", 1, key="k")])
    again = log.append([judged("tree", 1, 0.0, key="k"), judged("tree", 2, key="l")])
    assert again[0] == first[0]
    assert log.last_seq() == 2


def test_file_names_that_are_not_text_survive(log: EventLog) -> None:
    name = b"caf\xe9\n\xff.jpg".decode("utf-8", "surrogateescape")
    log.append([NewEvent("picture-seen", body={"path": name})])
    (event,) = log.read()
    assert str(event.body["path"]).encode("utf-8", "surrogateescape") == b"caf\xe9\n\xff.jpg"


def test_an_unknown_kind_is_refused_and_nothing_is_written(log: EventLog) -> None:
    with pytest.raises(ParameterError, match=r"one of .* Got 'jugded'"):
        log.append([judged("tree", 1), NewEvent("jugded", 1)])
    assert log.last_seq() == 0


@pytest.mark.parametrize("column", ["kind", "picture", "session", "key", "at", "body"])
def test_a_changed_row_is_found(tmp_path: Path, column: str) -> None:
    log = EventLog(tmp_path / "events.sqlite3", write=True)
    log.append([judged("tree", 1, session="s", key="k"), judged("snow", 2)])
    log.close()
    value = {"picture": 7, "at": 3}.get(column, "judged2")
    db = sqlite3.connect(tmp_path / "events.sqlite3")
    db.execute(f"UPDATE events SET {column}=? WHERE seq=1", (value,))
    db.commit()
    db.close()
    log = EventLog(tmp_path / "events.sqlite3", write=True)
    assert log.problems() == ["event 1 has a wrong checksum"]
    with pytest.raises(StoreDamaged, match=r"Event 1 .* sightline store repair"):
        list(log.read())


def test_a_missing_row_is_found(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.sqlite3", write=True)
    log.append([judged("tree", i) for i in range(1, 6)])
    log.close()
    db = sqlite3.connect(tmp_path / "events.sqlite3")
    db.execute("DELETE FROM events WHERE seq IN (2, 3)")
    db.commit()
    db.close()
    log = EventLog(tmp_path / "events.sqlite3", write=True)
    assert log.problems() == ["events 2 to 3 are missing"]


def test_judgements_come_in_canonical_order_and_the_last_word_stands(log: EventLog) -> None:
    log.append([judged("tree", 2), judged("snow", 9), judged("tree", 1), judged("tree", 2, 0.0)])
    assert [(j.query, j.picture, j.relevance) for j in log.judgements()] == [
        ("snow", 9, 1.0),
        ("tree", 1, 1.0),
        ("tree", 2, 0.0),
    ]


def test_a_reverted_session_is_as_if_it_had_never_been(log: EventLog) -> None:
    log.append([judged("tree", 1, session="good"), judged("tree", 2)])
    before = log.judgements()
    log.append([judged("tree", 1, 0.0, session="bad"), judged("cat", 3, session="bad")])
    log.append([NewEvent("session-reverted", body={"session": "bad"})])
    assert log.judgements() == before


def test_marks_taken_back_and_what_is_beyond_the_cap_do_not_count(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.sqlite3", write=True)

    def said(picture: int, session: str, mark: str, relevance: float = 1.0) -> NewEvent:
        body = {"query": "tree", "relevance": relevance, "source": "session", "mark": mark}
        return NewEvent("judged", picture, body, session)  # type: ignore[arg-type]

    log.append([said(1, "a", "m"), said(2, "a", "m"), said(1, "a", "n", 0.0), said(3, "b", "m")])
    assert [(j.picture, j.relevance) for j in log.judgements()] == [(1, 0.0), (2, 1.0), (3, 1.0)]
    # Of the two pictures of the first session, the one it spoke of last counts.
    assert [j.picture for j in log.judgements(1)] == [1, 3]
    assert log.judgements(0) == []
    log.append([NewEvent("mark-undone", None, {"mark": "n"}, "a")])
    assert [(j.picture, j.relevance) for j in log.judgements()] == [(1, 1.0), (2, 1.0), (3, 1.0)]
    log.append([NewEvent("mark-undone", None, {"mark": "m"}, "a")])
    assert [j.picture for j in log.judgements()] == [3]
    assert [e.session for e in log.read(session="b")] == ["b"]
    assert len(list(log.read(in_sessions=True))) == 6


def test_purging_leaves_numbers_and_nothing_else(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.sqlite3", write=True)
    seen = NewEvent("picture-seen", body={"path": "very-secret-name.jpg"})
    log.append([seen, judged("verysecretword", 1), judged("tree", 2)])
    assert log.purge({1}, set()) == 2
    log.checkpoint()
    assert log.problems() == []
    assert [e.kind for e in log.read()] == ["purged", "purged", "judged"]
    raw = (tmp_path / "events.sqlite3").read_bytes()
    assert b"secret" not in raw
    assert log.append([NewEvent("picture-seen", body={"path": "b"})])[0].picture == 3


def test_a_log_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    EventLog(tmp_path / "events.sqlite3", write=True).close()
    db = sqlite3.connect(tmp_path / "events.sqlite3")
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreTooNew, match=r"schema 99; .* up to 1\. Upgrade"):
        EventLog(tmp_path / "events.sqlite3", write=True)


def _append_many(path: str, who: int, count: int) -> None:
    log = EventLog(Path(path), write=True)
    for i in range(count):
        log.append([judged("tree", i + 1, key=f"{who}-{i}")])
    log.close()


def test_eight_writers_lose_and_double_nothing(tmp_path: Path) -> None:
    """8 processes × 500 events: 4,000 there, each once, numbered without gaps."""
    path = tmp_path / "events.sqlite3"
    EventLog(path, write=True).close()
    spawn = multiprocessing.get_context("fork")
    writers = [spawn.Process(target=_append_many, args=(str(path), w, 500)) for w in range(8)]
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    assert [w.exitcode for w in writers] == [0] * 8
    log = EventLog(path, write=True)
    assert log.problems() == []
    keys = [e.key for e in log.read()]
    assert len(keys) == 4000
    assert set(keys) == {f"{w}-{i}" for w in range(8) for i in range(500)}
