"""Impressions and their clicks, joined from the records of a log.

The query, the ranking and the clicks of an impression may come in any order and in several files. A
click alone cannot be learned from: it says neither what it was preferred to, nor how likely the
other pictures were examined.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sightline.errors import DataError
from sightline.records import shown as shown_path

# Actions that count as clicks; all others are counted by name and left out.
CLICKS = frozenset(
    ("click", "click_through", "clickthrough", "watch", "download", "like", "add_to_cart",
     "purchase")
)  # fmt: skip
MAX_LISTS = 500_000
MAX_PLACES = 5_000_000
MAX_SHOWN = 1_000
_MAX_NAME = 4_096
_NAMED = 1_000


@dataclass(frozen=True, slots=True)
class Impression:
    """A ranking of pictures that was shown for a query, and its clicks.

    Attributes
    ----------
    query : str
        The query, as it was typed.
    shown : tuple of str
        Names of the pictures, by rank.
    ranks : tuple of int
        The rank of each, from 1 on.
    clicked : tuple of str
        Names of the clicked pictures, in the order of the list.
    key : str
        The same for the same impression in any copy of the log.
    file : int
        Index of the file that has the impression.
    """

    query: str
    shown: tuple[str, ...]
    ranks: tuple[int, ...]
    clicked: tuple[str, ...]
    key: str
    file: int = 0


class LogPlace(NamedTuple):
    """The file and line of a record."""

    file: int
    line: int


@dataclass(slots=True)
class SkippedEvents:
    """Records that could not be used: counts by reason, and the first thousand by line."""

    files: Sequence[str]
    counts: Counter[str] = field(default_factory=Counter)
    named: list[str] = field(default_factory=list)

    def skip(self, reason: str, place: LogPlace | None = None, detail: str = "") -> None:
        """Count a skipped record by its reason, and note its file and line."""
        self.counts[reason] += 1
        if place is not None and len(self.named) < _NAMED:
            name = shown_path(os.path.basename(os.fsencode(self.files[place.file])))
            self.named.append(f"{name}, line {place.line}: {detail or reason}")


@dataclass(slots=True)
class _PartialImpression:
    """The records of an impression so far.

    `names` were shown at `ranks` according to the query; `at` has the picture at each rank
    according to impression events.
    """

    place: LogPlace
    query: str | None = None
    names: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    at: dict[int, str] = field(default_factory=dict)


class LogJoiner:
    """Joins records, in any order, to impressions with their clicks."""

    def __init__(self, skipped: SkippedEvents) -> None:
        self.skipped = skipped
        self.n_clicks = 0
        self._lists: dict[tuple[str, str], _PartialImpression] = {}
        self._clicks: dict[tuple[str, str], dict[str, int | None]] = {}
        # Most names occur in many impressions; each is stored once.
        self._names: dict[str, str] = {}
        self._places = 0

    def add_query(
        self, form: str, key: str, query: str, names: Sequence[object], place: LogPlace
    ) -> None:
        """Add a query, and the names that were shown, in order.

        A name that cannot be used leaves its rank empty; the others keep theirs.
        """
        listed = self._lists.get((form, key))
        if listed is not None and listed.query is not None:
            self.skipped.skip("list given twice", place, f"the list {key!r:.60} was given before")
            return
        placed = [(n, k) for k, n in enumerate(map(self._name, names[:MAX_SHOWN]), 1) if n]
        if len(placed) < len(names[:MAX_SHOWN]):
            self.skipped.skip("name that is no text or number", place)
        if len(names) > MAX_SHOWN:
            self.skipped.skip(f"end of a list longer than {MAX_SHOWN}", place)
        first: dict[str, int] = {}
        for name, rank in placed:
            first.setdefault(name, rank)
        if len(first) < len(placed):
            self.skipped.skip("picture twice in a list", place)
        self._count(len(first))
        at = listed.at if listed is not None else {}
        self._lists[form, key] = _PartialImpression(
            place, query, tuple(first), tuple(first.values()), at
        )

    def add_impression(
        self, form: str, key: str, name: object, rank: object, place: LogPlace
    ) -> None:
        """Add that one picture was shown, and its rank."""
        picture = self._name(name)
        if not picture:
            self.skipped.skip("name that is no text or number", place)
        elif isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= 1_000_000:
            self.skipped.skip(
                "place that is no whole number from 1 on", place,
                f"a place must be a whole number from 1 on. Got {rank!r:.40}",
            )  # fmt: skip
        else:
            at = self._lists.setdefault((form, key), _PartialImpression(place)).at
            if at.setdefault(rank, picture) != picture:
                self.skipped.skip(
                    "place taken twice", place, f"place {rank} of {key!r:.60} has a picture already"
                )
            self._count(1)

    def add_click(
        self, form: str, key: str, name: object, place: LogPlace, rank: object = None
    ) -> None:
        """Add a click; `rank` is the picture's rank, if the record has it."""
        picture = self._name(name)
        if not picture:
            self.skipped.skip("name that is no text or number", place)
            return
        clicks = self._clicks.setdefault((form, key), {})
        if picture in clicks:
            self.skipped.skip("picture clicked again")
            return
        clicks[picture] = rank if isinstance(rank, int) and not isinstance(rank, bool) else None
        self.n_clicks += 1
        self._count(1)

    def impressions(self) -> Iterator[Impression]:
        """Yield the impressions, in the order of their first records."""
        for key, partial in self._lists.items():
            clicks = self._clicks.pop(key, {})
            if partial.query is None:
                self.skipped.skip("list without a query", partial.place)
                continue
            ranks, names = _ranked(partial, self.skipped)
            if not names:
                self.skipped.skip("list of nothing", partial.place)
                continue
            self._not_shown(clicks, ranks, names)
            clicked = tuple(n for n in names if n in clicks)
            yield Impression(
                partial.query, names, ranks, clicked, _key(key, partial), partial.place.file
            )
        for clicks in self._clicks.values():
            self.skipped.counts["click without a list"] += len(clicks)

    def _not_shown(
        self, clicks: dict[str, int | None], ranks: Sequence[int], names: Sequence[str]
    ) -> None:
        at = dict(zip(names, ranks, strict=True))
        for name, rank in clicks.items():
            if name not in at:
                self.skipped.skip("click on what was not shown")
            elif rank is not None and rank != at[name]:
                # The list is more reliable: the same program wrote all of it at once.
                self.skipped.skip("click that was counted at another place than the list has it")

    def _name(self, name: object) -> str:
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if not isinstance(name, str) or not 0 < len(name.strip()) <= _MAX_NAME:
            return ""
        return self._names.setdefault(name, name)

    def _count(self, places: int) -> None:
        self._places += places
        if len(self._lists) > MAX_LISTS or self._places > MAX_PLACES:
            raise DataError(
                f"The log has more than {MAX_LISTS:,} lists or {MAX_PLACES:,} places in them, "
                "which is more than is read at once. Split it into several files, and keep the "
                "records of a list together."
            )


def _ranked(
    partial: _PartialImpression, skipped: SkippedEvents
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return ranks and names: of impression events if there are any, else of the query."""
    if not partial.at:
        return partial.ranks, partial.names
    first: dict[str, int] = {}
    for rank in sorted(partial.at):
        if first.setdefault(partial.at[rank], rank) != rank:
            skipped.skip("picture twice in a list", partial.place)
    return tuple(first.values()), tuple(first)


def _key(key: tuple[str, str], partial: _PartialImpression) -> str:
    parts = partial.names or tuple(f"{k}:{n}" for k, n in sorted(partial.at.items()))
    return list_key(*key, partial.query or "", parts)


def list_key(form: str, key: str, query: str, names: Sequence[str]) -> str:
    """Return a key that is the same for the same impression in any copy of a log.

    The key in the log is not enough, since other logs may use the same numbers: query and ranking
    are part of it.
    """
    text = "\0".join([form, key, query, *names]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]
