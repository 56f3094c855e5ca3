"""A session as the log has it: what it began with, its marks in order, what became of it.

Order is by sequence number alone. A mark taken back counts as never made; of several judgements of
one picture the last counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sightline.collection.clicks.standing import list_name
from sightline.collection.sessions.start import Start
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
class Record:
    """All that the log says of one session.

    `begun` and `last` are times in nanoseconds since 1970, for people; `marks` are those that
    stand, in order, `undone` counts the others; `words` are those it was saved as; `listed` names
    lists with clicks, where an import made the session; `asked` are queries, in order.
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


def read_session(log: EventLog, session: str) -> Record | None:
    """Return what the log says of a session; None if it never heard of it."""
    # Its revert is an event of its own too, so nobody else's need be read.
    return _records(log.read(session=session)).get(session)


def all_marks(log: EventLog, session: str) -> list[Mark]:
    """Return every mark of a session in order, those taken back too."""
    record = Record(session)
    for e in log.read(kinds=["judged", "judged-similar"], session=session):
        _add(record, e)
    return record.marks


def read_sessions(log: EventLog) -> list[Record]:
    """Return every session the log knows, the oldest first."""
    return sorted(_records(log.read(in_sessions=True)).values(), key=lambda r: r.seq)


def _records(events: Iterable[Event]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    undone = {}
    for e in events:
        if e.session is None:
            continue
        if e.kind == "session-reverted":
            if e.session in found:
                found[e.session].reverted = True
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
