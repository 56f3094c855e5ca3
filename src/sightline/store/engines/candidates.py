"""Answers by an engine: it names candidates, and their scores are those of the rows at home.

Whatever an engine says, a hit is a live picture that filters let through, with the score the flat
scan gives it, and ties are broken by id. What an engine can get wrong is only to miss a picture; so
it is asked for more as long as one it did not name could still belong among the best.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sightline._typing import Floats, Ints
from sightline.records import DenseQuery, SparseQuery, Top, WordQuery
from sightline.store.engines import flat, word_rows
from sightline.store.engines.views import EngineTable, Measure, Published, weights_of

# Below this share of the rows a filter is selective: the rows it leaves are looked at one by one.
SELECTIVE = 0.1
_SPARE = 16
_CLOSE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """What an engine found, and the most that a picture it did not name can score.

    That is -inf if it named all there are.
    """

    ids: Ints
    bound: float


Ask = Callable[[int], Named]


class Engine(Protocol):
    """Ranks the tables of a version; what it cannot answer is answered by the flat scan."""

    name: str

    def top(
        self,
        p: Published,
        query: DenseQuery | SparseQuery | WordQuery,
        k: int,
        where: Ints | None,
        more: word_rows.More | None = None,
        without: Ints | None = None,
    ) -> Top | None:
        """Return the k best pictures, or None where the rows at home are to be scanned."""
        ...

    def begin(self) -> None:
        """Forget what there was to say of the last answer of this thread."""
        ...

    def notice(self) -> str:
        """Return what there is to say of where this thread's answers came from; mostly nothing."""
        ...


class Notices:
    """What there is to say of the answers of each thread."""

    def __init__(self) -> None:
        self._said = threading.local()

    def begin(self) -> None:
        """Forget what there was to say of the last answer of this thread."""
        self._said.notes = []

    def notice(self) -> str:
        """Return what there is to say of where this thread's answers came from; mostly nothing."""
        return " ".join(dict.fromkeys(getattr(self._said, "notes", [])))

    def note(self, text: str) -> None:
        """Say something of the answer that is being given."""
        self._said.notes = [*getattr(self._said, "notes", []), text]


def measure_of(query: DenseQuery | SparseQuery | WordQuery) -> Measure | None:
    """Return what a query ranks by; None where that is never an engine's."""
    if isinstance(query, DenseQuery):
        return query.by
    return "words" if isinstance(query, WordQuery) else None


def selective(view: EngineTable, where: Ints | None) -> bool:
    """Return whether a filter leaves so few rows that they are best looked at one by one."""
    return where is not None and len(where) < SELECTIVE * view.rows


def dense_top(
    p: Published, query: DenseQuery, k: int, where: Ints | None, ask: Ask, most: int
) -> Top | None:
    """Return the k best pictures by what an engine names; None where it cannot name enough."""

    def ranked(ids: Ints) -> Top:
        return flat.dense_top(p.segments, query, k, ids)

    return _grown(ranked, k, _factor(p, where), _filtered(ask, where), most)


def word_top(
    p: Published,
    query: WordQuery,
    k: int,
    where: Ints | None,
    without: Ints | None,
    ask: Ask,
    most: int,
) -> Top | None:
    """Return the k best pictures for words.

    A picture that carries a word scores otherwise than the model says, and so all carriers are
    looked at, which takes no more than the words they carry.
    """
    carriers = _carriers(p, query.terms)
    if where is not None:
        carriers = np.intersect1d(carriers, where)

    def ranked(ids: Ints) -> Top:
        ids = np.union1d(ids, carriers)
        return word_rows.word_top(p.segments, p.model, query, k, ids, without=without)

    return _grown(ranked, k, _factor(p, where), _filtered(ask, where), most)


def _factor(p: Published, where: Ints | None) -> float:
    """Return how many pictures have to be named for one that a filter lets through."""
    live = sum(s.live for s in p.listed)
    return 1.0 if where is None else max(1.0, live / max(1, len(where)))


def _filtered(ask: Ask, where: Ints | None) -> Ask:
    def asked(n: int) -> Named:
        found = ask(n)
        ids = np.unique(found.ids)
        kept = ids if where is None else np.intersect1d(ids, where, assume_unique=True)
        return Named(kept, found.bound)

    return asked


def _grown(ranked: Callable[[Ints], Top], k: int, factor: float, ask: Ask, most: int) -> Top | None:
    """Ask for more until nothing that was not named can belong among the k best."""
    n = int(factor * k * 1.25) + _SPARE
    while n <= most:
        named = ask(n)
        top = ranked(named.ids)
        if named.bound == -np.inf:
            return top
        if len(top.ids) == k and top.scores[-1] > named.bound + _close(named.bound, top):
            return top
        n *= 4
    return None


def _close(bound: float, top: Top) -> float:
    """Return by how much scores may differ that are the same, an engine's and a scan's."""
    return _CLOSE * max(abs(bound), abs(float(top.scores[0])))


def _carriers(p: Published, terms: Ints) -> Ints:
    found = [s.ids[s.carriers(t)] for s in p.segments for t in terms.tolist()]
    return np.unique(np.concatenate([*found, np.zeros(0, np.int64)]))


def engine_query(
    p: Published, query: DenseQuery | SparseQuery | WordQuery
) -> tuple[EngineTable, Floats] | None:
    """Return the table that answers a query and the weights over it; None if there is none."""
    by = measure_of(query)
    if by is None or isinstance(query, SparseQuery):
        return None
    feature = query.feature if isinstance(query, DenseQuery) else p.model
    view = p.view(feature, by)
    if not view.length or not view.rows:
        return None
    weights = weights_of(p, view, query)
    if weights is None or weights.shape != (view.length,) or not np.isfinite(weights).all():
        return None
    return view, weights
