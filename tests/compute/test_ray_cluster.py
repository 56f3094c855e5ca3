"""A Ray cluster as a place to compute: limits kept on every node, and faults that are named."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from sightline.contracts import Done, Failed, Job
from sightline.errors import ComputeError
from sightline.pictures.folder import Found
from sightline.pictures.reading import READ_TASK, ReadLimits, request
from sightline.testing.compute import ECHO_TASK
from sightline.testing.faults import ESCAPE_TASK, FAULTY_READ_TASK
from tests.photos import make_photo
from tests.ray_made import TwoNodes, cluster, needs_ray, one_cluster

__all__ = ["cluster", "one_cluster"]

pytestmark = needs_ray
SOURCE = Path(__file__).parents[2] / "src"


def compute(address: str, **more: Any) -> Any:
    from sightline.compute.ray_cluster import RayCompute

    return RayCompute(address, **more)


def reading(root: Path, name: str, follow: bool = False) -> Job:
    found = Found(os.fsencode(name), 0, 0)
    return request(os.fsencode(root), found, ReadLimits(follow=follow), pixels=True)


def test_decoders_are_limited_on_every_node(tmp_path: Path, cluster: TwoNodes) -> None:
    for i, name in enumerate(["good", "crash", "exit", "hog", "hang", "fine"]):
        make_photo(tmp_path / f"{name}.jpg", i)
    names = ["good.jpg", "crash.jpg", "exit.jpg", "hog.jpg", "hang.jpg", "fine.jpg"]
    target = tmp_path / "target"
    target.write_text("untouched")
    with compute(cluster.address, seconds=1.0) as ray:
        jobs = [reading(tmp_path, n) for n in names]
        answers = list(ray.run(FAULTY_READ_TASK, jobs, "decode"))
        escapes = [Job(b"", {"target": str(target)}) for _ in range(40)]
        tried = list(ray.run(ESCAPE_TASK, escapes, "decode"))
    kinds = [a.kind if isinstance(a, Failed) else "done" for a in answers]
    assert kinds == ["done", "crash", "crash", "memory", "timeout", "done"]
    assert all(isinstance(t, Done) and t.value["done"] == [] for t in tried)
    assert target.read_text() == "untouched"


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
    shutil.copytree(SOURCE / "sightline", tmp_path / "sightline")
    changed = tmp_path / "sightline" / "records.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    cluster.kill_second()
    cluster.start_second(PYTHONPATH=str(tmp_path))
    try:
        with pytest.raises(
            ComputeError, match=r"is another: sightline .* there, .* here\. Install"
        ):
            compute(cluster.address)
    finally:
        cluster.kill_second()


def test_a_full_disk_of_a_node_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sightline.compute.ray_cluster import node
    from sightline.compute.ray_cluster.frames import pack_jobs
    from sightline.compute.ray_cluster.identity import identity
    from sightline.compute.ray_cluster.waiting import _failed_there
    from sightline.pictures import carrying

    def full(job: Job, folder: bytes) -> Job:
        raise OSError(errno.ENOSPC, "No space left on device")

    make_photo(tmp_path / "a.jpg")
    job = carrying.packed(READ_TASK, reading(tmp_path, "a.jpg"))
    monkeypatch.setattr(carrying, "laid_out", full)
    with pytest.raises(RuntimeError, match="no space left in") as caught:
        node.run_batch(identity(), READ_TASK, "decode", 10.0, pack_jobs([job]), [])
    assert "has no space left for what travels" in _failed_there(caught.value)


def test_a_job_cannot_leave_its_folder(tmp_path: Path) -> None:
    from sightline.errors import DataError
    from sightline.pictures.carrying import laid_out

    for path in ("../a.jpg", "/etc/a.jpg", "b/../../a.jpg"):
        args: dict[str, Any] = {"carried": [[path, 0, 1]], "sidecars": [], "root": ""}
        with pytest.raises(DataError, match="outside its folder"):
            laid_out(Job(b"", args, b"x"), os.fsencode(tmp_path))
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
import numpy as np
from sightline.compute.ray_cluster import RayCompute
from sightline.contracts import Part
from sightline.errors import ComputeError
from sightline.testing.compute import scale
from tests.ray_made import QUICK, TwoNodes

said = []
full = {**QUICK, "automatic_object_spilling_enabled": False, "local_fs_capacity_threshold": 0.01}
nodes = TwoNodes(_system_config=full, object_store_memory=80 << 20)
with RayCompute(nodes.address) as ray:
    try:
        held = [ray.hold({"rows": np.zeros(40 << 20, np.uint8)}) for _ in range(4)]
    except ComputeError as e:
        said.append(str(e))
    held = ray.hold({"rows": np.zeros(4_000_000), "factor": np.ones(1)})
    try:
        kept = [d.arrays for d in ray.map(scale, [Part({"n": i}, {}, (held,)) for i in range(3)])]
    except ComputeError as e:
        said.append(str(e))
nodes.end()
print(*said, sep="\\n")
"""


def test_a_cluster_without_space_says_so() -> None:
    # In a process of its own: a process knows one cluster's settings for good.
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    done = run(
        [sys.executable, "-c", FULL], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stdout + done.stderr
    assert all("no space left for what travels between its machines" in line for line in lines)
