"""Joining a Ray cluster, or starting one on this machine.

Nothing but the cluster is spoken to: no dashboard, no usage statistics, and a cluster of our own
listens on loopback alone, with a secret of its own. Everything is looked at before any work begins,
so that a cluster that cannot be used leaves no trace.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import secrets
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sightline.compute.ray_cluster import node
from sightline.compute.ray_cluster.identity import difference, identity
from sightline.errors import ComputeError, MissingExtra, UsageError

_REACH_SECONDS = 5.0
_PROBE_SECONDS = 60.0
# All of Ray speaks HTTP/2: how a client begins, and the kind of frame with which a server answers.
_SETTINGS = 4
_KNOCK = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0))
_SAME = "Install the same versions on every machine of the cluster, and start it again."


@dataclass(frozen=True, slots=True)
class Joined:
    """A cluster: which it is, its processors, whether to leave it after, and the folder to remove.

    One that this program was in before is not left, and only one of our own has a folder.
    """

    said: str
    cpus: int
    to_leave: bool = True
    folder: tempfile.TemporaryDirectory[str] | None = None


def load_ray() -> Any:
    """Return the library, silent and without statistics."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    # A worker that wants no graphics card must not be told of that at every start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # Advice for whoever calls the library; batches are as large as they are on purpose.
    warnings.filterwarnings("ignore", "More than 10MB of messages", UserWarning)
    ray = importlib.import_module("ray")
    # It prints pages to stdout about machines that died, among what other programs are to read.
    ray._private.worker.print_to_stdstream = _unheard
    return ray


def _unheard(*said: object, **more: object) -> None:
    """Print nothing."""


def join(address: str, workers: int = 0) -> Joined:
    """Join the cluster at an address; without one, that of RAY_ADDRESS, or one of our own."""
    if importlib.util.find_spec("ray") is None:
        raise MissingExtra.of("Computing on a cluster", "ray")
    address = address or os.environ.get("RAY_ADDRESS", "")
    if "ray" in sys.modules and load_ray().is_initialized():
        found = Joined("the Ray cluster this program is in", _cpus(), to_leave=False)
    elif address:
        host, port = host_and_port(address)
        _reach(host, port, address)
        found = _connected(address)
    else:
        found = _started(workers)
    try:
        check_nodes()
    except BaseException:
        leave(found)
        raise
    return found


def leave(joined: Joined) -> None:
    """Leave a cluster; one of our own ends with it."""
    if not joined.to_leave:
        return
    load_ray().shutdown()
    if joined.folder is not None:
        joined.folder.cleanup()


def host_and_port(address: str) -> tuple[str, int]:
    """Return the two parts of an address.

    >>> host_and_port("ray://head.local:10001"), host_and_port("10.0.0.1:6379")
    (('head.local', 10001), ('10.0.0.1', 6379))
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(
            f"A Ray cluster is named HOST:PORT or ray://HOST:PORT. Got {address!r}. "
            "`--compute ray` alone starts one on this machine."
        )
    return host.strip("[]"), int(port)


def _reach(host: str, port: int, address: str) -> None:
    """Knock first: the library itself waits for minutes, also where something else listens."""
    try:
        there = socket.create_connection((host, port), timeout=_REACH_SECONDS)
    except OSError as e:
        raise ComputeError(
            f"The Ray cluster at {address} cannot be reached ({e.strerror or e}). Is it started "
            "(ray start --head), and is this its address? Without it: --compute local"
        ) from e
    said = b""
    with there, contextlib.suppress(OSError):
        there.sendall(_KNOCK)
        said = there.recv(9)
    if len(said) < 9 or said[3] != _SETTINGS:
        raise ComputeError(
            f"What listens at {address} is no Ray cluster. Name the address that `ray start "
            "--head` printed; with ray:// the port of its client server."
        )


def _connected(address: str) -> Joined:
    ray = load_ray()
    try:
        with _nowhere():
            ray.init(address=address, namespace="sightline", **_quiet())
    except _refusals(ray) as e:
        raise ComputeError(_refused(address, str(e))) from e
    return Joined(f"the Ray cluster at {address}", _cpus())


def _started(workers: int) -> Joined:
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    if "RAY_AUTH_TOKEN" not in os.environ:
        os.environ.update(own)
    # Its workers would give way to everything else on the machine, and ours do not.
    os.environ.setdefault("RAY_worker_niceness", "0")
    # The library takes this machine's address in the network unless it is told, by the name of
    # two other systems, that no other machine is to join.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    ray = load_ray()
    folder = tempfile.TemporaryDirectory(prefix="sightline-ray-", ignore_cleanup_errors=True)
    cpus = workers or len(os.sched_getaffinity(0))
    try:
        with _nowhere():
            ray.init(
                address="local", num_cpus=cpus, include_dashboard=False, namespace="sightline",
                _temp_dir=folder.name, **_quiet(),
            )  # fmt: skip
    except _refusals(ray) as e:
        folder.cleanup()
        raise ComputeError(f"No Ray cluster can be started on this machine: {_line(e)}") from e
    return Joined(f"a Ray cluster of {cpus} workers on this machine", cpus, folder=folder)


def check_nodes() -> None:
    """Refuse a cluster whose machines do not compute as this one does."""
    ray = load_ray()
    alive = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]
    if not alive:
        raise ComputeError("No machine of the Ray cluster has a processor to give. Start one.")
    asked, on = ray.remote(node.who), ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    refs = [
        asked.options(
            num_cpus=0, max_retries=0, scheduling_strategy=on(n["NodeID"], soft=False)
        ).remote()
        for n in alive
    ]
    for ref, n in zip(refs, alive, strict=True):
        where = f"{n['NodeManagerHostname']} ({n['NodeManagerAddress']})"
        try:
            there, _ = ray.get(ref, timeout=_PROBE_SECONDS)
        except ray.exceptions.GetTimeoutError as e:
            raise ComputeError(f"The node {where} of the Ray cluster does not answer.") from e
        except ray.exceptions.RayError as e:
            said = f"The node {where} of the Ray cluster cannot run Sightline: {_line(e)}."
            raise ComputeError(f"{said} {_SAME}") from e
        if said := difference(identity(), there):
            raise ComputeError(f"The node {where} of the Ray cluster is another: {said}. {_SAME}")


def _quiet() -> dict[str, Any]:
    return {
        "log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR,
    }  # fmt: skip


def _cpus() -> int:
    return int(load_ray().cluster_resources().get("CPU", 0))


@contextlib.contextmanager
def _nowhere() -> Iterator[None]:
    """Stand at the root meanwhile: workers import from the folder this one stands in.

    That may be a folder of pictures, with files in it that call themselves Python.
    """
    try:
        before = os.getcwd()
    except FileNotFoundError:
        before = "/"
    os.chdir("/")
    try:
        yield
    finally:
        os.chdir(before)


def _refusals(ray: Any) -> tuple[type[BaseException], ...]:
    return (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError)


def _refused(address: str, said: str) -> str:
    if "ersion mismatch" in said:
        lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
        return f"The Ray cluster at {address} has another version: {' '.join(lines[:8])}. {_SAME}"
    if "oken" in said:
        return (
            f"The Ray cluster at {address} wants another token: {_line(said)}. Copy its "
            "~/.ray/auth_token here, or set RAY_AUTH_TOKEN."
        )
    return f"The Ray cluster at {address} cannot be joined: {_line(said)}"


def _line(error: object) -> str:
    """Return the last line of what the library says, which is where it says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300].rstrip(".")
