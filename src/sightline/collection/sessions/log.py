"""A session as the log has it: what it began with, its marks in order, what became of it.

Order is by sequence number alone. A mark taken back counts as never made; of several judgements of
one picture the last counts.

What a session began with, as its first event keeps it.

The event says of which format it is; format 1 had no filters, format 2 not that of tagged pictures.

Judgements sent twice count once: whoever got no answer can send the same again.

A client names what it sends by a key. The events of a mark get keys made of it, which the log never
takes twice; before that, the log is asked for the mark, so that another one under the same key is
refused instead of being written in part.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sightline.collection.clicks.deduplication import list_name
from sightline.contracts import Json
from sightline.errors import StoreDamaged, UsageError
from sightline.store.catalogue import Where
from sightline.store.events import Event, EventLog

SOURCE = "session"


@dataclass(slots=True)
class Mark:
    """Judgements that were made at once, by one query; `name` is what takes them back."""

    name: str
    round: int
    query: str = ""
    judged: dict[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class SessionRecord:
    """All that the log says of one session.

    `begun` and `last` are times in nanoseconds since 1970, for people; `marks` are those that
    stand, in order, `undone` counts the others; `words` are those it was saved as; `listed` names
    lists with clicks, where an import made the session; `asked` are queries, in order.
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
    asked: dict[str, None] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)

    @property
    def lists(self) -> int:
        """How many lists it tells of; one that grew is written several times."""
        return len(self.listed)

    @property
    def is_empty(self) -> bool:
        """Whether it began and nothing was ever judged, saved or clicked in it."""
        return not (self.marks or self.undone or self.words or self.listed)

    @property
    def judged(self) -> dict[int, bool]:
        """Every picture that was judged, and whether it fits, in the order they were named last."""
        return _together(self.marks)

    @property
    def answers(self) -> dict[tuple[str, int], bool]:
        """What was said last of every query and picture: reviews ask several words of one."""
        return {(m.query, p): fits for m in self.marks for p, fits in m.judged.items()}

    @property
    def round(self) -> int:
        """The last round in which something was judged, 0 before any."""
        return max((m.round for m in self.marks), default=0)

    @property
    def insisted(self) -> frozenset[int]:
        """Pictures that were judged the same way again."""
        last: dict[int, bool] = {}
        again: set[int] = set()
        for m in self.marks:
            for picture, fits in m.judged.items():
                (again.add if last.get(picture) == fits else again.discard)(picture)
                last[picture] = fits
        return frozenset(again)


def _together(marks: Iterable[Mark]) -> dict[int, bool]:
    found: dict[int, bool] = {}
    for m in marks:
        for picture, fits in m.judged.items():
            found.pop(picture, None)
            found[picture] = fits
    return found


def read_session(log: EventLog, session: str) -> SessionRecord | None:
    """Return what the log says of a session; None if it never heard of it."""
    # Its revert is an event of its own too, so nobody else's need be read.
    return _records(log.read(session=session)).get(session)


def all_marks(log: EventLog, session: str) -> list[Mark]:
    """Return every mark of a session in order, those taken back too."""
    record = SessionRecord(session)
    for e in log.read(kinds=["judged", "judged-similar"], session=session):
        _add(record, e)
    return record.marks


def read_sessions(log: EventLog) -> list[SessionRecord]:
    """Return every session the log knows, the oldest first."""
    return sorted(_records(log.read(in_sessions=True)).values(), key=lambda r: r.seq)


def _records(events: Iterable[Event]) -> dict[str, SessionRecord]:
    found: dict[str, SessionRecord] = {}
    undone = {}
    for e in events:
        if e.session is None:
            continue
        if e.kind == "session-reverted":
            if e.session in found:
                found[e.session].reverted = True
            continue
        r = found.setdefault(e.session, SessionRecord(e.session, begun=e.at, seq=e.seq))
        r.last = e.at
        if e.kind == "mark-undone":
            undone[e.session, str(e.body.get("mark"))] = True
        else:
            _add(r, e)
    for r in found.values():
        standing = [m for m in r.marks if (r.session, m.name) not in undone]
        r.undone = len(r.marks) - len(standing)
        r.marks = standing
    return found


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
        r.asked[query] = None
    elif e.kind == "clicked":
        r.listed.add(list_name(e.key, e.seq))
        r.asked[str(e.body.get("query", ""))] = None
    elif e.kind == "words":
        tags = e.body.get("tags")
        new = [str(t) for t in tags] if isinstance(tags, list) else []
        r.words = tuple(dict.fromkeys((*r.words, *new)))


FORMAT = 3


@dataclass(frozen=True, slots=True)
class SessionStart:
    """What a session began with, and what was served then.

    Attributes
    ----------
    query : words, as they were typed; empty for a session that began with pictures.
    like : ids of pictures, or for those outside the collection their path.
    rows : for each of `like` its row made one long, as text, should the picture go.
    feature : the descriptor, by fingerprint, that the session learns by; empty without one.
    model, version : the model of words and the version that were served.
    where, untagged : which pictures may appear at all, as of `search`.
    format : of the event; above `FORMAT` a later Sightline wrote it.
    """

    query: str = ""
    like: tuple[int | str, ...] = ()
    rows: tuple[str, ...] = ()
    feature: str = ""
    model: str = ""
    version: int = 0
    where: Where = field(default_factory=Where)
    untagged: bool = False
    format: int = FORMAT

    def body(self) -> dict[str, Json]:
        """Return it as it is kept in the log."""
        return {
            "format": self.format, "query": self.query, "like": list[Json](self.like),
            "rows": list[Json](self.rows), "feature": self.feature, "model": self.model,
            "version": self.version, "where": _plain(self.where), "untagged": self.untagged,
        }  # fmt: skip

    @classmethod
    def of(cls, e: Event) -> SessionStart:
        """Read it back.

        Raises
        ------
        StoreDamaged
            It says nothing that a session could begin with.
        """
        b = e.body
        like, rows = b.get("like", []), b.get("rows", [])
        if not isinstance(like, list) or not isinstance(rows, list) or len(like) != len(rows):
            raise StoreDamaged(f"Event {e.seq} begins no session: {b!r}")
        found = tuple(p if isinstance(p, int) else str(p) for p in like)
        version, form = b.get("version", 0), b.get("format", 1)
        newer = not isinstance(form, int) or form > FORMAT
        return cls(
            str(b.get("query", "")), found, tuple(map(str, rows)), str(b.get("feature", "")),
            str(b.get("model", "")), version if isinstance(version, int) else 0,
            Where() if newer else _where(e, b.get("where")), b.get("untagged") is True,
            form if isinstance(form, int) else FORMAT + 1,
        )  # fmt: skip

    def check_format(self, session: str) -> None:
        """Refuse to go on with what a later Sightline began: it may mean what nobody here knows."""
        if self.format > FORMAT:
            raise UsageError(
                f"The session {session} was begun by a later Sightline (format {self.format}, here "
                f"up to {FORMAT} is known). Bring Sightline up to date, or begin a new session."
            )


def _plain(where: Where) -> dict[str, Json]:
    """Return a filter without what does not filter; bytes of a path that are no text survive."""
    found: dict[str, Json] = {k: v for k, v in asdict(where).items() if v is not None}
    if where.folder is not None:
        found["folder"] = where.folder.decode("utf-8", "surrogateescape")
    return found


def _where(e: Event, given: Json) -> Where:
    """Read a filter back.

    A part nobody knows is damage: without it the session would show what was not asked for.
    """
    kept = dict(given) if isinstance(given, dict) else {}
    folder = kept.pop("folder", None)
    known = set(Where.__dataclass_fields__)
    wrong = [k for k, v in kept.items() if k not in known or not isinstance(v, int)]
    if wrong or not isinstance(folder, str | None):
        raise StoreDamaged(f"Event {e.seq} begins a session with a filter of no sense: {given!r}")
    tagged = True if kept.pop("tagged", None) else None
    numbers = {k: v for k, v in kept.items() if isinstance(v, int)}
    below = None if folder is None else folder.encode("utf-8", "surrogateescape")
    return Where(folder=below, tagged=tagged, **numbers)


def mark_name(session: str, key: str) -> str:
    """Return the name of the mark that a key stands for.

    >>> mark_name("s", "k") == mark_name("s", "k") != mark_name("s", "l")
    True
    """
    return hashlib.sha256(f"{session}:{key}".encode()).hexdigest()[:16]


def event_key(session: str, key: str, picture: int) -> str | None:
    """Return the key in the log of one judgement; None where the client gave none."""
    return f"judged:{session}:{mark_name(session, key)}:{picture}" if key else None


def was_marked(events: Path, session: str, key: str, judged: dict[int, bool]) -> bool:
    """Say whether the same was marked under this key before, taken back since or not."""
    found = _mark(events, session, mark_name(session, key))
    if found is not None and found.judged != judged:
        raise UsageError(
            f"The key {key!r} was used for other judgements of the session {session}. "
            "Give each a key of its own."
        )
    return found is not None


def undone(events: Path, session: str, key: str) -> dict[int, bool] | None:
    """Return the judgements that an undo under this key took back; None if there was none."""
    with contextlib.closing(EventLog(events, write=False)) as log:
        for e in log.read(kinds=["mark-undone"], session=session):
            if e.body.get("request") == key:
                name = str(e.body.get("mark"))
                break
        else:
            return None
    found = _mark(events, session, name)
    return found.judged if found is not None else {}


def _mark(events: Path, session: str, name: str) -> Mark | None:
    with contextlib.closing(EventLog(events, write=False)) as log:
        return next((m for m in all_marks(log, session) if m.name == name), None)
