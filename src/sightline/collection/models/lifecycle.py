"""The one way from a trained candidate to the model in use, for every kind of model.

A fifth of the pictures is held out for ever. The candidate, fitted without them, is measured on
them, and so are a baseline and the model in use. The gate opens if the candidate is below neither
of the two; for the model in use, and for most baselines, a difference of `SLACK` is allowed. With
fewer than `FEWEST` held-out queries or pictures nothing is proven: the gate stays open, and the
model is marked `unproven`.

`publish` then saves the model and moves the pointer to it, unless the store has changed in a way
that the training could not know of. How a candidate is fitted and measured is up to each kind.
`training_run` surrounds all of it: the list of running commands, missing features, workers,
cancelling.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sightline.collection.models.versions import REGIONS, SIMILARITY, TEXT, ModelKind
from sightline.contracts import Json, Progress
from sightline.errors import Interrupted, NotBetter, StoreBusy
from sightline.progress import NoProgress
from sightline.store.folder import StoreFolder
from sightline.store.models import SavedModel, load_model, save_model
from sightline.store.snapshot import Snapshot
from sightline.store.versions import Version
from sightline.store.writer import Scorer, Writer

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.models.requirements import MissingFeatures
    from sightline.contracts import Compute

SLACK = 0.001
FEWEST = 30


@dataclass(frozen=True, slots=True)
class GateReport:
    """How a candidate did on held-out data, by the metric of its kind.

    Attributes
    ----------
    kind : ModelKind
        Of model.
    n : int
        How many held-out queries or pictures there are.
    candidate, baseline : float
        What each reaches on all of them.
    current, candidate_on_common : float or None
        What the model in use and the candidate reach on what both know; None where there is no
        model in use to compare with.
    n_common : int
        On how many of the `n` that was measured.
    p : float
        The candidate against the baseline, query by query.
    helped : int
        The candidate against the baseline, query by query.
    harmed : int
        The candidate against the baseline, query by query.
    not_compared : bool
        Whether there is a model in use that cannot be measured any more.
    extra : dict
        Further figures by name.
    """

    kind: ModelKind
    n: int
    candidate: float
    baseline: float
    current: float | None = None
    candidate_on_common: float | None = None
    n_common: int = 0
    p: float = 1.0
    helped: int = 0
    harmed: int = 0
    not_compared: bool = False
    extra: dict[str, float] = field(default_factory=dict)

    @classmethod
    def unmeasured(cls, kind: ModelKind, extra: dict[str, float] | None = None) -> GateReport:
        """Return the report where there is nothing to measure on."""
        return cls(kind, 0, math.nan, math.nan, extra=extra or {})

    @property
    def metric(self) -> str:
        """What the values are."""
        return self.kind.metric

    @property
    def is_proven(self) -> bool:
        """Whether enough was held out to measure it."""
        return self.n >= FEWEST

    @property
    def passes(self) -> bool:
        """Whether the candidate is below neither the baseline nor the model in use."""
        return not self.below_current and not self.below_baseline

    @property
    def below_current(self) -> bool:
        """Whether it is worse than the model in use, on enough of what both know."""
        if self.current is None or self.candidate_on_common is None or self.n_common < FEWEST:
            return False
        return self.candidate_on_common < self.current - SLACK

    @property
    def below_baseline(self) -> bool:
        """Whether it is worse than the baseline."""
        return self.candidate < self.baseline - (SLACK if self.kind.baseline_slack else 0.0)

    @property
    def harmed_rate(self) -> float:
        """The share of held-out queries that it ranks worse than the baseline does."""
        return self.harmed / self.n if self.n else 0.0

    def check_no_harm(self) -> None:
        """Raise `NotBetter` if the candidate is proven to be worse."""
        if self.passes or not self.is_proven:
            return
        other, n, values = self.kind.baseline, self.n, (self.candidate, self.baseline)
        if self.below_current and self.current is not None and self.candidate_on_common is not None:
            values = (self.candidate_on_common, self.current)
            other, n = "the one in use", self.n_common
        raise NotBetter(
            f"The new {self.kind.title} is worse than {other}: {self.metric} {values[0]:.3f} "
            f"against {values[1]:.3f} over {n} held-out {self.kind.unit}. It was not published; "
            "what is in use stays. To publish it anyway: --force."
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the figures under the names that they are stored by; not finite ones as None."""
        return self.figures(self.kind.figures)

    def figures(self, names: Mapping[str, str]) -> dict[str, Json]:
        """Return figures by name, each a field or an extra figure; not finite ones as None."""
        return {key: self._figure(name) for key, name in names.items()}

    def _figure(self, name: str) -> Json:
        value = getattr(self, name) if hasattr(self, name) else self.extra.get(name)
        return finite_or_none(value)


def finite_or_none(value: float | None) -> Json:
    """Return a number for JSON, which has no NaN."""
    return None if value is None or not math.isfinite(value) else value


def apply_gate(report: GateReport, *, force: bool, dry_run: bool) -> bool:
    """Raise `NotBetter` if the gate is shut; return whether only `force` opens it."""
    if not force and not dry_run:
        report.check_no_harm()
    return force and report.is_proven and not report.passes


def stored_figures(report: GateReport, forced: bool, **more: Json) -> dict[str, Json]:
    """Return what a model keeps of how it was measured: its `about["figures"]`."""
    return {**report.to_dict(), "unproven": not report.is_proven, "forced": forced, **more}


def publish(
    kind: ModelKind,
    store_folder: StoreFolder,
    about: dict[str, Json],
    arrays: dict[str, NDArray[Any]],
    *,
    started_from: str,
    learned_from: NDArray[np.int64],
    note: str,
    wait: float,
    scorer: Callable[[SavedModel], Scorer] | None = None,
    progress: Progress | None = None,
) -> tuple[str, int]:
    """Save a model and put it in use; return its name and the number of the new version.

    Parameters
    ----------
    kind : ModelKind
        Of model.
    store_folder : StoreFolder
        The store.
    about, arrays : dict
        The model as it is written. The arrays are emptied then, since scoring takes memory too.
    started_from : str
        The name of the model that was in use when the training began.
    learned_from : ndarray of int64
        Ids of all pictures it learned from.
    note : str
        The description of the version.
    wait : float
        How many seconds to wait for the store's lock.
    scorer : callable, optional
        Makes what scores every picture, for a kind whose scores are published.
    progress : Progress, optional
        Shows how the scoring goes.
    """
    with Writer(store_folder, "train", wait) as writer:
        _check_unchanged(writer, kind, started_from, learned_from)
        name = save_model(store_folder.models, kind.prefix, about, arrays)
        arrays.clear()
        if scorer is not None:
            model = scorer(load_model(store_folder.models, name))
            put = writer.publish_text if kind is TEXT else writer.publish_model
            return name, put(model, note, progress or NoProgress()).number
        return name, _POINTERS[kind.name](writer, name, note).number


def _check_unchanged(
    writer: Writer, kind: ModelKind, started_from: str, learned_from: NDArray[np.int64]
) -> None:
    if getattr(writer.version, kind.pointer) != started_from:
        raise StoreBusy(
            "Another training was published while this one ran. Run it again to build on that."
        )
    if not np.isin(learned_from, Snapshot(writer.store_folder.shards, writer.version).ids()).all():
        raise StoreBusy("Pictures were removed while this training ran. Run it again without them.")


_POINTERS: dict[str, Callable[[Writer, str, str], Version]] = {
    SIMILARITY.name: Writer.publish_similar,
    REGIONS.name: Writer.publish_regions,
}


@dataclass(frozen=True, slots=True, eq=False)
class TrainingRun:
    """A training under way; `compute` is the cluster to train on, None for this process."""

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

    The store is locked only while features or a model are published. With `local` it
    trains in this process even if the settings name a cluster.
    """
    from sightline.compute.backend import training_cluster
    from sightline.store.locks import require_writable, running

    store_folder = collection.store_folder
    if not dry_run:
        require_writable(store_folder.path)
    with running(store_folder.path, command), contextlib.ExitStack() as stack:
        cluster = None
        if not local:
            cluster = stack.enter_context(training_cluster(collection.settings, progress, compute))
        try:
            yield TrainingRun(collection, dry_run, progress, cluster)
        except KeyboardInterrupt:
            raise Interrupted(
                "Cancelled. Nothing was published; the previous model is still in use."
            ) from None
