"""Impressions that a program sends when it shows a ranking, and clicks on them that come later.

An impression is written when it comes, clicked or not, in a session named after the id that its
sender gave it. So whoever cites the id finds it in the log, whichever process wrote it and when,
and one impression can be reverted. Sent again, or read from a file, it is the same and counts once.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sightline.collection.clicks.deduplication import SOURCE, known_clicks
from sightline.collection.clicks.log_import import ResolvedImpression, body_of, words_of
from sightline.contracts import Json
from sightline.errors import DataError
from sightline.exchange import metarank
from sightline.exchange.impressions import list_key
from sightline.solvers.clicks import impression_table
from sightline.solvers.propensity import estimate_bias
from sightline.store.events import Event, EventLog, NewEvent, clicked_list
from sightline.store.folder import StoreFolder
from sightline.store.writer import Judging


@dataclass(frozen=True, slots=True)
class LiveRanking:
    """Pictures that were shown for a query, first to last, under an id of the sender's."""

    id: str
    query: str
    pictures: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LiveClick:
    """A click on a picture of a ranking, which is in the log or comes with it."""

    ranking: str
    picture: int


@dataclass(frozen=True, slots=True)
class LiveReport:
    """How many rankings are new, how many have new clicks, and which ids name none.

    If any id is `unknown`, nothing was written.
    """

    added: int = 0
    grown: int = 0
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _PendingImpression:
    """An impression to be written, and its session."""

    id: str
    impression: ResolvedImpression
    eta: float
    session: str


def record_events(
    store_folder: StoreFolder, rankings: Sequence[LiveRanking], clicks: Sequence[LiveClick]
) -> LiveReport:
    """Write rankings and clicks; they are on the disk when this returns.

    Clicks on pictures that a ranking did not show are ignored, and so are unknown pictures.

    Raises
    ------
    DataError
        A ranking asks for no word, or shows no picture of the collection.
    """
    with store_folder.reader() as reader:
        present = frozenset(reader.catalogue.facts({p for r in rankings for p in r.pictures}))
    clicked: dict[str, set[int]] = defaultdict(set)
    for c in clicks:
        clicked[c.ranking].add(c.picture)
    with Judging(store_folder) as judging:
        reverted = judging.log.reverted()
        new: dict[str, ResolvedImpression] = {}
        for r in rankings:
            new.setdefault(r.id, _clicked(_resolved(r, present), clicked[r.id]))
        rows = impression_table(
            (i, x.pictures, x.ranks, x.clicked) for i, x in enumerate(new.values())
        )
        eta = estimate_bias(rows).eta
        pending = [
            _PendingImpression(name, x, eta, _session(name, reverted)) for name, x in new.items()
        ]
        unknown = []
        for name in clicked.keys() - new.keys():
            known = _in_log(name, judging.log, reverted)
            if known is None:
                unknown.append(name)
            else:
                pending.append(replace(known, impression=_clicked(known.impression, clicked[name])))
        if unknown:
            return LiveReport(unknown=tuple(sorted(unknown)))
        return _written(pending, judging, reverted)


def _resolved(r: LiveRanking, present: frozenset[int]) -> ResolvedImpression:
    """Return a ranking as the log has lists; a picture that is not here leaves its place empty."""
    query = words_of(r.query)
    if not query:
        raise DataError(f"The ranking {r.id!r:.60} has a query without words. Send what was typed.")
    pictures = tuple(dict.fromkeys(r.pictures))
    at = {p: r.pictures.index(p) + 1 for p in pictures if p in present}
    if not at:
        raise DataError(f"The ranking {r.id!r:.60} shows no picture of this collection.")
    key = list_key(metarank.NAME, r.id, r.query, [str(p) for p in pictures])
    return ResolvedImpression(query, tuple(at), tuple(at.values()), (), key)


def _clicked(x: ResolvedImpression, pictures: set[int]) -> ResolvedImpression:
    return replace(x, clicked=tuple(p for p in x.pictures if p in pictures))


def _session(ranking: str, reverted: frozenset[str]) -> str:
    """Return the session of a ranking: the same for the same id, until it is reverted."""
    digest = hashlib.sha256(ranking.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    name, n = f"{SOURCE}-{digest}", 1
    while name in reverted:
        n += 1
        name = f"{SOURCE}-{digest}-{n}"
    return name


def _in_log(ranking: str, log: EventLog, reverted: frozenset[str]) -> _PendingImpression | None:
    """Return the last list that was sent under an id and stands."""
    session = _session(ranking, reverted)
    for e in reversed(list(log.read(kinds=["clicked"], session=session))):
        if e.body.get("ranking") == ranking and e.key is not None:
            return _read(ranking, session, e, e.key)
    return None


def _read(ranking: str, session: str, e: Event, key: str) -> _PendingImpression:
    x = clicked_list(e)
    impression = ResolvedImpression(x.query, x.pictures, x.ranks, (), key.split(":")[1])
    return _PendingImpression(ranking, impression, x.eta, session)


def _written(
    pending: Sequence[_PendingImpression], judging: Judging, reverted: frozenset[str]
) -> LiveReport:
    added: set[str] = set()
    grown: set[str] = set()
    while pending:
        events: list[tuple[_PendingImpression, NewEvent]] = []
        for p in pending:
            key, known = known_clicks(p.impression.key, judging.log, reverted)
            if known is None:
                added.add(p.id)
            elif not known.issuperset(p.impression.clicked):
                grown.add(p.id)
            elif _in_log(p.id, judging.log, reverted) is not None:
                continue  # One known from a file alone is written too, to be found by its id.
            body: dict[str, Json] = {**body_of(p.impression, p.eta), "ranking": p.id}
            events.append((p, NewEvent("clicked", None, body, p.session, key)))
        written = judging.append([event for _, event in events])
        # Other processes write too: the first to use a key keeps it, and the next key is tried.
        pairs = zip(events, written, strict=True)
        pending = [p for (p, e), s in pairs if (s.session, s.body) != (e.session, e.body)]
    return LiveReport(len(added), len(grown - added))
