"""The descriptors of pictures: stored rows, or rows computed for pictures outside the collection.

A descriptor is a feature that nearly all pictures have, computed or imported. A picture that lacks
one has a zero row for it, and `have` marks it as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sightline import plugins
from sightline._typing import Bools, Ints
from sightline.collection.features import common_features
from sightline.collection.index.options import quick_feature
from sightline.collection.models.dataset import View, as_view
from sightline.errors import CollectionError, NoFeatures, UsageError
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint


@dataclass(frozen=True, slots=True, eq=False)
class _ByDescriptor:
    """Pictures by descriptor: a matrix each, and a mask of who has which, (pictures, n)."""

    views: tuple[View, ...]
    have: Bools

    def __len__(self) -> int:
        return len(self.have)

    def only(self, rows: Ints | Bools) -> Self:
        """Return some of the pictures."""
        return type(self)(tuple(v[rows] for v in self.views), self.have[rows])


class DescribedPictures(_ByDescriptor):
    """Pictures with rows as stored."""


class ScaledPictures(_ByDescriptor):
    """Pictures with scaled rows, ready for comparison (`similarity.scaling`)."""


def descriptors_of(snapshot: Snapshot, requested: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the fingerprints of the descriptors that pictures can be compared by.

    `requested` selects some by name; by default all that nearly every picture has.
    """
    ids = snapshot.ids()
    if len(ids) < 2:
        n = len(ids)
        raise CollectionError(
            f"There is nothing to compare in {n} picture{'s' * (n != 1)}. Index more pictures."
        )
    available = {Fingerprint.parse(f).name: f for f in common_features(snapshot, ids)}
    if not available:
        raise NoFeatures(
            f"No descriptor is on at least nine tenths of the {len(ids)} pictures, so they cannot "
            f"be compared. Run: sightline index --features {quick_feature()}"
        )
    names = plugins.expanded(requested) or sorted(available)
    missing = [n for n in names if n not in available]
    if missing:
        raise UsageError(
            f"The pictures have no descriptor {missing[0]!r} (they have: {', '.join(available)}). "
            f"Run: sightline index --features {','.join(dict.fromkeys([*available, *names]))}"
        )
    return tuple(available[n] for n in names)


def partly(snapshot: Snapshot, descriptors: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the names of descriptors that some pictures lack, with the number of these."""
    n = snapshot.size()
    have = dict.fromkeys(descriptors, 0)
    for s in snapshot.segments:
        for d in have.keys() & s.features.keys():
            have[d] += len(s.ids) - len(s.dead)
    return tuple((Fingerprint.parse(d).name, n - m) for d, m in have.items() if m < n)


def too_rare(snapshot: Snapshot, descriptors: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the names of descriptors that too few pictures have, with the number of these."""
    every = {f for s in snapshot.segments for f in s.features}
    common = set(common_features(snapshot, snapshot.ids())) | set(descriptors)
    lost = dict(partly(snapshot, sorted(every - common)))
    return tuple((name, snapshot.size() - n) for name, n in lost.items())


def lengths_of(snapshot: Snapshot, descriptors: Sequence[str]) -> tuple[int, ...]:
    """Return the dimension of each descriptor; 0 for one that no picture has."""
    length_of = {f: int(m.shape[1]) for s in snapshot.segments for f, m in s.features.items()}
    return tuple(length_of.get(d, 0) for d in descriptors)


def stored(
    snapshot: Snapshot, ids: Ints, descriptors: Sequence[str], lengths: Sequence[int]
) -> DescribedPictures:
    """Return the stored rows of some pictures, ids ascending."""
    groups = snapshot.by_features(ids)
    have = np.zeros((len(ids), len(descriptors)), bool)
    for features, group in groups:
        here = np.isin(descriptors, features)
        have[np.searchsorted(ids, group)] = here
    views = []
    for v, (d, length) in enumerate(zip(descriptors, lengths, strict=True)):
        at = np.flatnonzero(have[:, v])
        rows = as_view(snapshot.rows(d, ids[at])) if len(at) else None
        views.append(_spread(rows, at, len(ids), length))
    return DescribedPictures(tuple(views), have)


def _spread(rows: View | None, at: Ints, n: int, length: int) -> View:
    """Return n rows: the given ones at some positions, the others zero."""
    if rows is not None and len(at) == n:
        return rows
    if rows is None or not hasattr(rows, "tocsr"):
        out = np.zeros((n, length), np.float32)
        if rows is not None:
            out[at] = rows
        return out
    from scipy.sparse import csr_matrix

    cells = (np.ones(len(at), np.float32), (at, np.arange(len(at))))
    return csr_matrix(cells, shape=(n, len(at))) @ rows
