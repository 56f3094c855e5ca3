"""What a session began with, as its first event keeps it.

The event says of which format it is; format 1 had no filters, format 2 not that of tagged pictures.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from sightline.contracts import Json
from sightline.errors import StoreDamaged, UsageError
from sightline.store.catalogue import Where
from sightline.store.events import Event

FORMAT = 3


@dataclass(frozen=True, slots=True)
class Start:
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
    def of(cls, e: Event) -> Start:
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

    def refuse_newer(self, session: str) -> None:
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
