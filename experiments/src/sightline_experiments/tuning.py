"""Hyperparameter search in stages, on validation data.

A stage tries some changes to the best settings so far and keeps the best. Stages that are tried
`first_split` select on the first split of an experiment, for all splits; the others select on each.
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
    """Changes to try; where `first_split`, on the first split alone."""

    changes: tuple[Mapping[str, Json], ...]
    first_split: bool = False


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
    """Runs a search on one split after the other, and keeps the one-shot stages of the first."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._fixed: Settings = {}

    def best(
        self, attempt: Callable[[Settings], T], value_of: Callable[[T], float], first: bool
    ) -> T:
        """Return the best attempt on a split; of equals the first.

        Settings are attempted once: they cannot be better than the best so far.

        Parameters
        ----------
        attempt : fits with settings.
        value_of : the measure of an attempt; more is better.
        first : whether this is the first split.
        """
        settings: Settings = {**self.search.start, **self._fixed}
        best, attempted = attempt(settings), [settings]
        for stage in self.search.stages:
            if stage.first_split and not first:
                continue
            start = settings
            for change in stage.changes:
                changed = {**start, **change}
                if changed in attempted:
                    continue
                attempted.append(changed)
                result = attempt(changed)
                if value_of(result) > value_of(best):
                    best, settings = result, changed
        if first:
            settled = {k for s in self.search.stages if s.first_split for c in s.changes for k in c}
            self._fixed = {k: v for k, v in settings.items() if k in settled}
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
