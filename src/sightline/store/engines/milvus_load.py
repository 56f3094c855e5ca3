"""Loading a version into Milvus: new tables beside the old ones, then the aliases are moved.

A load that broke off is gone on with: the table is there without an alias, and blocks of it that
are whole are not sent again. An alias moves only when all rows of its table are counted there, so
readers have either the old table or the new one, whole. Tables are kept as long as the version they
are of can be gone back to.
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
    metric_of,
    not_another,
    table_name,
)
from sightline.store.engines.views import MEASURES, Measure, Published, View, blocks, views_of

_BLOCK_BYTES = 4 << 20
_SLOW = 3_600.0
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Loaded:
    """One table of a load. `state` is kept (it was there), new, or resumed; `sent` are its rows
    that had to be sent, and `probes` how it is searched."""

    view: View
    table: str
    state: str
    sent: int = 0
    probes: probing.Probes = field(default_factory=probing.Probes)


@dataclass(frozen=True, slots=True)
class Load:
    """What a load did, or would do: its tables, those that were removed, what stays at home."""

    uri: str
    version: int
    tables: tuple[Loaded, ...]
    dropped: tuple[str, ...] = ()
    at_home: tuple[str, ...] = ()


def plan(
    tables: Tables, store: str, p: Published, measures: Sequence[Measure] = MEASURES
) -> list[Loaded]:
    """Return which tables a load would make, go on with, or find there; nothing is changed."""
    mine = {label.digest: name for name, label in _own(tables, store)}
    out = []
    for view in views_of(p, measures):
        if view.length > LONGEST or not view.rows:
            continue
        name = mine.get(view.digest) or table_name(store, p.version, view)
        there = tables.label(name)
        if there is None:
            out.append(Loaded(view, name, "new"))
            continue
        label = not_another(tables.uri, name, *there[:2], Label.of(store, p, view))
        if label.digest != view.digest:
            raise EngineError(
                f"The table {name} at {tables.uri} holds other rows than its name says. Remove it "
                "from Milvus, and export again."
            )
        serves = tables.aliased(alias_of(store, view)) == name and tables.is_loaded(name)
        whole = serves and tables.count(name) == view.rows
        out.append(Loaded(view, name, "kept" if whole else "resumed"))
    return out


def _own(tables: Tables, store: str) -> list[tuple[str, Label]]:
    """Return the tables of a store, with what they say of themselves."""
    names = [n for n in tables.names() if n.startswith(f"sightline_{store}_v")]
    found = [(n, tables.label(n)) for n in names]
    labels = [(n, f[0]) for n, f in found if f is not None]
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
    """Load what is missing, move the aliases, and remove tables nobody can come back to.

    Parameters
    ----------
    store : str
        The name of the store in Milvus.
    kept : Collection
        Digests of the tables of versions that can be gone back to.
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
    # Milvus mostly waits for itself here, so that this goes on side by side. Loading does not: of
    # six tables loaded at once one took half a minute, where they take three seconds in turn.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda t: _settle(tables, t, listed_rows), missing))
    for t in missing:
        tables.do("load_collection", t.table, seconds=_SLOW)
    loaded = [_finished(tables, p, t, sent) for t, sent in done]
    # Every table is whole before the first alias moves.
    for t in loaded:
        _move(tables, alias_of(store, t.view), t.table)
    whole = (*(t for t in planned if t.state == "kept"), *loaded)
    dropped = _drop_old(tables, store, {t.table for t in whole}, kept)
    return Load(tables.uri, p.version, whole, tuple(dropped), left_at_home(p, measures))


def left_at_home(p: Published, measures: Sequence[Measure] = MEASURES) -> tuple[str, ...]:
    """Return the features that Milvus cannot hold: rows mostly zero, or too long."""
    held = {v.feature for v in views_of(p, measures) if v.length <= LONGEST}
    return tuple(sorted({f for s in p.segments for f in s.features} - held))


def _send(tables: Tables, store: str, p: Published, t: Loaded, progress: Progress) -> int:
    """Send the rows that a table lacks; return how many."""
    resumed = t.state == "resumed"
    if resumed:
        _index(tables, t, 0)
        tables.do("load_collection", t.table, seconds=_SLOW)
        if tables.count(t.table) == t.view.rows:
            progress.advance(t.view.rows)
            return 0
    else:
        _create(tables, t, Label.of(store, p, t.view))
    sent = 0
    step = max(1, min(10_000, _BLOCK_BYTES // (4 * t.view.length)))
    for ids, rows in blocks(p, t.view, step):
        if not resumed or not _has(tables, t.table, ids):
            said = zip(ids.tolist(), rows, strict=True)
            data = [{"id": i, "row": row} for i, row in said]
            tables.do("insert", t.table, data, seconds=_SLOW)
            sent += len(ids)
        progress.advance(len(ids))
    return sent


def _settle(tables: Tables, t: Loaded, listed_rows: int) -> None:
    """Have the rows of a table on the disk, and put into lists if they are many."""
    tables.do("flush", t.table, seconds=_SLOW)
    _index(tables, t, listed_rows)


def _has(tables: Tables, table: str, ids: Ints) -> bool:
    """Return whether a block of ascending ids is there; one that is there in part is removed."""
    between = f"id >= {ids[0]} and id <= {ids[-1]}"
    there = tables.count(table, between)
    if there and there != len(ids):
        tables.do("delete", table, filter=between, seconds=_SLOW)
    return there == len(ids)


def _create(tables: Tables, t: Loaded, label: Label) -> None:
    from pymilvus import DataType

    with tables.failures():
        schema = tables.client.create_schema(auto_id=False, description=label.text())
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("row", DataType.FLOAT_VECTOR, dim=t.view.length)
    tables.do("create_collection", t.table, schema=schema, num_shards=1, seconds=_SLOW)


def _index(tables: Tables, t: Loaded, listed_rows: int) -> None:
    """Have a table searched by lists if it is large, else by a scan."""
    large = 0 < listed_rows <= t.view.rows
    lists = probing.lists_for(t.view.rows) if large else 0
    if tables.do("list_indexes", t.table):
        if not large or _lists_of(tables, t.table) == lists:
            return
        tables.do("release_collection", t.table, seconds=_SLOW)
        tables.do("drop_index", t.table, "row", seconds=_SLOW)
    kind: dict[str, Any] = {"index_type": "FLAT", "params": {}}
    if lists:
        kind = {"index_type": "IVF_FLAT", "params": {"nlist": lists}}
    with tables.failures():
        how = tables.client.prepare_index_params()
        how.add_index("row", metric_type=metric_of(t.view), **kind)
    tables.do("create_index", t.table, how, seconds=_SLOW)


def _lists_of(tables: Tables, table: str) -> int:
    return int(tables.do("describe_index", table, "row").get("nlist", 0))


def _finished(tables: Tables, p: Published, t: Loaded, sent: int) -> Loaded:
    """Count the rows of a table, and choose how it is searched."""
    there = tables.count(t.table)
    if there != t.view.rows:
        raise EngineError(
            f"The table {t.table} at {tables.uri} has {there} rows after a load of "
            f"{t.view.rows}; no alias was moved. Run the export again."
        )
    lists, probes = _lists_of(tables, t.table), probing.Probes()
    if lists:
        queries = probing.sample(p, t.view)

        def probe(w: Any, n: int) -> Ints:
            return tables.search(t.table, t.view.by, w, probing.K, n)[0]

        probes = probing.choose_probes(queries, lists, probe)
    numbers = {"lists": probes.lists, "plain": probes.plain, "filtered": probes.filtered}
    said = {f"sightline.{name}": str(n) for name, n in numbers.items()}
    tables.do("alter_collection_properties", t.table, said)
    return Loaded(t.view, t.table, t.state, sent, probes)


def _move(tables: Tables, alias: str, table: str) -> None:
    if tables.aliased(alias) is not None:
        tables.do("alter_alias", table, alias)
        return
    # An alias whose table was dropped is not told of, and still in the way.
    tables.do("drop_alias", alias)
    tables.do("create_alias", table, alias)


def _drop_old(tables: Tables, store: str, in_use: set[str], kept: Collection[str]) -> list[str]:
    """Remove tables of versions that are not kept; those of kept ones only leave the memory."""
    dropped = []
    for name, label in _own(tables, store):
        if name in in_use:
            continue
        if label.digest in kept:
            tables.do("release_collection", name, seconds=_SLOW)
            continue
        # Newer servers keep a table that an alias points at, such as that of an older model.
        for alias in tables.do("list_aliases", name)["aliases"]:
            tables.do("drop_alias", alias)
        tables.do("drop_collection", name, seconds=_SLOW)
        dropped.append(name)
    return dropped
