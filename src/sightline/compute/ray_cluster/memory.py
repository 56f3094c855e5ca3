"""How much memory a part of a computation may take on its machine."""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# The share of a machine's memory that all parts together may take.
_SHARE = 0.8
_GROUPS = Path("/sys/fs/cgroup")


@cache
def share() -> int:
    """Return the bytes one part may take: an equal share of four fifths of the memory."""
    return int(total() * _SHARE) // _parallel_parts()


def total(groups: Path = _GROUPS, membership: Path = Path("/proc/self/cgroup")) -> int:
    """Return the bytes of memory this process can use: the machine's, or its cgroup's limit."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_limits(groups, membership)])


def _limits(groups: Path, membership: Path) -> Iterator[int]:
    """Yield the limits of the control groups this process is in, and of their parents."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = membership.read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds not in ("", "memory"):
            continue
        group = groups / kinds / path.strip("/")
        # A container may see its group as the root, but under the name it has outside.
        for at in (group, *group.parents):
            for name in ("memory.max", "memory.limit_in_bytes"):
                with contextlib.suppress(OSError, ValueError):
                    yield int((at / name).read_text(encoding="utf-8"))
            if at == groups:
                break


def _parallel_parts() -> int:
    """Return how many parts this machine computes at once: one for each of its processors."""
    if "ray" not in sys.modules or not (ray := importlib.import_module("ray")).is_initialized():
        return 1
    node_id = ray.get_runtime_context().get_node_id()
    cpus = [n["Resources"].get("CPU", 1) for n in ray.nodes() if n["NodeID"] == node_id]
    return max(int(cpus[0]) if cpus else 1, 1)


@contextlib.contextmanager
def bounded(n_bytes: int) -> Iterator[None]:
    """Limit what this process may allocate; out of memory, a machine kills others too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _in_use() + n_bytes
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _in_use() -> int:
    """Return the bytes this process has allocated; 0 if unknown."""
    with contextlib.suppress(OSError):
        fields = Path("/proc/self/statm").read_text(encoding="utf-8").split()
        return int(fields[5]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def exceeded(limit: int) -> str:
    """Return the message about a part that needed more memory."""
    return (
        f"A part of the training needs more than the {limit / 1e9:.1f} GB of memory that a part "
        f"may take on {os.uname().nodename}, which has {total() / 1e9:.1f} GB for all. Learn from "
        "fewer pictures or words, use more shards, or start its node with fewer processors "
        "(ray start --num-cpus)."
    )
