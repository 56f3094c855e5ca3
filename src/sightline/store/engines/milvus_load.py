"""Loading a version into Milvus: new tables beside the old ones, then the aliases are moved.

An interrupted load is resumed: its table exists without an alias, and complete blocks of it are not
sent again. An alias moves only when the table has all its rows, so readers have either the old
table or the new one, complete. A table is kept as long as its version can be rolled back to.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from sightline._typing import Ints
from sightline.contracts import Json, Progress
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
from sightline.store.engines.tables import (
    MEASURES,
    EngineTable,
    Measure,
    Published,
    blocks,
    engine_tables,
)

_BLOCK_BYTES = 4 << 20
_LOAD_SECONDS = 3_600.0
_THREADS = 8


@dataclass(frozen=True, slots=True)
class Loaded:
    """One table of a load.

    Attributes
    ----------
    table : EngineTable
        What the table holds.
    name : str
        Its name in Milvus.
    state : str
        "kept" (it was complete), "new", or "resumed".
    loaded : int
        Number of rows that were sent.
    probes : Probes
        How it is searched.
    """

    table: EngineTable
    name: str
    state: str
    loaded: int = 0
    probes: probing.Probes = field(default_factory=probing.Probes)

    def to_dict(self) -> dict[str, Json]:
        """Return the table as JSON."""
        t = self.table
        return {
            "feature": t.feature, "by": t.by, "length": t.length, "rows": t.rows,
            "table": self.name, "state": self.state, "sent": self.loaded, **asdict(self.probes),
        }  # fmt: skip


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
    local : tuple of str
        Features that Milvus cannot hold; they are searched locally.
    """

    uri: str
    version: int
    tables: tuple[Loaded, ...]
    dropped: tuple[str, ...] = ()
    local: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return the report as JSON."""
        return {
            "uri": self.uri, "version": self.version,
            "tables": [t.to_dict() for t in self.tables],
            "dropped": list[Json](self.dropped), "at_home": list[Json](self.local),
        }  # fmt: skip


def plan(
    tables: Tables, store: str, p: Published, measures: Sequence[Measure] = MEASURES
) -> list[Loaded]:
    """Return which tables a load would make, resume or keep; nothing is changed."""
    names = {label.digest: name for name, label in _labelled_tables(tables, store)}
    planned = []
    for table in engine_tables(p, measures):
        if table.length > LONGEST or not table.rows:
            continue
        name = names.get(table.digest) or table_name(store, p.version, table)
        existing = tables.label(name)
        if existing is None:
            planned.append(Loaded(table, name, "new"))
            continue
        label = check_label(tables.uri, name, *existing[:2], Label.of(store, p, table))
        if label.digest != table.digest:
            raise EngineError(
                f"The table {name} at {tables.uri} has other rows than its name says. Remove it "
                "from Milvus, and export again."
            )
        serves = tables.aliased(alias_of(store, table)) == name and tables.is_loaded(name)
        complete = serves and tables.count(name) == table.rows
        planned.append(Loaded(table, name, "kept" if complete else "resumed"))
    return planned


def _labelled_tables(tables: Tables, store: str) -> list[tuple[str, Label]]:
    """Return the tables of a store, with their labels."""
    names = [n for n in tables.names() if n.startswith(f"sightline_{store}_v")]
    labelled = [(n, tables.label(n)) for n in names]
    labels = [(n, f[0]) for n, f in labelled if f is not None]
    return [(n, label) for n, label in labels if label is not None and label.store == store]


def load(
    tables: Tables,
    store: str,
    p: Published,
    kept_digests: Collection[str],
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
    kept_digests : Collection
        Digests of the tables of versions that can be rolled back to.
    measures : sequence of str, default=("cosine", "distance")
        The measures by which features are ranked.
    listed_rows : int, default=probing.LISTED_ROWS
        Tables with at least this many rows get an IVF index.
    """
    planned = plan(tables, store, p, measures)
    missing = [t for t in planned if t.state != "kept"]
    progress.start("load", sum(t.table.rows for t in missing))
    done = []
    for t in missing:
        done.append((t, _send(tables, store, p, t, progress)))
    progress.finish()
    # Flushing and indexing are mostly waiting, so they run in parallel. Loading into memory does
    # not: of six tables loaded at once one took half a minute; one by one they take three seconds.
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda t: _settle(tables, t, listed_rows), missing))
    for t in missing:
        tables.do("load_collection", t.name, seconds=_LOAD_SECONDS)
    loaded = [_finished(tables, p, t, sent) for t, sent in done]
    # Every table is complete before the first alias moves.
    for t in loaded:
        _move(tables, alias_of(store, t.table), t.name)
    complete = (*(t for t in planned if t.state == "kept"), *loaded)
    dropped = _drop_old(tables, store, {t.name for t in complete}, kept_digests)
    return Load(tables.uri, p.version, complete, tuple(dropped), unsupported_features(p, measures))


def unsupported_features(p: Published, measures: Sequence[Measure] = MEASURES) -> tuple[str, ...]:
    """Return the features that Milvus cannot hold: their rows are sparse or too long."""
    supported = {v.feature for v in engine_tables(p, measures) if v.length <= LONGEST}
    return tuple(sorted({f for s in p.segments for f in s.features} - supported))


def _send(tables: Tables, store: str, p: Published, t: Loaded, progress: Progress) -> int:
    """Send the rows that a table lacks; return how many."""
    resumed = t.state == "resumed"
    if resumed:
        _index(tables, t, 0)
        tables.do("load_collection", t.name, seconds=_LOAD_SECONDS)
        if tables.count(t.name) == t.table.rows:
            progress.advance(t.table.rows)
            return 0
    else:
        _create(tables, t, Label.of(store, p, t.table))
    sent = 0
    step = max(1, min(10_000, _BLOCK_BYTES // (4 * t.table.length)))
    for ids, rows in blocks(p, t.table, step):
        if not resumed or not _has(tables, t.name, ids):
            data = [{"id": i, "row": row} for i, row in zip(ids.tolist(), rows, strict=True)]
            tables.do("insert", t.name, data, seconds=_LOAD_SECONDS)
            sent += len(ids)
        progress.advance(len(ids))
    return sent


def _settle(tables: Tables, t: Loaded, listed_rows: int) -> None:
    """Flush the rows of a table to its disk, and index them."""
    tables.do("flush", t.name, seconds=_LOAD_SECONDS)
    _index(tables, t, listed_rows)


def _has(tables: Tables, name: str, ids: Ints) -> bool:
    """Return whether a table has a block of ascending ids; an incomplete block is deleted."""
    between = f"id >= {ids[0]} and id <= {ids[-1]}"
    n_there = tables.count(name, between)
    if n_there and n_there != len(ids):
        tables.do("delete", name, filter=between, seconds=_LOAD_SECONDS)
    return n_there == len(ids)


def _create(tables: Tables, t: Loaded, label: Label) -> None:
    from pymilvus import DataType

    with tables.failures():
        schema = tables.client.create_schema(auto_id=False, description=label.text())
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("row", DataType.FLOAT_VECTOR, dim=t.table.length)
    tables.do("create_collection", t.name, schema=schema, num_shards=1, seconds=_LOAD_SECONDS)


def _index(tables: Tables, t: Loaded, listed_rows: int) -> None:
    """Index a table: inverted lists if it is large, else none (a scan)."""
    large = 0 < listed_rows <= t.table.rows
    lists = probing.lists_for(t.table.rows) if large else 0
    if tables.do("list_indexes", t.name):
        if not large or _lists_of(tables, t.name) == lists:
            return
        tables.do("release_collection", t.name, seconds=_LOAD_SECONDS)
        tables.do("drop_index", t.name, "row", seconds=_LOAD_SECONDS)
    kind: dict[str, Any] = {"index_type": "FLAT", "params": {}}
    if lists:
        kind = {"index_type": "IVF_FLAT", "params": {"nlist": lists}}
    with tables.failures():
        how = tables.client.prepare_index_params()
        how.add_index("row", metric_type=metric_of(t.table), **kind)
    tables.do("create_index", t.name, how, seconds=_LOAD_SECONDS)


def _lists_of(tables: Tables, name: str) -> int:
    return int(tables.do("describe_index", name, "row").get("nlist", 0))


def _finished(tables: Tables, p: Published, t: Loaded, sent: int) -> Loaded:
    """Check the row count of a table, and choose how it is searched."""
    n_there = tables.count(t.name)
    if n_there != t.table.rows:
        raise EngineError(
            f"The table {t.name} at {tables.uri} has {n_there} rows after a load of "
            f"{t.table.rows}; no alias was moved. Run the export again."
        )
    lists, probes = _lists_of(tables, t.name), probing.Probes()
    if lists:
        queries = probing.sample(p, t.table)

        def probe(w: Any, n: int) -> Ints:
            return tables.search(t.name, t.table.by, w, probing.K, n)[0]

        probes = probing.choose_probes(queries, lists, probe)
    numbers = {"lists": probes.lists, "plain": probes.plain, "filtered": probes.filtered}
    properties = {f"sightline.{name}": str(n) for name, n in numbers.items()}
    tables.do("alter_collection_properties", t.name, properties)
    return Loaded(t.table, t.name, t.state, sent, probes)


def _move(tables: Tables, alias: str, name: str) -> None:
    if tables.aliased(alias) is not None:
        tables.do("alter_alias", name, alias)
        return
    # An alias whose table was dropped is not listed, but still blocks its name.
    tables.do("drop_alias", alias)
    tables.do("create_alias", name, alias)


def _drop_old(
    tables: Tables, store: str, in_use: set[str], kept_digests: Collection[str]
) -> list[str]:
    """Remove tables of versions no longer kept; those of kept versions only leave the memory."""
    dropped = []
    for name, label in _labelled_tables(tables, store):
        if name in in_use:
            continue
        if label.digest in kept_digests:
            tables.do("release_collection", name, seconds=_LOAD_SECONDS)
            continue
        # Newer servers keep a table that an alias points at, such as that of an older model.
        for alias in tables.do("list_aliases", name)["aliases"]:
            tables.do("drop_alias", alias)
        tables.do("drop_collection", name, seconds=_LOAD_SECONDS)
        dropped.append(name)
    return dropped
