"""Milvus, the real server: the contract of stores, loads that break, and tables that are wrong."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.errors import EngineAway, EngineError, UsageError
from sightline.progress import NoProgress
from sightline.records import Batch, DenseQuery, FeatureRows
from sightline.store.engines import milvus_load
from sightline.store.engines.milvus_check import compare, milvus_state
from sightline.store.engines.milvus_engine import RETRY, MilvusEngine
from sightline.store.engines.milvus_load import Load, load, plan
from sightline.store.engines.milvus_tables import Label, Tables, alias_of
from sightline.store.engines.tables import EngineTable, Measure, Published
from sightline.store.folder import StoreFolder
from sightline.store.identity import create_identity, identity
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer
from sightline.testing import check_store
from sightline.testing.milvus import MilvusProcess
from tests.factories.engine_stores import opened, random_batch, store_of

ALL: tuple[Measure, ...] = ("product", "cosine", "distance")
ONE: tuple[Measure, ...] = ("cosine",)
QUERY = DenseQuery("made-1", np.ones(8, np.float32), "cosine")


def loaded(
    store_folder: StoreFolder,
    uri: str,
    measures: tuple[Measure, ...] = ONE,
    listed_rows: int = 1 << 40,
) -> Load:
    tables = Tables(uri)
    try:
        return load(
            tables, create_identity(store_folder.path), opened(store_folder).published, set(),
            NoProgress(), measures=measures, listed_rows=listed_rows,
        )  # fmt: skip
    finally:
        tables.close()


def served(
    store_folder: StoreFolder, uri: str, measures: tuple[Measure, ...] = ONE
) -> tuple[Snapshot, MilvusEngine]:
    snapshot = opened(store_folder)
    engine = MilvusEngine(uri, lambda: identity(store_folder.path), measures)
    snapshot.engine = engine
    return snapshot, engine


def near(snapshot: Snapshot, k: int = 10) -> list[int]:
    return [int(i) for i in snapshot.top(QUERY, k).ids]


def table_of(store_folder: StoreFolder, uri: str) -> tuple[Tables, str, str, EngineTable]:
    tables, table = Tables(uri), opened(store_folder).published.table("made-1", "cosine")
    alias = alias_of(identity(store_folder.path), table)
    name = tables.aliased(alias)
    assert name is not None
    return tables, alias, name, table


def test_milvus_keeps_the_contract_of_stores(tmp_path: Path, milvus: MilvusProcess) -> None:
    engines = []

    def fill(batches: Sequence[Batch], deleted: Sequence[int]) -> Snapshot:
        store_folder = store_of(tmp_path / "store", batches, deleted)
        assert {t.table.by for t in loaded(store_folder, milvus.uri, ALL).tables} == set(ALL)
        snapshot, engine = served(store_folder, milvus.uri, ALL)
        engines.append(engine)
        return snapshot

    check_store(fill)
    assert engines[0].n_requests > 10 and engines[0].notice() == ""


def test_lists_find_enough_and_filters_are_kept(tmp_path: Path, milvus: MilvusProcess) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 3_000)], [7, 8, 9])
    (t,) = loaded(store_folder, milvus.uri, listed_rows=1_000).tables
    assert 0 < t.probes.plain < t.probes.lists and t.probes.recall >= 0.95
    assert t.loaded == 2_997
    flat, (snapshot, engine) = opened(store_folder), served(store_folder, milvus.uri)
    rng = np.random.default_rng(1)
    half = np.arange(1, 3_001, 2)
    for where, least in ((None, 0.95), (half, 0.99), (half[::20], 1.0)):
        shares = []
        for _ in range(10):
            query = DenseQuery("made-1", rng.standard_normal(8).astype(np.float32), "cosine")
            exact, top = flat.top(query, 50, where), snapshot.top(query, 50, where)
            assert where is None or set(top.ids.tolist()) <= set(where.tolist())
            shares.append(len(np.intersect1d(exact.ids, top.ids)) / 50)
        assert np.mean(shares) >= least
    assert engine.n_requests >= 20 and engine.notice() == ""


def test_a_new_version_is_a_new_table_and_old_ones_go(
    tmp_path: Path, milvus: MilvusProcess
) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 300)])
    first = loaded(store_folder, milvus.uri).tables[0]
    (again,) = loaded(store_folder, milvus.uri).tables
    assert (again.state, again.name, again.loaded) == ("kept", first.name, 0)
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[random_batch(301, 100)], dead=[3]), finished=True)
    snapshot, engine = served(store_folder, milvus.uri)
    assert near(snapshot) == near(opened(store_folder))
    assert "holds version 2, the store is at version 3" in engine.notice()
    said = compare(milvus.uri, store_folder.path, snapshot.published, ONE)
    assert any("holds version 2" in p for p in said)
    done = loaded(store_folder, milvus.uri)
    assert done.tables[0].name != first.name and done.dropped == (first.name,)
    snapshot, engine = served(store_folder, milvus.uri)
    assert (
        near(snapshot) == near(opened(store_folder)) and engine.n_requests and engine.notice() == ""
    )
    assert compare(milvus.uri, store_folder.path, snapshot.published, ONE) == []


def test_what_came_later_is_scanned_beside_a_table_and_what_went_is_not_shown(
    tmp_path: Path, milvus: MilvusProcess
) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 300), random_batch(301, 200)])
    loaded(store_folder, milvus.uri)
    best = near(opened(store_folder))
    rows = FeatureRows("made-1", np.full((2, 8), 9.0, np.float32))
    # The best picture goes, the second one changes, and a new one comes.
    later = replace(random_batch(600, 2), ids=np.array([best[1], 601]), features=(rows,))
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[later], dead=[best[0]]), finished=True)
    snapshot, engine = served(store_folder, milvus.uri)
    for where in (None, np.arange(1, 602, 2)):
        flat = opened(store_folder).top(QUERY, 10, where)
        assert snapshot.top(QUERY, 10, where).ids.tolist() == flat.ids.tolist()
    assert near(snapshot)[:2] == sorted([best[1], 601]) and best[0] not in near(snapshot)
    assert engine.n_requests and engine.notice() == ""
    state = milvus_state(milvus.uri, store_folder.path, snapshot.published, ONE)
    assert state.serves and "500 rows; 2 rows came later and are scanned locally" in state.message
    assert compare(milvus.uri, store_folder.path, snapshot.published, ONE) == []


def test_pictures_that_are_back_are_found_though_a_table_lacks_them(
    tmp_path: Path, milvus: MilvusProcess
) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 400)])
    best = near(opened(store_folder))
    for b in [random_batch(401 + 400 * i, 400) for i in range(5)]:
        with Writer(store_folder, "test") as w:
            w.publish(Change(batches=[b]), finished=True)
    with Writer(store_folder, "test") as w:
        before = w.version.number
        w.publish(Change(dead=[best[0]]), finished=True)
    loaded(store_folder, milvus.uri)
    with Writer(store_folder, "test") as w:
        w.rollback(before)
        w.publish(Change(dead=[best[1], best[2]]), finished=True)
    snapshot, engine = served(store_folder, milvus.uri)
    assert best[0] in near(opened(store_folder)) and near(snapshot) == near(opened(store_folder))
    assert engine.n_requests and engine.notice() == ""


class Broken(Exception):
    pass


def test_a_load_that_broke_off_is_gone_on_with(
    tmp_path: Path, milvus: MilvusProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 500)])
    monkeypatch.setattr(milvus_load, "_BLOCK_BYTES", 100 * 4 * 8)
    tables = Tables(milvus.uri)
    insert = tables.client.insert
    sent: list[int] = []

    def breaking(name: str, data: list[Any], **more: Any) -> object:
        if len(sent) == 2:
            insert(name, data[:40], **more)  # Part of a block arrives, and nobody hears of it.
            raise Broken
        sent.append(len(data))
        return insert(name, data, **more)

    tables.client.insert = breaking
    name, p = create_identity(store_folder.path), opened(store_folder).published
    with pytest.raises(Broken):
        load(tables, name, p, set(), NoProgress(), measures=ONE)
    tables.close()
    snapshot, engine = served(store_folder, milvus.uri)
    assert near(snapshot) == near(opened(store_folder)) and "has no table" in engine.notice()
    tables = Tables(milvus.uri)
    assert [t.state for t in plan(tables, name, p, ONE)] == ["resumed"]
    (t,) = loaded(store_folder, milvus.uri).tables
    assert (t.state, t.loaded) == ("resumed", 300)
    assert tables.count(t.name) == 500 and compare(milvus.uri, store_folder.path, p, ONE) == []
    tables.close()


def label_of(store: str, version: int, table: EngineTable) -> Label:
    return Label.of(store, Published(version, "", [], []), table)


def _other_store(tables: Tables, alias: str, table: EngineTable) -> str:
    _point_at(tables, alias, label_of("0" * 12, 2, table), table.length)
    return "belongs to another store"


def _other_length(tables: Tables, alias: str, table: EngineTable) -> str:
    label = label_of(alias.split("_")[1], 2, table)
    _point_at(tables, alias, replace(label, length=5), 5)
    return "rows of 5 numbers, those of made-1 have 8"


def _other_version(tables: Tables, alias: str, table: EngineTable) -> str:
    _point_at(tables, alias, label_of(alias.split("_")[1], 1, table), table.length)
    return "holds version 1, the store is at version 2"


def _foreign(tables: Tables, alias: str, table: EngineTable) -> str:
    _point_at(tables, alias, None, table.length)
    return "was not made by Sightline"


def _not_loaded(tables: Tables, alias: str, table: EngineTable) -> str:
    label, _, _ = tables.label(tables.aliased(alias) or "") or (None, 0, {})
    _point_at(tables, alias, label, table.length)
    return "not loaded"


def _gone(tables: Tables, alias: str, table: EngineTable) -> str:
    _point_at(tables, alias, None, table.length)
    tables.client.drop_collection(tables.aliased(alias))
    return "has no table|points at .* which is gone"


def _no_alias(tables: Tables, alias: str, table: EngineTable) -> str:
    tables.client.drop_alias(alias)
    return "has no table"


def _point_at(tables: Tables, alias: str, label: Label | None, length: int) -> None:
    from pymilvus import DataType

    name = f"made_{secrets.token_hex(4)}"
    text = "somebody else's" if label is None else label.text()
    schema = tables.client.create_schema(auto_id=False, description=text)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("row", DataType.FLOAT_VECTOR, dim=length)
    tables.client.create_collection(name, schema=schema)
    milvus_load._move(tables, alias, name)


def test_a_table_that_is_wrong_is_named_and_never_served(
    tmp_path: Path, milvus: MilvusProcess
) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 300)])
    loaded(store_folder, milvus.uri)
    before = sorted((p, p.stat().st_mtime_ns) for p in store_folder.path.rglob("*") if p.is_file())
    tables, alias, name, table = table_of(store_folder, milvus.uri)
    wrong = _other_store, _other_length, _other_version, _foreign, _not_loaded, _gone, _no_alias
    for spoil in wrong:
        _is_said(store_folder, milvus.uri, spoil(tables, alias, table))
        milvus_load._move(tables, alias, name)
    snapshot, engine = served(store_folder, milvus.uri)
    assert (
        near(snapshot) == near(opened(store_folder)) and engine.n_requests and not engine.notice()
    )
    tables.client.delete(name, filter="id <= 20")
    _is_said(store_folder, milvus.uri, "has 280 of 300 rows")
    after = sorted((p, p.stat().st_mtime_ns) for p in store_folder.path.rglob("*") if p.is_file())
    assert before == after
    tables.close()


def _is_said(store_folder: StoreFolder, uri: str, said: str) -> None:
    snapshot, engine = served(store_folder, uri)
    assert near(snapshot) == near(opened(store_folder)) and engine.n_requests == 0
    assert re.search(said, engine.notice()), engine.notice()
    assert "Answered from the local rows" in engine.notice()
    state = milvus_state(uri, store_folder.path, snapshot.published)
    assert not state.serves and state.message.startswith("degraded")
    assert any(re.search(said, p) for p in compare(uri, store_folder.path, snapshot.published, ONE))


def test_rows_that_differ_are_found(tmp_path: Path, milvus: MilvusProcess) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 150)])
    loaded(store_folder, milvus.uri)
    tables, _, name, _ = table_of(store_folder, milvus.uri)
    best = near(opened(store_folder))[0]
    tables.client.upsert(name, [{"id": best, "row": [1.0] * 8}])
    snapshot, engine = served(store_folder, milvus.uri)
    (said,) = compare(milvus.uri, store_folder.path, snapshot.published, ONE)
    assert "other rows than the store for 1 of" in said and f"such as {best}." in said
    assert near(snapshot) == near(opened(store_folder))
    assert "otherwise than the local rows" in engine.notice()
    tables.close()


def test_a_milvus_that_is_not_there_is_said_and_asked_again(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 100)])
    create_identity(store_folder.path)
    now = [0.0]
    engine = MilvusEngine("milvus://127.0.0.1:1", lambda: "x", ONE, lambda: now[0])
    snapshot = opened(store_folder)
    snapshot.engine = engine
    engine.begin()
    assert near(snapshot) == near(opened(store_folder))
    assert "Milvus at milvus://127.0.0.1:1 does not answer" in engine.notice()
    assert engine._failures[""][0] == RETRY
    now[0] = RETRY + 0.1
    assert near(snapshot) == near(opened(store_folder)) and engine._failures[""][0] > RETRY
    with pytest.raises(EngineAway, match="does not answer"):
        Tables("milvus://127.0.0.1:1")
    with pytest.raises(UsageError, match="milvus://HOST:PORT"):
        Tables("milvus:/nowhere")


def test_an_old_table_of_our_name_that_is_another_is_refused(
    tmp_path: Path, milvus: MilvusProcess
) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 60)])
    tables, name = Tables(milvus.uri), create_identity(store_folder.path)
    p = opened(store_folder).published
    (t,) = plan(tables, name, p, ONE)
    label = replace(Label.of(name, p, t.table), digest="f" * 20)
    milvus_load._create(tables, t, label)
    with pytest.raises(EngineError, match="other rows than its name says"):
        load(tables, name, p, set(), NoProgress(), measures=ONE)
    assert tables.aliased(alias_of(name, t.table)) is None
    tables.close()


def test_what_a_table_says_of_itself_is_read_with_care() -> None:
    table = EngineTable("f-1", "cosine", 4, 2, "abc")
    label = label_of("s", 3, table)
    assert Label.read(label.text()) == label
    for text in ("", "{}", "[1]", json.dumps({"sightline": 2}), '{"sightline": 1, "x": 2}'):
        assert Label.read(text) is None
