"""Leaving a Ray cluster, or what is under way on it: nothing waits, runs or lies about after."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sightline.compute.prefetch import prefetch
from sightline.contracts import Done, Job, Part
from sightline.errors import ComputeError
from sightline.pictures import transfer
from sightline.pictures.folder import PictureFile
from sightline.pictures.reading import READ_TASK, ReadLimits, request
from sightline.testing.compute import ECHO_TASK, scale
from sightline.testing.faults import FAULTY_READ_TASK
from tests.factories.photos import make_photo
from tests.factories.ray_clusters import TwoNodes, block, needs_ray
from tests.waiting import LIMIT, joined, until

pytestmark = needs_ray
# Longer than any of these tests: what hangs does until it is ended.
FOR_EVER = 10 * LIMIT
ECHOES = [Job(b"", {"i": i}) for i in range(3)]


def compute(address: str, **more: Any) -> Any:
    from sightline.compute.ray_cluster import RayCompute

    return RayCompute(address, **more)


def hanging(folder: Path, batches: int = 1, before: int = 0) -> Iterator[Job]:
    """Yield jobs that hang at pictures which were laid down for them; some do not."""
    names = ["good.jpg"] * before + ["hang.jpg"] * (16 * batches)
    for name in dict.fromkeys(names):
        make_photo(folder / name)
    for name in names:
        job = request(
            os.fsencode(folder), PictureFile(name.encode(), 0, 0), ReadLimits(), pixels=True
        )
        yield transfer.pack(READ_TASK, job)


def answered(ray: Any) -> bool:
    """Say whether the cluster has a processor for us."""
    answers = ray.run(ECHO_TASK, iter(ECHOES), "describe")
    too_late = threading.Timer(LIMIT, answers.stop)
    too_late.start()
    try:
        return all(isinstance(a, Done) for a in answers)
    except ComputeError:
        return False
    finally:
        too_late.cancel()


def test_what_is_taken_back_leaves_no_file_and_frees_the_machine(
    tmp_path: Path, cluster: TwoNodes
) -> None:
    with compute(cluster.address, seconds=FOR_EVER) as ray:
        answers = ray.run(FAULTY_READ_TASK, hanging(tmp_path, 5), "decode")
        reader = threading.Thread(target=pytest.raises, args=(ComputeError, next, answers))
        reader.start()
        until(lambda: sum(bool(list(f.rglob("hang.jpg"))) for f in cluster.batch_folders()) == 2)
        answers.stop()
        assert joined(reader), "it still waits for a picture that hangs"
        assert answered(ray), "both processors are still at work that nobody waits for"
        until(lambda: not cluster.batch_folders())


def test_a_cancellation_that_is_lost_is_sent_again(
    tmp_path: Path, cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[Any] = []
    with compute(cluster.address, seconds=FOR_EVER) as ray:
        cancel = ray._ray.cancel

        def lossy(ref: Any, **options: Any) -> None:
            if ref in lost:
                cancel(ref, **options)
            lost.append(ref)

        monkeypatch.setattr(ray._ray, "cancel", lossy)
        answers = ray.run(FAULTY_READ_TASK, hanging(tmp_path, 5), "decode")
        reader = threading.Thread(target=pytest.raises, args=(ComputeError, next, answers))
        reader.start()
        until(lambda: sum(bool(list(f.rglob("hang.jpg"))) for f in cluster.batch_folders()) == 2)
        answers.stop()
        assert joined(reader) and answered(ray)
        until(lambda: not cluster.batch_folders())
    # Both that were at work; those that waited may not have been sent yet.
    assert 2 <= len(set(lost)) <= 5


def test_a_cluster_is_left_without_files_on_it(
    tmp_path: Path, cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nodes say when they have cleared up, and on a busy machine that takes a while.
    monkeypatch.setattr("sightline.compute.ray_cluster._END_SECONDS", LIMIT)
    with compute(cluster.address, seconds=FOR_EVER) as ray:
        answers = ray.run(FAULTY_READ_TASK, hanging(tmp_path, 3, before=16), "decode")
        next(answers)
        until(lambda: any(list(f.rglob("hang.jpg")) for f in cluster.batch_folders()))
    assert not cluster.batch_folders()


def test_what_a_killed_worker_left_is_swept_by_the_next_batch(
    tmp_path: Path, cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.compute.ray_cluster._TRIES", 0)
    with compute(cluster.address, seconds=FOR_EVER) as ray:
        answers = ray.run(FAULTY_READ_TASK, hanging(tmp_path, 1, before=16), "decode")
        next(answers)
        until(lambda: any(list(f.rglob("hang.jpg")) for f in cluster.batch_folders()))
        (left,) = cluster.batch_folders()
        os.kill(int(left.name.partition("-")[0]), signal.SIGKILL)
        with pytest.raises(ComputeError, match="died again and again"):
            list(answers)
        assert list(left.rglob("hang.jpg"))
        assert answered(ray) and not cluster.batch_folders()


def test_parts_are_taken_back_too(tmp_path: Path, cluster: TwoNodes) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    with compute(cluster.address) as ray:
        held = ray.hold({"rows": np.ones((2, 2)), "factor": np.ones(1)})
        blocked = ray.map(block, [Part({"pipe": pipe}) for _ in range(3)])
        waiting = threading.Thread(target=pytest.raises, args=(ComputeError, next, blocked))
        waiting.start()
        # Opening it succeeds once somebody reads.
        os.close(os.open(pipe, os.O_RDWR))
        blocked.stop()
        assert joined(waiting) and answered(ray)
        assert next(ray.map(scale, [Part({"n": 0}, held=(held,))])).value["n"] == 0


def test_whoever_goes_away_does_not_wait_for_a_busy_cluster(
    tmp_path: Path, cluster: TwoNodes
) -> None:
    with compute(cluster.address, seconds=FOR_EVER) as ray:
        jobs = hanging(tmp_path, 5, before=16)
        answers = prefetch(ray.run(FAULTY_READ_TASK, jobs, "decode"), 4)
        # Now all that was answered is taken, and the maker waits for what never is.
        assert all(isinstance(next(answers), Done) for _ in range(16))
        until(lambda: any(list(f.rglob("hang.jpg")) for f in cluster.batch_folders()))
        going = threading.Thread(target=answers.close, daemon=True)
        going.start()
        assert joined(going), "it waits for pictures that nobody wants"


def test_nothing_is_asked_of_a_cluster_that_was_left(cluster: TwoNodes) -> None:
    """The library would start another one, by its own defaults, for whatever is asked of it."""
    import ray as library

    with compute(cluster.address) as ray:
        held = ray.hold({"rows": np.ones((2, 2)), "factor": np.ones(1)})
        parts = [Part({"n": i}, held=(held,)) for i in range(3)]
        fits, others = ray.map(scale, parts), ray.map(scale, parts)
        first = next(fits)
        next(others)
    calls: list[Callable[[], object]] = [
        lambda: next(fits), lambda: first.arrays, lambda: ray.hold({}),
        lambda: ray.map(scale, []), lambda: ray.run(ECHO_TASK, [], "decode"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ComputeError, match="was left"):
            call()
    # As one is that an exception kept alive.
    others.close()
    ray.close()
    assert not library.is_initialized()
