"""The event log: with the untouched pictures, the only truth of a collection.

Every fact that cannot be computed again is one row, appended in one transaction and durable before
it is acknowledged. Rows are never changed. Each has a checksum over all its columns, and sequence
numbers have no gaps, so lost and altered rows are detected. Times are for people; order is by
sequence number alone, so a wrong clock changes nothing.

picture-seen      a picture is at this path with this content (also: it moved, it was edited)
picture-gone      it is no longer in the folder
words             the tags and the text one source gives a picture; replaces that source's last ones
words-file        a table of words was added or removed
vectors-file      a file of vectors was added, read in another state, or removed
judged            how well a picture fits a query, by a person or a program
judged-similar    whether a picture is similar to another one, by a person or a program
clicked           a list of pictures was shown for a query, and some of them were clicked
session-started   a judging session began with these words or pictures
mark-undone       undoes the judgements of a session that were made at once, by one mark
session-reverted  all judgements of a session are ignored
purged            stands for a row that the owner removed for good
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline.contracts import Json
from sightline.errors import ParameterError, StoreDamaged
from sightline.records import ClickedList, Judgement, SimilarityJudgement
from sightline.store.database import (
    check_schema,
    connect,
    connect_sealed,
    database_errors,
    schema_number,
    transaction,
)

SCHEMA = 1
# The source of answers to single questions, as in tagging; they are not limited by session.
ONE_BY_ONE = "tag"
# Words that a session gave have it as their source, after this prefix.
OF_SESSION = "session:"
KINDS = frozenset(
    ("picture-seen", "picture-gone", "words", "words-file", "vectors-file", "judged",
     "judged-similar", "clicked", "session-started", "mark-undone", "session-reverted", "purged")
)  # fmt: skip
_REPAIR = "Run: sightline store repair"
_FOREIGN = "Another program wrote it; restore the store from a backup."
COLUMNS = "seq, kind, picture, session, key, at, body, crc"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A fact to be appended.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    picture : int or None
        The picture's id. A picture-seen event without one gets the next free id; later events of
        the same call refer to it by its negative position in the call: -1 is the first event.
    body : dict or None
        What else there is to know, as JSON.
    session : str or None
        The session it belongs to.
    key : str or None
        An idempotency key: of several events with the same key only the first is appended.
    """

    kind: str
    picture: int | None = None
    body: dict[str, Json] | None = None
    session: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A fact that is in the log."""

    seq: int
    kind: str
    picture: int | None
    session: str | None
    key: str | None
    at: int
    body: dict[str, Json]


class EventLog:
    """The append-only log of one collection.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = EventLog(pathlib.Path(folder.name) / "events.sqlite3", write=True)
    >>> [e.seq for e in log.append([NewEvent("picture-seen", body={"path": "a.jpg"})])]
    [1]
    >>> [(e.kind, e.picture) for e in log.read()]
    [('picture-seen', 1)]
    >>> log.close(); folder.cleanup()
    """

    def __init__(self, path: Path, *, write: bool, sealed: bool = False) -> None:
        self.path = path
        self._db = connect_sealed(path) if sealed else connect(path, write=write)
        try:
            with database_errors(path):
                schema = schema_number(self._db)
            check_schema(path, schema, SCHEMA)
            if schema == 0 and write:
                self._create()
        except BaseException:
            self._db.close()
            raise

    def _create(self) -> None:
        with transaction(self._db, self.path):
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL,"
                " picture INTEGER, session TEXT, key TEXT UNIQUE, at INTEGER NOT NULL,"
                " body BLOB NOT NULL, crc INTEGER NOT NULL)"
            )
            self._db.execute("CREATE INDEX IF NOT EXISTS by_picture ON events(picture)")
            # Stores of older releases do not have this index; they answer by a scan.
            self._db.execute(
                "CREATE INDEX IF NOT EXISTS by_session ON events(session) WHERE session IS NOT NULL"
            )
            self._db.execute(f"PRAGMA user_version={SCHEMA}")

    def append(self, events: Sequence[NewEvent]) -> list[Event]:
        """Append facts; they are on the disk when this returns.

        An event whose key is in the log is not written again; the one in the log is returned.
        """
        appended: list[Event] = []
        if not events:
            return appended
        at = time.time_ns()
        with transaction(self._db, self.path):
            seq, picture = self._last()
            for new in events:
                event = self._by_key(new.key)
                if event is None:
                    seq += 1
                    number, picture = _number(new, picture, appended)
                    event = _event(seq, new, number, at)
                    self._insert(event)
                appended.append(event)
        return appended

    def _last(self) -> tuple[int, int]:
        # Each is a look-up at the end of an index; selected together they scan the whole table.
        sql = "SELECT (SELECT max(seq) FROM events), (SELECT max(picture) FROM events)"
        row = self._db.execute(sql).fetchone()
        return row[0] or 0, row[1] or 0

    def _by_key(self, key: str | None) -> Event | None:
        if key is None:
            return None
        row = self._db.execute(f"SELECT {COLUMNS} FROM events WHERE key=?", (key,)).fetchone()
        return checked(row, self.path) if row else None

    def _insert(self, e: Event) -> None:
        body = _body(e.body)
        row = (e.seq, e.kind, e.picture, e.session, e.key, e.at, body)
        self._db.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?,?)", (*row, _crc(row)))

    def read(
        self,
        after: int = 0,
        kinds: Sequence[str] = (),
        session: str | None = None,
        *,
        in_sessions: bool = False,
    ) -> Iterator[Event]:
        """Yield events in order, each checked; a damaged one raises.

        Parameters
        ----------
        after : int, default=0
            Only events after this number.
        kinds : sequence of str, default=()
            Only events of these kinds; all if empty.
        session : str, optional
            Only events of this session.
        in_sessions : bool, default=False
            Only events of any session.
        """
        only = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        condition = " AND session IS NOT NULL" if in_sessions else ""
        condition += "" if session is None else " AND session=?"
        values = (after, *kinds, *([] if session is None else [session]))
        # Few events belong to sessions: the plus makes SQLite use their index, not the whole table.
        seq = "+seq" if in_sessions else "seq"
        with database_errors(self.path):
            sql = f"SELECT {COLUMNS} FROM events WHERE {seq}>?{only}{condition} ORDER BY {seq}"
            for row in self._db.execute(sql, values):
                yield checked(row, self.path)

    def last_seq(self) -> int:
        """Return the number of the newest event, 0 for an empty log."""
        with database_errors(self.path):
            return self._last()[0]

    def problems(self) -> list[str]:
        """Return what is wrong with the log, a sentence each; empty if it is sound."""
        messages: list[str] = []
        expected = 1
        try:
            for (text,) in self._db.execute("PRAGMA integrity_check"):
                if text != "ok":
                    messages.append(f"events.sqlite3: {text}")
            for row in self._db.execute(f"SELECT {COLUMNS} FROM events ORDER BY seq"):
                if row[0] != expected:
                    messages.append(f"events {expected} to {row[0] - 1} are missing")
                expected = row[0] + 1
                if _crc(row[:7]) != row[7]:
                    messages.append(f"event {row[0]} has a wrong checksum")
        except (sqlite3.Error, ValueError, TypeError) as e:
            messages.append(f"events.sqlite3 cannot be read: {e}")
        return messages

    def judgements(self, most: int | None = None) -> list[Judgement]:
        """Return all judgements of pictures for words, in canonical order.

        Reverted sessions and undone marks are left out. Of several judgements of one (query,
        picture) by one source the last counts, so replaying the log always gives the same list.

        Parameters
        ----------
        most : int, optional
            How many pictures of one session count: those it judged last.
        """
        last: dict[tuple[str, int, str], Judgement] = {}
        for e in _last_of_sessions(self.effective("judged"), most):
            j = _judgement(e)
            if j.query:  # A session that began with pictures judges no words.
                last[j.query, j.picture, j.source] = j
        return sorted(last.values(), key=lambda j: (j.query, j.picture, j.relevance, j.seq))

    def similarity_judgements(
        self, after: int = 0, *, sessions: bool = False, most: int | None = None
    ) -> list[SimilarityJudgement]:
        """Return all judgements of whether two pictures are similar, in order of time.

        Reverted sessions are left out; nothing else is, so later judgements may contradict.

        Parameters
        ----------
        after : int, default=0
            Only judgements after this event.
        sessions : bool, default=False
            Whether to add the judgements of sessions that began with one picture of the collection.
        most : int, optional
            How many pictures of one session count: those it judged last.
        """
        judgements = [_similarity_judgement(e) for e in self.effective("judged-similar", after)]
        if sessions:
            judged = map(
                _session_similarity, _last_of_sessions(self.effective("judged", after), most)
            )
            judgements += [j for j in judged if j is not None]
        return sorted(judgements, key=lambda j: j.seq)

    def clicked_lists(self) -> list[ClickedList]:
        """Return the lists that were shown, with their clicks; reverted sessions are left out."""
        return [clicked_list(e) for e in self.effective("clicked")]

    def with_keys(self, keys: Iterable[str]) -> dict[str, Event]:
        """Return the events that have some of these keys."""
        with database_errors(self.path):
            pairs = ((k, self._by_key(k)) for k in keys)
            return {k: e for k, e in pairs if e is not None}

    def reverted(self) -> frozenset[str]:
        """Return the ids of reverted sessions."""
        return frozenset(str(e.body.get("session")) for e in self.read(kinds=["session-reverted"]))

    def effective(self, kind: str, after: int = 0) -> Iterator[Event]:
        """Yield events of a kind without those of reverted sessions and undone marks."""
        reverted = self.reverted()
        undone = {(e.session, e.body.get("mark")) for e in self.read(kinds=["mark-undone"])}
        for e in self.read(after, [kind]):
            if e.session in reverted or (e.session, e.body.get("mark")) in undone:
                continue
            yield e

    def restore(self, events: Sequence[Event]) -> None:
        """Fill an empty log with events that were saved from a damaged one.

        Lost events become empty `purged` rows, so that no number is used twice.
        """
        saved = {e.seq: e for e in events}
        with transaction(self._db, self.path):
            for seq in range(1, max(saved, default=0) + 1):
                gap = Event(seq, "purged", None, None, None, 0, {"why": "lost to damage"})
                self._insert(saved.get(seq, gap))

    def purge(self, pictures: Container[int], sessions: Container[str]) -> int:
        """Erase the events of some pictures and sessions for good; return how many there were."""
        erased = [
            e
            for e in self.read()
            if e.kind != "purged"
            and (e.picture in pictures or e.session in sessions or _mentions(e, pictures))
        ]
        with transaction(self._db, self.path):
            self._db.execute("PRAGMA secure_delete=1")
            for e in erased:
                self._db.execute("DELETE FROM events WHERE seq=?", (e.seq,))
                self._insert(Event(e.seq, "purged", e.picture, None, None, e.at, {}))
        with database_errors(self.path):
            self._db.execute("VACUUM")
        return len(erased)

    def close(self) -> None:
        """Close the file; its write-ahead log is folded in when nobody else has it open."""
        self._db.close()

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file."""
        with database_errors(self.path):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _number(new: NewEvent, last: int, before: Sequence[Event]) -> tuple[int | None, int]:
    if new.kind not in KINDS:
        raise ParameterError.of("kind", "an event", f"one of {', '.join(sorted(KINDS))}", new.kind)
    if new.picture is not None and new.picture < 0:
        return before[-new.picture - 1].picture, last
    if new.kind == "picture-seen" and new.picture is None:
        return last + 1, last + 1
    return new.picture, last


def _event(seq: int, new: NewEvent, picture: int | None, at: int) -> Event:
    return Event(seq, new.kind, picture, new.session, new.key, at, new.body or {})


def _judgement(e: Event) -> Judgement:
    query, relevance = e.body.get("query"), e.body.get("relevance")
    if not isinstance(query, str) or not isinstance(relevance, int | float) or e.picture is None:
        raise StoreDamaged(f"Event {e.seq} is not a judgement: {e.body!r}. {_FOREIGN}")
    return Judgement(query, e.picture, float(relevance), str(e.body.get("source", "")), e.seq)


def _similarity_judgement(e: Event) -> SimilarityJudgement:
    query, alike = e.body.get("query"), e.body.get("alike")
    if not isinstance(query, int) or not isinstance(alike, bool) or e.picture is None:
        raise StoreDamaged(f"Event {e.seq} does not compare two pictures: {e.body!r}. {_FOREIGN}")
    return SimilarityJudgement(query, e.picture, alike, str(e.body.get("source", "")), e.seq)


def clicked_list(e: Event) -> ClickedList:
    """Return the list of a `clicked` event."""
    query, eta = e.body.get("query"), e.body.get("eta")
    shown, clicked = _numbers(e.body.get("pictures")), _numbers(e.body.get("clicked"))
    is_complete = isinstance(query, str) and isinstance(eta, int | float)
    if not is_complete or shown is None or clicked is None:
        raise StoreDamaged(f"Event {e.seq} is not a list with clicks: {e.body!r:.200}. {_FOREIGN}")
    # Ranks are written only if they are not 1, 2, 3 …
    ranks = _numbers(e.body.get("ranks")) or tuple(range(1, len(shown) + 1))
    return ClickedList(
        str(query), shown, ranks, frozenset(clicked), float(str(eta)), e.session or "", e.seq
    )


def _numbers(values: Json) -> tuple[int, ...] | None:
    if not isinstance(values, list) or not all(type(v) is int for v in values):
        return None
    return tuple(v for v in values if isinstance(v, int))


def _session_similarity(e: Event) -> SimilarityJudgement | None:
    """Return a judgement as one of two pictures; None unless its session began with a picture."""
    like = e.body.get("like")
    if not isinstance(like, list) or len(like) != 1 or not isinstance(like[0], int):
        return None
    j = _judgement(e)
    return SimilarityJudgement(like[0], j.picture, j.relevance > 0, j.source, j.seq)


def _last_of_sessions(events: Iterable[Event], most: int | None) -> list[Event]:
    """Return events, of each session only those of the `most` pictures it judged last.

    Answers to single questions all count.
    """
    listed = list(events)
    last_by_session: dict[str, dict[int | None, int]] = {}
    for e in listed:
        if e.session is not None and e.body.get("source") != ONE_BY_ONE:
            last_by_session.setdefault(e.session, {})[e.picture] = e.seq
    if most is None or all(len(last) <= most for last in last_by_session.values()):
        return listed
    counted = {
        session: set(sorted(last, key=lambda p: -last[p])[:most])
        for session, last in last_by_session.items()
    }
    return [e for e in listed if e.session not in counted or e.picture in counted[e.session]]


def _mentions(e: Event, pictures: Container[int]) -> bool:
    """Return whether one of some pictures is the query of an event, or in its list."""
    if e.kind == "clicked":
        listed = e.body.get("pictures")
        return isinstance(listed, list) and any(p in pictures for p in listed)
    like = e.body.get("like")
    if isinstance(like, list) and any(p in pictures for p in like if isinstance(p, int)):
        return True
    return e.kind == "judged-similar" and e.body.get("query") in pictures


def _body(body: dict[str, Json]) -> bytes:
    # ASCII output keeps lone surrogates, so file names that are not UTF-8 survive as they are.
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode("ascii")


def _crc(row: Sequence[object]) -> int:
    return zlib.crc32("\x1f".join(map(repr, row)).encode())


_Row = tuple[int, str, int | None, str | None, str | None, int, bytes, int]


def checked(row: _Row, path: Path) -> Event:
    """Return the event of a row; raise `StoreDamaged` if its checksum is wrong."""
    if _crc(row[:7]) != row[7]:
        raise StoreDamaged(f"Event {row[0]} in {path} has a wrong checksum. {_REPAIR}")
    seq, kind, picture, session, key, at, body, _ = row
    return Event(seq, kind, picture, session, key, at, json.loads(body))
