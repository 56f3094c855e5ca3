"""Relevance feedback sessions: list, look up, resume, revert.

A person judges hits, and the next ranking uses every judgement. The state of a session is its
events alone: its start, its judgements and what was undone. The model and the ranking are computed
from these events (`log` reads them, `model` learns from them), so they are the same in another
process and after a crash.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sightline.collection.filters import NO_FILTERS, Filters
from sightline.collection.pictures import one_or_more
from sightline.errors import CollectionError, SightlineError, UsageError
from sightline.records import shown
from sightline.settings import data_folder

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.pictures import PictureLike
    from sightline.collection.sessions.log import SessionRecord, SessionStart
    from sightline.collection.sessions.session import Session, SessionRanking
    from sightline.contracts import Compute, Json


_SHOWN_QUERIES = 3


@dataclass(frozen=True, slots=True)
class SessionState:
    """Summary of a session.

    Attributes
    ----------
    id : str
        The id for resuming or reverting it.
    query : str
        The words it began with. An imported click log has several queries; the first three are
        given.
    examples : tuple of int or str
        The pictures it began with: ids, or paths of pictures outside the collection.
    positive, negative : int
        Number of pictures judged to fit, and not to fit. A review counts each pair of picture and
        word.
    rounds, undone : int
        Number of rounds with judgements, and of undone marks.
    begun, last : int
        Time of the first and of the last event, in seconds since 1970.
    words : tuple of str
        The words it was saved as.
    state : str
        `open`, `saved` or `reverted`.
    resumable : bool
        Whether it was started by `judge` and can be resumed.
    lists : int
        Number of impressions with clicks, if the session comes from a click log.
    """

    id: str
    query: str
    examples: tuple[int | str, ...]
    positive: int
    negative: int
    rounds: int
    undone: int
    begun: int
    last: int
    words: tuple[str, ...]
    state: str
    resumable: bool
    lists: int = 0

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON; `like`, `relevant` and `other` are names of earlier releases."""
        examples: list[Json] = [*self.examples]
        return {
            "id": self.id, "query": self.query, "examples": examples, "positive": self.positive,
            "negative": self.negative, "rounds": self.rounds, "undone": self.undone,
            "begun": self.begun, "last": self.last, "words": [*self.words],
            "state": self.state, "resumable": self.resumable, "lists": self.lists,
            "like": examples, "relevant": self.positive, "other": self.negative,
        }  # fmt: skip


class Sessions:
    """The sessions of a collection: `Collection.sessions`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._store_folder = collection.store_folder

    def all(self, *, empty: bool = False) -> list[SessionState]:
        """Return the sessions that have judgements, the oldest first.

        Parameters
        ----------
        empty : bool
            Also return sessions without any judgement.
        """
        from sightline.collection.sessions.log import read_sessions
        from sightline.store.events import EventLog

        with (
            self._store_folder.reader(),
            contextlib.closing(EventLog(self._store_folder.events, write=False)) as log,
        ):
            return [_state(r) for r in read_sessions(log) if empty or not r.is_empty]

    def exists(self, session: str) -> bool:
        """Return whether the log has a session with this id."""
        return self._find(session) is not None

    def get(self, session: str) -> SessionState:
        """Return the state of one session."""
        return _state(self.record(session))

    def judgements(self, session: str) -> dict[int, bool]:
        """Return the judged pictures of a session and whether each fits, in judging order.

        The last judgement of a picture counts; undone ones do not.
        """
        return self.record(session).judged

    def revert(self, session: str) -> bool:
        """Undo all judgements of a session; return whether there were any.

        Training afterwards gives the same model as if the session had never existed.
        """
        from sightline.collection.sessions.tags import revert

        self.record(session)  # Raises for an unknown session.
        return revert(self._store_folder, session, self._collection.settings.wait)

    def begin(
        self,
        query: str,
        pictures: Sequence[str | bytes | int],
        feature: str = "",
        filters: Filters = NO_FILTERS,
        compute: Compute | None = None,
    ) -> Session:
        """Start a session from a query, which may name pictures, or from pictures; see `judge`."""
        from sightline.collection.search.words import pictures_of

        if query and (terms := pictures_of(query)):
            if pictures:
                raise UsageError(f"The query {query!r} names pictures. Name them all as pictures.")
            if any(t.negative for t in terms):
                raise UsageError("Begin with positive pictures alone, then judge others.")
            query, pictures = "", [t.path for t in terms]
        return self._open(
            secrets.token_hex(5), self._start(query, pictures, feature, filters, compute)
        )

    def resume(self, session: str, feature: str = "", filters: Filters = NO_FILTERS) -> Session:
        """Resume a session with the feature and filters it began with."""
        if feature:
            raise UsageError("A session keeps the descriptor it began with. Leave out the feature.")
        if filters != NO_FILTERS:
            raise UsageError("A session keeps the filters it began with. Leave them out.")
        record = self.record(session)
        if record.reverted:
            raise UsageError(f"The session {session} was reverted. Begin a new one.")
        if record.start is None:
            raise UsageError(
                f"The session {session} was not begun by judge, so it cannot be resumed."
            )
        record.start.check_format(session)
        return self._open(session, record.start)

    def refine(
        self,
        query: str = "",
        *,
        examples: PictureLike | Iterable[PictureLike] = (),
        positive: Iterable[PictureLike] = (),
        negative: Iterable[PictureLike] = (),
        pictures: PictureLike | Iterable[PictureLike] = (),
        k: int | None = None,
        feature: str = "",
        filters: Filters = NO_FILTERS,
        compute: Compute | None = None,
    ) -> SessionRanking:
        """Search by words, pictures or both, refined by judgements that are not stored.

        Parameters other than these are as of `Collection.judge`.

        Parameters
        ----------
        query : str
            Words, as of `Collection.search`.
        examples : PictureLike or iterable of PictureLike, default=()
            Pictures to begin with, in the collection or not; earlier called `pictures`. If words
            are given too, both have equal weight.
        positive, negative : iterable of PictureLike, default=()
            Pictures of the collection that were judged to fit, and not to fit. They are left out
            of the hits.
        """
        named = (*one_or_more(examples), *one_or_more(pictures))
        if not query and not named:
            raise UsageError("Name one thing to judge by: a query, pictures, or a session.")
        session = self.begin(query, named, feature, filters, compute)
        return session.supposing(positive, negative, self._collection.k_or_default(k))

    def _start(
        self,
        query: str,
        pictures: Sequence[str | bytes | int],
        feature: str,
        filters: Filters,
        compute: Compute | None,
    ) -> SessionStart:
        from sightline.collection.sessions.model import begin

        c = self._collection
        where = filters.where(c.root)
        with self._store_folder.reader() as reader:
            start = begin(reader, c.root, c.settings, query, pictures, feature, compute)
        return replace(start, where=where, untagged=filters.untagged)

    def _open(self, session: str, start: SessionStart) -> Session:
        from sightline.collection.sessions.session import Session
        from sightline.collection.sessions.tags import save

        c = self._collection

        def save_word(session: str, word: str) -> int:
            return save(self._store_folder, session, word, c.settings.wait)

        return Session(session, start, c.root, self._store_folder, c.pictures.resolve, save_word)

    def record(self, session: str) -> SessionRecord:
        """Return a session as it is recorded in the log."""
        record = self._find(session)
        if record is None:
            owner = _owner_text(session)
            raise CollectionError(
                f"There is no session {session!r} in {shown(self._collection.root)}{owner}. "
                "See: sightline sessions"
            )
        return record

    def _find(self, session: str) -> SessionRecord | None:
        from sightline.collection.sessions.log import read_session
        from sightline.store.events import EventLog

        with (
            self._store_folder.reader(),
            contextlib.closing(EventLog(self._store_folder.events, write=False)) as log,
        ):
            return read_session(log, session)


def _state(r: SessionRecord) -> SessionState:
    judged = r.answers
    fit = sum(judged.values())
    queries = [q for q in r.queries if q]
    # An imported click log may have thousands.
    some = ", ".join([*queries[:_SHOWN_QUERIES], *["…"] * (len(queries) > _SHOWN_QUERIES)])
    query = r.start.query if r.start else some
    state = "reverted" if r.reverted else "saved" if r.words else "open"
    return SessionState(
        r.session, query, r.start.examples if r.start else (), fit, len(judged) - fit,
        len({m.round for m in r.marks}), r.undone, r.begun // 10**9, r.last // 10**9, r.words,
        state, r.start is not None, r.lists,
    )  # fmt: skip


def _owner_text(session: str) -> str:
    """Return a remark that names the collection of this user that has the session, if any."""
    from sightline.collection.discovery import root_of_store
    from sightline.collection.sessions.log import read_session
    from sightline.store.events import EventLog

    for path in sorted(data_folder().glob("*/events.sqlite3")):
        with contextlib.suppress(SightlineError):
            with contextlib.closing(EventLog(path, write=False)) as log:
                record = read_session(log, session)
            if record is not None:
                owner = root_of_store(path.parent)
                return f"; it is one of {shown(owner)}" if owner else ""
    return ""
