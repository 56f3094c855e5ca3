"""Loading a version into Milvus: new tables beside the old ones, then the aliases are moved.

An interrupted load is resumed: its table exists without an alias, and complete blocks of it are not
sent again. An alias moves only when the table has all its rows, so readers have either the old
table or the new one, complete. A table is kept as long as its version can be rolled back to.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sightline._typing import Ints
from sightline.contracts import Progress
from sightline.errors import EngineError
from sightline.store.engines import probing
from sightline.store.engines.milvus_tables import (
    LONGEST,
    Label,
    Tables,
    alias_of,
    check_label,
    metric_of,
    table_name,
)
from sightline.store.engines.views import (
    MEASURES,
    EngineTable,
    Measure,
    Published,
    blocks,
    views_of,
)

_BLOCK_BYTES = 4 << 20
_LOAD_SECONDS = 3_600.0
_THREADS = 8


@dataclass(frozen=True, slots=True)
class Loaded:
    """One table of a load.

    Attributes
    ----------
    view : EngineTable
        What the table holds.
    table : str
        Its name in Milvus.
    state : str
        "kept" (it was complete), "new", or "resumed".
    sent : int
        How many rows had to be sent.
    probes : Probes
        How it is searched.
    """

    view: EngineTable
    table: str
    state: str
    sent: int = 0
    probes: probing.Probes = field(default_factory=probing.Probes)


@dataclass(frozen=True, slots=True)
class Load:
    """What a load did, or would do.

    Attributes
    ----------
    uri : str
        The address of Milvus.
    version : int
        The version that was loaded.
    tables : tuple of Loaded
        The tables of that version.
    dropped : tuple of str
        Tables that were removed.
    at_home : tuple of str
        Features that Milvus cannot hold; they are searched locally.
    """

    uri: str
    version: int
    tables: tuple[Loaded, ...]
    dropped: tuple[str, ...] = ()
    at_home: tuple[str, ...] = ()


def plan(
    tables: Tables, store: str, p: Published, measures: Sequence[Measure] = MEASURES
) -> list[Loaded]:
    """Return which tables a load would make, resume or keep; nothing is changed."""
    names = {label.digest: name for name, label in _tables_of(tables, store)}
    planned = []
    for view in views_of(p, measures):
        if view.length > LONGEST or not view.rows:
            continue
        name = names.get(view.digest) or table_name(store, p.version, view)
        existing = tables.label(name)
        if existing is None:
            planned.append(Loaded(view, name, "new"))
            continue
        label = check_label(tables.uri, name, *existing[:2], Label.of(store, p, view))
        if label.digest != view.digest:
            raise EngineError(
                f"The table {name} at {tables.uri} has other rows than its name says. Remove it "
                "from Milvus, and export again."
            )
        serves = tables.aliased(alias_of(store, view)) == name and tables.is_loaded(name)
        complete = serves and tables.count(name) == view.rows
        planned.append(Loaded(view, name, "kept" if complete else "resumed"))
    return planned


def _tables_of(tables: Tables, store: str) -> list[tuple[str, Label]]:
    """Return the tables of a store, with their labels."""
    names = [n for n in tables.names() if n.startswith(f"sightline_{store}_v")]
    labelled = [(n, tables.label(n)) for n in names]
    labels = [(n, f[0]) for n, f in labelled if f is not None]
    return [(n, label) for n, label in labels if label is not None and label.store == store]


def load(
    tables: Tables,
    store: str,
    p: Published,
    kept: Collection[str],
    progress: Progress,
    *,
    measures: Sequence[Measure] = MEASURES,
    listed_rows: int = probing.LISTED_ROWS,
) -> Load:
    """Load what is missing, move the aliases, and remove tables of versions no longer kept.

    Parameters
    ----------
    store : str
        The name of the store in Milvus.
    kept : Collection
        Digests of the tables of versions that can be rolled back to.
    measures : sequence of str, default=("cosine", "distance")
        The measures by which features are ranked.
    listed_rows : int, default=probing.LISTED_ROWS
        Tables with at least this many rows get an IVF index.
    """
    planned = plan(tables, store, p, measures)
    missing = [t for t in planned if t.state != "kept"]
    progress.start("load", sum(t.view.rows for t in missing))
    done = []
    for t in missing:
        done.append((t, _send(tables, store, p, t, progress)))
    progress.finish()
    # Flushing and indexing are mostly waiting, so they run in parallel. Loading into memory does
    # not: of six tables loaded at once one took half a minute; one by one they take three seconds.
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda t: _settle(tables, t, listed_rows), missing))
    for t in missing:
        tables.do("load_collection", t.table, seconds=_LOAD_SECONDS)
    loaded = [_finished(tables, p, t, sent) for t, sent in done]
    # Every table is complete before the first alias moves.
    for t in loaded:
        _move(tables, alias_of(store, t.view), t.table)
    complete = (*(t for t in planned if t.state == "kept"), *loaded)
    dropped = _drop_old(tables, store, {t.table for t in complete}, kept)
    return Load(tables.uri, p.version, complete, tuple(dropped), unsupported_features(p, measures))


def unsupported_features(p: Published, measures: Sequence[Measure] = MEASURES) -> tuple[str, ...]:
    """Return the features that Milvus cannot hold: their rows are sparse or too long."""
    supported = {v.feature for v in views_of(p, measures) if v.length <= LONGEST}
    return tuple(sorted({f for s in p.segments for f in s.features} - supported))


def _send(tables: Tables, store: str, p: Published, t: Loaded, progress: Progress) -> int:
    """Send the rows that a table lacks; return how many."""
    resumed = t.state == "resumed"
    if resumed:
        _index(tables, t, 0)
        tables.do("load_collection", t.table, seconds=_LOAD_SECONDS)
        if tables.count(t.table) == t.view.rows:
            progress.advance(t.view.rows)
            return 0
    else:
        _create(tables, t, Label.of(store, p, t.view))
    sent = 0
    step = max(1, min(10_000, _BLOCK_BYTES // (4 * t.view.length)))
    for ids, rows in blocks(p, t.view, step):
        if not resumed or not _has(tables, t.table, ids):
            data = [{"id": i, "row": row} for i, row in zip(ids.tolist(), rows, strict=True)]
            tables.do("insert", t.table, data, seconds=_LOAD_SECONDS)
            sent += len(ids)
        progress.advance(len(ids))
    return sent


def _settle(tables: Tables, t: Loaded, listed_rows: int) -> None:
    """Flush the rows of a table to its disk, and index them."""
    tables.do("flush", t.table, seconds=_LOAD_SECONDS)
    _index(tables, t, listed_rows)


def _has(tables: Tables, table: str, ids: Ints) -> bool:
    """Return whether a table has a block of ascending ids; an incomplete block is deleted."""
    between = f"id >= {ids[0]} and id <= {ids[-1]}"
    n_there = tables.count(table, between)
    if n_there and n_there != len(ids):
        tables.do("delete", table, filter=between, seconds=_LOAD_SECONDS)
    return n_there == len(ids)


def _create(tables: Tables, t: Loaded, label: Label) -> None:
    from pymilvus import DataType

    with tables.failures():
        schema = tables.client.create_schema(auto_id=False, description=label.text())
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("row", DataType.FLOAT_VECTOR, dim=t.view.length)
    tables.do("create_collection", t.table, schema=schema, num_shards=1, seconds=_LOAD_SECONDS)


def _index(tables: Tables, t: Loaded, listed_rows: int) -> None:
    """Index a table: inverted lists if it is large, else none (a scan)."""
    large = 0 < listed_rows <= t.view.rows
    lists = probing.lists_for(t.view.rows) if large else 0
    if tables.do("list_indexes", t.table):
        if not large or _lists_of(tables, t.table) == lists:
            return
        tables.do("release_collection", t.table, seconds=_LOAD_SECONDS)
        tables.do("drop_index", t.table, "row", seconds=_LOAD_SECONDS)
    kind: dict[str, Any] = {"index_type": "FLAT", "params": {}}
    if lists:
        kind = {"index_type": "IVF_FLAT", "params": {"nlist": lists}}
    with tables.failures():
        how = tables.client.prepare_index_params()
        how.add_index("row", metric_type=metric_of(t.view), **kind)
    tables.do("create_index", t.table, how, seconds=_LOAD_SECONDS)


def _lists_of(tables: Tables, table: str) -> int:
    return int(tables.do("describe_index", table, "row").get("nlist", 0))


def _finished(tables: Tables, p: Published, t: Loaded, sent: int) -> Loaded:
    """Check the row count of a table, and choose how it is searched."""
    n_there = tables.count(t.table)
    if n_there != t.view.rows:
        raise EngineError(
            f"The table {t.table} at {tables.uri} has {n_there} rows after a load of "
            f"{t.view.rows}; no alias was moved. Run the export again."
        )
    lists, probes = _lists_of(tables, t.table), probing.Probes()
    if lists:
        queries = probing.sample(p, t.view)

        def probe(w: Any, n: int) -> Ints:
            return tables.search(t.table, t.view.by, w, probing.K, n)[0]

        probes = probing.choose_probes(queries, lists, probe)
    numbers = {"lists": probes.lists, "plain": probes.plain, "filtered": probes.filtered}
    properties = {f"sightline.{name}": str(n) for name, n in numbers.items()}
    tables.do("alter_collection_properties", t.table, properties)
    return Loaded(t.view, t.table, t.state, sent, probes)


def _move(tables: Tables, alias: str, table: str) -> None:
    if tables.aliased(alias) is not None:
        tables.do("alter_alias", table, alias)
        return
    # An alias whose table was dropped is not listed, but still blocks its name.
    tables.do("drop_alias", alias)
    tables.do("create_alias", table, alias)


def _drop_old(tables: Tables, store: str, in_use: set[str], kept: Collection[str]) -> list[str]:
    """Remove tables of versions no longer kept; those of kept versions only leave the memory."""
    dropped = []
    for name, label in _tables_of(tables, store):
        if name in in_use:
            continue
        if label.digest in kept:
            tables.do("release_collection", name, seconds=_LOAD_SECONDS)
            continue
        # Newer servers keep a table that an alias points at, such as that of an older model.
        for alias in tables.do("list_aliases", name)["aliases"]:
            tables.do("drop_alias", alias)
        tables.do("drop_collection", name, seconds=_LOAD_SECONDS)
        dropped.append(name)
    return dropped
