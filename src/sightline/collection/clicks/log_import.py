"""Import of a click log: each impression becomes an event, once, in a session for each file.

The log keeps the facts: which pictures were shown at which rank, which were clicked, and the
strength of position bias (eta). Grades are computed from them whenever something is learned. An
impression that was imported before, from any file, is not imported again unless its session was
reverted since, or it has more clicks now (`deduplication`).
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sightline import records
from sightline.collection.clicks.deduplication import SOURCE, known_clicks
from sightline.contracts import Json, Progress
from sightline.errors import DataError, Interrupted, ParameterError, QueryError
from sightline.exchange.clicklogs import ClickLog, read_clicks
from sightline.exchange.impressions import Impression
from sightline.pictures.tables import inside_of, roots_of
from sightline.solvers.clicks import count_skipped_above, impression_table
from sightline.solvers.propensity import HIGHEST, PositionBias, estimate_bias
from sightline.store.catalogue import Catalogue
from sightline.store.events import EventLog, NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Judging
from sightline.words.grammar import Query, Term, parse
from sightline.words.tokens import tokens

_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class ClicksReport:
    """The report of an import.

    Attributes
    ----------
    files, formats, sessions : tuple of str
        Of each file its name, its format and the session of its impressions, if it has any.
    written : tuple of str
        The sessions that got impressions now.
    lists, clicks, queries : int
        What can be used of the files.
    added : int
        Impressions that are new; in a dry run, that would be.
    grown : int
        Impressions that were known with fewer clicks; the new clicks were added, or would be.
    pairs : int
        Pairs of a clicked picture and one skipped above it.
    bias : PositionBias
        The position bias, and how it is known.
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

    def to_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        b = self.bias
        estimated = b.how in ("swaps", "rank changes")
        return {
            "files": [
                # A file of clicks alone has no session: its clicks belong to lists of others.
                {"file": f, "format": form, "session": s if s in self.written else None}
                for f, form, s in zip(self.files, self.formats, self.sessions, strict=True)
            ],
            "lists": self.lists, "clicks": self.clicks, "queries": self.queries,
            "pairs": self.pairs, "added": self.added, "grown": self.grown,
            "dry_run": self.dry_run,
            "eta": {
                "value": b.eta, "how": b.how, "error": b.error if estimated else None,
                "clicks": b.clicks,
            },
            "skipped": dict(self.skipped), "problems": list[Json](self.problems),
            "unknown": {"names": list[Json](self.unknown), "count": self.n_unknown},
            "gone": {"names": list[Json](self.gone), "count": self.n_gone},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ResolvedImpression:
    """An impression with ids of this collection; `file` is the position of its file."""

    query: str
    pictures: tuple[int, ...]
    ranks: tuple[int, ...]
    clicked: tuple[int, ...]
    key: str
    file: int = 0


def import_clicks(
    store_folder: StoreFolder,
    root: bytes,
    paths: Sequence[str],
    eta: float | None,
    dry_run: bool,
    progress: Progress,
) -> ClicksReport:
    """Read files as one click log and record its impressions; None has eta estimated.

    Raises
    ------
    DataError
        There is nothing in the files to learn from.
    """
    _check_eta(eta)
    with store_folder.reader() as reader:
        names = PictureNames(reader.catalogue, root)
    log = _read(paths, progress)
    skipped = Counter(log.skipped.counts)
    lists = list(_known_lists(log.impressions, names, skipped))
    if not any(x.clicked for x in lists):
        raise DataError(_nothing_left(log, names, skipped))
    numbers: dict[str, int] = {}
    rows = impression_table(
        (numbers.setdefault(x.query, len(numbers)), x.pictures, x.ranks, x.clicked) for x in lists
    )
    bias = estimate_bias(rows) if eta is None else PositionBias(eta, "given")
    with contextlib.closing(EventLog(store_folder.events, write=False)) as events:
        reverted = events.reverted()
        sessions = tuple(_session(path, reverted) for path in paths)
        added, grown = _new_events(lists, sessions, bias.eta, events, reverted)
    new = [*added, *grown]
    if new and not dry_run:
        _write(store_folder, new, progress)
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
    impressions: Sequence[Impression], names: PictureNames, skipped: Counter[str]
) -> Iterator[ResolvedImpression]:
    """Yield the impressions with words in the query and pictures of this collection.

    A picture that is not in the collection leaves its rank empty.
    """
    # Parsing queries takes most of the time, and most occur many times.
    words: dict[str, str] = {}
    for i in impressions:
        if i.query not in words:
            words[i.query] = words_of(i.query)
        query = words[i.query]
        ranks: dict[int, int] = {}
        clicks: set[int] = set()
        lost_clicks = 0
        for name, rank in zip(i.shown, i.ranks, strict=True):
            picture = names.find(name)
            if picture is not None:
                ranks.setdefault(picture, rank)
                # A click on its second name is a click on the picture.
                clicks.update([picture] if name in i.clicked else [])
            else:
                lost_clicks += name in i.clicked
        if not query:
            skipped["query without words"] += 1
        elif not ranks:
            skipped["list without a picture of this collection"] += 1
        else:
            skipped["click on a picture that is not here"] += lost_clicks
            clicked = tuple(p for p in ranks if p in clicks)
            yield ResolvedImpression(
                query, tuple(ranks), tuple(ranks.values()), clicked, i.key, i.file
            )
    for reason in [r for r, n in skipped.items() if not n]:
        del skipped[reason]


def words_of(query: str) -> str:
    """Return the words of a query in the syntax of `search`; "" if there are none.

    >>> words_of('Red "Golden Gate" -people 2:sea'), words_of("t-shirt -"), words_of("?")
    ('red "golden gate" sea', 't shirt', '')
    """
    try:
        words = [t.text for t in parse(query).terms]
    except QueryError:
        # It is in the syntax of another program, where signs may have no meaning.
        words = list(dict.fromkeys(tokens(query[:1000])))[:32]
    return str(Query(tuple(map(Term, dict.fromkeys(words)))))


def _nothing_left(log: ClickLog, names: PictureNames, skipped: Counter[str]) -> str:
    why = "; ".join(f"{n} times: {reason}" for reason, n in skipped.most_common(3))
    message = f"Of {len(log.impressions)} lists none has a click on a picture of this collection"
    message += f" ({why})" if why else ""
    first = names.unknown.first()[:1] or names.gone.first()[:1]
    if first:
        message += (
            f". The first name that is no picture's: {first[0]}. Pictures are found by path in "
        )
        message += "the collection, by file name or by id"
    return message + "."


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
    """Return an event for each impression that is new, and for each that has more clicks now."""
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
    """Return the body of an impression's event."""
    body: dict[str, Json] = {
        "query": x.query, "pictures": list(x.pictures), "clicked": list(x.clicked),
        "eta": round(eta, 4), "source": SOURCE,
    }  # fmt: skip
    if x.ranks != tuple(range(1, len(x.ranks) + 1)):
        body["ranks"] = list(x.ranks)
    return body


def _write(store_folder: StoreFolder, events: Sequence[NewEvent], progress: Progress) -> None:
    progress.start("write", len(events))
    written = 0
    try:
        with Judging(store_folder) as judging:
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


_NAMED = 20


@dataclass(slots=True)
class UnresolvedNames:
    """Names that no picture has, with how often each occurred."""

    counts: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.counts)

    def first(self) -> tuple[str, ...]:
        """Return the most frequent ones, safe to print."""
        often = sorted(self.counts.items(), key=lambda c: (-c[1], c[0]))[:_NAMED]
        return tuple(records.shown(_bytes(name)) for name, _ in often)


class PictureNames:
    """Finds pictures by the names that other programs use.

    A path is taken from the collection, or as absolute if it lies inside; then a file name without
    a folder that only one picture has or ever had; then a number as an id. With a folder, only the
    path counts: a picture of the same file name in another folder is another one. `gone` and
    `unknown` collect the names without a picture.
    """

    def __init__(self, catalogue: Catalogue, root: bytes) -> None:
        self._roots = roots_of(root)
        self._paths = {k.path: k.picture for k in catalogue.known()}
        self._ids = frozenset(self._paths.values())
        gone = catalogue.gone()
        self._gone_paths = frozenset(path for _, path in gone)
        self._gone_names = frozenset(map(os.path.basename, self._gone_paths))
        self._names = _by_name(self._paths, self._gone_names)
        self._gone_ids = frozenset(picture for picture, _ in gone)
        self._known: dict[str, int | None] = {}
        self.gone, self.unknown = UnresolvedNames(), UnresolvedNames()

    def find(self, name: str) -> int | None:
        """Return the id of the picture, or None, which is then counted."""
        if name not in self._known:
            self._known[name] = self._find(_bytes(name))
        picture = self._known[name]
        if picture is None:
            unresolved = self.gone if self._is_gone(_bytes(name)) else self.unknown
            unresolved.counts[name] += 1
        return picture

    def _find(self, raw: bytes) -> int | None:
        if raw in self._paths:
            return self._paths[raw]
        plain = raw.strip()
        inside = inside_of(plain, self._roots)
        if inside is not None and inside in self._paths:
            return self._paths[inside]
        # With its folder, so that a name with a folder is never found by its file name.
        if inside not in self._gone_paths and plain in self._names:
            return self._names[plain]
        number = _number(plain)
        return number if number in self._ids else None

    def _is_gone(self, raw: bytes) -> bool:
        plain = raw.strip()
        return (
            inside_of(plain, self._roots) in self._gone_paths
            or plain in self._gone_names
            or _number(plain) in self._gone_ids
        )


def _by_name(paths: dict[bytes, int], gone: frozenset[bytes]) -> dict[bytes, int]:
    """Return the pictures whose file name is unique, also among pictures that are gone."""
    name_counts = Counter(os.path.basename(p) for p in paths)
    name_counts.update(gone)
    return {
        n: picture for p, picture in paths.items() if name_counts[n := os.path.basename(p)] == 1
    }


def _number(plain: bytes) -> int:
    """Return the id a name may be; -1, which none is, if it is no number."""
    return int(plain) if plain.isdigit() and len(plain) < 19 else -1


def _bytes(name: str) -> bytes:
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return name.encode("utf-8", "replace")
