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

# Of a machine's memory, the most that all parts together may take.
_SHARE = 0.8
_GROUPS = Path("/sys/fs/cgroup")


@cache
def share() -> int:
    """Return the bytes one part may take: of four fifths, as much as the others at its side."""
    return int(total() * _SHARE) // _side_by_side()


def total(groups: Path = _GROUPS, own: Path = Path("/proc/self/cgroup")) -> int:
    """Return the bytes of memory there are: the machine's, or what this process is given of it."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_limits(groups, own)])


def _limits(groups: Path, own: Path) -> Iterator[int]:
    """Yield the limits of the groups this process is in, and of those around them."""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = own.read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds not in ("", "memory"):
            continue
        group = groups / kinds / path.strip("/")
        # A container may see its group as the root, and still be told the name it has outside.
        for at in (group, *group.parents):
            for name in ("memory.max", "memory.limit_in_bytes"):
                with contextlib.suppress(OSError, ValueError):
                    yield int((at / name).read_text(encoding="utf-8"))
            if at == groups:
                break


def _side_by_side() -> int:
    """Return how many parts this machine computes at once: one for each processor it gives."""
    if "ray" not in sys.modules or not (ray := importlib.import_module("ray")).is_initialized():
        return 1
    here = ray.get_runtime_context().get_node_id()
    cpus = [n["Resources"].get("CPU", 1) for n in ray.nodes() if n["NodeID"] == here]
    return max(int(cpus[0]) if cpus else 1, 1)


@contextlib.contextmanager
def bounded(most: int) -> Iterator[None]:
    """Bound what this process may ask for more: a machine without memory takes all with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _asked() + most
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _asked() -> int:
    """Return the bytes this process has asked for; where nobody tells, as if it were none."""
    with contextlib.suppress(OSError):
        fields = Path("/proc/self/statm").read_text(encoding="utf-8").split()
        return int(fields[5]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def too_much(most: int) -> str:
    """Say that a part needed more."""
    return (
        f"A part of the training needs more than the {most / 1e9:.1f} GB of memory that a part may "
        f"take on {os.uname().nodename}, which has {total() / 1e9:.1f} GB for all. Learn from "
        "fewer pictures or words, use more shards, or start its node with fewer processors "
        "(ray start --num-cpus)."
    )
