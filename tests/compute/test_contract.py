"""Everything that computes keeps one contract."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pytest

from sightline.compute.inline import InlineCompute
from sightline.compute.local import LocalCompute
from sightline.contracts import Done, Failed, Job, WorkerKind
from sightline.testing import check_compute
from tests.factories.ray_clusters import TwoNodes, needs_ray


def test_inline_keeps_it() -> None:
    check_compute(InlineCompute())


def test_workers_keep_it() -> None:
    with LocalCompute(2) as c:
        check_compute(c)


@needs_ray
def test_a_cluster_keeps_it(cluster: TwoNodes) -> None:
    from sightline.compute.ray_cluster import RayCompute

    with RayCompute(cluster.address) as c:
        assert c.workers == 2
        check_compute(c)


class Reordering(InlineCompute):
    """Gives its answers in another order."""

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        return iter(list(super().run(task, jobs, kind))[::-1])


class Losing(InlineCompute):
    """Loses the last answer."""

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        return iter(list(super().run(task, jobs, kind))[:-1])


@pytest.mark.parametrize("wrong", [Reordering(), Losing()])
def test_the_check_finds_what_breaks_it(wrong: InlineCompute) -> None:
    with pytest.raises(AssertionError):
        check_compute(wrong)


def test_nothing_of_the_cluster_is_loaded_without_being_asked_for() -> None:
    code = "import sys; from sightline.compute import backend, local; print('ray' in sys.modules)"
    from subprocess import run
    from sys import executable

    done = run([executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "False"
