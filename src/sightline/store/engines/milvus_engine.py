"""Search by Milvus: tables loaded by `sightline export milvus`, found by alias.

When Milvus does not answer, or does not hold the rows of this version, the store's own rows are
scanned instead, which gives the same hits; a notice with each answer says so. Milvus is tried again
after a second, and its rows are counted before it serves again.
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
    check_label,
    outdated_error,
)
from sightline.store.engines.probing import Probes
from sightline.store.engines.tables import (
    MEASURES,
    EngineTable,
    Measure,
    Published,
    existing_rows,
)

RETRY = 1.0
_CHECKED_HITS = 3
_CHECK = "Run: sightline store verify"
_LOCAL = " Answered from the local rows."


@dataclass(frozen=True, slots=True)
class Served:
    """A table that was found complete.

    Attributes
    ----------
    name : str
        Its name in Milvus.
    probes : Probes
        How many lists it has, and how many of them a query searches.
    rows : int
        How many rows it has.
    held : LoadedParts
        Which parts of the version it holds.
    whole : bool
        Whether it has all rows of the version and no others.
    """

    name: str
    probes: Probes
    rows: int
    held: coverage.LoadedParts
    whole: bool


class MilvusEngine(Notices):
    """Search of one store by one Milvus.

    Parameters
    ----------
    uri : str
        `milvus://host:port`
    store : callable
        Gives the name under which the store's tables were loaded; empty if none ever were.
    measures : sequence of str, default=("cosine", "distance")
        The measures for which features were loaded.
    clock : callable, default=time.monotonic
        Gives the time in seconds; tests pass their own.
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
        # When to try again, and the last error: of Milvus itself ("") or of one table.
        self._failures: dict[str, tuple[float, EngineError]] = {}
        self._away: EngineAway | None = None
        self.n_requests = 0

    # -- answering

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
        if isinstance(query, SparseQuery) or k < 1:
            return None
        table_and_weights = candidates.engine_query(p, query)
        if table_and_weights is None:
            return None
        table, weights = table_and_weights
        if not self._holds(p, table) or candidates.selective(table, where):
            return None
        try:
            tables, served = self._table(p, table)
            indexed, rest = coverage.split(p, table, served.held, served.name)
            ask = self._ask_table(indexed, table, weights, tables, served, where)
            if isinstance(query, WordQuery):
                top = candidates.word_top(indexed, query, k, where, without, ask, MOST_HITS)
            else:
                top = candidates.dense_top(indexed, query, k, where, ask, MOST_HITS)
            if top is None:
                self.note(f"Milvus names at most {MOST_HITS} pictures.{_LOCAL}")
            return (
                None if top is None else coverage.with_scanned(rest, query, k, where, without, top)
            )
        except EngineError as e:
            self.note(f"{e}{_LOCAL}")
        return None

    def _holds(self, p: Published, table: EngineTable) -> bool:
        """Return whether a table is one of those that are loaded."""
        of_feature = any(table.feature in s.features for s in p.segments)
        return table.by in self._measures if of_feature else table.by in ("product", "words")

    def _ask_table(
        self,
        p: Published,
        table: EngineTable,
        weights: Floats,
        tables: Tables,
        served: Served,
        where: Ints | None,
    ) -> candidates.Ask:
        lists = served.probes.lists
        probes = served.probes.for_share(None if where is None else len(where) / table.rows)

        def ask(n: int) -> Named:
            n = min(n, MOST_HITS, served.rows)
            ids, scores = self._search(tables, served.name, table, weights, n, probes)
            if len(ids) < n and probes < lists:
                # The lists searched were too short; all of them together have all rows.
                ids, scores = self._search(tables, served.name, table, weights, n, lists)
            _check_scores(p, table, weights, ids[:_CHECKED_HITS], scores[:_CHECKED_HITS], served)
            if len(ids) < n:
                self._forget(table)
                raise EngineError(
                    f"The table {served.name} returned {len(ids)} hits where {n} were requested."
                )
            return Named(ids, -np.inf if n == served.rows else float(scores[-1]))

        return ask

    def _search(
        self, tables: Tables, name: str, table: EngineTable, weights: Floats, n: int, probes: int
    ) -> tuple[Ints, Floats]:
        try:
            self.n_requests += 1
            return tables.search(name, table.by, weights, n, probes)
        except EngineAway as e:
            self._on_connection_lost(tables, e)
            raise
        except EngineError:
            self._forget(table)
            raise

    # -- finding tables

    def _table(self, p: Published, table: EngineTable) -> tuple[Tables, Served]:
        """Return the connection and a table that was found complete."""
        key = table.name, table.digest
        # Tables that serve need no lock, so a search for another table does not delay them.
        connection, served = self._tables, self._served.get(key)
        if connection is not None and served is not None:
            return connection, served
        away = self._away
        # One thread checks whether Milvus is back; the others do not wait for that.
        if not self._lock.acquire(blocking=away is None) and away is not None:
            raise away
        try:
            if self._tables is not None and key in self._served:
                return self._tables, self._served[key]
            self._check_retry("")
            self._check_retry(table.name)
            try:
                tables = self._tables = self._tables or Tables(self.name)
                self._served[key] = served = find_table(tables, self._store(), p, table)
                self._away = None
                return tables, served
            except EngineAway as e:
                self._drop(e)
                raise
            except EngineError as e:
                self._away = None
                self._failures[table.name] = self._clock() + RETRY, e
                raise
        finally:
            self._lock.release()

    def _check_retry(self, name: str) -> None:
        """Raise the last error again until it is time for another try."""
        retry_at, e = self._failures.get(name, (0.0, EngineError()))
        if self._clock() < retry_at:
            raise e
        self._failures.pop(name, None)

    def _on_connection_lost(self, tables: Tables, e: EngineAway) -> None:
        """Drop a connection that failed, unless another thread did already."""
        with self._lock:
            if self._tables is tables:
                self._drop(e)

    def _drop(self, e: EngineAway) -> None:
        self._away = e
        self._failures[""] = self._clock() + RETRY, e
        if self._tables is not None:
            self._tables.close()
        self._tables = None
        self._served.clear()

    def _forget(self, table: EngineTable) -> None:
        with self._lock:
            self._served.pop((table.name, table.digest), None)


def find_table(tables: Tables, store: str, p: Published, table: EngineTable) -> Served:
    """Return a table as Milvus serves it; it must hold most rows of the version."""
    uri = tables.uri
    remedy = f"Run: sightline export milvus --uri {uri}"
    if not store:
        raise EngineError(f"Nothing of this store was ever loaded into Milvus. {remedy}")
    alias = alias_of(store, table)
    name = tables.aliased(alias)
    if name is None:
        raise EngineError(f"Milvus at {uri} has no table {alias}. {remedy}")
    description = tables.label(name)
    if description is None:
        raise EngineError(f"The alias {alias} at {uri} points at {name}, which is gone. {remedy}")
    label, length, properties = description
    expected = Label.of(store, p, table)
    held_label = check_label(uri, name, label, length, expected)
    if coverage.outdated(table, coverage.split(p, table, held_label.held, name)[1]):
        raise outdated_error(uri, name, held_label, expected)
    n_there = tables.count(name)
    if n_there != held_label.rows:
        raise EngineError(
            f"The table {name} at {uri} has {n_there} of {held_label.rows} rows. {remedy}"
        )
    numbers = (int(properties.get(f"sightline.{k}", 0)) for k in ("lists", "plain", "filtered"))
    return Served(
        name, Probes(*numbers), held_label.rows, held_label.held, held_label.digest == table.digest
    )


def _check_scores(
    p: Published, table: EngineTable, weights: Floats, ids: Ints, scores: Floats, served: Served
) -> None:
    """Raise if the best hits' scores are not those of the store's own rows."""
    order = np.argsort(ids)
    ids_here, rows = existing_rows(p, table, ids[order])
    if served.whole and len(ids_here) < len(ids):
        raise EngineError(
            f"The table {served.name} returned pictures that the store does not have. {_CHECK}"
        )
    reported = scores[order][np.isin(ids[order], ids_here)]
    rows = rows.astype(np.float64)
    expected = rows @ weights.astype(np.float64)
    if table.by == "distance":
        expected = 2 * expected - np.vecdot(rows, rows)
    scale = 1.0 + np.linalg.norm(rows, axis=1) * (np.linalg.norm(rows, axis=1) + 2)
    scale *= 1.0 + float(np.linalg.norm(weights))
    if (np.abs(expected - reported) > 1e-4 * scale).any():
        raise EngineError(
            f"The table {served.name} scores picture {int(ids[0])} otherwise than the local "
            f"rows. {_CHECK}"
        )
