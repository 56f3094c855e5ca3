"""Joining a Ray cluster, or starting one on this machine.

Nothing but the cluster is spoken to: no dashboard, no usage statistics, and a cluster of our own
listens on loopback alone, with a secret of its own. Everything is looked at before any work begins,
so that a cluster that cannot be used leaves no trace.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
from dataclasses import dataclass
from typing import Any

from sightline.compute.ray_cluster import library, node, staging
from sightline.compute.ray_cluster.identity import difference, identity
from sightline.compute.ray_cluster.library import Before, load_ray
from sightline.compute.ray_cluster.reaching import CLIENT, reach, same_place, wants_token
from sightline.errors import ComputeError, MissingExtra

_PROBE_SECONDS = 60.0
_SAME = "Install the same versions on every machine of the cluster, and start it again."
# What the library calls the cluster that runs on this machine.
_RUNNING_HERE = "auto"
_OF_A_TOKEN = re.compile(r"(?i)\b(invalid|auth|authentication|bearer)[\w ]*token|unauthenticated")


@dataclass(frozen=True, slots=True)
class Joined:
    """A cluster: which it is, its processors, whether to leave it after, and what to undo then.

    One that this program was in before is not left, and only one of our own has a folder.
    """

    said: str
    cpus: int
    to_leave: bool = True
    folder: staging.LockedFolder | None = None
    before: Before = ()


def join(address: str, workers: int = 0) -> Joined:
    """Join the cluster at an address; without one, that of RAY_ADDRESS, or one of our own."""
    if importlib.util.find_spec("ray") is None:
        raise MissingExtra.of("Computing on a cluster", "ray")
    address = address or os.environ.get("RAY_ADDRESS", "")
    if library.in_a_cluster():
        joined = _within(address)
    elif address and address != "local":
        if address != _RUNNING_HERE:
            reach(address)
        joined = _connected(address)
    else:
        joined = _started(workers)
    try:
        check_nodes()
    except BaseException:
        leave(joined)
        raise
    return joined


def leave(joined: Joined) -> None:
    """Leave a cluster; one of our own ends with it."""
    if not joined.to_leave:
        return
    try:
        load_ray().shutdown()
    finally:
        library.restore(joined.before)
        if joined.folder is not None:
            joined.folder.cleanup()


def _within(address: str) -> Joined:
    """Return the cluster this program is in; another one cannot be joined meanwhile."""
    ray = load_ray()
    client = ray.util.client.ray
    if client.is_connected():
        there, here = CLIENT + str(client.get_context().client_worker._conn_str), ""
    else:
        there, here = ray.get_runtime_context().gcs_address, ray.util.get_node_ip_address()
    if address not in ("", "local", _RUNNING_HERE) and not same_place(address, there, here):
        raise ComputeError(
            f"This program is in the Ray cluster at {there}, and a program can be in one alone. "
            f"Leave it (ray.shutdown()) before joining the one at {address}, or name none."
        )
    return Joined(f"the Ray cluster at {there}, which this program is in", _cpus(), to_leave=False)


def _connected(address: str) -> Joined:
    before = library.show_token()
    ray = load_ray()
    try:
        more = {} if address.startswith(CLIENT) else _from_nowhere(ray)
        ray.init(address=address, namespace="sightline", **_quiet(), **more)
    except _refusals(ray) as e:
        library.restore(before)
        raise ComputeError(_refused(address, str(e))) from e
    if address == _RUNNING_HERE:
        address = ray.get_runtime_context().gcs_address
    return Joined(f"the Ray cluster at {address}", _cpus(), before=before)


def _started(workers: int) -> Joined:
    before = library.stay_alone()
    ray = load_ray()
    # What a cluster left whose program was killed is swept by a node of the next one.
    try:
        folder = staging.LockedFolder()
    except (RuntimeError, OSError) as e:
        library.restore(before)
        raise ComputeError(f"No Ray cluster can be started on this machine: {_line(e)}") from e
    cpus = workers or len(os.sched_getaffinity(0))
    said = f"a Ray cluster of {cpus} workers on this machine"
    found = Joined(said, cpus, folder=folder, before=before)
    try:
        ray.init(
            address="local", num_cpus=cpus, include_dashboard=False, namespace="sightline",
            _temp_dir=folder.name, **_quiet(), **_from_nowhere(ray),
        )  # fmt: skip
        if (listens := ray.util.get_node_ip_address()) not in ("127.0.0.1", "::1"):
            raise RuntimeError(f"it would listen at {listens}, where others reach it")
    except _refusals(ray) as e:
        leave(found)
        raise ComputeError(f"No Ray cluster can be started on this machine: {_line(e)}") from e
    return found


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


def _from_nowhere(ray: Any) -> dict[str, Any]:
    """Have workers import nothing from the folder this program stands in, nor from its script's.

    That may be a folder of pictures, with files in it that call themselves Python. The library
    leaves both out where a folder was sent for it; a server of clients never sees them.
    """
    job = ray.job_config.JobConfig()
    job._runtime_env_has_working_dir = lambda: True
    return {"job_config": job}


def _cpus() -> int:
    return int(load_ray().cluster_resources().get("CPU", 0))


def _refusals(ray: Any) -> tuple[type[BaseException], ...]:
    return (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError)


def _refused(address: str, said: str) -> str:
    if "ersion mismatch" in said:
        lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
        return f"The Ray cluster at {address} has another version: {' '.join(lines[:8])}. {_SAME}"
    if _OF_A_TOKEN.search(said):
        return wants_token(address)
    return f"The Ray cluster at {address} cannot be joined: {_line(said)}"


def _line(error: object) -> str:
    """Return the last line of what the library says, which is where it says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300].rstrip(".")
