"""What every training does around its learning: locks, missing features, workers, cancelling."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.errors import Interrupted

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.models.missing_features import MissingFeatures
    from sightline.contracts import Compute, Progress


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """A training under way; `compute` is the cluster to learn on, None to learn here."""

    collection: Collection
    dry_run: bool
    progress: Progress
    compute: Compute | None

    def compute_features(self, missing: MissingFeatures) -> None:
        """Index the features that pictures lack."""
        features = missing.to_index(self.collection.settings, dry_run=self.dry_run)
        if features:
            self.collection.index(features=features, progress=self.progress, compute=self.compute)


@contextlib.contextmanager
def training_run(
    collection: Collection,
    command: str,
    dry_run: bool,
    progress: Progress,
    compute: Compute | None = None,
    *,
    local: bool = False,
) -> Iterator[TrainingRun]:
    """Run a training that others see in the list of running commands.

    The store is locked only while features or a model are published. `local` has it learn in this
    process whatever the settings name.
    """
    from sightline.compute.backend import training_cluster
    from sightline.store.locks import require_writable, running

    home = collection.home
    if not dry_run:
        require_writable(home.folder)
    with running(home.folder, command), contextlib.ExitStack() as stack:
        cluster = None
        if not local:
            cluster = stack.enter_context(training_cluster(collection.settings, progress, compute))
        try:
            yield TrainingRun(collection, dry_run, progress, cluster)
        except KeyboardInterrupt:
            raise Interrupted(
                "Cancelled. Nothing was published; the previous model is still in use."
            ) from None
