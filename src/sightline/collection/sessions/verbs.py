"""The verbs of judging: judge, and the sessions there are."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sightline.collection.finding import filter_of, refuse_both
from sightline.errors import CollectionError, SightlineError, UsageError
from sightline.records import shown
from sightline.settings import data_folder

if TYPE_CHECKING:
    from sightline.collection.sessions.given import Named
    from sightline.collection.sessions.log import Record, Start
    from sightline.collection.sessions.session import Ranking, Session
    from sightline.contracts import Compute
    from sightline.settings import Settings
    from sightline.store.home import Home


_ASKED = 3


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session in a list.

    Attributes
    ----------
    id : by which it is resumed or reverted.
    query, like : what it began with: words, or ids and paths of pictures; of several queries, as
        an import of clicks has them, the first three.
    relevant, other : how many pictures were judged to fit, and not to; by each word, in a review.
    rounds, undone : how many rounds were judged, and marks taken back.
    begun, last : when, in seconds since 1970.
    words : those it was saved as.
    state : open, saved or reverted.
    resumable : whether it was begun by `judge` and can go on.
    lists : lists with clicks, where an import of clicks made the session.
    """

    id: str
    query: str
    like: tuple[int | str, ...]
    relevant: int
    other: int
    rounds: int
    undone: int
    begun: int
    last: int
    words: tuple[str, ...]
    state: str
    resumable: bool
    lists: int = 0


class Sessions:
    """`judge`, `refine`, `sessions`, `judged` and `revert`, as methods of a collection."""

    root: bytes
    home: Home
    settings: Settings
    resolve: Callable[[Sequence[str | bytes | int]], list[int]]

    def judge(
        self,
        query: str = "",
        *,
        like: Named | Iterable[Named] = (),
        resume: str = "",
        feature: str = "",
        untagged: bool = False,
        compute: Compute | None = None,
        **filters: Any,
    ) -> Session:
        """Begin a judging session, or go on with one; give one of `query`, `like` and `resume`.

        Nothing is written before the first picture is judged, or `Session.begin` is called.

        Parameters
        ----------
        query
            Words, as of `search`.
        like
            One or more pictures: paths, in the collection or not, ids, or hits.
        resume
            The id of a session.
        feature
            The dense descriptor to learn by; the strongest that pictures have by default.
        untagged, **filters
            Which pictures may appear, as of `search`. They stay in force when it is resumed.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from PIL import Image
        >>> from sightline.collection import Collection
        >>> box = tempfile.TemporaryDirectory()
        >>> photos = pathlib.Path(box.name, "photos"); photos.mkdir()
        >>> for i, color in enumerate(("red", "red", "blue", "blue")):
        ...     Image.new("RGB", (40, 30), color).save(photos / f"{i}.png")
        >>> c = Collection.open(photos, store=pathlib.Path(box.name, "store"), workers=1)
        >>> c.index(features=["color"]).indexed
        4
        >>> session = c.judge(like="0.png")
        >>> session.mark(relevant=["1.png"], other=["2.png"])
        2
        >>> [hit.path for hit in session.next(1, hide_judged=True)]
        [b'3.png']
        >>> session.close()
        >>> box.cleanup()
        """
        from sightline.collection.search.words import pictures_of
        from sightline.collection.sessions.given import one_or_more
        from sightline.collection.sessions.model import begin

        wanted = one_or_more(like)
        if bool(query) + bool(wanted) + bool(resume) != 1:
            raise UsageError("Name one thing to judge by: a query, pictures, or a session.")
        where = filter_of(self.root, **filters)
        refuse_both(where, untagged)
        if resume and feature:
            raise UsageError("A session goes on with its own descriptor. Leave out the feature.")
        if resume and (where or untagged):
            raise UsageError("A session goes on with the filters it began with. Leave them out.")
        if resume:
            session, start = resume, self._started(resume)
        else:
            if query and (named := pictures_of(query)):
                if any(t.unwanted for t in named):
                    raise UsageError("Begin with wanted pictures alone, then judge others.")
                query = ""
                wanted = [t.path for t in named]
            with self.home.reader() as reader:
                start = begin(reader, self.root, self.settings, query, wanted, feature, compute)
            start = replace(start, where=where, untagged=untagged)
            session = secrets.token_hex(5)
        return self._going_on(session, start)

    def refine(
        self,
        query: str = "",
        *,
        like: Named | Iterable[Named] = (),
        relevant: Iterable[Named] = (),
        other: Iterable[Named] = (),
        k: int | None = None,
        **more: Any,
    ) -> Ranking:
        """Find pictures by words, pictures or both, and by examples, of which nothing is kept.

        Parameters
        ----------
        query, like
            As of `judge`. With both, words and looks count alike.
        relevant, other
            Pictures of the collection that fit, and that do not; they are left out of the hits.
        k
            Hits to return.
        **more
            `feature`, `untagged` and filters, as of `judge`.
        """
        from sightline.collection.sessions.given import one_or_more

        wanted = one_or_more(like)
        if query and wanted:
            session = self._both(query, wanted, **more)
        else:
            session = self.judge(query, like=wanted, **more)
        return session.supposing(relevant, other, self.settings.top if k is None else k)

    def _both(
        self,
        query: str,
        like: Sequence[str | bytes | int],
        *,
        feature: str = "",
        untagged: bool = False,
        compute: Compute | None = None,
        **filters: Any,
    ) -> Session:
        """Return a session of words and pictures; the log knows none such, so nothing is marked."""
        from sightline.collection.search.words import pictures_of
        from sightline.collection.sessions.model import begin

        if pictures_of(query):
            raise UsageError(f"The query {query!r} names pictures. Name them all as like.")
        where = filter_of(self.root, **filters)
        with self.home.reader() as reader:
            start = begin(reader, self.root, self.settings, query, like, feature, compute)
        start = replace(start, where=where, untagged=untagged)
        return self._going_on(secrets.token_hex(5), start)

    def _going_on(self, session: str, start: Start) -> Session:
        from sightline.collection.sessions.session import Session

        return Session(session, start, self.root, self.home, self.resolve, self._save_session)

    def _started(self, session: str) -> Start:
        record = self._session(session)
        if record.reverted:
            raise UsageError(f"The session {session} was reverted. Begin a new one.")
        if record.start is None:
            raise UsageError(
                f"The session {session} was not begun by judge, so it cannot be resumed."
            )
        record.start.refuse_newer(session)
        return record.start

    def _recorded(self, session: str) -> Record | None:
        from sightline.collection.sessions.log import read_session
        from sightline.store.events import EventLog

        with self.home.reader(), contextlib.closing(EventLog(self.home.events, write=False)) as log:
            return read_session(log, session)

    def _session(self, session: str) -> Record:
        record = self._recorded(session)
        if record is None:
            raise CollectionError(
                f"There is no session {session!r} in {shown(self.root)}{_elsewhere(session)}. "
                "See: sightline sessions"
            )
        return record

    def sessions(self, *, empty: bool = False) -> list[SessionState]:
        """Return the sessions in which something was judged, the oldest first.

        Parameters
        ----------
        empty
            Also those that began and in which nothing was ever judged.
        """
        from sightline.collection.sessions.log import read_sessions
        from sightline.store.events import EventLog

        with self.home.reader(), contextlib.closing(EventLog(self.home.events, write=False)) as log:
            return [_state(r) for r in read_sessions(log) if empty or not r.is_empty]

    def has_session(self, session: str) -> bool:
        """Say whether the log knows a session of this id."""
        return self._recorded(session) is not None

    def session(self, session: str) -> SessionState:
        """Return how one session stands."""
        return _state(self._session(session))

    def judged(self, session: str) -> dict[int, bool]:
        """Return the pictures a session judged and whether each fits, in the order of its marks.

        Of several judgements of a picture the last counts; what was taken back does not.
        """
        return self._session(session).judged

    def revert(self, session: str) -> bool:
        """Take back all that a session said; return whether anything of it still stood.

        A training after it gives the same model as if the session had never been.
        """
        from sightline.collection.sessions.tags import revert

        self._session(session)  # An unknown one is refused by name.
        return revert(self.home, session, self.settings.wait)

    def _save_session(self, session: str, word: str) -> int:
        from sightline.collection.sessions.tags import save

        return save(self.home, session, word, self.settings.wait)


def _state(r: Record) -> SessionState:
    judged = r.answers
    fit = sum(judged.values())
    asked = [q for q in r.asked if q]
    # An import of clicks may have thousands.
    some = ", ".join([*asked[:_ASKED], *["…"] * (len(asked) > _ASKED)])
    query = r.start.query if r.start else some
    state = "reverted" if r.reverted else "saved" if r.words else "open"
    return SessionState(
        r.session, query, r.start.like if r.start else (), fit, len(judged) - fit,
        len({m.round for m in r.marks}), r.undone, r.begun // 10**9, r.last // 10**9, r.words,
        state, r.start is not None, r.lists,
    )  # fmt: skip


def _elsewhere(session: str) -> str:
    """Say whose session it is, if another collection of this user has it."""
    from sightline.collection.finding import root_of_store
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
