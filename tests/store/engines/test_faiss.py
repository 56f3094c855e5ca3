"""faiss: the contract of stores, recall, filters, later segments, damage and forgetting."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sightline.errors import StoreDamaged, StoreIOError
from sightline.progress import NoProgress
from sightline.records import Batch, DenseQuery, FeatureRows
from sightline.store.engines import faiss_files
from sightline.store.engines.faiss_ivf import FaissEngine
from sightline.store.engines.flat import By
from sightline.store.engines.tables import Measure
from sightline.store.folder import StoreFolder
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.backup import backup
from sightline.store.upkeep.purge import purge
from sightline.store.upkeep.repair import repair
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Change, Writer
from sightline.testing import check_store
from tests.factories.engine_stores import opened, random_batch, store_of

faiss = pytest.importorskip("faiss", reason="needs pip install 'sightline[faiss]', then make test")
Int = NDArray[np.int64]
ALL: tuple[Measure, ...] = ("product", "cosine", "distance")


def built(store_folder: StoreFolder, least: int = 1) -> list[faiss_files.Built]:
    return faiss_files.build(
        store_folder.path / "ivf", opened(store_folder).published, least, NoProgress(), ALL
    )


def served(store_folder: StoreFolder) -> tuple[Snapshot, FaissEngine]:
    snapshot, engine = opened(store_folder), FaissEngine(store_folder.path / "ivf")
    snapshot.engine = engine
    return snapshot, engine


def near(snapshot: Snapshot, k: int = 10, where: Int | None = None) -> list[int]:
    query = DenseQuery("made-1", np.ones(8, np.float32), "cosine")
    return [int(i) for i in snapshot.top(query, k, where).ids]


@pytest.mark.parametrize("merged", [False, True])
def test_faiss_keeps_the_contract_of_stores(tmp_path: Path, merged: bool) -> None:
    engines = []

    def fill(batches: Sequence[Batch], deleted: Sequence[int]) -> Snapshot:
        store_folder = store_of(tmp_path / "store", batches, deleted, merged=merged)
        built(store_folder)
        snapshot, engine = served(store_folder)
        engines.append(engine)
        return snapshot

    check_store(fill, recall=0.95)
    assert engines[0].n_requests > 10, "the lists were hardly looked into"


def test_lists_are_chosen_by_what_they_find(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 4_000, 8)])
    assert built(store_folder, least=5_000) == []
    found = built(store_folder)
    assert {b.table.by for b in found} == set(ALL) and all(b.state == "new" for b in found)
    assert all(b.probes.recall >= 0.95 and b.probes.plain < b.probes.lists for b in found)
    assert all(b.state == "kept" for b in built(store_folder))
    flat, (snapshot, engine) = opened(store_folder), served(store_folder)
    rng = np.random.default_rng(1)
    shares = []
    for _ in range(20):
        query = DenseQuery("made-1", rng.standard_normal(8).astype(np.float32), "product")
        exact = flat.top(query, 50).ids
        shares.append(len(np.intersect1d(exact, snapshot.top(query, 50).ids)) / 50)
    assert np.mean(shares) >= 0.9 and engine.n_requests >= 20


def test_a_selective_filter_is_answered_exactly_without_lists(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 2_000)])
    built(store_folder)
    snapshot, engine = served(store_folder)
    few = np.arange(1, 2_000, 50)
    assert near(snapshot, 10, few) == near(opened(store_folder), 10, few)
    assert engine.n_requests == 0
    half = np.arange(1, 2_001, 2)
    assert set(near(snapshot, 10, half)) <= set(half.tolist()) and engine.n_requests > 0


def test_pictures_that_came_later_are_found_and_many_of_them_are_said(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 1_000)])
    built(store_folder)
    rows = FeatureRows("made-1", np.full((1, 8), 9.0, np.float32))
    one = replace(random_batch(2_001, 1), features=(rows,))
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[one], dead=[near(opened(store_folder))[0]]), finished=True)
    snapshot, engine = served(store_folder)
    assert near(snapshot)[0] == 2_001 and engine.n_requests > 0 and engine.notice() == ""
    assert set(near(snapshot)) <= set(snapshot.ids().tolist())
    with Writer(store_folder, "test") as w:
        w.publish(Change(batches=[random_batch(3_001, 800)]), finished=True)
    snapshot, engine = served(store_folder)
    assert near(snapshot) == near(opened(store_folder)) and "older version" in engine.notice()
    engine.begin()
    assert engine.notice() == ""


def test_a_picture_like_one_that_went_is_found_under_its_own_id(tmp_path: Path) -> None:
    rows = FeatureRows("made-1", np.full((1, 8), 9.0, np.float32))
    first = replace(random_batch(2_001, 1), features=(rows,))
    store_folder = store_of(tmp_path / "store", [random_batch(1, 1_000), first])
    built(store_folder)
    assert near(served(store_folder)[0])[0] == 2_001
    with Writer(store_folder, "test") as w:
        again = replace(first, ids=np.array([2_002]))
        w.publish(Change(batches=[again], dead=[2_001]), finished=True)
    snapshot, engine = served(store_folder)
    assert near(snapshot)[0] == 2_002 and engine.n_requests > 0 and engine.notice() == ""


def test_pictures_that_are_back_are_found_though_lists_lack_them(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 100), random_batch(101, 900)])
    best = [i for i in near(opened(store_folder), 100) if i <= 100]
    with Writer(store_folder, "test") as w:
        before = w.version.number
        w.publish(Change(dead=[best[0]]), finished=True)
    built(store_folder)
    with Writer(store_folder, "test") as w:
        w.rollback(before)
        w.publish(Change(dead=best[1:3]), finished=True)
    snapshot, engine = served(store_folder)
    assert best[0] in near(opened(store_folder), 100) and best[0] in near(snapshot, 100)
    assert engine.n_requests > 0 and engine.notice() == ""


def test_damaged_lists_are_found_and_never_served(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 1_000)])
    built(store_folder)
    assert verify(store_folder).sound and not verify(store_folder).strays
    (path,) = [
        p for p in (store_folder.path / "ivf").glob("lists-*") if _of(store_folder, p, "cosine")
    ]
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    (problem,) = verify(store_folder).problems
    assert problem.file == f"ivf/{path.name}" and problem.derived
    path.write_bytes(whole[:-9])
    snapshot, engine = served(store_folder)
    assert near(snapshot) == near(opened(store_folder))
    assert "bytes" in engine.notice() and "export faiss" in engine.notice()
    assert repair(store_folder, lambda _: None).sound
    assert not path.exists()
    assert [b.state for b in built(store_folder)].count("new") == 1


def _of(store_folder: StoreFolder, path: Path, by: str) -> bool:
    found = [faiss_files.read_lists(store_folder.path / "ivf", p.stem)
             for p in (store_folder.path / "ivf").glob("*.json")]  # fmt: skip
    return any(x is not None and x.by == by and x.file.name == path.name for x in found)


def test_a_damaged_description_is_named(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 1_000)])
    built(store_folder)
    name = opened(store_folder).published.table("made-1", "cosine").name
    (store_folder.path / "ivf" / f"{name}.json").write_text("{}")
    with pytest.raises(StoreDamaged, match="export faiss"):
        faiss_files.read_lists(store_folder.path / "ivf", name)
    snapshot, engine = served(store_folder)
    assert near(snapshot) == near(opened(store_folder)) and "damaged" in engine.notice()
    assert any(p.file == f"ivf/{name}.json" for p in verify(store_folder).problems)


def test_lists_that_find_no_space_leave_nothing(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 1_000)])
    p, (soft, hard) = opened(store_folder).published, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 10, hard))
    try:
        with pytest.raises(StoreIOError, match="Is its disk full"):
            faiss_files.build(store_folder.path / "ivf", p, 1, NoProgress(), ALL)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((store_folder.path / "ivf").iterdir()) == []
    assert {b.state for b in built(store_folder)} == {"new"}


def test_a_scan_in_place_of_lists_is_said(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 1_000)])
    snapshot = opened(store_folder)
    for rows, said in ((1_001, ""), (1_000, "There are no lists of made-1 by cosine")):
        snapshot.engine = FaissEngine(store_folder.path / "ivf", rows)
        assert near(snapshot) == near(opened(store_folder))
        notice = snapshot.engine.notice()
        assert notice.startswith(said) and bool(notice) == bool(said)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_small_and_large_weights_are_asked_once_alike(tmp_path: Path, size: float) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 2_000)])
    built(store_folder)
    snapshot, engine = served(store_folder)
    rng = np.random.default_rng(4)
    for _ in range(10):
        weights = (size * rng.standard_normal(8)).astype(np.float32)
        snapshot.top(DenseQuery("made-1", weights, "cosine"), 10)
    assert engine.n_requests <= 14


def test_copies_have_the_lists_and_purging_forgets_them(tmp_path: Path) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 1_000)])
    built(store_folder)
    assert backup(store_folder, tmp_path / "copy").sound
    copy = StoreFolder(tmp_path / "copy")
    snapshot, engine = served(copy)
    assert near(snapshot) == near(opened(store_folder)) and engine.n_requests > 0
    (stray := store_folder.path / "ivf" / "notes.txt").write_text("mine")
    assert "ivf/notes.txt" in verify(store_folder).strays
    purge(store_folder, [5], [])
    assert [p.name for p in (store_folder.path / "ivf").iterdir()] == [stray.name]


@pytest.mark.parametrize("by", ["cosine", "distance"])
def test_very_many_lists_are_found_in_two_steps_and_hold_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: By
) -> None:
    store_folder = store_of(tmp_path / "store", [random_batch(1, 4_000, 16)])
    sizes, recalls = [], []
    for plain_lists in (4_096, 32):
        monkeypatch.setattr(faiss_files, "_PLAIN_LISTS", plain_lists)
        p, folder = opened(store_folder).published, tmp_path / f"{plain_lists}"
        faiss_files.build(folder, p, 1, NoProgress(), [by])
        snapshot, engine = opened(store_folder), FaissEngine(folder)
        index = faiss.read_index(str(next(folder.glob("*.faiss"))))
        assert index.ntotal == 4_000 and index.nlist == index.quantizer.ntotal == 256
        assert index.code_size == 16
        stored = index.invlists
        sizes.append(np.array([stored.list_size(i) for i in range(index.nlist)]))
        shares = []
        for weights in np.random.default_rng(7).standard_normal((40, 16)).astype(np.float32):
            query = DenseQuery("made-1", weights, by)
            snapshot.engine = None
            exact = snapshot.top(query, 50).ids
            snapshot.engine = engine
            shares.append(len(np.intersect1d(snapshot.top(query, 50).ids, exact)) / 50)
        recalls.append(float(np.mean(shares)))
        assert engine.n_requests >= 40 and not engine.notice()
    assert min(recalls) > 0.9
    assert all(s.sum() == 4_000 and s.max() < 400 for s in sizes)
