"""The event log: with the untouched pictures, the only truth of a collection.

Every fact that cannot be computed again is one row, appended in one transaction and on the disk
before anybody is told. Rows are never changed. Each has a checksum over all its columns, and the
sequence numbers have no gaps, so a lost or altered row is found. Times are kept for people;
order is by sequence number alone, so a wrong clock changes nothing.

picture-seen      a picture lies at this path with this content (also: it moved, it was edited)
picture-gone      it is no longer in the folder
words             the labels and text one source gives a picture; replaces that source's last ones
words-file        a table of words lying outside or beside the pictures was added or removed
vectors-file      a file of vectors was added, read in another state, or removed
judged            somebody or something said how well a picture fits a query
judged-similar    somebody or something said whether a picture is like another one
clicked           a list of pictures was shown for a query, and some of them were clicked
session-started   a judging session began with these words or pictures
mark-undone       take back one mark of a session: the judgements that were made at once
session-reverted  forget what this session said
purged            in place of a row that the owner had removed for good
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
# The source of answers that were given one by one to questions.
ONE_BY_ONE = "tag"
KINDS = frozenset(
    ("picture-seen", "picture-gone", "words", "words-file", "vectors-file", "judged",
     "judged-similar", "clicked", "session-started", "mark-undone", "session-reverted", "purged")
)  # fmt: skip
COLUMNS = "seq, kind, picture, session, key, at, body, crc"


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A fact to be appended. A `key` makes it happen at most once, however often it is sent.

    A picture-seen event without a picture id is given the next free one; a later event of the
    same call can refer to it by the (negative) position it has in the call: -1 is the first event.
    """

    kind: str
    picture: int | None = None
    body: dict[str, Json] | None = None
    session: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A fact as it stands in the log."""

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
                found = schema_number(self._db)
            check_schema(path, found, SCHEMA)
            if found == 0 and write:
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
            # Stores of older releases go without it: what they are asked is answered by a scan.
            self._db.execute(
                "CREATE INDEX IF NOT EXISTS by_session ON events(session) WHERE session IS NOT NULL"
            )
            self._db.execute(f"PRAGMA user_version={SCHEMA}")

    def append(self, events: Sequence[NewEvent]) -> list[Event]:
        """Append facts; they are on the disk when this returns.

        An event whose key is already there is not written again; the one that stands is returned.
        """
        out: list[Event] = []
        if not events:
            return out
        at = time.time_ns()
        with transaction(self._db, self.path):
            seq, picture = self._last()
            for new in events:
                standing = self._by_key(new.key)
                if standing is None:
                    seq += 1
                    number, picture = _number(new, picture, out)
                    standing = _event(seq, new, number, at)
                    self._insert(standing)
                out.append(standing)
        return out

    def _last(self) -> tuple[int, int]:
        # Two look-ups at the end of an index each; asked for together they scan the whole table.
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

        `kinds` leaves only events of some kinds, `session` those of one session, `in_sessions`
        those of any.
        """
        only = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
        condition = " AND session IS NOT NULL" if in_sessions else ""
        condition += "" if session is None else " AND session=?"
        values = (after, *kinds, *([] if session is None else [session]))
        # Few events are of sessions: a plus keeps SQLite off the way through all of them in turn.
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
        """Return what is wrong with the log, one sentence each; an empty list when it is sound."""
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
        """Return all that is known of which picture fits which words, in canonical order.

        Reverted sessions and marks taken back are left out; of several statements about one
        (query, picture) by one source the last stands, so replaying the log always gives the same
        list. `most` bounds how many pictures one session can speak of: its last ones count.
        """
        last: dict[tuple[str, int, str], Judgement] = {}
        for e in _bounded(self.effective("judged"), most):
            j = _judgement(e)
            if j.query:  # A session that began with pictures says nothing of words.
                last[j.query, j.picture, j.source] = j
        return sorted(last.values(), key=lambda j: (j.query, j.picture, j.relevance, j.seq))

    def likenesses(
        self, after: int = 0, *, sessions: bool = False, most: int | None = None
    ) -> list[SimilarityJudgement]:
        """Return what was said of which picture is like which, in the order it was said.

        Reverted sessions are left out; nothing else is, so later statements may contradict.
        `sessions` adds what was judged in sessions that began with one picture of the collection,
        of each at most the last `most` pictures.
        """
        judgements = [_likeness(e) for e in self.effective("judged-similar", after)]
        if sessions:
            judged = map(_compared, _bounded(self.effective("judged", after), most))
            judgements += [j for j in judged if j is not None]
        return sorted(judgements, key=lambda j: j.seq)

    def clicked_lists(self) -> list[ClickedList]:
        """Return the lists that were shown, with their clicks; reverted sessions are left out."""
        return [clicked_list(e) for e in self.effective("clicked")]

    def with_keys(self, keys: Iterable[str]) -> dict[str, Event]:
        """Return the events that have some of these keys."""
        with database_errors(self.path):
            found = ((k, self._by_key(k)) for k in keys)
            return {k: e for k, e in found if e is not None}

    def reverted(self) -> frozenset[str]:
        """Return the sessions that are to be forgotten."""
        return frozenset(str(e.body.get("session")) for e in self.read(kinds=["session-reverted"]))

    def effective(self, kind: str, after: int = 0) -> Iterator[Event]:
        """Yield events of a kind without those of reverted sessions and of marks taken back."""
        reverted = self.reverted()
        undone = {(e.session, e.body.get("mark")) for e in self.read(kinds=["mark-undone"])}
        for e in self.read(after, [kind]):
            if e.session in reverted or (e.session, e.body.get("mark")) in undone:
                continue
            yield e

    def restore(self, events: Sequence[Event]) -> None:
        """Fill an empty log with events that were saved from a damaged one.

        Numbers that could not be saved become empty `purged` rows, so that none is given twice.
        """
        saved = {e.seq: e for e in events}
        with transaction(self._db, self.path):
            for seq in range(1, max(saved, default=0) + 1):
                gap = Event(seq, "purged", None, None, None, 0, {"why": "lost to damage"})
                self._insert(saved.get(seq, gap))

    def purge(self, pictures: Container[int], sessions: Container[str]) -> int:
        """Empty the rows of some pictures and sessions for good; return how many there were."""
        doomed = [
            e
            for e in self.read()
            if e.kind != "purged"
            and (e.picture in pictures or e.session in sessions or _asks_for(e, pictures))
        ]
        with transaction(self._db, self.path):
            self._db.execute("PRAGMA secure_delete=1")
            for e in doomed:
                self._db.execute("DELETE FROM events WHERE seq=?", (e.seq,))
                self._insert(Event(e.seq, "purged", e.picture, None, None, e.at, {}))
        with database_errors(self.path):
            self._db.execute("VACUUM")
        return len(doomed)

    def close(self) -> None:
        """Close the file; the log beside it is folded in when nobody else has it open."""
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
        raise StoreDamaged(f"Event {e.seq} is no judgement: {e.body!r}")
    return Judgement(query, e.picture, float(relevance), str(e.body.get("source", "")), e.seq)


def _likeness(e: Event) -> SimilarityJudgement:
    query, alike = e.body.get("query"), e.body.get("alike")
    if not isinstance(query, int) or not isinstance(alike, bool) or e.picture is None:
        raise StoreDamaged(f"Event {e.seq} does not compare two pictures: {e.body!r}")
    return SimilarityJudgement(query, e.picture, alike, str(e.body.get("source", "")), e.seq)


def clicked_list(e: Event) -> ClickedList:
    """Return the list that an event tells of."""
    query, eta = e.body.get("query"), e.body.get("eta")
    shown, clicked = _numbers(e.body.get("pictures")), _numbers(e.body.get("clicked"))
    known = isinstance(query, str) and isinstance(eta, int | float)
    if not known or shown is None or clicked is None:
        raise StoreDamaged(f"Event {e.seq} is no list with clicks: {e.body!r:.200}")
    # Places are written only where they are not the first ones in turn.
    ranks = _numbers(e.body.get("ranks")) or tuple(range(1, len(shown) + 1))
    return ClickedList(
        str(query), shown, ranks, frozenset(clicked), float(str(eta)), e.session or "", e.seq
    )


def _numbers(values: Json) -> tuple[int, ...] | None:
    if not isinstance(values, list) or not all(type(v) is int for v in values):
        return None
    return tuple(v for v in values if isinstance(v, int))


def _compared(e: Event) -> SimilarityJudgement | None:
    """Return what a judgement says of two pictures, if its session began with one of the store."""
    like = e.body.get("like")
    if not isinstance(like, list) or len(like) != 1 or not isinstance(like[0], int):
        return None
    j = _judgement(e)
    return SimilarityJudgement(like[0], j.picture, j.relevance > 0, j.source, j.seq)


def _bounded(events: Iterable[Event], most: int | None) -> list[Event]:
    """Return events, of each session only the last ones of at most so many pictures.

    Where somebody answered one question after the other, all answers count.
    """
    listed = list(events)
    of: dict[str, dict[int | None, int]] = {}
    for e in listed:
        if e.session is not None and e.body.get("source") != ONE_BY_ONE:
            of.setdefault(e.session, {})[e.picture] = e.seq
    if most is None or all(len(last) <= most for last in of.values()):
        return listed
    kept = {s: set(sorted(last, key=lambda p: -last[p])[:most]) for s, last in of.items()}
    return [e for e in listed if e.session not in kept or e.picture in kept[e.session]]


def _asks_for(e: Event, pictures: Container[int]) -> bool:
    """Return whether an event has one of some pictures for its query, or in its list."""
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
    if _crc(row[:7]) != row[7]:
        raise StoreDamaged(
            f"Event {row[0]} in {path} has a wrong checksum. Run: sightline store repair"
        )
    seq, kind, picture, session, key, at, body, _ = row
    return Event(seq, kind, picture, session, key, at, json.loads(body))
