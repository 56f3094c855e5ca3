"""What computes: workers of this machine, or a cluster that the settings name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sightline.contracts import Compute, Progress
from sightline.settings import Settings


@contextlib.contextmanager
def computing(s: Settings, progress: Progress, compute: Compute | None = None) -> Iterator[Compute]:
    """Give what computes by the settings, or what was given; what was made here ends after.

    A cluster is joined and looked at first of all, so that one that cannot be used changes nothing.
    """
    if compute is not None:
        yield compute
        return
    made = _made(s, progress)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def learning_on(
    s: Settings, progress: Progress, cluster: Compute | None = None
) -> Iterator[Compute | None]:
    """Give the cluster to learn on; None where this process learns by itself, as it does here."""
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


def _made(s: Settings, progress: Progress) -> Compute:
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
