"""What a figure depends on: the machine, the libraries and the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from sightline.contracts import Json
from sightline.store.locks import file_system

_LIBRARIES = (
    "sightline", "numpy", "scipy", "numba", "pillow", "simplejpeg", "click", "faiss-cpu",
    "pymilvus", "milvus", "scikit-image", "vowpalwabbit", "onnxruntime",
)  # fmt: skip


def facts(folder: Path) -> dict[str, Json]:
    """Return the facts; `folder` is where the benchmarks wrote."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load": list[Json](os.getloadavg()),
        "file_system": file_system(folder),
        "system": platform.platform(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in _LIBRARIES},
        "commit": _commit(),
    }


def _cpu() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        names = [line.partition(":")[2].strip() for line in f if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit, marked where files differ from it; None outside a repository."""
    here = Path(__file__).parent
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"],
            cwd=here, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()
