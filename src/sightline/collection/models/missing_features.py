"""Features that a training needs and pictures lack; they are computed before it begins.

What cannot be learned from is refused here, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline.collection.index.options import default_features, split_names
from sightline.collection.index.vectors import remembered_vectors
from sightline.collection.models import requirements
from sightline.collection.models.dataset import carried, common_features, is_sparse
from sightline.errors import ParameterError, UsageError
from sightline.plugins import expanded
from sightline.registry import NO_VECTORS
from sightline.settings import Settings
from sightline.store.home import Home

_FOR_SIMILARITY = ["whole-all"]


@dataclass(frozen=True, slots=True)
class MissingFeatures:
    """Features to compute: those of `names`, besides what every index computes."""

    names: tuple[str, ...] = ()
    imported: frozenset[str] = frozenset()
    purpose: str = ""

    def to_index(self, settings: Settings, *, dry_run: bool) -> list[str]:
        """Return the features to index; empty if none is missing.

        Raises
        ------
        UsageError
            Some are missing, and a dry run computes none.
        """
        if not self.names:
            return []
        if dry_run:
            raise UsageError(
                f"The pictures lack {self.purpose}, and a dry run computes none. Run: "
                f"sightline index --features {','.join(self.names)}"
            )
        names = dict.fromkeys([*split_names(settings.features), *self.names])
        return [n for n in names if n not in self.imported]


def missing_for_words(
    home: Home, rankers: Sequence[str], features: Sequence[str]
) -> MissingFeatures:
    """Return the features that word models need."""
    default = default_features()
    requirements.check_vectors(features, requirements.FOR_WORDS, default)
    with home.reader() as reader:
        ids = reader.snapshot.ids()
        common = common_features(reader.snapshot, ids)
        computed = {f.rpartition("-")[0]: is_sparse(reader.snapshot, f) for f in common}
        imported = frozenset(v.name for v in remembered_vectors(reader.catalogue))
        learnable = len(ids) > 1 and len(reader.snapshot.vocabulary()[0])
    known = {**dict.fromkeys(imported, False), **computed}
    requirements.check_known(features, known)
    if not learnable:
        return MissingFeatures()
    requirements.check_rankers(rankers, list(features) or list(computed) or default, known)
    requested = set(expanded(features))
    if requested <= known.keys() if requested else computed:
        return MissingFeatures()
    return MissingFeatures(tuple(features or default), imported, "features to learn from")


def missing_for_similarity(home: Home, features: Sequence[str]) -> MissingFeatures:
    """Return the features that a similarity model needs."""
    requirements.check_vectors(features, requirements.FOR_SIMILARITY, _FOR_SIMILARITY)
    with home.reader() as reader:
        ids = reader.snapshot.ids()
        computed = {f.rpartition("-")[0] for f in common_features(reader.snapshot, ids)}
        imported = frozenset(v.name for v in remembered_vectors(reader.catalogue))
    requirements.check_known(features, computed | imported)
    requested = list(features) or ([] if computed else _FOR_SIMILARITY)
    if len(ids) < 2 or set(expanded(requested)) <= computed | imported:
        return MissingFeatures()
    return MissingFeatures(tuple(requested), imported, "descriptors to compare them by")


def missing_for_regions(home: Home, feature: str) -> MissingFeatures:
    """Return the region feature that a region model needs, unless all tagged pictures have it."""
    from sightline.collection.tagging.dataset import default_regions, kept_ids
    from sightline.regions.segment import require

    if feature and feature not in NO_VECTORS:
        known = ", ".join(sorted(NO_VECTORS))
        raise ParameterError.of("feature", "train_regions", f"one of {known}", feature)
    name = feature or default_regions()
    with home.reader() as reader:
        ids = np.unique(carried(reader.snapshot)[0])
        stored = {f for have, _ in reader.snapshot.by_features(ids) for f in have}
        prints = [f for f in stored if f.rpartition("-")[0] == name]
        if len(ids) == max((len(kept_ids(reader.snapshot, f, ids)) for f in prints), default=0):
            return MissingFeatures()
    # Before index remembers to segment pictures, which would fail from then on.
    require()
    return MissingFeatures((name,), purpose="regions")
