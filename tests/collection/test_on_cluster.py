"""Indexing on a Ray cluster of two nodes: the same store as here, whatever happens to a node."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.index.run import IndexReport
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute, Done, Failed, Job, WorkerKind
from sightline.errors import ComputeError, Interrupted
from tests.factories.photos import make_photo, paint
from tests.factories.picture_files import zoo
from tests.factories.ray_clusters import TwoNodes, needs_ray

FEATURES = ["color", "visterms"]
# How often a node is killed in the middle of an index.
KILLS = int(os.environ.get("SIGHTLINE_TEST_KILLS", "1"))

pytestmark = needs_ray


def shards(store: Path) -> dict[str, str]:
    """Return the checksum of everything that was published: rows, words and codebooks."""
    files = sorted([*(store / "shards").glob("*"), *(store / "models").rglob("*.safetensors")])
    return {str(f.relative_to(store)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def facts(store: Path) -> list[tuple[object, ...]]:
    """Return all facts of the log but when they were written."""
    with sqlite3.connect(store / "events.sqlite3") as db:
        told = "seq, kind, picture, body"
        return db.execute(f"SELECT {told} FROM events ORDER BY seq").fetchall()


def indexed(photos: Path, store: Path, compute: Compute, features: list[str]) -> IndexReport:
    return Collection.open(photos, store=store).index(features=features, compute=compute)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return pictures with words, some of them broken, in folders and behind links."""
    folder = zoo(tmp_path / "photos")
    paint(folder, 40, True, 0)
    make_photo(folder / "deep" / "er" / "long.jpg", 5, (1500, 900))
    (folder / "deep" / "er" / "long.txt").write_text("river, caf\u00e9", encoding="utf-8")
    (folder / "000_x.txt").unlink()
    (folder / "000_x.txt").symlink_to(folder / "001_x.txt")
    (folder / "001_x.txt").write_bytes(b"x" * 3_000_000)
    return folder


def test_a_store_made_on_two_nodes_is_the_one_made_here(
    photos: Path, tmp_path: Path, cluster: TwoNodes
) -> None:
    from sightline.compute.ray_cluster import RayCompute

    with LocalCompute(2) as local:
        here = indexed(photos, tmp_path / "here", local, FEATURES)
    with RayCompute(cluster.address) as ray:
        there = indexed(photos, tmp_path / "there", ray, FEATURES)
        assert indexed(photos, tmp_path / "there", ray, FEATURES).added == 0
    assert here.added > 40 and len(here.skipped) > 5 and here.lost_words
    assert (there.seen, there.indexed, there.skipped) == (here.seen, here.indexed, here.skipped)
    assert (there.problems, there.lost_words) == (here.problems, here.lost_words)
    assert shards(tmp_path / "there") == shards(tmp_path / "here")
    assert facts(tmp_path / "there") == facts(tmp_path / "here")


class Killing:
    """Computes on a cluster, and has its second node killed after some answers."""

    def __init__(self, compute: Compute, cluster: TwoNodes, after: int) -> None:
        self._compute, self._cluster, self._left = compute, cluster, after
        self.hold, self.map, self.close = compute.hold, compute.map, compute.close
        self.killed = threading.Event()

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        for answer in self._compute.run(task, jobs, kind):
            yield answer
            self._left -= 1
            if self._left == 0:
                self._cluster.kill_second()
                self.killed.set()


@pytest.mark.parametrize("turn", range(KILLS))
def test_a_node_that_dies_while_indexing_costs_nothing(
    turn: int, tmp_path: Path, cluster: TwoNodes
) -> None:
    from sightline.compute.ray_cluster import RayCompute

    photos = tmp_path / "photos"
    photos.mkdir()
    paint(photos, 150, True, turn)
    with LocalCompute(2) as local:
        here = indexed(photos, tmp_path / "here", local, ["color"])
    with RayCompute(cluster.address) as ray:
        killing = Killing(ray, cluster, 20 + 25 * turn)
        there = indexed(photos, tmp_path / "there", killing, ["color"])
    assert killing.killed.is_set() and cluster.second is None
    assert (there.seen, there.indexed) == (here.seen, here.indexed) == (150, 150)
    assert shards(tmp_path / "there") == shards(tmp_path / "here")
    assert facts(tmp_path / "there") == facts(tmp_path / "here")


def test_an_interrupt_publishes_what_was_read_and_leaves_the_cluster_usable(
    tmp_path: Path, cluster: TwoNodes
) -> None:
    from sightline.compute.ray_cluster import RayCompute

    class Stopping:
        def __init__(self, compute: Compute) -> None:
            self._compute = compute
            self.hold, self.map, self.close = compute.hold, compute.map, compute.close

        def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
            for i, answer in enumerate(self._compute.run(task, jobs, kind)):
                if i == 30:
                    raise KeyboardInterrupt
                yield answer

    photos = tmp_path / "photos"
    photos.mkdir()
    paint(photos, 60, True, 0)
    with RayCompute(cluster.address) as ray:
        with pytest.raises(Interrupted):
            indexed(photos, tmp_path / "store", Stopping(ray), [])
        with LocalCompute(1) as local:
            after = Collection.open(photos, store=tmp_path / "store")
            assert after.status().pictures in range(61)
            assert indexed(photos, tmp_path / "whole", local, []).indexed == 60
        assert indexed(photos, tmp_path / "store", ray, []).indexed == 60


def test_a_cluster_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    paint(photos, 3, True, 0)
    c = Collection.open(photos, store=tmp_path / "store", compute="127.0.0.1:1")
    with pytest.raises(ComputeError, match="cannot be reached"):
        c.index()
    assert not (tmp_path / "store").exists()
