"""A session as recorded in the event log: its start, its marks in order, and its state.

Events are ordered by sequence number alone. An undone mark counts as never made. The last judgement
of a picture counts. The first event holds the start of the session with its format: format 1 had no
filters, format 2 no filter of tagged pictures.

Judgements that are sent twice count once: a client that got no response can send them again under
the same idempotency key. The keys of a mark's events derive from it, and the log never accepts a
key twice. The log is searched for the mark before anything is written, so other judgements under a
used key are refused as a whole.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sightline.collection.clicks.deduplication import list_name
from sightline.collection.corrections import Correction
from sightline.contracts import Json
from sightline.errors import StoreDamaged, UsageError
from sightline.store.catalogue import Where
from sightline.store.events import Event, EventLog

SOURCE = "session"


@dataclass(slots=True)
class Mark:
    """Judgements that were made together, for one query; an undo refers to them by `name`."""

    name: str
    round: int
    query: str = ""
    judged: dict[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class SessionRecord:
    """Everything the log holds about one session.

    Attributes
    ----------
    session : str
        The id of the session.
    start : SessionStart or None
        What it began with; None for sessions that were not started by `judge`.
    begun, last : int
        Times of the first and of the last event, in nanoseconds since 1970; for display only.
    seq : int
        Sequence number of the first event.
    marks : list of Mark
        The marks that count, in order.
    undone : int
        Number of undone marks.
    words : tuple of str
        The words it was saved as.
    reverted : bool
        Whether the session was reverted.
    queries : dict
        The distinct queries, in order, as keys.
    listed : set of str
        Names of impressions with clicks, if the session comes from a click log.
    """

    session: str
    start: SessionStart | None = None
    begun: int = 0
    last: int = 0
    seq: int = 0
    marks: list[Mark] = field(default_factory=list)
    undone: int = 0
    words: tuple[str, ...] = ()
    reverted: bool = False
    queries: dict[str, None] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)

    @property
    def lists(self) -> int:
        """The number of distinct impressions; one that grew is written several times."""
        return len(self.listed)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever judged, saved or clicked in the session."""
        return not (self.marks or self.undone or self.words or self.listed)

    @property
    def judged(self) -> dict[int, bool]:
        """Every judged picture and whether it fits, in the order of their last judgements."""
        return _together(self.marks)

    @property
    def answers(self) -> dict[tuple[str, int], bool]:
        """The last judgement of every pair of query and picture; a review has several queries."""
        return {(m.query, p): fits for m in self.marks for p, fits in m.judged.items()}

    @property
    def round(self) -> int:
        """The last round with a judgement, 0 before any."""
        return max((m.round for m in self.marks), default=0)

    @property
    def insisted(self) -> frozenset[int]:
        """Pictures whose last two judgements agree."""
        last: dict[int, bool] = {}
        again: set[int] = set()
        for m in self.marks:
            for picture, fits in m.judged.items():
                (again.add if last.get(picture) == fits else again.discard)(picture)
                last[picture] = fits
        return frozenset(again)


def _together(marks: Iterable[Mark]) -> dict[int, bool]:
    latest: dict[int, bool] = {}
    for m in marks:
        for picture, fits in m.judged.items():
            latest.pop(picture, None)
            latest[picture] = fits
    return latest


def read_session(log: EventLog, session: str) -> SessionRecord | None:
    """Return one session of the log; None if the log has no event of it."""
    # Its revert is an event of the same session, so no other events need to be read.
    return _records(log.read(session=session)).get(session)


def all_marks(log: EventLog, session: str) -> list[Mark]:
    """Return every mark of a session in order, undone ones included."""
    record = SessionRecord(session)
    for e in log.read(kinds=["judged", "judged-similar"], session=session):
        _add(record, e)
    return record.marks


def read_sessions(log: EventLog) -> list[SessionRecord]:
    """Return every session of the log, the oldest first."""
    return sorted(_records(log.read(in_sessions=True)).values(), key=lambda r: r.seq)


def _records(events: Iterable[Event]) -> dict[str, SessionRecord]:
    records: dict[str, SessionRecord] = {}
    undone = {}
    for e in events:
        if e.session is None:
            continue
        if e.kind == "session-reverted":
            if e.session in records:
                records[e.session].reverted = True
            continue
        r = records.setdefault(e.session, SessionRecord(e.session, begun=e.at, seq=e.seq))
        r.last = e.at
        if e.kind == "mark-undone":
            undone[e.session, str(e.body.get("mark"))] = True
        else:
            _add(r, e)
    for r in records.values():
        counting = [m for m in r.marks if (r.session, m.name) not in undone]
        r.undone = len(r.marks) - len(counting)
        r.marks = counting
    return records


def _add(r: SessionRecord, e: Event) -> None:
    if e.kind == "session-started":
        r.start = SessionStart.of(e)
    elif e.kind in ("judged", "judged-similar") and e.picture is not None:
        fits = e.body.get("alike" if e.kind == "judged-similar" else "relevance")
        name, number = str(e.body.get("mark", e.seq)), e.body.get("round", 1)
        query = str(e.body.get("query", ""))
        if not r.marks or r.marks[-1].name != name:
            r.marks.append(Mark(name, number if isinstance(number, int) else 1, query))
        r.marks[-1].judged[e.picture] = isinstance(fits, int | float) and fits > 0
        r.queries[query] = None
    elif e.kind == "clicked":
        r.listed.add(list_name(e.key, e.seq))
        r.queries[str(e.body.get("query", ""))] = None
    elif e.kind == "words":
        tags = e.body.get("tags")
        new = [str(t) for t in tags] if isinstance(tags, list) else []
        r.words = tuple(dict.fromkeys((*r.words, *new)))


FORMAT = 3


@dataclass(frozen=True, slots=True)
class SessionStart:
    """What a session began with, and the model and version served at that time.

    Attributes
    ----------
    query : str
        The words, after corrections; empty for a session that began with pictures.
    examples : tuple of int or str
        Ids of pictures, or paths of pictures outside the collection.
    rows : tuple of str
        The unit vector of each picture in `examples`, as text, in case the picture is removed.
    feature : str
        Fingerprint of the feature the session learns with; empty if there is none.
    model : str
        The word model that was served.
    version : int
        The version of the store.
    where : Where
        The filters of the session.
    untagged : bool
        Whether only untagged pictures may appear.
    format : int
        Format of the event; above `FORMAT` if a later Sightline wrote it.
    corrections : tuple of Correction
        Words of the query that were searched in place of mistyped ones.
    """

    query: str = ""
    examples: tuple[int | str, ...] = ()
    rows: tuple[str, ...] = ()
    feature: str = ""
    model: str = ""
    version: int = 0
    where: Where = field(default_factory=Where)
    untagged: bool = False
    format: int = FORMAT
    corrections: tuple[Correction, ...] = ()

    def body(self) -> dict[str, Json]:
        """Return the body of the event."""
        body: dict[str, Json] = {
            "format": self.format, "query": self.query, "like": list[Json](self.examples),
            "rows": list[Json](self.rows), "feature": self.feature, "model": self.model,
            "version": self.version, "where": _plain(self.where), "untagged": self.untagged,
        }  # fmt: skip
        if self.corrections:
            body["corrections"] = [c.to_dict() for c in self.corrections]
        return body

    @classmethod
    def of(cls, e: Event) -> SessionStart:
        """Read a start from its event.

        Raises
        ------
        StoreDamaged
            The event does not describe the start of a session.
        """
        b = e.body
        like, rows, corrections = b.get("like", []), b.get("rows", []), b.get("corrections", [])
        if not isinstance(like, list) or not isinstance(rows, list) or len(like) != len(rows):
            raise StoreDamaged(f"Event {e.seq} begins no session: {b!r}")
        pictures = tuple(p if isinstance(p, int) else str(p) for p in like)
        version, form = b.get("version", 0), b.get("format", 1)
        newer = not isinstance(form, int) or form > FORMAT
        return cls(
            str(b.get("query", "")), pictures, tuple(map(str, rows)), str(b.get("feature", "")),
            str(b.get("model", "")), version if isinstance(version, int) else 0,
            Where() if newer else _where(e, b.get("where")), b.get("untagged") is True,
            form if isinstance(form, int) else FORMAT + 1,
            tuple(map(Correction.from_dict, corrections if isinstance(corrections, list) else ())),
        )  # fmt: skip

    def check_format(self, session: str) -> None:
        """Raise if a later Sightline started the session: its event may hold unknown fields."""
        if self.format > FORMAT:
            raise UsageError(
                f"The session {session} was begun by a later Sightline (format {self.format}, here "
                f"up to {FORMAT} is known). Bring Sightline up to date, or begin a new session."
            )


def _plain(where: Where) -> dict[str, Json]:
    """Return a filter as JSON, without unset parts; paths that are not UTF-8 round-trip."""
    filters: dict[str, Json] = {k: v for k, v in asdict(where).items() if v is not None}
    if where.folder is not None:
        filters["folder"] = where.folder.decode("utf-8", "surrogateescape")
    return filters


def _where(e: Event, stored: Json) -> Where:
    """Read a filter back.

    An unknown part is damage: without it the session would show pictures that were filtered out.
    """
    parts = dict(stored) if isinstance(stored, dict) else {}
    folder = parts.pop("folder", None)
    known = set(Where.__dataclass_fields__)
    wrong = [k for k, v in parts.items() if k not in known or not isinstance(v, int)]
    if wrong or not isinstance(folder, str | None):
        raise StoreDamaged(f"Event {e.seq} begins a session with an invalid filter: {stored!r}")
    tagged = True if parts.pop("tagged", None) else None
    numbers = {k: v for k, v in parts.items() if isinstance(v, int)}
    folder_bytes = None if folder is None else folder.encode("utf-8", "surrogateescape")
    return Where(folder=folder_bytes, tagged=tagged, **numbers)


def mark_name(session: str, key: str) -> str:
    """Return the name of the mark that has this idempotency key.

    >>> mark_name("s", "k") == mark_name("s", "k") != mark_name("s", "l")
    True
    """
    return hashlib.sha256(f"{session}:{key}".encode()).hexdigest()[:16]


def event_key(session: str, key: str, picture: int) -> str | None:
    """Return the event key of one judgement; None if the client gave no idempotency key."""
    return f"judged:{session}:{mark_name(session, key)}:{picture}" if key else None


def was_marked(events: Path, session: str, key: str, judged: dict[int, bool]) -> bool:
    """Return whether the same mark was made under this key before, undone since or not."""
    mark = _mark(events, session, mark_name(session, key))
    if mark is not None and mark.judged != judged:
        raise UsageError(
            f"The key {key!r} was used for other judgements of the session {session}. "
            "Give each a key of its own."
        )
    return mark is not None


def undone(events: Path, session: str, key: str) -> dict[int, bool] | None:
    """Return the judgements that an undo under this key removed; None if there was none."""
    with contextlib.closing(EventLog(events, write=False)) as log:
        for e in log.read(kinds=["mark-undone"], session=session):
            if e.body.get("request") == key:
                name = str(e.body.get("mark"))
                break
        else:
            return None
    mark = _mark(events, session, name)
    return mark.judged if mark is not None else {}


def _mark(events: Path, session: str, name: str) -> Mark | None:
    with contextlib.closing(EventLog(events, write=False)) as log:
        return next((m for m in all_marks(log, session) if m.name == name), None)
