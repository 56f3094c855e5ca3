"""Joining a Ray cluster, or starting one on this machine.

Only the cluster is contacted: there is no dashboard and no usage statistics, and a cluster that we
start listens on loopback only, with its own token. Everything is checked before any work begins, so
that a cluster that cannot be used leaves no trace.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
from dataclasses import dataclass
from typing import Any

from sightline.compute.ray_cluster import library, node, staging
from sightline.compute.ray_cluster.address import CLIENT, reach, same_server, wants_token
from sightline.compute.ray_cluster.identity import difference, identity
from sightline.compute.ray_cluster.library import Before, load_ray
from sightline.errors import ComputeError, MissingExtra

_PROBE_SECONDS = 60.0
_SAME = "Install the same versions on every machine of the cluster, and start it again."
# Ray's address of the cluster that runs on this machine.
_RUNNING_HERE = "auto"
_OF_A_TOKEN = re.compile(r"(?i)\b(invalid|auth|authentication|bearer)[\w ]*token|unauthenticated")


@dataclass(frozen=True, slots=True)
class Joined:
    """A cluster that was joined.

    Attributes
    ----------
    description : str
        A phrase that names it.
    cpus : int
        Its processors.
    to_leave : bool
        Whether to leave it afterwards; False if this program had joined it before.
    folder : LockedFolder or None
        The temporary folder of a cluster that we started.
    before : Before
        Environment variables to restore afterwards.
    """

    description: str
    cpus: int
    to_leave: bool = True
    folder: staging.LockedFolder | None = None
    before: Before = ()


def join(address: str, workers: int = 0) -> Joined:
    """Join the cluster at an address or in RAY_ADDRESS, or start one on this machine."""
    if importlib.util.find_spec("ray") is None:
        raise MissingExtra.of("Computing on a cluster", "ray")
    address = address or os.environ.get("RAY_ADDRESS", "")
    if library.in_a_cluster():
        joined = _current_cluster(address)
    elif address and address != "local":
        if address != _RUNNING_HERE:
            reach(address)
        joined = _connect(address)
    else:
        joined = _start(workers)
    try:
        check_nodes()
    except BaseException:
        leave(joined)
        raise
    return joined


def leave(joined: Joined) -> None:
    """Leave a cluster; one that we started ends."""
    if not joined.to_leave:
        return
    try:
        load_ray().shutdown()
    finally:
        library.restore(joined.before)
        if joined.folder is not None:
            joined.folder.cleanup()


def _current_cluster(address: str) -> Joined:
    """Return the cluster this program is in; a program cannot be in two."""
    ray = load_ray()
    client = ray.util.client.ray
    if client.is_connected():
        joined_address, own_ip = CLIENT + str(client.get_context().client_worker._conn_str), ""
    else:
        joined_address, own_ip = (
            ray.get_runtime_context().gcs_address,
            ray.util.get_node_ip_address(),
        )
    if address not in ("", "local", _RUNNING_HERE) and not same_server(
        address, joined_address, own_ip
    ):
        raise ComputeError(
            f"This program is in the Ray cluster at {joined_address}, and can be in only one. "
            f"Leave it (ray.shutdown()) before joining the one at {address}, or name none."
        )
    return Joined(
        f"the Ray cluster at {joined_address}, which this program is in", _cpus(), to_leave=False
    )


def _connect(address: str) -> Joined:
    before = library.send_token()
    ray = load_ray()
    try:
        job_config = {} if address.startswith(CLIENT) else _import_nothing_local(ray)
        ray.init(address=address, namespace="sightline", **_quiet(), **job_config)
    except _refusals(ray) as e:
        library.restore(before)
        raise ComputeError(_refusal(address, str(e))) from e
    if address == _RUNNING_HERE:
        address = ray.get_runtime_context().gcs_address
    return Joined(f"the Ray cluster at {address}", _cpus(), before=before)


def _start(workers: int) -> Joined:
    before = library.isolate()
    ray = load_ray()
    # Files of a cluster whose program was killed are removed by a node of the next cluster.
    try:
        folder = staging.LockedFolder()
    except (RuntimeError, OSError) as e:
        library.restore(before)
        raise ComputeError(f"No Ray cluster can be started on this machine: {_line(e)}") from e
    cpus = workers or len(os.sched_getaffinity(0))
    description = f"a Ray cluster of {cpus} workers on this machine"
    joined = Joined(description, cpus, folder=folder, before=before)
    try:
        ray.init(
            address="local", num_cpus=cpus, include_dashboard=False, namespace="sightline",
            _temp_dir=folder.name, **_quiet(), **_import_nothing_local(ray),
        )  # fmt: skip
        if (listens := ray.util.get_node_ip_address()) not in ("127.0.0.1", "::1"):
            raise RuntimeError(f"it would listen at {listens}, which other machines can reach")
    except _refusals(ray) as e:
        leave(joined)
        raise ComputeError(f"No Ray cluster can be started on this machine: {_line(e)}") from e
    return joined


def check_nodes() -> None:
    """Raise if a machine of the cluster has other versions than this one."""
    ray = load_ray()
    alive = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) >= 1]
    if not alive:
        raise ComputeError(
            "No machine of the Ray cluster has a free processor. Start one (ray start)."
        )
    probe, on = (
        ray.remote(node.probe),
        ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy,
    )
    refs = [
        probe.options(
            num_cpus=0, max_retries=0, scheduling_strategy=on(n["NodeID"], soft=False)
        ).remote()
        for n in alive
    ]
    for ref, n in zip(refs, alive, strict=True):
        name = f"{n['NodeManagerHostname']} ({n['NodeManagerAddress']})"
        try:
            identity_there, _ = ray.get(ref, timeout=_PROBE_SECONDS)
        except ray.exceptions.GetTimeoutError as e:
            raise ComputeError(f"The node {name} of the Ray cluster does not answer.") from e
        except ray.exceptions.RayError as e:
            raise ComputeError(
                f"The node {name} of the Ray cluster cannot run Sightline: {_line(e)}. {_SAME}"
            ) from e
        if differing := difference(identity(), identity_there):
            raise ComputeError(
                f"The node {name} of the Ray cluster has other versions: {differing}. {_SAME}"
            )


def _quiet() -> dict[str, Any]:
    return {
        "log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR,
    }  # fmt: skip


def _import_nothing_local(ray: Any) -> dict[str, Any]:
    """Keep workers from importing from the current folder or from the script's folder.

    Either may be a folder of pictures, with Python files in it. Ray leaves both out if the job has
    a working directory; a client's server never sees them.
    """
    job = ray.job_config.JobConfig()
    job._runtime_env_has_working_dir = lambda: True
    return {"job_config": job}


def _cpus() -> int:
    return int(load_ray().cluster_resources().get("CPU", 0))


def _refusals(ray: Any) -> tuple[type[BaseException], ...]:
    return (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError)


def _refusal(address: str, message: str) -> str:
    if "ersion mismatch" in message:
        lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
        return f"The Ray cluster at {address} has another version: {' '.join(lines[:8])}. {_SAME}"
    if _OF_A_TOKEN.search(message):
        return wants_token(address)
    return f"The Ray cluster at {address} cannot be joined: {_line(message)}"


def _line(error: object) -> str:
    """Return the last line of Ray's error message, which names the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300].rstrip(".")
