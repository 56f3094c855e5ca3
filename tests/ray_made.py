"""A real Ray cluster of two nodes, as processes on loopback, for tests that need one."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest

from sightline.compute.ray_cluster import library
from sightline.contracts import Json

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed, so clusters are not tested: pip install 'sightline[ray]'",
)
_OBJECTS = 100 << 20
_ROOT = str(Path(__file__).parents[1])
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0f" * 32,
    "RAY_worker_niceness": "0",
    # Listen on loopback alone.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
# Find a dead node in a second instead of twenty.
QUICK = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 2_000,
    "health_check_failure_threshold": 3,
}


class TwoNodes:
    """A head, which is never killed, and another node, which may be, and may come again."""

    def __init__(self, **head: Any) -> None:
        # Sockets have short names, and pytest's folders long ones.
        self.folder = tempfile.mkdtemp(prefix="sl-")
        os.makedirs(os.path.join(self.folder, "ray"))
        # Read again where another test had the library read something else.
        library._set({**_ENVIRONMENT, "RAY_TMPDIR": self.folder})
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        from ray.cluster_utils import Cluster

        given = {"_system_config": QUICK, **self._node(), **head}
        self.cluster: Any = Cluster(initialize_head=True, connect=False, head_node_args=given)
        self.second: Any = None

    @property
    def address(self) -> str:
        """Where drivers connect."""
        return str(self.cluster.address)

    def start_second(self, **more: Any) -> None:
        """Start the second node, unless it runs."""
        if self.second is not None:
            return
        try:
            self.second = self.cluster.add_node(**self._node(**more))
        except Exception as e:
            # The library has no kind of its own for this, and gives a busy machine 30 seconds.
            if "timed out during startup" not in str(e):
                raise
            self.second = self.cluster.add_node(**self._node(**more))

    def kill_second(self) -> None:
        """Kill it as a power cut would."""
        gone, self.second = self.second, None
        self.cluster.remove_node(gone, allow_graceful=False)

    def end(self) -> None:
        """End all processes, and remove what they left."""
        self.cluster.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)

    def laid(self) -> list[Path]:
        """Return the folders in which batches of both nodes have files now."""
        return [p for p in Path(self.folder, f"sightline-{os.getuid()}").glob("*-*") if p.is_dir()]

    def _node(self, **variables: str) -> dict[str, Any]:
        # Nodes import tasks of tests, and what they lay down is looked at.
        own = {"TMPDIR": self.folder, "PYTHONPATH": _ROOT, **variables}
        node = {"num_cpus": 1, "object_store_memory": _OBJECTS, "include_dashboard": False}
        return {**node, "env_vars": own}


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something is so."""
    end = monotonic() + seconds
    while not true():
        assert monotonic() < end, "it never came to pass"
        Event().wait(0.01)


def block(args: dict[str, Json], arrays: Mapping[str, Any]) -> tuple[dict[str, Json], Any]:
    """Compute nothing, as a part, until somebody writes to the pipe that is named."""
    with open(str(args["pipe"]), "rb") as pipe:
        pipe.read()
    return {}, {}


def room(args: dict[str, Json], arrays: Mapping[str, Any]) -> tuple[dict[str, Json], Any]:
    """Return how much memory a part may take here, of how much, and which arrays it may write."""
    from sightline.compute.ray_cluster import memory

    writable: list[Json] = [name for name, a in arrays.items() if a.flags.writeable]
    return {"share": memory.share(), "total": memory.total(), "writable": writable}, {}


@pytest.fixture(scope="session")
def one_cluster() -> Iterator[TwoNodes]:
    """Give the cluster all tests of a process share."""
    nodes = TwoNodes()
    yield nodes
    nodes.end()


@pytest.fixture
def cluster(one_cluster: TwoNodes) -> TwoNodes:
    """Give it with both nodes up."""
    one_cluster.start_second()
    return one_cluster
