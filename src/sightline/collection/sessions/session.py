"""A judging session: show hits, take judgements, show better hits.

Every judgement is on the disk before `mark` returns. The ranking is made anew from the log each
time, so a session goes on in another process as if it had never left this one.

What there is to say about a ranking: what was not learnt, which judgements are doubted.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sightline.collection.pictures import plain_names, whole_number
from sightline.collection.results import Results
from sightline.collection.sessions import active_learning, explain
from sightline.collection.sessions.explain import SessionExplanation
from sightline.collection.sessions.log import (
    SOURCE,
    Mark,
    SessionRecord,
    SessionStart,
    event_key,
    mark_name,
    read_session,
    undone,
    was_marked,
)
from sightline.collection.sessions.model import (
    SessionContext,
    SessionModel,
    check_judgements,
    learn,
    stand,
)
from sightline.collection.sessions.ranking import ScoredPictures, pin_judged, scores
from sightline.contracts import Json
from sightline.errors import CollectionError, UsageError
from sightline.records import Hit, shown
from sightline.store.events import EventLog, NewEvent
from sightline.store.home import Home, Reader
from sightline.store.writer import Judging

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike


@dataclass(frozen=True, slots=True)
class SessionRanking(Results):
    """The answer of a session: hits, best first, and what there is to say about them.

    `round` counts the rounds that were learnt from; `share`, `before`, `after` and `slips` are as
    of `Session`. `doubted` are slips as hits, in the order they were judged, whether or not judged
    pictures are among the hits.
    """

    session: str = ""
    round: int = 0
    said: tuple[str, ...] = ()
    share: float = 1.0
    before: float | None = None
    after: float | None = None
    suspected_mislabels: frozenset[int] = frozenset()
    doubted: tuple[Hit, ...] = ()


class Session:
    """A judging session of a collection; made by `Collection.judge`.

    Attributes
    ----------
    id : its name in the log, by which it is resumed or reverted.
    start : what it began with.
    """

    def __init__(
        self,
        session: str,
        start: SessionStart,
        root: bytes,
        home: Home,
        resolve: Callable[[Sequence[str | bytes | int]], list[int]],
        save: Callable[[str, str], int],
    ) -> None:
        self.id, self.start = session, start
        self._root, self._home, self._resolve, self._save = root, home, resolve, save
        self._ground: tuple[SessionContext, list[str]] | None = None
        self._last: tuple[tuple[object, ...], SessionModel] | None = None
        self._judging: Judging | None = None
        self._closing: weakref.finalize[[], Session] | None = None
        # Marks made before the next look at the hits are one round.
        self._open = self._record().round + 1

    def __repr__(self) -> str:
        asked = self.start.query or list(self.start.like)
        return f"Session({self.id!r}, {asked!r}, {len(self.judged)} judged)"

    # -- what was said

    @property
    def judged(self) -> dict[int, bool]:
        """Every picture that was judged, by id, and whether it fits."""
        return self._record().judged

    @property
    def round(self) -> int:
        """The last round in which something was judged, 0 before any."""
        return self._record().round

    @property
    def before(self) -> float | None:
        """The share of judged pairs that the untouched ranking has in order; None without any."""
        return self._current()[1].before

    @property
    def after(self) -> float | None:
        """The same by the blend, of pictures it had not learnt from."""
        return self._current()[1].after

    @property
    def share(self) -> float:
        """How much of the blend is the untouched ranking, from 0 to 1."""
        return self._current()[1].share

    @property
    def suspected_mislabels(self) -> frozenset[int]:
        """Judged pictures whose judgement contradicts the others, so that it does not count.

        Judged the same way again, it counts whatever the others say.
        """
        return self._current()[1].suspected_mislabels

    def begin(self) -> None:
        """Write what it began with, so that any process can go on with it by its id.

        It is on the disk when this returns. The first `mark` does the same.
        """
        self._refuse_reverted(self._record())
        self._append([self._begun()])

    def _begun(self) -> NewEvent:
        key = f"session-started:{self.id}"
        return NewEvent("session-started", None, self.start.body(), self.id, key)

    def mark(
        self,
        positive: Iterable[PictureLike] = (),
        negative: Iterable[PictureLike] = (),
        *,
        key: str = "",
    ) -> int:
        """Say which pictures fit and which do not; return how many judgements were made.

        They are on the disk when this returns. Of several judgements of a picture the last counts.

        Parameters
        ----------
        positive, negative
            Pictures of the collection: hits, ids, or paths.
        key
            A name for these judgements: sent again under it, they are not written twice.
        """
        fit, unfit = self._ids(plain_names(positive)), self._ids(plain_names(negative))
        check_judgements(self.start, fit, unfit)
        judged = {**dict.fromkeys(fit, True), **dict.fromkeys(unfit, False)}
        if key and was_marked(self._home.events, self.id, key, judged):
            return len(judged)
        with self._home.reader() as reader:
            served: dict[str, Json] = {
                "model": reader.snapshot.model, "version": reader.snapshot.version,
            }  # fmt: skip
        self._refuse_reverted(self._record())
        body: dict[str, Json] = {
            "query": self.start.query, "like": list[Json](self.start.like), "source": SOURCE,
            "feature": self.start.feature, "round": self._open,
            "mark": mark_name(self.id, key) if key else secrets.token_hex(5), **served,
        }  # fmt: skip
        events = [
            NewEvent(
                "judged", p, {**body, "relevance": float(fits)}, self.id,
                event_key(self.id, key, p),
            )
            for p, fits in judged.items()
        ]  # fmt: skip
        self._append([self._begun(), *events])
        return len(events)

    def undo(self, *, key: str = "") -> dict[int, bool]:
        """Take the last mark back; return the judgements it held.

        Nothing is removed: an event says that the mark no longer counts. Sent again under the same
        `key`, no other mark is taken back.
        """
        record = self._record()
        self._refuse_reverted(record)
        if key and (done := undone(self._home.events, self.id, key)) is not None:
            return done
        if not record.marks:
            raise UsageError(f"Nothing is judged in the session {self.id}, so nothing to undo.")
        last = record.marks[-1]
        body: dict[str, Json] = {"mark": last.name, **({"request": key} if key else {})}
        own = f"mark-undone:{self.id}:{last.name}"
        self._append([NewEvent("mark-undone", None, body, self.id, own)])
        return last.judged

    # -- what follows from it

    def next(self, n: int = 20, *, hide_judged: bool = False) -> SessionRanking:
        """Return the best hits by all that was judged so far.

        Pictures that were judged to fit come first, and those judged not to fit last.

        Parameters
        ----------
        n
            Hits to return.
        hide_judged
            Leave out pictures that were judged already.
        """
        record = self._record()
        found = self._best(record, whole_number(n, "hit"), hide_judged)
        self._open = record.round + 1
        return found

    def supposing(
        self,
        positive: Iterable[PictureLike] = (),
        negative: Iterable[PictureLike] = (),
        n: int = 20,
    ) -> SessionRanking:
        """Return the best unjudged hits if these pictures were judged too; nothing is kept.

        Parameters
        ----------
        positive, negative
            As of `mark`.
        n
            Hits to return.
        """
        fit, unfit = self._ids(plain_names(positive)), self._ids(plain_names(negative))
        judged = {**dict.fromkeys(fit, True), **dict.fromkeys(unfit, False)}
        record = self._record()
        if judged:
            check_judgements(self.start, fit, unfit)
            record.marks.append(Mark(f"supposed {judged}", record.round + 1, judged=judged))
        return self._best(record, whole_number(n, "hit"), True)

    def _best(self, record: SessionRecord, n: int, hide_judged: bool) -> SessionRanking:
        with self._home.reader() as reader:
            ground, learnt, said = self._learnt(reader, record)
            # An engine names some pictures; if the files of many are gone, all are looked at.
            for some in (n, None) if reader.snapshot.engine is not None else (None,):
                found = scores(ground, learnt, some, list(record.judged))
                every = ScoredPictures(reader, self._root, ground, learnt, *found)
                doubted = every.doubted(record.judged)
                if hide_judged:
                    every = every.without(np.array(list(record.judged), np.int64))
                order = pin_judged(every.ids, every.found, record.judged, learnt)
                hits, missing = every.best(order, n)
                if len(hits) >= n:
                    break
            served = reader.notice()
        ranking = self._ranking(ground, learnt, record, hits, missing, said, doubted)
        return replace(ranking, served=served)

    def propose(self, n: int = 20) -> SessionRanking:
        """Return pictures to judge next: those the session is least sure of, no two alike."""
        n, record = whole_number(n, "picture"), self._record()
        with self._home.reader() as reader:
            ground, learnt, said = self._learnt(reader, record)
            found = scores(ground, learnt, None, list(record.judged))
            every = ScoredPictures(reader, self._root, ground, learnt, *found)
            doubted = every.doubted(record.judged)
            chosen = active_learning.propose(ground, every.ids, every.found, record.judged, n)
            # In their own order, so that the first ones are the most telling.
            hits = every.there(chosen)
            served = reader.notice()
        self._open = record.round + 1
        missing = len(chosen) - len(hits)
        ranking = self._ranking(ground, learnt, record, hits, missing, said, doubted)
        return replace(ranking, served=served)

    def why(self, picture: PictureLike) -> SessionExplanation:
        """Say what the query and each judgement add to a picture's score."""
        (number,) = self._ids(plain_names([picture]))
        record = self._record()
        with self._home.reader() as reader:
            ground, learnt, _ = self._learnt(reader, record)
            known = [p for p in (number, *learnt.pictures) if p is not None]
            paths = {p: f.path for p, f in reader.catalogue.facts(known).items()}
        untouched, rest, because = explain.explain_picture(
            ground, learnt, number, paths, number in record.judged
        )
        score = untouched + rest + sum(b.adds for b in because)
        said = record.judged.get(number)
        slip = number in learnt.suspected_mislabels
        return SessionExplanation(
            number, paths.get(number, b""), score, untouched, rest, because, said, slip
        )

    def save_as(self, word: str) -> int:
        """Give the pictures that fit a word, so that search and train know it; return how many.

        It is a source of words of its own: saved again, it follows what was judged since, and it
        goes when the session is reverted.
        """
        return self._save(self.id, word)

    @property
    def awake(self) -> bool:
        """Whether it holds the log open, or what it learnt in memory, as it does until `close`."""
        return self._judging is not None or self._ground is not None

    def close(self) -> None:
        """Let go of the log, so that the store is sealed, and of what was learnt.

        Both come back when they are needed.
        """
        if self._closing is not None:
            self._closing()
        self._judging = self._closing = self._ground = self._last = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _append(self, events: Sequence[NewEvent]) -> None:
        """Write facts; the log stays open, since sealing a large store takes longer than a round.

        After a failure it is opened anew: nobody knows what the old connection still believes.
        """
        if self._judging is None:
            self._judging = Judging(self._home)
            self._closing = weakref.finalize(self, self._judging.close)
        try:
            self._judging.append(events)
        except BaseException:
            self.close()
            raise

    # -- replaying

    def _ids(self, named: Sequence[str | bytes | int]) -> list[int]:
        return list(dict.fromkeys(self._resolve(named)))

    def _record(self) -> SessionRecord:
        with contextlib.closing(EventLog(self._home.events, write=False)) as log:
            return read_session(log, self.id) or SessionRecord(self.id, self.start)

    def _refuse_reverted(self, record: SessionRecord) -> None:
        if record.reverted:
            raise UsageError(
                f"The session {self.id} was reverted, so nothing it says counts. Begin a new one."
            )

    def _current(self) -> tuple[SessionContext, SessionModel]:
        with self._home.reader() as reader:
            ground, learnt, _ = self._learnt(reader, self._record())
        return ground, learnt

    def _learnt(
        self, reader: Reader, record: SessionRecord
    ) -> tuple[SessionContext, SessionModel, list[str]]:
        """Return what the session stands on, what it learnt by a record, and what to say."""
        if not os.path.isdir(self._root):
            raise CollectionError(f"The folder {shown(self._root)} is not there. Is it mounted?")
        self._refuse_reverted(record)
        if self._ground is None or self._ground[0].version != reader.snapshot.version:
            self._ground = stand(reader, self.start)
        ground, said = self._ground
        key = (ground.version, *(m.name for m in record.marks))
        if self._last is None or self._last[0] != key:
            self._last = key, learn(ground, record)
        return ground, self._last[1], said

    def _ranking(
        self,
        ground: SessionContext,
        learnt: SessionModel,
        record: SessionRecord,
        hits: list[Hit],
        missing: int,
        said: list[str],
        doubted: list[Hit],
    ) -> SessionRanking:
        words = ground.words
        more = remarks(record, learnt, bool(hits), ground, doubted)
        return SessionRanking(
            tuple(hits), words.unknown if words else (), ground.version, missing, self.id,
            record.round, (*said, *more), learnt.share, learnt.before, learnt.after,
            learnt.suspected_mislabels,
            tuple(doubted), not_learned=words.not_learned if words else (),
            predicted=words.predicted if words else None, home=self._home,
        )  # fmt: skip


# More are not named.
NAMED = 5


def remarks(
    record: SessionRecord,
    model: SessionModel,
    has_hits: bool,
    context: SessionContext,
    doubted: Sequence[Hit],
) -> list[str]:
    """Say why nothing was learnt yet, what could not be, and why there is no hit."""
    said = []
    judged = record.judged
    if context.space is not None and judged and model.weights is None:
        fit = any(judged.values()) or bool(len(context.asked))
        if fit and not all(judged.values()):
            said.append("What was learnt orders judged pictures no better; the ranking stays.")
        else:
            lacking = "do not fit" if fit else "fit"
            said.append(f"The ranking stays until some pictures that {lacking} are judged too.")
    if model.suspected_mislabels:
        said.append(_of_slips(model.suspected_mislabels, doubted, judged))
    if model.gone:
        n = model.gone
        said.append(f"{n} judged picture{'s' * (n > 1)} can no longer be learnt from.")
    if not has_hits:
        said.append(_why_nothing(context, bool(judged)))
    return said


def _of_slips(slips: frozenset[int], doubted: Sequence[Hit], judged: dict[int, bool]) -> str:
    """Name the judgements that are doubted, as many as can be read at a glance.

    >>> hits = [Hit(3, b"a.jpg", 0.1, False), Hit(4, b"b.jpg", 0.1, False)]
    >>> _of_slips(frozenset([3, 4, 9]), hits, {3: True, 4: False, 9: True})[:54]
    '3 judgements contradict the others, and nothing is lea'
    >>> _of_slips(frozenset([3, 4, 9]), hits, {3: True, 4: False, 9: True})[54:]
    'rnt from them: a.jpg (fits), b.jpg (does not fit) and 1 more. To insist, judge them again.'
    """
    n = len(slips)
    s, it = ("", "it") if n == 1 else ("s", "them")
    kinds = {True: "fits", False: "does not fit"}
    names = [f"{shown(h.path)} ({kinds[judged[h.picture]]})" for h in doubted[:NAMED]]
    # Those that filters leave out, or whose files are gone, have no name here.
    more = f" and {n - len(names)} more" if names and n > len(names) else ""
    which = f": {', '.join(names)}{more}" if names else ""
    return (
        f"{n} judgement{s} contradict{'s' * (n == 1)} the others, and nothing is learnt from "
        f"{it}{which}. To insist, judge {it} again."
    )


def _why_nothing(ground: SessionContext, judged: bool) -> str:
    if ground.allowed is not None and not len(ground.allowed):
        return "No picture fits: filters, and words required or unwanted, leave none. Ask for less."
    if judged:
        return "No picture is left to judge. Try other words, or begin with a picture."
    return "No picture fits. Try other words, or begin with a picture."
