"""Search by Milvus: tables loaded by `sightline export milvus`, found by alias.

When Milvus is away, or what it holds is not what this version holds, the rows at home are scanned
in its place, which gives the same answers; each answer says so. It is asked again after a second,
and before it serves again its rows are counted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Floats, Ints
from sightline.errors import EngineAway, EngineError
from sightline.records import DenseQuery, SparseQuery, Top, WordQuery
from sightline.store.engines import candidates, coverage, word_rows
from sightline.store.engines.candidates import Named, Notices
from sightline.store.engines.milvus_tables import (
    MOST_HITS,
    Label,
    Tables,
    alias_of,
    not_another,
    of_older,
)
from sightline.store.engines.probing import Probes
from sightline.store.engines.views import MEASURES, Measure, Published, View, rows_there

RETRY = 1.0
_LOOKED_AT = 3
_CHECK = "Run: sightline store verify"
_AT_HOME = " Answered from the rows at home."


@dataclass(frozen=True, slots=True)
class Served:
    """A table that was found whole: its name, into how many lists of how many one looks, how many
    rows it has and which; `whole` if these are all, and no others."""

    table: str
    probes: Probes
    rows: int
    held: coverage.Held
    whole: bool


class MilvusEngine(Notices):
    """One Milvus, for one store.

    Parameters
    ----------
    uri : str
        `milvus://host:port`
    store : callable
        Gives the name under which the store's tables were loaded; empty if none ever were.
    measures : sequence of str, default=("cosine", "distance")
        The measures for which features were loaded.
    """

    def __init__(
        self,
        uri: str,
        store: Callable[[], str],
        measures: Sequence[Measure] = MEASURES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.name, self._store, self._measures, self._clock = uri, store, measures, clock
        self._lock = threading.Lock()
        self._tables: Tables | None = None
        self._served: dict[tuple[str, str], Served] = {}
        # Until when not to ask again, and why: of Milvus itself, or of one table.
        self._refused: dict[str, tuple[float, EngineError]] = {}
        self._away: EngineAway | None = None
        self.asked = 0

    # -- answering

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
        if isinstance(query, SparseQuery) or k < 1:
            return None
        found = candidates.engine_query(p, query)
        if found is None:
            return None
        view, weights = found
        if not self._holds(p, view) or candidates.selective(view, where):
            return None
        try:
            tables, served = self._table(p, view)
            indexed, rest = coverage.split(p, view, served.held, served.table)
            ask = self._asking(indexed, view, weights, tables, served, where)
            if isinstance(query, WordQuery):
                top = candidates.word_top(indexed, query, k, where, without, ask, MOST_HITS)
            else:
                top = candidates.dense_top(indexed, query, k, where, ask, MOST_HITS)
            if top is None:
                self.note(f"Milvus names at most {MOST_HITS} pictures.{_AT_HOME}")
            return (
                None if top is None else coverage.with_scanned(rest, query, k, where, without, top)
            )
        except EngineError as e:
            self.note(f"{e}{_AT_HOME}")
        return None

    def _holds(self, p: Published, view: View) -> bool:
        """Return whether a table is one of those that are loaded."""
        of_feature = any(view.feature in s.features for s in p.segments)
        return view.by in self._measures if of_feature else view.by in ("product", "words")

    def _asking(
        self,
        p: Published,
        view: View,
        weights: Floats,
        tables: Tables,
        served: Served,
        where: Ints | None,
    ) -> candidates.Ask:
        lists = served.probes.lists
        probes = served.probes.for_share(None if where is None else len(where) / view.rows)

        def ask(n: int) -> Named:
            n = min(n, MOST_HITS, served.rows)
            ids, scores = self._search(tables, served.table, view, weights, n, probes)
            if len(ids) < n and probes < lists:
                # The lists looked into were too short; all of them together have all rows.
                ids, scores = self._search(tables, served.table, view, weights, n, lists)
            _refuse_strange(p, view, weights, ids[:_LOOKED_AT], scores[:_LOOKED_AT], served)
            if len(ids) < n:
                self._forget(view)
                raise EngineError(f"The table {served.table} named {len(ids)} rows of {n}.")
            return Named(ids, -np.inf if n == served.rows else float(scores[-1]))

        return ask

    def _search(
        self, tables: Tables, table: str, view: View, weights: Floats, n: int, probes: int
    ) -> tuple[Ints, Floats]:
        try:
            self.asked += 1
            return tables.search(table, view.by, weights, n, probes)
        except EngineAway as e:
            self._lost(tables, e)
            raise
        except EngineError:
            self._forget(view)
            raise

    # -- finding tables

    def _table(self, p: Published, view: View) -> tuple[Tables, Served]:
        """Return the connection and the table of a view, once it was found whole."""
        key = view.name, view.digest
        # What serves is not held up by a look for another table.
        known, there = self._tables, self._served.get(key)
        if known is not None and there is not None:
            return known, there
        away = self._away
        # One thread looks whether it is back; the others do not wait for that.
        if not self._lock.acquire(blocking=away is None) and away is not None:
            raise away
        try:
            if self._tables is not None and key in self._served:
                return self._tables, self._served[key]
            self._refuse_again("")
            self._refuse_again(view.name)
            try:
                tables = self._tables = self._tables or Tables(self.name)
                self._served[key] = found = find_table(tables, self._store(), p, view)
                self._away = None
                return tables, found
            except EngineAway as e:
                self._drop(e)
                raise
            except EngineError as e:
                self._away = None
                self._refused[view.name] = self._clock() + RETRY, e
                raise
        finally:
            self._lock.release()

    def _refuse_again(self, what: str) -> None:
        until, e = self._refused.get(what, (0.0, EngineError()))
        if self._clock() < until:
            raise e
        self._refused.pop(what, None)

    def _lost(self, tables: Tables, e: EngineAway) -> None:
        """Let go of a connection that failed, unless another thread did already."""
        with self._lock:
            if self._tables is tables:
                self._drop(e)

    def _drop(self, e: EngineAway) -> None:
        self._away = e
        self._refused[""] = self._clock() + RETRY, e
        if self._tables is not None:
            self._tables.close()
        self._tables = None
        self._served.clear()

    def _forget(self, view: View) -> None:
        with self._lock:
            self._served.pop((view.name, view.digest), None)


def find_table(tables: Tables, store: str, p: Published, view: View) -> Served:
    """Return the table of a view, which must hold most of what the version has."""
    uri = tables.uri
    again = f"Run: sightline export milvus --uri {uri}"
    if not store:
        raise EngineError(f"Nothing of this store was ever loaded into Milvus. {again}")
    alias = alias_of(store, view)
    table = tables.aliased(alias)
    if table is None:
        raise EngineError(f"Milvus at {uri} has no table {alias}. {again}")
    found = tables.label(table)
    if found is None:
        raise EngineError(f"The alias {alias} at {uri} points at {table}, which is gone. {again}")
    label, length, properties = found
    wanted = Label.of(store, p, view)
    known = not_another(uri, table, label, length, wanted)
    if coverage.outdated(view, coverage.split(p, view, known.held, table)[1]):
        raise of_older(uri, table, known, wanted)
    there = tables.count(table)
    if there != known.rows:
        raise EngineError(f"The table {table} at {uri} has {there} of {known.rows} rows. {again}")
    said = (int(properties.get(f"sightline.{k}", 0)) for k in ("lists", "plain", "filtered"))
    return Served(table, Probes(*said), known.rows, known.held, known.digest == view.digest)


def _refuse_strange(
    p: Published, view: View, weights: Floats, ids: Ints, scores: Floats, served: Served
) -> None:
    """Refuse scores that the rows at home do not have."""
    order = np.argsort(ids)
    there, rows = rows_there(p, view, ids[order])
    if served.whole and len(there) < len(ids):
        raise EngineError(f"The table {served.table} names pictures that are not there. {_CHECK}")
    said = scores[order][np.isin(ids[order], there)]
    rows = rows.astype(np.float64)
    mine = rows @ weights.astype(np.float64)
    if view.by == "distance":
        mine = 2 * mine - np.vecdot(rows, rows)
    size = 1.0 + np.linalg.norm(rows, axis=1) * (np.linalg.norm(rows, axis=1) + 2)
    size *= 1.0 + float(np.linalg.norm(weights))
    if (np.abs(mine - said) > 1e-4 * size).any():
        raise EngineError(
            f"The table {served.table} scores picture {int(ids[0])} otherwise than the rows at "
            f"home. {_CHECK}"
        )
