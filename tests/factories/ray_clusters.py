"""A real Ray cluster of two nodes, as processes on loopback, for tests that need one."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sightline.compute.ray_cluster import connection, library
from sightline.contracts import Json
from sightline.testing import watchdog
from tests.sharing import share, unshare
from tests.waiting import LIMIT, time_only_hanging_jobs

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed, so clusters are not tested: pip install 'sightline[ray]'",
)
_OBJECTS = 100 << 20
_ROOT = str(Path(__file__).parents[2])
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0f" * 32,
    "RAY_worker_niceness": "0",
    # Listen on loopback alone.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
# Find a dead node in a second instead of twenty: nobody listens there any more, which is noticed at
# once. One that is only slow is given time.
QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": int(1000 * LIMIT),
    "health_check_failure_threshold": 3,
}
# The seconds that the library gives a node to start.
_LIBRARY_SECONDS = 30.0


class TwoNodes:
    """A head, which is never killed, and a second node, which may be killed and started again."""

    def __init__(self, **head: Any) -> None:
        self._head = head
        # Sockets have short names, and pytest's folders long ones.
        self.folder = tempfile.mkdtemp(prefix="sl-")
        watchdog.remove_later(self.folder)
        self.start()

    def start(self) -> None:
        """Start the head."""
        os.makedirs(os.path.join(self.folder, "ray"), exist_ok=True)
        # Read again where another test had the library read something else.
        library._set({**_ENVIRONMENT, "RAY_TMPDIR": self.folder})
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        from ray.cluster_utils import Cluster

        head_options = {"_system_config": QUICK, **self._node(), **self._head}
        with _patient():
            self.cluster: Any = Cluster(
                initialize_head=True, connect=False, head_node_args=head_options
            )
        self.second: Any = None

    @property
    def address(self) -> str:
        """The address to which drivers connect."""
        return str(self.cluster.address)

    def start_second(self, **more: Any) -> None:
        """Start the second node, unless it runs."""
        if self.second is None:
            with _patient():
                self.second = self.cluster.add_node(**self._node(**more))

    def kill_second(self) -> None:
        """Kill the second node, as a power cut would."""
        gone, self.second = self.second, None
        self.cluster.remove_node(gone, allow_graceful=False)

    def stop(self) -> None:
        """End all processes, and remove their files."""
        self.cluster.shutdown()
        self.second = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def batch_folders(self) -> list[Path]:
        """Return the folders in which batches of both nodes have files now."""
        return [p for p in Path(self.folder, f"sightline-{os.getuid()}").glob("*-*") if p.is_dir()]

    def _node(self, **variables: str) -> dict[str, Any]:
        # Nodes import tasks of tests, and what they lay down is looked at.
        environment = {"TMPDIR": self.folder, "PYTHONPATH": _ROOT, **variables}
        node = {"num_cpus": 1, "object_store_memory": _OBJECTS, "include_dashboard": False}
        return {**node, "env_vars": environment}


@contextmanager
def _patient() -> Iterator[None]:
    """Have the library wait for a node as long as tests do, by a clock that is slower for it."""
    from ray._private import node

    slow = {"monotonic": lambda: time.monotonic() * _LIBRARY_SECONDS / LIMIT}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "time", SimpleNamespace(**{**vars(time), **slow}))
        yield


def run_batch(*arguments: Any) -> Any:
    """Run a batch on a node, where only jobs that hang are timed."""
    from sightline.compute.ray_cluster import node

    with pytest.MonkeyPatch.context() as patch:
        time_only_hanging_jobs(patch)
        return node.run_batch(*arguments)


def block(args: dict[str, Json], arrays: Mapping[str, Any]) -> tuple[dict[str, Json], Any]:
    """Compute nothing, as a part, until somebody writes to the pipe that is named."""
    with open(str(args["pipe"]), "rb") as pipe:
        pipe.read()
    return {}, {}


def memory_share(args: dict[str, Json], arrays: Mapping[str, Any]) -> tuple[dict[str, Json], Any]:
    """Return a part's share of the memory, the total, and the arrays that are writable."""
    from sightline.compute.ray_cluster import memory

    writable: list[Json] = [name for name, a in arrays.items() if a.flags.writeable]
    return {"share": memory.share(), "total": memory.total(), "writable": writable}, {}


def shared_nodes() -> Iterator[TwoNodes]:
    """Yield the cluster that all tests of a process share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_PROBE_SECONDS", LIMIT)
        nodes = TwoNodes()
        share("one_cluster", nodes)
        yield nodes
        unshare("one_cluster")
        nodes.stop()
