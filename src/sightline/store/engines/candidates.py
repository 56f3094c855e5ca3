"""Answers by an engine: it names candidates, which are scored by the store's own rows.

Whatever an engine returns, a hit is a live picture that filters let through, with the score the
flat scan gives it, and ties are broken by id. The only mistake an engine can make is to miss a
picture; so it is asked for more as long as one it did not name could still be among the best.
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
from sightline.store.engines.tables import EngineTable, Measure, Published, weights_of

# Below this share of the rows a filter is selective: the rows it leaves are scanned one by one.
SELECTIVE = 0.1
_SPARE = 16
# How many candidates are named for each hit: by exact rows, and by rows that were rounded.
TIMES, TIMES_ROUNDED = 1.25, 4.0
_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """The candidates of an engine.

    Attributes
    ----------
    ids : ndarray of int64
        The pictures it named.
    bound : float
        The highest score that a picture it did not name can have; -inf if it named all.
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
        score_words: word_rows.ScoreWords | None = None,
        without: Ints | None = None,
    ) -> Top | None:
        """Return the k best pictures, or None where the store's own rows have to be scanned."""
        ...

    def begin(self) -> None:
        """Clear the notices about this thread's last answer."""
        ...

    def notice(self) -> str:
        """Return notices about where this thread's answers came from; empty if there are none."""
        ...


class Notices:
    """Notices about the answers of each thread."""

    def __init__(self) -> None:
        self._thread = threading.local()

    def begin(self) -> None:
        """Clear the notices about this thread's last answer."""
        self._thread.notes = []

    def notice(self) -> str:
        """Return notices about where this thread's answers came from; empty if there are none."""
        return " ".join(dict.fromkeys(getattr(self._thread, "notes", [])))

    def note(self, text: str) -> None:
        """Add a notice to the current answer."""
        self._thread.notes = [*getattr(self._thread, "notes", []), text]


def measure_of(query: DenseQuery | SparseQuery | WordQuery) -> Measure | None:
    """Return the measure a query ranks by; None where engines never answer it."""
    if isinstance(query, DenseQuery):
        return query.by
    return "words" if isinstance(query, WordQuery) else None


def selective(table: EngineTable, where: Ints | None) -> bool:
    """Return whether a filter leaves so few rows that scanning just those is best."""
    return where is not None and len(where) < SELECTIVE * table.rows


def n_candidates(k: int, times: float = TIMES) -> int:
    """Return how many candidates an engine is first asked for where k hits are wanted."""
    return int(times * k) + _SPARE


def dense_top(
    p: Published,
    query: DenseQuery,
    k: int,
    where: Ints | None,
    ask: Ask,
    limit: int,
    times: float = TIMES,
) -> Top | None:
    """Return the k best pictures among an engine's candidates; None where it cannot name enough."""

    def ranked(ids: Ints) -> Top:
        return flat.dense_top(p.segments, query, k, ids)

    factor = times * _factor(p, where)
    return _ask_until_enough(ranked, k, factor, _filtered(ask, where), limit)


def word_top(
    p: Published,
    query: WordQuery,
    k: int,
    where: Ints | None,
    without: Ints | None,
    ask: Ask,
    limit: int,
) -> Top | None:
    """Return the k best pictures for words.

    The score of a picture that has a word is not the model's, so all pictures with a word
    are scored here, by their words alone.
    """
    tagged = _tagged(p, np.concatenate([*query.groups, np.zeros(0, np.int64)]))
    if where is not None:
        tagged = np.intersect1d(tagged, where)

    def ranked(ids: Ints) -> Top:
        ids = np.union1d(ids, tagged)
        return word_rows.word_top(p.segments, p.model, query, k, ids, without=without)

    factor = TIMES * _factor(p, where)
    return _ask_until_enough(ranked, k, factor, _filtered(ask, where), limit)


def _factor(p: Published, where: Ints | None) -> float:
    """Return how many pictures must be named for each one that a filter lets through."""
    live = sum(s.live for s in p.listed)
    return 1.0 if where is None else max(1.0, live / max(1, len(where)))


def _filtered(ask: Ask, where: Ints | None) -> Ask:
    def ask_filtered(n: int) -> Named:
        named = ask(n)
        ids = np.unique(named.ids)
        allowed = ids if where is None else np.intersect1d(ids, where, assume_unique=True)
        return Named(allowed, named.bound)

    return ask_filtered


def _ask_until_enough(
    ranked: Callable[[Ints], Top], k: int, factor: float, ask: Ask, limit: int
) -> Top | None:
    """Ask for more until no picture that was not named can be among the k best."""
    n = n_candidates(k, factor)
    while n <= limit:
        named = ask(n)
        top = ranked(named.ids)
        if named.bound == -np.inf:
            return top
        if len(top.ids) == k and top.scores[-1] > named.bound + _tolerance(named.bound, top):
            return top
        n *= 4
    return None


def _tolerance(bound: float, top: Top) -> float:
    """Return the tolerance between an engine's scores and a scan's."""
    return _TOLERANCE * max(abs(bound), abs(float(top.scores[0])))


def _tagged(p: Published, terms: Ints) -> Ints:
    ids = [s.ids[s.postings(t)] for s in p.segments for t in terms.tolist()]
    return np.unique(np.concatenate([*ids, np.zeros(0, np.int64)]))


def engine_query(
    p: Published, query: DenseQuery | SparseQuery | WordQuery
) -> tuple[EngineTable, Floats] | None:
    """Return the table that answers a query, and the weights over its rows; None if none does."""
    by = measure_of(query)
    if by is None or isinstance(query, SparseQuery):
        return None
    feature = query.feature if isinstance(query, DenseQuery) else p.model
    table = p.table(feature, by)
    if not table.length or not table.rows:
        return None
    weights = weights_of(p, table, query)
    if weights is None or weights.shape != (table.length,) or not np.isfinite(weights).all():
        return None
    return table, weights
