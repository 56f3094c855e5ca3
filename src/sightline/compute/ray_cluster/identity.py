"""What must be the same on every machine of a cluster, so that results are the same on each."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

# What numbers come from; of these another release may round otherwise.
_PACKAGES = ("numpy", "scipy", "numba", "pillow", "simplejpeg", "ray")


@cache
def identity() -> tuple[tuple[str, str], ...]:
    """Return the names and versions of what computes here.

    >>> dict(identity())["python"].count(".")
    2
    """
    package = Path(__file__).parents[2]
    found = [("sightline", f"{metadata.version('sightline')} ({_digest(package)})")]
    found.append(("python", platform.python_version()))
    for name in _PACKAGES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "not installed"))
    return tuple(found)


def difference(here: tuple[tuple[str, str], ...], there: tuple[tuple[str, str], ...]) -> str:
    """Say what is another version there; "" if nothing is.

    >>> difference((("numpy", "2.4"), ("ray", "2.60")), (("numpy", "2.3"), ("ray", "2.60")))
    'numpy 2.3 there, 2.4 here'
    """
    other = dict(there)
    return "; ".join(
        f"{name} {other.get(name, 'unknown')} there, {version} here"
        for name, version in here
        if other.get(name) != version
    )


def _digest(package: Path) -> str:
    """Return a checksum of a package's own code: releases under way share a version's number."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
