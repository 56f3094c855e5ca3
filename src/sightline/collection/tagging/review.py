"""Reviewing suggestions: each answer is a judgement, on the disk before it counts.

A yes to a word that is proposed says that the picture fits the word; a yes to a doubt, or a no to a
proposal, that it does not. Either way the pair is settled: `proposing` asks about it no more, and
every training takes it as it takes all judgements. A review is a session like those of `judge`:
`sessions` lists it, and reverting takes all of it back.

Words that were accepted are also carried from then on, as a source of words of the session. That
needs the store's lock, so it is done when the review ends, and again by the next one: whatever
stands in the log and is not carried yet is made so (`settle`).
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sightline.collection.index import tags
from sightline.collection.models.dataset import verdicts
from sightline.collection.sessions.log import read_session
from sightline.collection.sessions.tags import publish_source
from sightline.collection.tagging.suggest import Suggestion, Suggestions
from sightline.contracts import Json
from sightline.errors import UsageError
from sightline.store.catalogue import Catalogue
from sightline.store.events import ONE_BY_ONE, EventLog, NewEvent
from sightline.store.home import Home
from sightline.store.writer import Judging, Writer
from sightline.words.grammar import Term, parse

SOURCE = ONE_BY_ONE


@dataclass(frozen=True, slots=True)
class _Answer:
    """One answer of this review that may be taken back."""

    mark: str
    suggestion: Suggestion


class Review:
    """A queue of suggestions with answers; made by `Collection.review`.

    Attributes
    ----------
    id : str
        The session under which answers stand in the log.
    found : Suggestions
        The suggestions, and what there is to say about them.
    """

    def __init__(
        self,
        home: Home,
        found: Suggestions,
        model: str,
        wait: float,
        session: str = "",
        carry: bool = True,
    ) -> None:
        self.id, self.found = session or secrets.token_hex(5), found
        self._carry = carry
        self._home, self._model, self._wait = home, model, wait
        self._judging: Judging | None = None
        self._answers: list[_Answer] = []

    @property
    def suggestions(self) -> Sequence[Suggestion]:
        """What is asked, the surest first."""
        return self.found.suggestions

    @property
    def answered(self) -> int:
        """How many answers stand."""
        return len(self._answers)

    def answer(self, suggestion: Suggestion, yes: bool) -> None:
        """Say whether a suggestion is right; it is on the disk when this returns."""
        if [t.text for t in parse(str(Term(suggestion.word))).wanted] != [suggestion.word]:
            raise UsageError(f"{suggestion.word!r} is not one word, so it cannot be judged.")
        fits = yes if suggestion.add else not yes
        mark = secrets.token_hex(5)
        body: dict[str, Json] = {
            "query": str(Term(suggestion.word)), "relevance": 1.0 if fits else 0.0,
            "source": SOURCE, "mark": mark, "model": self._model,
            # A doubted word that stays is carried already, by whatever said so before.
            "word": suggestion.word if suggestion.add and fits else "",
        }  # fmt: skip
        self._append(NewEvent("judged", suggestion.picture, body, self.id))
        self._answers.append(_Answer(mark, suggestion))

    def undo(self) -> Suggestion:
        """Take the last answer back, and return what it was about."""
        if not self._answers:
            raise UsageError("Nothing was answered in this review, so nothing can be taken back.")
        last = self._answers[-1]
        key = f"mark-undone:{self.id}:{last.mark}"
        self._append(NewEvent("mark-undone", None, {"mark": last.mark}, self.id, key))
        self._answers.pop()
        return last.suggestion

    def _append(self, event: NewEvent) -> None:
        if self._judging is None:
            self._judging = Judging(self._home)
        self._judging.append([event])

    def close(self) -> int:
        """End the review: accepted words are carried from now on; return by how many pictures.

        Answers stand whether or not this is ever called. A review that was begun with `carry` false
        leaves the carrying to the next one, or to `Collection.carry_accepted`.
        """
        if self._judging is not None:
            self._judging.close()
            self._judging = None
        return apply_accepted(self._home, self._wait) if self._carry else 0

    def __enter__(self) -> Review:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


Accepted = dict[str, dict[int, tuple[str, ...]]]


def accepted(log: EventLog) -> Accepted:
    """Return the words that reviews accepted, by session and picture; none where all is undone.

    A word that was judged not to fit since is no longer accepted.
    """
    reverted, now = log.reverted(), verdicts(log.judgements())
    found: Accepted = {}
    for e in log.read(kinds=["judged"], in_sessions=True):
        if e.body.get("source") == SOURCE and e.session and e.session not in reverted:
            found.setdefault(e.session, {})
    for e in log.effective("judged"):
        word = str(e.body.get("word", ""))
        if e.session in found and e.picture is not None and now.get((e.picture, word)):
            mine = found[e.session]
            mine[e.picture] = tuple(dict.fromkeys((*mine.get(e.picture, ()), word)))
    return found


def undo_answer(home: Home, session: str, picture: int, word: str) -> bool:
    """Take the answer of a review about one word of one picture back; return whether one stood."""
    with contextlib.closing(EventLog(home.events, write=False)) as log:
        record = read_session(log, session)
    asked = str(Term(word))
    marks = [m for m in record.marks if m.query == asked and picture in m.judged] if record else []
    if not marks:
        return False
    events = [
        NewEvent("mark-undone", None, {"mark": m.name}, session, f"mark-undone:{session}:{m.name}")
        for m in marks
    ]
    with Judging(home) as judging:
        judging.append(events)
    return True


def apply_accepted(home: Home, wait: float) -> int:
    """Have pictures carry what reviews accepted, if any does not yet; return how many changed."""
    return settle(home, wait) if pending(home) else 0


def pending(home: Home) -> bool:
    """Say whether some picture does not yet carry what a review accepted, or still does."""
    with home.reader() as reader, contextlib.closing(EventLog(home.events, write=False)) as log:
        return bool(_changes(accepted(log), reader.catalogue))


def settle(home: Home, wait: float) -> int:
    """Have pictures carry exactly what reviews accepted; return how many changed."""
    count = 0
    with Writer(home, "tag --review", wait) as writer:
        c = writer.catalogue
        for session, wanted in _changes(accepted(writer.log), c).items():
            publish_source(
                writer, tags.SESSION + session, set(wanted), partial(_exactly, wanted), session
            )
            count += len(wanted)
    return count


def _exactly(
    wanted: dict[int, tuple[str, ...]], picture: int, now: tuple[str, ...]
) -> tuple[str, ...]:
    return wanted[picture]


def _changes(wanted: Accepted, catalogue: Catalogue) -> Accepted:
    """Return what pictures of the collection are to carry where that is not what they do."""
    found: Accepted = {}
    for session, by_picture in wanted.items():
        source = tags.SESSION + session
        pictures = {*by_picture, *catalogue.with_source(source)}
        for p in sorted(catalogue.facts(pictures)):
            now = [t.tags for t in catalogue.words(p) if t.source == source]
            if set(now[0] if now else ()) != set(by_picture.get(p, ())):
                found.setdefault(session, {})[p] = by_picture.get(p, ())
    return found
