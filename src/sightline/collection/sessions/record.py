"""A session as the log has it: what it began with, its marks in order, what became of it.

Order is by sequence number alone. A mark taken back counts as never made; of several judgements of
one picture the last counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sightline.contracts import Json
from sightline.errors import StoreDamaged
from sightline.store.events import Event, EventLog

SOURCE = "session"


@dataclass(frozen=True, slots=True)
class Start:
    """What a session began with, and what was served then.

    Attributes
    ----------
    query : words, as they were typed; empty for a session that began with pictures.
    like : ids of pictures, or for those outside the collection their path.
    rows : for each of `like` the row of a picture outside the collection, as text; else empty.
    feature : the descriptor, by fingerprint, that the session learns by; empty without one.
    model, version : the model of words and the version that were served.
    """

    query: str = ""
    like: tuple[int | str, ...] = ()
    rows: tuple[str, ...] = ()
    feature: str = ""
    model: str = ""
    version: int = 0

    def body(self) -> dict[str, Json]:
        """Return it as it is kept in the log."""
        return {
            "query": self.query, "like": list[Json](self.like), "rows": list[Json](self.rows),
            "feature": self.feature, "model": self.model, "version": self.version,
        }  # fmt: skip

    @classmethod
    def of(cls, e: Event) -> Start:
        """Read it back."""
        b = e.body
        like, rows = b.get("like", []), b.get("rows", [])
        if not isinstance(like, list) or not isinstance(rows, list) or len(like) != len(rows):
            raise StoreDamaged(f"Event {e.seq} begins no session: {b!r}")
        found = tuple(p if isinstance(p, int) else str(p) for p in like)
        version = b.get("version", 0)
        return cls(
            str(b.get("query", "")), found, tuple(map(str, rows)), str(b.get("feature", "")),
            str(b.get("model", "")), version if isinstance(version, int) else 0,
        )  # fmt: skip


@dataclass(slots=True)
class Mark:
    """Judgements that were made at once; `name` is what takes them back."""

    name: str
    round: int
    judged: dict[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Record:
    """All that the log says of one session.

    `begun` and `last` are times in nanoseconds since 1970, for people; `marks` are those that
    stand, in order, `undone` counts the others; `words` are those it was saved as; `lists` counts
    lists with clicks, where an import made the session.
    """

    session: str
    start: Start | None = None
    begun: int = 0
    last: int = 0
    seq: int = 0
    marks: list[Mark] = field(default_factory=list)
    undone: int = 0
    words: tuple[str, ...] = ()
    reverted: bool = False
    asked: dict[str, None] = field(default_factory=dict)
    lists: int = 0

    @property
    def judged(self) -> dict[int, bool]:
        """Every picture that was judged, and whether it fits, in the order they were named last."""
        return _together(self.marks)

    @property
    def round(self) -> int:
        """The last round in which something was judged, 0 before any."""
        return max((m.round for m in self.marks), default=0)

    def rounds(self) -> Iterator[dict[int, bool]]:
        """Yield all that had been judged after each round."""
        for number in sorted({m.round for m in self.marks}):
            yield _together(m for m in self.marks if m.round <= number)


def _together(marks: Iterable[Mark]) -> dict[int, bool]:
    found: dict[int, bool] = {}
    for m in marks:
        for picture, fits in m.judged.items():
            found.pop(picture, None)
            found[picture] = fits
    return found


def read_session(log: EventLog, session: str) -> Record | None:
    """Return what the log says of a session; None if it never heard of it."""
    events = [*log.read(session=session), *log.read(kinds=["session-reverted"])]
    return _records(events).get(session)


def read_sessions(log: EventLog) -> list[Record]:
    """Return every session the log knows, the oldest first."""
    events = [*log.read(in_sessions=True), *log.read(kinds=["session-reverted"])]
    return sorted(_records(events).values(), key=lambda r: r.seq)


def _records(events: Iterable[Event]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    undone = {}
    for e in events:
        if e.kind == "session-reverted":
            name = str(e.body.get("session", ""))
            if name in found:
                found[name].reverted = True
            continue
        if e.session is None:
            continue
        r = found.setdefault(e.session, Record(e.session, begun=e.at, seq=e.seq))
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


def _add(r: Record, e: Event) -> None:
    if e.kind == "session-started":
        r.start = Start.of(e)
    elif e.kind in ("judged", "judged-similar") and e.picture is not None:
        fits = e.body.get("alike" if e.kind == "judged-similar" else "relevance")
        name, number = str(e.body.get("mark", e.seq)), e.body.get("round", 1)
        if not r.marks or r.marks[-1].name != name:
            r.marks.append(Mark(name, number if isinstance(number, int) else 1))
        r.marks[-1].judged[e.picture] = isinstance(fits, int | float) and fits > 0
        r.asked[str(e.body.get("query", ""))] = None
    elif e.kind == "clicked":
        r.lists += 1
    elif e.kind == "words":
        tags = e.body.get("tags")
        new = [str(t) for t in tags] if isinstance(tags, list) else []
        r.words = tuple(dict.fromkeys((*r.words, *new)))
