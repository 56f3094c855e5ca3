"""Taking a click log in: its lists become events, each once, under a session for each file.

What is kept are the facts, which pictures were shown where and which were clicked, with how fast
looking fades down the list (eta). What they are worth is worked out whenever something is learnt.
A list that was taken in before, from any file, is not taken in again unless its session was
reverted since, or it has more clicks now (`standing`).
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sightline.collection.clicks.deduplication import SOURCE, known_clicks
from sightline.collection.clicks.names import Names
from sightline.contracts import Json, Progress
from sightline.errors import DataError, Interrupted, ParameterError, QueryError
from sightline.exchange.clicklogs import ClickLog, read_clicks
from sightline.exchange.impressions import Impression
from sightline.solvers.clicks import count_skipped_above, shown
from sightline.solvers.propensity import HIGHEST, PositionBias, estimate_bias
from sightline.store.events import EventLog, NewEvent
from sightline.store.home import Home
from sightline.store.writer import Judging
from sightline.words.grammar import Query, Term, parse
from sightline.words.tokens import tokens

_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class ClicksReport:
    """What became of a click log.

    Attributes
    ----------
    files, formats, sessions : tuple of str
        Of each file its name, its format and the session of its lists, if it has any.
    written : tuple of str
        Those of the sessions that were given lists now.
    lists, clicks, queries : int
        What was read that can be used.
    added : int
        Lists that are new here; with a dry run, that would be.
    grown : int
        Lists that were known with fewer clicks; the new ones were added, or would be.
    pairs : int
        Pictures clicked over ones skipped above them.
    bias : PositionBias
        How fast looking fades down a list, and how that is known.
    skipped : dict
        How often something was left out, by reason.
    problems : tuple of str
        Lines that could not be used, the first thousand.
    unknown, gone : tuple of str
        The most frequent names that are no picture's, and those of pictures that are gone;
        `n_unknown` and `n_gone` count all of them.
    dry_run : bool
        Whether nothing was written.
    """

    files: tuple[str, ...]
    formats: tuple[str, ...]
    sessions: tuple[str, ...]
    written: tuple[str, ...]
    lists: int
    clicks: int
    queries: int
    added: int
    grown: int
    pairs: int
    bias: PositionBias
    skipped: dict[str, int]
    problems: tuple[str, ...]
    unknown: tuple[str, ...]
    n_unknown: int
    gone: tuple[str, ...]
    n_gone: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class ResolvedImpression:
    """A list of pictures of this collection; `file` is its place among those that were read."""

    query: str
    pictures: tuple[int, ...]
    ranks: tuple[int, ...]
    clicked: tuple[int, ...]
    key: str
    file: int = 0


def import_clicks(
    home: Home,
    root: bytes,
    paths: Sequence[str],
    eta: float | None,
    dry_run: bool,
    progress: Progress,
) -> ClicksReport:
    """Read files as one click log and keep its lists; eta is estimated where it is None.

    Raises
    ------
    DataError
        There is nothing in the files to learn from.
    """
    _check_eta(eta)
    with home.reader() as reader:
        names = Names(reader.catalogue, root)
    log = _read(paths, progress)
    skipped = Counter(log.skipped.counts)
    lists = list(_known_lists(log.impressions, names, skipped))
    if not any(x.clicked for x in lists):
        raise DataError(_nothing_left(log, names, skipped))
    numbers: dict[str, int] = {}
    rows = shown(
        (numbers.setdefault(x.query, len(numbers)), x.pictures, x.ranks, x.clicked) for x in lists
    )
    bias = estimate_bias(rows) if eta is None else PositionBias(eta, "given")
    with contextlib.closing(EventLog(home.events, write=False)) as events:
        reverted = events.reverted()
        sessions = tuple(_session(path, reverted) for path in paths)
        added, grown = _new_events(lists, sessions, bias.eta, events, reverted)
    new = [*added, *grown]
    if new and not dry_run:
        _write(home, new, progress)
    return ClicksReport(
        files=tuple(paths), formats=log.formats, sessions=sessions,
        written=() if dry_run else _sessions_of(new), lists=len(lists),
        clicks=sum(len(x.clicked) for x in lists), queries=len(numbers), added=len(added),
        grown=len(grown), pairs=count_skipped_above(rows), bias=bias,
        skipped=dict(skipped.most_common()),
        problems=tuple(log.skipped.named), unknown=names.unknown.first(),
        n_unknown=len(names.unknown),
        gone=names.gone.first(), n_gone=len(names.gone), dry_run=dry_run,
    )  # fmt: skip


def _check_eta(eta: float | None) -> None:
    if eta is not None and not (math.isfinite(eta) and 0 <= eta <= HIGHEST):
        raise ParameterError.of("eta", "import clicks", f"from 0 to {HIGHEST:g}, or 'auto'", eta)


def _read(paths: Sequence[str], progress: Progress) -> ClickLog:
    sizes = [os.stat(p).st_size if os.path.isfile(p) else 0 for p in paths]
    progress.start("read", sum(sizes))
    log = read_clicks(paths, progress.advance)
    progress.finish()
    return log


def _known_lists(
    impressions: Sequence[Impression], names: Names, skipped: Counter[str]
) -> Iterator[ResolvedImpression]:
    """Yield the lists that ask for words and show pictures of this collection.

    A picture that is not here leaves its place empty: the others stood where they stood.
    """
    # Reading a query costs more than all else here, and most are asked many times.
    words: dict[str, str] = {}
    for i in impressions:
        if i.query not in words:
            words[i.query] = words_of(i.query)
        query = words[i.query]
        ranks: dict[int, int] = {}
        clicks: set[int] = set()
        lost = 0
        for name, rank in zip(i.shown, i.ranks, strict=True):
            picture = names.find(name)
            if picture is not None:
                ranks.setdefault(picture, rank)
                # Under its second name too, it is the picture that was clicked.
                clicks.update([picture] if name in i.clicked else [])
            else:
                lost += name in i.clicked
        if not query:
            skipped["query without words"] += 1
        elif not ranks:
            skipped["list without a picture of this collection"] += 1
        else:
            skipped["click on a picture that is not here"] += lost
            clicked = tuple(p for p in ranks if p in clicks)
            yield ResolvedImpression(
                query, tuple(ranks), tuple(ranks.values()), clicked, i.key, i.file
            )
    for reason in [r for r, n in skipped.items() if not n]:
        del skipped[reason]


def words_of(query: str) -> str:
    """Return the words a query asks for, as it would be typed here; "" if there are none.

    >>> words_of('Red "Golden Gate" -people 2:sea'), words_of("t-shirt -"), words_of("?")
    ('red "golden gate" sea', 't shirt', '')
    """
    try:
        wanted = [t.text for t in parse(query).wanted]
    except QueryError:
        # It was typed into another search box, where signs may mean nothing.
        wanted = list(dict.fromkeys(tokens(query[:1000])))[:32]
    return str(Query(tuple(map(Term, dict.fromkeys(wanted)))))


def _nothing_left(log: ClickLog, names: Names, skipped: Counter[str]) -> str:
    why = "; ".join(f"{n} times: {reason}" for reason, n in skipped.most_common(3))
    said = f"Of {len(log.impressions)} lists none has a click on a picture of this collection"
    said += f" ({why})" if why else ""
    first = names.unknown.first()[:1] or names.gone.first()[:1]
    if first:
        said += f". The first name that is no picture's: {first[0]}. Pictures are found by path in "
        said += "the collection, by file name or by id"
    return said + "."


def _session(path: str, reverted: frozenset[str]) -> str:
    """Return the session of a file: the same for the same content, until it is reverted."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    name, n = f"{SOURCE}-{digest}", 1
    while name in reverted:
        n += 1
        name = f"{SOURCE}-{digest}-{n}"
    return name


def _new_events(
    lists: Sequence[ResolvedImpression],
    sessions: Sequence[str],
    eta: float,
    log: EventLog,
    reverted: frozenset[str],
) -> tuple[list[NewEvent], list[NewEvent]]:
    """Return an event for each list that does not stand, and for each that has more clicks now."""
    added: list[NewEvent] = []
    grown: list[NewEvent] = []
    for x in lists:
        key, known = known_clicks(x.key, log, reverted)
        if known is None or not known.issuperset(x.clicked):
            event = NewEvent("clicked", None, body_of(x, eta), sessions[x.file], key)
            (added if known is None else grown).append(event)
    return added, grown


def _sessions_of(events: Sequence[NewEvent]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(e.session for e in events if e.session is not None))


def body_of(x: ResolvedImpression, eta: float) -> dict[str, Json]:
    """Return what the log keeps of a list."""
    body: dict[str, Json] = {
        "query": x.query, "pictures": list(x.pictures), "clicked": list(x.clicked),
        "eta": round(eta, 4), "source": SOURCE,
    }  # fmt: skip
    if x.ranks != tuple(range(1, len(x.ranks) + 1)):
        body["ranks"] = list(x.ranks)
    return body


def _write(home: Home, events: Sequence[NewEvent], progress: Progress) -> None:
    progress.start("write", len(events))
    written = 0
    try:
        with Judging(home) as judging:
            for begin in range(0, len(events), _BATCH):
                some = events[begin : begin + _BATCH]
                judging.append(some)
                written += len(some)
                progress.advance(len(some))
    except KeyboardInterrupt:
        raise Interrupted(
            f"Stopped. {written} of {len(events)} lists are kept; run it again for the others."
        ) from None
    progress.finish()
