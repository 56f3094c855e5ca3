"""Which features the pictures of a version have."""

from __future__ import annotations

from sightline._typing import Ints
from sightline.registry import NO_VECTORS
from sightline.store.matrices import StoredSparseMatrix
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint

# Pictures are ranked by features that at least this share of them has.
_MOSTLY = 0.9


def common_features(snapshot: Snapshot, ids: Ints) -> tuple[str, ...]:
    """Return the features that (nearly) all of some pictures have, and can be ranked by."""
    count: dict[str, int] = {}
    for features, group in snapshot.by_features(ids):
        for f in features:
            if Fingerprint.parse(f).name not in NO_VECTORS:
                count[f] = count.get(f, 0) + len(group)
    return tuple(sorted(f for f, n in count.items() if n >= _MOSTLY * len(ids)))


def is_sparse(snapshot: Snapshot, feature: str) -> bool:
    """Say whether rows of a feature, by fingerprint, are mostly zero, as counts are."""
    parts = [s.features[feature] for s in snapshot.segments if feature in s.features]
    return any(isinstance(p, StoredSparseMatrix) for p in parts)
