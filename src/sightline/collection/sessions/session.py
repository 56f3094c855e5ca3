"""A relevance feedback session: show hits, record judgements, show a better ranking.

Every judgement is on disk before `mark` returns. The model and the ranking are computed from the
event log, so another process can resume the session at any time. Each ranking comes with remarks:
what could not be learned, and which judgements are suspected mislabels.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    open_context,
)
from sightline.collection.sessions.ranking import ScoredPictures, depths, pin_judged, scores
from sightline.contracts import Json
from sightline.errors import CollectionError, UsageError
from sightline.records import Hit, shown
from sightline.store.events import EventLog, NewEvent
from sightline.store.folder import Reader, StoreFolder
from sightline.store.writer import Judging

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike


@dataclass(frozen=True, slots=True)
class SessionRanking(Results):
    """The hits of a session, best first, with remarks.

    Attributes
    ----------
    session : str
        The id of the session.
    round : int
        The last round whose judgements were used.
    remarks : tuple of str
        Remarks for the user.
    share : float
        As of `Session`.
    before, after : float or None
        As of `Session`.
    suspected_mislabels : frozenset of int
        As of `Session`.
    doubted : tuple of Hit
        The suspected mislabels as hits, in judging order, also where judged pictures are hidden.
    judged : mapping of int to bool
        As of `Session`.
    start : SessionStart
        As of `Session`.
    """

    session: str = ""
    round: int = 0
    remarks: tuple[str, ...] = ()
    share: float = 1.0
    before: float | None = None
    after: float | None = None
    suspected_mislabels: frozenset[int] = frozenset()
    doubted: tuple[Hit, ...] = ()
    judged: Mapping[int, bool] = field(default_factory=dict)
    start: SessionStart = field(default_factory=SessionStart)

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the ranking as JSON; paths of hits lie below `root`.

        `like`, `relevant`, `other`, `said` and `slip` are names of earlier releases.
        """
        fit = sum(self.judged.values())
        examples, unfit = list[Json](self.start.examples), len(self.judged) - fit
        answer = Results.to_dict(self, root)
        return {
            "session": self.session, "query": self.start.query, "examples": examples,
            "positive": fit, "negative": unfit, "round": self.round,
            "blend": {"share": self.share, "before": self.before, "after": self.after},
            "remarks": list[Json](self.remarks), **answer,
            "like": examples, "relevant": fit, "other": unfit, "said": list[Json](self.remarks),
            "hits": [self._hit(i, h, root) for i, h in enumerate(self.hits, 1)],
        }  # fmt: skip

    def _hit(self, number: int, hit: Hit, root: bytes) -> dict[str, Json]:
        suspected = hit.picture in self.suspected_mislabels
        return {
            "hit": number, **hit.to_dict(root), "judged": self.judged.get(hit.picture),
            "suspected_mislabel": suspected, "slip": suspected,
        }  # fmt: skip


class Session:
    """A relevance feedback session of a collection; created by `Collection.judge`.

    Attributes
    ----------
    id : str
        Its id in the log, for resuming or reverting it.
    start : SessionStart
        What it began with.
    """

    def __init__(
        self,
        session: str,
        start: SessionStart,
        root: bytes,
        store_folder: StoreFolder,
        resolve: Callable[[Sequence[str | bytes | int]], list[int]],
        save: Callable[[str, str], int],
    ) -> None:
        self.id, self.start = session, start
        self._root, self._store_folder, self._resolve, self._save = (
            root,
            store_folder,
            resolve,
            save,
        )
        self._context: tuple[SessionContext, list[str]] | None = None
        self._last: tuple[tuple[object, ...], SessionModel] | None = None
        self._judging: Judging | None = None
        self._closing: weakref.finalize[[], Session] | None = None
        # All marks before the next request for hits belong to one round.
        self._open = self._record().round + 1

    def __repr__(self) -> str:
        query = self.start.query or list(self.start.examples)
        return f"Session({self.id!r}, {query!r}, {len(self.judged)} judged)"

    # -- state

    @property
    def judged(self) -> dict[int, bool]:
        """Every judged picture, by id, and whether it fits."""
        return self._record().judged

    @property
    def round(self) -> int:
        """The last round with a judgement, 0 before any."""
        return self._record().round

    @property
    def before(self) -> float | None:
        """The share of judged pairs in correct order by the untrained order; None without pairs."""
        return self._current()[1].before

    @property
    def after(self) -> float | None:
        """The same share by the blend, for pictures that it was not fitted to."""
        return self._current()[1].after

    @property
    def share(self) -> float:
        """The share of the untrained order in the blend, from 0 to 1."""
        return self._current()[1].share

    @property
    def suspected_mislabels(self) -> frozenset[int]:
        """Judged pictures whose judgement contradicts the others, so it is not learned from.

        A judgement that is repeated always counts.
        """
        return self._current()[1].suspected_mislabels

    def begin(self) -> None:
        """Record the start of the session, so that any process can resume it by its id.

        It is on disk when this returns. The first `mark` does the same.
        """
        self._check_not_reverted(self._record())
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
        """Record which pictures fit and which do not; return the number of judgements.

        They are on disk when this returns. The last judgement of a picture counts.

        Parameters
        ----------
        positive, negative : iterable of PictureLike, default=()
            Pictures of the collection: hits, ids, or paths.
        key : str, default=""
            An idempotency key: judgements that are sent again under it are not written twice.
        """
        fit, unfit = self._ids(plain_names(positive)), self._ids(plain_names(negative))
        check_judgements(self.start, fit, unfit)
        judged = {**dict.fromkeys(fit, True), **dict.fromkeys(unfit, False)}
        if key and was_marked(self._store_folder.events, self.id, key, judged):
            return len(judged)
        with self._store_folder.reader() as reader:
            served: dict[str, Json] = {
                "model": reader.snapshot.model, "version": reader.snapshot.version,
            }  # fmt: skip
        self._check_not_reverted(self._record())
        body: dict[str, Json] = {
            "query": self.start.query, "like": list[Json](self.start.examples), "source": SOURCE,
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
        """Undo the last mark; return its judgements.

        Nothing is deleted: an event records that the mark no longer counts. A repeated request with
        the same idempotency `key` does not undo another mark.
        """
        record = self._record()
        self._check_not_reverted(record)
        if key and (done := undone(self._store_folder.events, self.id, key)) is not None:
            return done
        if not record.marks:
            raise UsageError(f"Nothing is judged in the session {self.id}, so nothing to undo.")
        last = record.marks[-1]
        body: dict[str, Json] = {"mark": last.name, **({"request": key} if key else {})}
        event_key = f"mark-undone:{self.id}:{last.name}"
        self._append([NewEvent("mark-undone", None, body, self.id, event_key)])
        return last.judged

    # -- rankings

    def next(self, k: int = 20, *, hide_judged: bool = False) -> SessionRanking:
        """Return the best hits by all judgements so far.

        Pictures judged to fit come first, those judged not to fit last.

        Parameters
        ----------
        k : int, default=20
            Hits to return.
        hide_judged : bool, default=False
            Leave out judged pictures.
        """
        record = self._record()
        ranking = self._best(record, whole_number(k, "hit"), hide_judged)
        self._open = record.round + 1
        return ranking

    def supposing(
        self,
        positive: Iterable[PictureLike] = (),
        negative: Iterable[PictureLike] = (),
        k: int = 20,
    ) -> SessionRanking:
        """Return the best unjudged hits as if these judgements had been made; nothing is stored.

        Parameters
        ----------
        positive, negative : iterable of PictureLike, default=()
            As of `mark`.
        k : int, default=20
            Hits to return.
        """
        fit, unfit = self._ids(plain_names(positive)), self._ids(plain_names(negative))
        judged = {**dict.fromkeys(fit, True), **dict.fromkeys(unfit, False)}
        record = self._record()
        if judged:
            check_judgements(self.start, fit, unfit)
            record.marks.append(Mark(f"supposed {judged}", record.round + 1, judged=judged))
        return self._best(record, whole_number(k, "hit"), True)

    def _best(self, record: SessionRecord, k: int, hide_judged: bool) -> SessionRanking:
        with self._store_folder.reader() as reader:
            context, model, notes = self._fitted(reader, record)
            # If too many files of the best pictures are missing, all pictures are scored.
            for some in depths(context, k):
                scored = scores(context, model, some, list(record.judged))
                every = ScoredPictures(reader, self._root, context, model, *scored)
                doubted = every.doubted(record.judged)
                if hide_judged:
                    every = every.without(np.array(list(record.judged), np.int64))
                order = pin_judged(every.ids, every.scores, record.judged, model)
                hits, missing = every.best(order, k)
                if len(hits) >= k:
                    break
            served = reader.notice()
        ranking = self._ranking(context, model, record, hits, missing, notes, doubted)
        return replace(ranking, served=served)

    def propose(self, k: int = 20) -> SessionRanking:
        """Return pictures to judge next: those the model is least sure of, and diverse."""
        k, record = whole_number(k, "picture"), self._record()
        with self._store_folder.reader() as reader:
            context, model, notes = self._fitted(reader, record)
            scored = scores(context, model, None, list(record.judged))
            every = ScoredPictures(reader, self._root, context, model, *scored)
            doubted = every.doubted(record.judged)
            chosen = active_learning.propose(context, every.ids, every.scores, record.judged, k)
            # In the order chosen: the most informative first.
            hits = every.existing_hits(chosen)
            served = reader.notice()
        self._open = record.round + 1
        missing = len(chosen) - len(hits)
        ranking = self._ranking(context, model, record, hits, missing, notes, doubted)
        return replace(ranking, served=served)

    def why(self, picture: PictureLike) -> SessionExplanation:
        """Explain a picture's score by the query and each judgement."""
        (number,) = self._ids(plain_names([picture]))
        record = self._record()
        with self._store_folder.reader() as reader:
            context, model, _ = self._fitted(reader, record)
            known = [p for p in (number, *model.pictures) if p is not None]
            paths = {p: f.path for p, f in reader.catalogue.facts(known).items()}
        untrained, rest, because = explain.explain_picture(
            context, model, number, paths, number in record.judged
        )
        score = untrained + rest + sum(b.contribution for b in because)
        judgement = record.judged.get(number)
        mislabelled = number in model.suspected_mislabels
        return SessionExplanation(
            number, paths.get(number, b""), score, untrained, rest, because, judgement, mislabelled
        )

    def save_as(self, word: str) -> int:
        """Add a word to the pictures that fit, for search and training; return their number.

        The word has a source of its own: saving again updates it to the current judgements, and a
        revert of the session removes it.
        """
        return self._save(self.id, word)

    @property
    def awake(self) -> bool:
        """Whether the log is open or a model is in memory; both last until `close`."""
        return self._judging is not None or self._context is not None

    def close(self) -> None:
        """Close the log, so that the store is sealed, and drop the model.

        Both come back when they are needed.
        """
        if self._closing is not None:
            self._closing()
        self._judging = self._closing = self._context = self._last = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _append(self, events: Sequence[NewEvent]) -> None:
        """Append events; the log stays open, since sealing a large store takes longer than a round.

        After a failure it is reopened: the state of the old connection is unknown.
        """
        if self._judging is None:
            self._judging = Judging(self._store_folder)
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
        with contextlib.closing(EventLog(self._store_folder.events, write=False)) as log:
            return read_session(log, self.id) or SessionRecord(self.id, self.start)

    def _check_not_reverted(self, record: SessionRecord) -> None:
        if record.reverted:
            raise UsageError(
                f"The session {self.id} was reverted, so its judgements do not count. "
                "Begin a new one."
            )

    def _current(self) -> tuple[SessionContext, SessionModel]:
        with self._store_folder.reader() as reader:
            context, model, _ = self._fitted(reader, self._record())
        return context, model

    def _fitted(
        self, reader: Reader, record: SessionRecord
    ) -> tuple[SessionContext, SessionModel, list[str]]:
        """Return the context, the model fitted to a record, and remarks."""
        if not os.path.isdir(self._root):
            raise CollectionError(f"The folder {shown(self._root)} is not there. Is it mounted?")
        self._check_not_reverted(record)
        if self._context is None or self._context[0].version != reader.snapshot.version:
            self._context = open_context(reader, self.start)
        context, notes = self._context
        key = (context.version, *(m.name for m in record.marks))
        if self._last is None or self._last[0] != key:
            self._last = key, learn(context, record)
        return context, self._last[1], notes

    def _ranking(
        self,
        context: SessionContext,
        model: SessionModel,
        record: SessionRecord,
        hits: list[Hit],
        missing: int,
        notes: list[str],
        doubted: list[Hit],
    ) -> SessionRanking:
        words = context.words
        more = remarks(record, model, bool(hits), context, doubted)
        return SessionRanking(
            tuple(hits), words.unknown if words else (), context.version, missing, self.id,
            record.round, (*notes, *more), model.share, model.before, model.after,
            model.suspected_mislabels,
            tuple(doubted), record.judged, self.start,
            not_learned=words.not_learned if words else (),
            predicted=words.predicted if words else None,
            corrections=(*self.start.corrections, *(words.corrections if words else ())),
            store_folder=self._store_folder,
        )  # fmt: skip


# The largest number of pictures named in a remark.
NAMED = 5


def remarks(
    record: SessionRecord,
    model: SessionModel,
    has_hits: bool,
    context: SessionContext,
    doubted: Sequence[Hit],
) -> list[str]:
    """Return remarks: why nothing was learned, what could not be, and why there are no hits."""
    notes = context.words.starting.lines() if context.words and model.weights is None else []
    judged = record.judged
    if context.space is not None and judged and model.weights is None:
        fit = any(judged.values()) or bool(len(context.query_rows))
        if fit and not all(judged.values()):
            notes.append("What was learned ranks the judged pictures no better; the ranking stays.")
        else:
            lacking = "do not fit" if fit else "fit"
            notes.append(f"The ranking stays until some pictures that {lacking} are judged too.")
    if model.suspected_mislabels:
        notes.append(_of_mislabels(model.suspected_mislabels, doubted, judged))
    if model.gone:
        n = model.gone
        notes.append(f"{n} judged picture{'s' * (n > 1)} can no longer be learned from.")
    if not has_hits:
        notes.append(_why_nothing(context, bool(judged)))
    return notes


def _of_mislabels(
    suspected: frozenset[int], doubted: Sequence[Hit], judged: dict[int, bool]
) -> str:
    """Return a remark that names the suspected mislabels, up to `NAMED`.

    >>> hits = [Hit(3, b"a.jpg", 0.1, False), Hit(4, b"b.jpg", 0.1, False)]
    >>> _of_mislabels(frozenset([3, 4, 9]), hits, {3: True, 4: False, 9: True})[:54]
    '3 judgements contradict the others, and nothing is lea'
    >>> _of_mislabels(frozenset([3, 4, 9]), hits, {3: True, 4: False, 9: True})[54:]
    'rned from them: a.jpg (fits), b.jpg (does not fit) and 1 more. To insist, judge them again.'
    """
    n = len(suspected)
    s, it = ("", "it") if n == 1 else ("s", "them")
    kinds = {True: "fits", False: "does not fit"}
    names = [f"{shown(h.path)} ({kinds[judged[h.picture]]})" for h in doubted[:NAMED]]
    # Pictures that are filtered out, or whose files are missing, are not named.
    more = f" and {n - len(names)} more" if names and n > len(names) else ""
    which = f": {', '.join(names)}{more}" if names else ""
    return (
        f"{n} judgement{s} contradict{'s' * (n == 1)} the others, and nothing is learned from "
        f"{it}{which}. To insist, judge {it} again."
    )


def _why_nothing(context: SessionContext, judged: bool) -> str:
    if context.allowed is not None and not len(context.allowed):
        return "No picture fits: filters, and required or excluded words, leave none. Ask for less."
    if judged:
        return "No picture is left to judge. Try other words, or begin with a picture."
    return "No picture fits. Try other words, or begin with a picture."
