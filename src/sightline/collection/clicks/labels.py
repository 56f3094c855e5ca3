"""Labels from clicks: pictures that fit a query as well as most others that were shown for it.

Clicks become grades (`solvers.clicks`): the probability that a picture fits once somebody has
examined it, less one standard error, so that a single click proves nothing at any rank. For
learning from words, a picture fits if its grade is not far below the best of its query; then it
counts as if it had been judged to fit. That a picture was not clicked removes no word from it: its
owner's words are worth more.

Nobody checked these clicks, so what one import can change is bounded: a (query, picture) counts up
to 20 exposures of an import; an import gives pictures at most a tenth as many words as they have
(20 in a small collection), and no word to more pictures than have it (20 for a rare one). The
best fits count first.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sightline.collection.clicks.deduplication import SOURCE, distinct_impressions
from sightline.collection.models.dataset import tag_pairs
from sightline.records import ClickedList, Judgement
from sightline.solvers.clicks import FLOOR, impression_table, relevance
from sightline.store.events import EventLog
from sightline.store.snapshot import Snapshot
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id

# Exposures without a click that are added to every picture, against single lucky clicks.
_DOUBT = 1.0
_LEAST_GRADE = 0.1
_SHARE_OF_BEST = 0.5
MOST_EXPOSURE = 20.0
_SHARE_OF_TAGS = 0.1
_FEW = 20

Words = frozenset[int]


@dataclass(frozen=True, slots=True)
class FromClicks:
    """Judgements from clicks.

    Attributes
    ----------
    judgements : tuple of Judgement
        Which pictures fit which queries, with their grades.
    lists, imports : int
        How many impressions and imports they come from.
    capped : int
        Judgements that were left out because one import may not move more.
    """

    judgements: tuple[Judgement, ...] = ()
    lists: int = 0
    imports: int = 0
    capped: int = 0


class _Fit(NamedTuple):
    """A picture that fits a query; `session` is the import that contributes most."""

    grade: float
    query: str
    words: Words
    picture: int
    session: str
    seq: int


@dataclass(slots=True)
class _Sum:
    """The sums over all imports for a picture and a query."""

    clicks: int = 0
    worth: float = 0.0
    squared_error: float = 0.0
    exposure: float = 0.0
    session: tuple[float, str] = (0.0, "")

    @property
    def grade(self) -> float:
        """The probability that it fits, less its standard error."""
        least = self.worth - math.sqrt(self.squared_error)
        # With a single click both are equal, but for rounding.
        return min(max(least, 0.0) / (self.exposure + _DOUBT), 1.0) if self.clicks > 1 else 0.0


def known_judgements(
    log: EventLog, snapshot: Snapshot, session_cap: int | None = None
) -> tuple[list[Judgement], FromClicks]:
    """Return all judgements of pictures for queries, and which of them come from clicks.

    Clicks come first, so that judgements override them. `session_cap` limits the number of pictures
    that count of one session.
    """
    clicks = from_clicks(distinct_impressions(log), snapshot)
    return [*clicks.judgements, *log.judgements(session_cap)], clicks


def from_clicks(lists: Sequence[ClickedList], snapshot: Snapshot) -> FromClicks:
    """Return judgements from impressions with clicks, of pictures that still exist."""
    if not lists:
        return FromClicks()
    pictures, terms = tag_pairs(snapshot)
    live = frozenset(snapshot.ids().tolist())
    sums, queries = _summed(lists, live)
    fits = sorted(_fits(sums, queries), key=lambda f: (-f.grade, f.query, f.picture))
    cap = _Cap(zip(pictures.tolist(), terms.tolist(), strict=True))
    kept = [f for f in fits if cap.admits(f)]
    judgements = tuple(Judgement(f.query, f.picture, f.grade, SOURCE, f.seq) for f in kept)
    return FromClicks(
        judgements, len(lists), len({x.session for x in lists}), len(fits) - len(kept)
    )


def _summed(
    lists: Sequence[ClickedList], live: frozenset[int]
) -> tuple[dict[tuple[Words, int], _Sum], dict[Words, tuple[str, int]]]:
    """Return the sums for each set of words and picture, and one spelling of each set."""
    by_session: dict[str, list[ClickedList]] = defaultdict(list)
    queries: dict[Words, tuple[str, int]] = {}
    words: dict[str, Words] = {}
    for x in lists:
        by_session[x.session].append(x)
        if x.query not in words:
            words[x.query] = frozenset(term_id(t.text) for t in parse(x.query).terms)
        queries.setdefault(words[x.query], (x.query, x.seq))
    numbers = {w: i for i, w in enumerate(queries)}
    sets = list(numbers)
    sums: dict[tuple[Words, int], _Sum] = defaultdict(_Sum)
    for session, impressions in sorted(by_session.items()):
        rows = impression_table(
            (numbers[words[x.query]], x.pictures, x.ranks, x.clicked) for x in impressions
        )
        eta = np.array([x.eta for x in impressions])[rows.list]
        r = relevance(rows, eta, FLOOR, MOST_EXPOSURE)
        columns = (r.query, r.picture, r.clicks, r.worth, r.error, r.exposure)
        grades = zip(*(a.tolist() for a in columns), strict=True)
        for q, p, clicks, worth, error, exposure in grades:
            if p in live:
                total = sums[sets[q], p]
                total.clicks += clicks
                total.worth += worth
                total.squared_error += error * error
                total.exposure += exposure
                total.session = max(total.session, (worth, session))
    return sums, queries


def _fits(
    sums: dict[tuple[Words, int], _Sum], queries: dict[Words, tuple[str, int]]
) -> Iterable[_Fit]:
    """Yield the pictures that were clicked and fit nearly as well as the best of their query."""
    best: dict[Words, float] = defaultdict(float)
    for (words, _), total in sums.items():
        best[words] = max(best[words], total.grade)
    for (words, picture), total in sums.items():
        least = max(_LEAST_GRADE, _SHARE_OF_BEST * best[words])
        if total.clicks and total.grade >= least:
            query, seq = queries[words]
            yield _Fit(total.grade, query, words, picture, total.session[1], seq)


@dataclass(slots=True)
class _Cap:
    """Limits how many words an import may add to pictures."""

    pairs: Iterable[tuple[int, int]]
    tagged: set[tuple[int, int]] = field(default_factory=set)
    n_tagged: Counter[int] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    added_to: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.tagged = set(self.pairs)
        self.n_tagged = Counter(w for _, w in self.tagged)

    def admits(self, fit: _Fit) -> bool:
        """Return whether a picture may get the words, and count it if so."""
        new = [w for w in fit.words if (fit.picture, w) not in self.tagged]
        most = max(_FEW, int(_SHARE_OF_TAGS * len(self.tagged)))
        full = self.added[fit.session] + len(new) > most or any(
            self.added_to[fit.session, w] >= max(_FEW, self.n_tagged[w]) for w in new
        )
        if full:
            return False
        self.added[fit.session] += len(new)
        self.added_to.update((fit.session, w) for w in new)
        return True
