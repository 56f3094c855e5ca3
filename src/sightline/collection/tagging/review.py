"""Review of suggestions: each answer is a judgement, on disk before it counts.

A yes to a proposed word, or a no to a doubt, is a positive judgement; a no to a proposal, or a yes
to a doubt, is a negative one. Either way the pair is settled: `suggest` does not ask about it
again, and every training uses it like all judgements. A review is a session: `sessions` lists it,
and it can be reverted.

Pictures also have accepted words from then on, with the session as their source. That needs the
writer lock, so it is done when the review ends, and again by the next one: whatever is in the log
and not yet applied is written (`settle`).
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sightline.collection.models.dataset import verdicts
from sightline.collection.sessions.log import read_session
from sightline.collection.sessions.tags import publish_source
from sightline.collection.tagging.suggest import Suggestion, Suggestions
from sightline.collection.tagging.suspected import SuspectedTag, SuspectedTags
from sightline.contracts import Json
from sightline.errors import UsageError
from sightline.store.catalogue import Catalogue
from sightline.store.events import OF_SESSION, ONE_BY_ONE, EventLog, NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Judging, Writer
from sightline.words.grammar import Term, parse

SOURCE = ONE_BY_ONE


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer of this review that can be undone."""

    mark: str
    suggestion: Suggestion | SuspectedTag


class Review:
    """A queue of suggestions with answers; created by `Collection.tagging.review`.

    Attributes
    ----------
    id : str
        The session of the answers in the log.
    queue : Suggestions or SuspectedTags
        The suggestions, with remarks; or the suspected mislabels.
    """

    def __init__(
        self,
        store_folder: StoreFolder,
        queue: Suggestions | SuspectedTags,
        model: str,
        wait: float,
        session: str = "",
        apply: bool = True,
    ) -> None:
        self.id, self.queue = session or secrets.token_hex(5), queue
        self._apply = apply
        self._store_folder, self._model, self._wait = store_folder, model, wait
        self._judging: Judging | None = None
        self._answers: list[_Answer] = []

    @property
    def suggestions(self) -> Sequence[Suggestion | SuspectedTag]:
        """The suggestions, most confident first."""
        return self.queue.suggestions

    @property
    def answered(self) -> int:
        """The number of answers that count."""
        return len(self._answers)

    def answer(self, suggestion: Suggestion | SuspectedTag, yes: bool) -> None:
        """Record whether a suggestion is right; it is on disk when this returns."""
        if [t.text for t in parse(str(Term(suggestion.word))).terms] != [suggestion.word]:
            raise UsageError(f"{suggestion.word!r} is not one word, so it cannot be judged.")
        fits = yes if suggestion.add else not yes
        mark = secrets.token_hex(5)
        body: dict[str, Json] = {
            "query": str(Term(suggestion.word)), "relevance": 1.0 if fits else 0.0,
            "source": SOURCE, "mark": mark, "model": self._model,
            # A doubted word that stays is a tag already, by its earlier source.
            "word": suggestion.word if suggestion.add and fits else "",
        }  # fmt: skip
        self._append(NewEvent("judged", suggestion.picture, body, self.id))
        self._answers.append(_Answer(mark, suggestion))

    def undo(self) -> Suggestion | SuspectedTag:
        """Undo the last answer, and return its suggestion."""
        if not self._answers:
            raise UsageError("Nothing was answered in this review, so nothing can be undone.")
        last = self._answers[-1]
        key = f"mark-undone:{self.id}:{last.mark}"
        self._append(NewEvent("mark-undone", None, {"mark": last.mark}, self.id, key))
        self._answers.pop()
        return last.suggestion

    def _append(self, event: NewEvent) -> None:
        if self._judging is None:
            self._judging = Judging(self._store_folder)
        self._judging.append([event])

    def close(self) -> int:
        """End the review: write accepted words; return the number of changed pictures.

        Answers count whether or not this is called. With `apply` false, the words are written by
        the next review or by `Collection.tagging.apply_accepted`.
        """
        if self._judging is not None:
            self._judging.close()
            self._judging = None
        return apply_accepted(self._store_folder, self._wait) if self._apply else 0

    def __enter__(self) -> Review:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


Accepted = dict[str, dict[int, tuple[str, ...]]]


def accepted(log: EventLog) -> Accepted:
    """Return the words that reviews accepted, by session and picture.

    A word that was judged not to fit later is no longer accepted. A session whose answers were all
    undone has no pictures.
    """
    reverted, now = log.reverted(), verdicts(log.judgements())
    by_session: Accepted = {}
    for e in log.read(kinds=["judged"], in_sessions=True):
        if e.body.get("source") == SOURCE and e.session and e.session not in reverted:
            by_session.setdefault(e.session, {})
    for e in log.effective("judged"):
        word = str(e.body.get("word", ""))
        if e.session in by_session and e.picture is not None and now.get((e.picture, word)):
            by_picture = by_session[e.session]
            by_picture[e.picture] = tuple(dict.fromkeys((*by_picture.get(e.picture, ()), word)))
    return by_session


def undo_answer(store_folder: StoreFolder, session: str, picture: int, word: str) -> bool:
    """Undo a review's answer on one word of one picture; return whether there was one."""
    with contextlib.closing(EventLog(store_folder.events, write=False)) as log:
        record = read_session(log, session)
    asked = str(Term(word))
    marks = [m for m in record.marks if m.query == asked and picture in m.judged] if record else []
    if not marks:
        return False
    events = [
        NewEvent("mark-undone", None, {"mark": m.name}, session, f"mark-undone:{session}:{m.name}")
        for m in marks
    ]
    with Judging(store_folder) as judging:
        judging.append(events)
    return True


def apply_accepted(store_folder: StoreFolder, wait: float) -> int:
    """Write the words that reviews accepted; return the number of changed pictures."""
    return settle(store_folder, wait) if pending(store_folder) else 0


def pending(store_folder: StoreFolder) -> bool:
    """Return whether accepted words are still to be written, or undone ones to be removed."""
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        return bool(_changes(accepted(log), reader.catalogue))


def settle(store_folder: StoreFolder, wait: float) -> int:
    """Give pictures exactly the accepted words; return the number of changed ones."""
    count = 0
    with Writer(store_folder, "tag --review", wait) as writer:
        c = writer.catalogue
        for session, words_by_picture in _changes(accepted(writer.log), c).items():
            publish_source(
                writer,
                OF_SESSION + session,
                set(words_by_picture),
                partial(_exactly, words_by_picture),
                session,
            )
            count += len(words_by_picture)
    return count


def _exactly(
    wanted: dict[int, tuple[str, ...]], picture: int, now: tuple[str, ...]
) -> tuple[str, ...]:
    return wanted[picture]


def _changes(wanted: Accepted, catalogue: Catalogue) -> Accepted:
    """Return the accepted words of pictures whose stored words differ from them."""
    changes: Accepted = {}
    for session, by_picture in wanted.items():
        source = OF_SESSION + session
        pictures = {*by_picture, *catalogue.with_source(source)}
        for p in sorted(catalogue.facts(pictures)):
            now = [t.tags for t in catalogue.words(p) if t.source == source]
            if set(now[0] if now else ()) != set(by_picture.get(p, ())):
                changes.setdefault(session, {})[p] = by_picture.get(p, ())
    return changes
