"""A Ray cluster as a place to compute: limits kept on every node, and faults that are named."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pytest

from sightline.contracts import Done, Failed, Job, Part
from sightline.errors import ComputeError
from sightline.features.local.codebook import codebook
from sightline.pictures.folder import PictureFile
from sightline.pictures.reading import READ_TASK, ReadLimits, request
from sightline.testing.compute import ECHO_TASK
from sightline.testing.faults import ESCAPE_TASK, FAULTY_READ_TASK
from tests.factories.photos import make_photo
from tests.factories.ray_clusters import TwoNodes, memory_share, needs_ray, run_batch

pytestmark = needs_ray
ROOT = str(Path(__file__).parents[2])


def compute(address: str, **more: Any) -> Any:
    from sightline.compute.ray_cluster import RayCompute

    return RayCompute(address, **more)


def reading(root: Path, name: str, follow: bool = False) -> Job:
    found = PictureFile(os.fsencode(name), 0, 0)
    return request(os.fsencode(root), found, ReadLimits(follow=follow), pixels=True)


def on_each_node(ray: Any, cluster: TwoNodes) -> Iterator[None]:
    """Have batches run on one node alone, on each in turn."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray._ray.remote(run_batch)
    for node in cluster.cluster.list_all_nodes():
        there = NodeAffinitySchedulingStrategy(node.node_id, soft=False)
        ray._run_batch = task.options(num_cpus=1, num_returns=2, scheduling_strategy=there)
        yield


def test_decoders_are_limited_on_every_node(tmp_path: Path, cluster: TwoNodes) -> None:
    for i, name in enumerate(["good", "crash", "exit", "hog", "hang", "fine"]):
        make_photo(tmp_path / f"{name}.jpg", i)
    names = ["good.jpg", "crash.jpg", "exit.jpg", "hog.jpg", "hang.jpg", "fine.jpg"]
    target = tmp_path / "target"
    target.write_text("untouched")
    nodes = 0
    with compute(cluster.address, seconds=1.0) as ray:
        for _ in on_each_node(ray, cluster):
            jobs = [reading(tmp_path, n) for n in names]
            answers = list(ray.run(FAULTY_READ_TASK, jobs, "decode"))
            kinds = [a.kind if isinstance(a, Failed) else "done" for a in answers]
            assert kinds == ["done", "crash", "crash", "memory", "timeout", "done"]
            (tried,) = ray.run(ESCAPE_TASK, [Job(b"", {"target": str(target)})], "decode")
            assert isinstance(tried, Done) and tried.value["done"] == []
            nodes += 1
    assert nodes == 2 and target.read_text() == "untouched"


def test_a_codebook_in_shards_is_the_one_made_here(cluster: TwoNodes) -> None:
    points = np.random.default_rng(0).standard_normal((3_000, 8)).astype(np.float32)
    here = codebook(points, 300, passes=2, shards=4)
    with compute(cluster.address) as ray:
        there = codebook(points, 300, passes=2, shards=4, compute=ray)
    assert there.tobytes() == here.tobytes()


def test_matrices_are_shared_and_memory_is_divided(cluster: TwoNodes) -> None:
    with compute(cluster.address) as ray:
        held = ray.hold({"W": np.ones((3, 3)), "ids": np.ones(3)})
        (done,) = ray.map(memory_share, [Part({}, {"own": np.ones((2, 2))}, (held,))])
    assert done.value["writable"] == ["ids"]
    assert done.value["share"] == int(int(str(done.value["total"])) * 0.8)


def test_files_travel_with_their_jobs(tmp_path: Path, cluster: TwoNodes) -> None:
    make_photo(tmp_path / "deep" / "a.jpg", 1)
    make_photo(tmp_path / "large.jpg", 2, (3000, 2000))
    (tmp_path / "outside").symlink_to("/etc/hostname")
    names = ["deep/a.jpg", "large.jpg", "missing.jpg", "outside"]
    with compute(cluster.address) as ray:
        jobs = [reading(tmp_path, n) for n in names]
        first, large, missing, outside = ray.run(READ_TASK, jobs, "decode")
    assert isinstance(first, Done) and isinstance(large, Done)
    assert (tmp_path / "large.jpg").stat().st_size > 2 << 20
    assert large.value["mtime"] == (tmp_path / "large.jpg").stat().st_mtime_ns
    assert large.value["size"] == (tmp_path / "large.jpg").stat().st_size
    assert isinstance(missing, Failed) and missing.kind == "unreadable"
    assert isinstance(outside, Failed) and outside.kind == "special"


def test_without_retries_a_dead_node_is_noticed(
    cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other tests rely on: work is under way on the node that they kill."""
    monkeypatch.setattr("sightline.compute.ray_cluster._TRIES", 0)
    jobs = (Job(b"", {"i": i}, bytes(500_000)) for i in range(400))
    with compute(cluster.address) as ray:
        answers = ray.run(ECHO_TASK, jobs, "describe")
        next(answers)
        cluster.kill_second()
        with pytest.raises(ComputeError, match="died again and again"):
            list(answers)


def test_another_version_on_a_node_is_refused(tmp_path: Path, cluster: TwoNodes) -> None:
    shutil.copytree(Path(ROOT, "src", "sightline"), tmp_path / "sightline")
    changed = tmp_path / "sightline" / "records.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    cluster.kill_second()
    cluster.start_second(PYTHONPATH=str(tmp_path))
    try:
        with pytest.raises(
            ComputeError, match=r"has other versions: sightline .* there, .* here\. Install"
        ):
            compute(cluster.address)
    finally:
        cluster.kill_second()


def test_a_full_disk_of_a_node_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sightline.compute.ray_cluster import node
    from sightline.compute.ray_cluster.identity import identity
    from sightline.compute.ray_cluster.messages import pack_jobs
    from sightline.compute.ray_cluster.results import _task_failure
    from sightline.pictures import transfer

    def full(job: Job, folder: bytes) -> Job:
        raise OSError(errno.ENOSPC, "No space left on device")

    make_photo(tmp_path / "a.jpg")
    job = transfer.pack(READ_TASK, reading(tmp_path, "a.jpg"))
    monkeypatch.setattr(transfer, "unpack", full)
    with pytest.raises(RuntimeError, match="no space left in") as caught:
        node.run_batch(identity(), READ_TASK, "decode", 10.0, pack_jobs([job]), [])
    assert "has no space left for the data sent" in _task_failure(caught.value)


def test_a_job_cannot_leave_its_folder(tmp_path: Path) -> None:
    from sightline.errors import DataError
    from sightline.pictures.transfer import unpack

    for path in ("../a.jpg", "/etc/a.jpg", "b/../../a.jpg"):
        args: dict[str, Any] = {"carried": [[path, 0, 1]], "sidecars": [], "root": ""}
        with pytest.raises(DataError, match="outside its folder"):
            unpack(Job(b"", args, b"x"), os.fsencode(tmp_path))
    assert not list(tmp_path.iterdir())


GREEDY = """
import json, os
import numpy as np
from sightline.compute.ray_cluster import memory, node
from sightline.compute.ray_cluster.identity import identity

memory._SHARE = 0.05
total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
for share in (0.1, 0.0001):
    rows = np.broadcast_to(np.float64(1), int(total * share / 8))
    given = {"rows": rows, "factor": np.ones(1)}
    task = "sightline.testing.compute:scale"
    print(json.dumps(node.run_part(identity(), task, {"n": 0}, given)[0]))
"""


def test_a_part_that_takes_too_much_memory_fails_alone() -> None:
    done = run([sys.executable, "-c", GREEDY], capture_output=True, text=True, check=True)
    greedy, modest = map(json.loads, done.stdout.splitlines())
    assert greedy["error"][0] == "ComputeError" and "that a part may take" in greedy["error"][1]
    assert modest["value"]["n"] == 0


FULL = """
import os, sys, threading
import numpy as np
from sightline.compute.ray_cluster import RayCompute, results
from sightline.contracts import Part
from sightline.errors import ComputeError
from sightline.testing.compute import scale
from tests.factories.ray_clusters import QUICK, TwoNodes, block

results._LOOK_SECONDS, results._ALONE_SECONDS = 0.1, 1.0
full = {**QUICK, "automatic_object_spilling_enabled": False, "local_fs_capacity_threshold": 0.01}
nodes = TwoNodes(_system_config=full, object_store_memory=80 << 20, num_cpus=0)
try:
    RayCompute(nodes.address)
except ComputeError as e:
    print(e)
nodes.start_second()
with RayCompute(nodes.address) as ray:
    try:
        held = [ray.hold({"rows": np.zeros(40 << 20, np.uint8)}) for _ in range(4)]
    except ComputeError as e:
        print(e)
    held = ray.hold({"rows": np.zeros(4_000_000), "factor": np.ones(1)})
    try:
        kept = [d.arrays for d in ray.map(scale, [Part({"n": i}, {}, (held,)) for i in range(3)])]
    except ComputeError as e:
        print(e)
    kept = held = None
    pipe = os.path.join(nodes.folder, "pipe")
    os.mkfifo(pipe)
    blocked = ray.map(block, [Part({"pipe": pipe})])

    opened = []

    def kill():
        # Opening succeeds once somebody reads, which is when the part has begun.
        opened.append(open(pipe, "wb"))
        nodes.kill_second()

    killing = threading.Thread(target=kill)
    killing.start()
    try:
        next(blocked)
    except ComputeError as e:
        print(e)
    killing.join()
    opened[0].close()
nodes.stop()
"""


def test_a_cluster_without_space_or_machines_says_so() -> None:
    # In a process of its own: a process knows one cluster's settings for good.
    path = [ROOT, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    done = run(
        [sys.executable, "-c", FULL], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )  # fmt: skip
    none, *full, gone = done.stdout.splitlines()
    assert "No machine of the Ray cluster has a free processor" in none
    assert len(full) == 2, done.stdout + done.stderr
    assert all("no space left for the data sent between its machines" in line for line in full)
    assert "No machine of the Ray cluster is left to compute" in gone
