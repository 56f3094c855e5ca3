"""Training, scoring and evaluating on a Ray cluster of two nodes: the model that is learnt here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sightline.collection.models.evaluation import Evaluation, evaluate
from sightline.collection.models.training import TrainOptions, TrainReport, train
from sightline.collection.tagging.model import load_region_tagger
from sightline.contracts import Compute, Part, PartDone, PartTask
from sightline.errors import UsageError
from sightline.progress import NoProgress
from sightline.records import Batch
from sightline.store.folder import StoreFolder
from sightline.store.writer import Change, Writer
from tests.factories.planted_stores import clusters, noise_like, plant, seen_event
from tests.factories.ray_clusters import TwoNodes, needs_ray
from tests.factories.tagged_collections import painted_collection

# How often a node is killed in the middle of a training.
KILLS = int(os.environ.get("SIGHTLINE_TEST_KILLS", "1"))
RANKERS = ("pamir", "ridge", "log-product", "neighbours")

pytestmark = needs_ray


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Multiply matrices by one thread here, as every task of a cluster does."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@pytest.fixture
def fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn in shards from fewer triplets: rounds of small collections are short, and many."""
    monkeypatch.setattr("sightline.collection.models.registry._MOST_STEPS", 40_000)


def planted(folder: Path, n: int = 240) -> StoreFolder:
    """Return a store of three segments, and a fourth whose pictures have no features."""
    words, rows = clusters(n, 8, noise=1.2)
    store_folder = plant(folder, words, {"signal": rows, "noise": noise_like(rows)}, segments=3)
    with Writer(store_folder, "test") as writer:
        events = writer.append([seen_event(n)])
        bare = Batch(np.array([events[0].picture]), ((),), (b"x",), ())
        writer.publish(Change(events=events, batches=[bare]), finished=True)
    return store_folder


def learnt(
    store_folder: StoreFolder,
    compute: Compute | None,
    rankers: tuple[str, ...] = RANKERS,
    shards: int = 1,
) -> TrainReport:
    options = TrainOptions(rankers=rankers, shards=shards)
    return train(store_folder, options, 0.0, NoProgress(), compute)


def arrays(store_folder: StoreFolder) -> dict[str, str]:
    """Return the checksums of models' arrays and of all that is published."""
    files = [*store_folder.models.rglob("*.safetensors"), *store_folder.shards.glob("*")]
    return {hashlib.sha256(f.read_bytes()).hexdigest(): f.name.split("-")[0] for f in files}


def same_report(a: TrainReport, b: TrainReport) -> None:
    assert (a.recipe, a.how, a.proof, a.words, a.pictures) == (
        b.recipe, b.how, b.proof, b.words, b.pictures
    )  # fmt: skip
    tables = [[replace(t, train_seconds=0.0, query_ms=0.0) for t in r.table] for r in (a, b)]
    assert tables[0] == tables[1]


def same_evaluation(a: Evaluation, b: Evaluation) -> None:
    assert replace(a, seconds=0.0) == replace(b, seconds=0.0)


def test_a_model_learnt_on_two_nodes_is_the_one_learnt_here(
    tmp_path: Path, cluster: TwoNodes
) -> None:
    from sightline.compute.ray_cluster import RayCompute

    here, there = planted(tmp_path / "here"), planted(tmp_path / "there")
    own = learnt(here, None)
    with RayCompute(cluster.address) as ray:
        other = learnt(there, ray)
        same_report(own, other)
        assert arrays(here) == arrays(there)
        same_evaluation(evaluate(here, NoProgress()), evaluate(there, NoProgress(), compute=ray))


def test_regions_learnt_on_two_nodes_are_those_learnt_here(
    tmp_path: Path, cluster: TwoNodes
) -> None:
    from sightline.compute.ray_cluster import RayCompute

    own = painted_collection(tmp_path, 80)
    report = own.models.train_regions(feature="regions", scenes=2)
    before = load_region_tagger(own.store_folder, report.model)
    with RayCompute(cluster.address) as ray:
        counting = Counting(ray)
        again = own.models.train_regions(feature="regions", scenes=2, force=True, compute=counting)
    after = load_region_tagger(own.store_folder, again.model)
    assert before is not None and after is not None and counting.parts == 6
    mine, other = before.to_saved()[1], after.to_saved()[1]
    assert mine.keys() == other.keys() and all(np.array_equal(mine[n], other[n]) for n in mine)
    assert again.proof.candidate == report.proof.candidate and again.sure == report.sure


@pytest.mark.usefixtures("fewer_steps")
def test_a_model_of_shards_is_evaluated_on_few_pictures_too(tmp_path: Path) -> None:
    store_folder = planted(tmp_path / "store", 120)
    assert "shards=7" in learnt(store_folder, None, ("pamir",), 7).recipe
    assert evaluate(store_folder, NoProgress()).curve


class Counting:
    """Computes on a cluster, and counts parts."""

    def __init__(self, compute: Compute) -> None:
        self._compute, self.parts = compute, 0
        self.run, self.close, self.hold = compute.run, compute.close, compute.hold

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        for done in self._compute.map(task, parts):
            self.parts += 1
            yield done


class KillingAt:
    """Computes on a cluster; its second node is killed when so many parts were asked for."""

    def __init__(self, compute: Compute, cluster: TwoNodes, part: int) -> None:
        self._compute, self._cluster, self._left = compute, cluster, part
        self.run, self.close, self.hold = compute.run, compute.close, compute.hold
        self.parts = 0

    def map(self, task: PartTask, parts: Iterable[Part]) -> Iterator[PartDone]:
        for done in self._compute.map(task, parts):
            self.parts += 1
            if self.parts == self._left:
                self._cluster.kill_second()
            yield done


@pytest.mark.parametrize("turn", range(KILLS))
def test_a_node_that_dies_while_training_costs_nothing(
    turn: int, tmp_path: Path, cluster: TwoNodes
) -> None:
    from sightline.compute.ray_cluster import RayCompute

    here, there = planted(tmp_path / "here"), planted(tmp_path / "there")
    shards = 2 if turn % 2 else 1
    rankers = ("pamir",) if shards > 1 else ("pamir", "ridge")
    own = learnt(here, None, rankers, shards)
    with RayCompute(cluster.address) as ray:
        killing = KillingAt(ray, cluster, 1 + turn // 2)
        other = learnt(there, killing, rankers, shards)
    assert cluster.second is None and killing.parts >= killing._left
    same_report(own, other)
    assert arrays(here) == arrays(there)


@pytest.mark.usefixtures("fewer_steps")
def test_shards_give_one_model_wherever_they_learn(tmp_path: Path, cluster: TwoNodes) -> None:
    from sightline.compute.ray_cluster import RayCompute

    here, there, serial = (planted(tmp_path / n) for n in ("here", "there", "serial"))
    own = learnt(here, None, ("pamir",), 3)
    with RayCompute(cluster.address) as ray:
        other = learnt(there, ray, ("pamir",), 3)
    same_report(own, other)
    assert "shards=3" in own.recipe
    assert arrays(here) == arrays(there)
    one = learnt(serial, None, ("pamir",), 1)
    assert "shards" not in one.recipe and arrays(serial) != arrays(here)
    assert abs(one.proof.candidate - own.proof.candidate) < 0.05


def test_what_cannot_be_learnt_there_is_said_as_here(tmp_path: Path, cluster: TwoNodes) -> None:
    from sightline.compute.ray_cluster import RayCompute

    words, rows = clusters(60, 3)
    store_folder = plant(tmp_path / "store", words, {"signal": rows})
    said = "cmrm: it learns from counts of visual words"
    with RayCompute(cluster.address) as ray, pytest.raises(UsageError, match=said):
        learnt(store_folder, ray, ("cmrm",))
    assert not any(store_folder.models.glob("words-*"))
