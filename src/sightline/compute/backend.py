"""Where work runs: workers of this machine, or the cluster that the settings name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sightline.contracts import Compute, Progress
from sightline.settings import Settings


@contextlib.contextmanager
def computing(s: Settings, progress: Progress, compute: Compute | None = None) -> Iterator[Compute]:
    """Give the backend of the settings, and close it afterwards.

    A cluster is joined and checked first, so that one that cannot be used changes nothing.

    Parameters
    ----------
    s : Settings
        Name the backend.
    progress : Progress
        Is told of a cluster.
    compute : Compute, optional
        A backend to use instead; it stays open.
    """
    if compute is not None:
        yield compute
        return
    backend = _open_backend(s, progress)
    try:
        yield backend
    finally:
        backend.close()


@contextlib.contextmanager
def training_cluster(
    s: Settings, progress: Progress, cluster: Compute | None = None
) -> Iterator[Compute | None]:
    """Give the cluster to train on; None if this process trains."""
    if cluster is None and not is_remote(s):
        yield None
        return
    with computing(s, progress, cluster) as compute:
        yield compute


def is_remote(s: Settings) -> bool:
    """Return whether the settings name a cluster.

    >>> is_remote(Settings()), is_remote(Settings(compute="10.0.0.1:6379"))
    (False, True)
    """
    return s.compute != "local"


def _open_backend(s: Settings, progress: Progress) -> Compute:
    if not is_remote(s):
        from sightline.compute.local import LocalCompute

        return LocalCompute(s.workers, seconds=s.seconds)
    from sightline.compute.ray_cluster import RayCompute

    address = "" if s.compute == "ray" else s.compute
    compute = RayCompute(address, s.workers, seconds=s.seconds)
    progress.start(f"computing on {compute.description}, workers", compute.workers)
    progress.advance(compute.workers)
    progress.finish()
    return compute
