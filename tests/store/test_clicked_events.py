"""Lists with clicks in the log: read back as they were written, and refused if they are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.contracts import Json
from sightline.errors import StoreDamaged
from sightline.store.events import EventLog, NewEvent


def a_list(key: str | None = None, session: str | None = "s", **body: Json) -> NewEvent:
    whole: dict[str, Json] = {"query": "sea", "pictures": [3, 1], "clicked": [1], "eta": 0.5}
    return NewEvent("clicked", None, {**whole, **body}, session, key)


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog(tmp_path / "events.sqlite3", write=True)


def test_places_are_the_first_ones_unless_they_are_written(log: EventLog) -> None:
    log.append([a_list(), a_list(ranks=[4, 9]), a_list(clicked=[], session=None)])
    first, second, third = log.clicked_lists()
    assert (first.pictures, first.ranks, first.clicked) == ((3, 1), (1, 2), frozenset({1}))
    assert (first.query, first.eta, first.session, first.seq) == ("sea", 0.5, "s", 1)
    assert second.ranks == (4, 9) and third.clicked == frozenset() and third.session == ""


def test_reverted_sessions_are_left_out_and_keys_tell_what_stands(log: EventLog) -> None:
    log.append([a_list("a", "one"), a_list("b", "two")])
    log.append([NewEvent("session-reverted", body={"session": "one"})])
    assert [x.session for x in log.clicked_lists()] == ["two"]
    assert log.reverted() == {"one"}
    found = log.with_keys(["a", "b", "c"])
    assert {k: e.session for k, e in found.items()} == {"a": "one", "b": "two"}


@pytest.mark.parametrize(
    "wrong",
    [{"query": 1}, {"pictures": "1"}, {"pictures": [1.5]}, {"clicked": None}, {"eta": "much"}],
)
def test_what_is_no_list_is_damage(log: EventLog, wrong: dict[str, Json]) -> None:
    log.append([a_list(None, "s", **wrong)])
    with pytest.raises(StoreDamaged, match="Event 1 is not a list with clicks"):
        log.clicked_lists()


def test_purging_a_picture_takes_every_list_it_stood_in(log: EventLog) -> None:
    log.append([a_list(pictures=[3, 1]), a_list(pictures=[2], clicked=[2])])
    assert log.purge({3}, set()) == 1
    assert [x.pictures for x in log.clicked_lists()] == [(2,)]
