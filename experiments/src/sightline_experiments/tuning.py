"""Choosing settings in stages: how experiments try settings on what is kept for validation.

A stage tries some changes to the best settings so far and keeps the best of them. Stages that are
tried `once` choose on the first part of an experiment (a split, a fold), and what they chose holds
for all parts; the others choose anew on each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from sightline.contracts import Json

Settings = dict[str, Json]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stage:
    """Changes to try; `once` on the first part alone."""

    changes: tuple[Mapping[str, Json], ...]
    once: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """Where to begin, and the stages from there.

    >>> tenfold = Search({"C": 1.0}, (tried("C", 0.1, 10.0),))
    >>> chosen = Choice(tenfold).best(lambda s: s, lambda s: -float(str(s["C"])), first=True)
    >>> chosen
    {'C': 0.1}
    """

    start: Mapping[str, Json]
    stages: tuple[Stage, ...] = ()


def tried(name: str, *values: Json, one_shot: bool = False) -> Stage:
    """Return a stage that tries some values of one setting."""
    return Stage(tuple({name: v} for v in values), one_shot)


def settings_text(settings: Mapping[str, Json]) -> str:
    """Return settings in one line.

    >>> settings_text({"law": "queries", "C": 0.1})
    'law=queries, C=0.1'
    """
    return ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}"
                     for k, v in settings.items())  # fmt: skip


class Choice(Generic[T]):
    """Goes through a search, on one part after the other, and remembers what holds for all."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._fixed: Settings = {}

    def best(self, attempt: Callable[[Settings], T], worth: Callable[[T], float], first: bool) -> T:
        """Return the best attempt on a part; of equals the one that came first.

        Settings that were attempted before on the part are not attempted again: they cannot be
        better than the best so far.

        Parameters
        ----------
        attempt : fits with settings.
        worth : of an attempt; more is better.
        first : whether this is the first part.
        """
        settings: Settings = {**self.search.start, **self._fixed}
        best, attempted = attempt(settings), [settings]
        for stage in self.search.stages:
            if stage.once and not first:
                continue
            start = settings
            for change in stage.changes:
                changed = {**start, **change}
                if changed in attempted:
                    continue
                attempted.append(changed)
                result = attempt(changed)
                if worth(result) > worth(best):
                    best, settings = result, changed
        if first:
            once = {k for s in self.search.stages if s.once for c in s.changes for k in c}
            self._fixed = {k: v for k, v in settings.items() if k in once}
        return best


def without_stages(
    searches: Mapping[str, Search], changes: Mapping[str, Mapping[str, Json]] | None = None
) -> dict[str, Search]:
    """Return searches that try their first settings alone, for quick runs; some of them changed.

    >>> short = without_stages({"PA": Search({"C": 1.0}, (tried("C", 0.1),))}, {"PA": {"n": 5}})
    >>> short["PA"].start, short["PA"].stages
    ({'C': 1.0, 'n': 5}, ())
    """
    return {
        name: Search({**search.start, **(changes or {}).get(name, {})})
        for name, search in searches.items()
    }
