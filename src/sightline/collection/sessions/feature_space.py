"""The descriptor a session learns by: its rows, each made one long.

It is the strongest dense feature that nearly all pictures have: a deep one, else vectors the user
brought, else a classic one. Rows are divided by their lengths when they are used, not stored anew.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline.collection.models.dataset import common_features
from sightline.collection.similarity.descriptors import describe_files, lengths_of, name_of
from sightline.collection.similarity.query import QueryPicture
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute
from sightline.errors import CollectionError, UsageError
from sightline.pictures.reading import ReadLimits
from sightline.records import DenseQuery, FeatureRows, shown
from sightline.settings import Settings
from sightline.store.home import Reader
from sightline.store.matrices import StoredSparseMatrix
from sightline.store.snapshot import Snapshot

# The best first; other deep features come after these, vectors from outside after them.
_DEEP = ("deep-large", "deep-medium", "deep", "deep-scales")
_CLASSIC = ("fisher", "classic", "gist", "cedd", "ehd", "gabor", "lbp", "edges", "color")

Int = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def choose(snapshot: Snapshot, name: str = "") -> str:
    """Return the descriptor to learn by, by fingerprint; empty if pictures have none."""
    found = {
        name_of(f): f for f in common_features(snapshot, snapshot.ids()) if _dense(snapshot, f)
    }
    if name in plugins.NO_VECTORS:
        raise UsageError(
            f"Sessions cannot learn by {name!r}: it holds the regions of a picture, not one "
            f"vector for the whole. Name another one: {', '.join(sorted(found)) or 'deep'}."
        )
    if name and name not in found:
        have = ", ".join(sorted(found)) or "none"
        raise UsageError(
            f"The pictures have no dense descriptor {name!r} to learn by (they have: {have}). "
            f"Run: sightline index --features {name}"
        )
    if not found:
        return ""
    return found[name or min(found, key=_rank)]


def _rank(name: str) -> tuple[int, int, str]:
    if name in _DEEP or name.startswith("deep"):
        return 0, _DEEP.index(name) if name in _DEEP else len(_DEEP), name
    if name not in plugins.BUILT_IN["features"]:
        return 1, 0, name
    return 2, _CLASSIC.index(name) if name in _CLASSIC else len(_CLASSIC), name


def _dense(snapshot: Snapshot, feature: str) -> bool:
    parts = [s.features[feature] for s in snapshot.segments if feature in s.features]
    return bool(parts) and not any(isinstance(p, StoredSparseMatrix) for p in parts)


class FeatureSpace:
    """All pictures that have a descriptor, ids ascending; scores come in this order."""

    def __init__(self, snapshot: Snapshot, feature: str) -> None:
        self.snapshot, self.feature = snapshot, feature
        (self.length,) = lengths_of(snapshot, [feature])
        ids = snapshot.having(feature)
        self._order = np.argsort(ids)
        self.ids = ids[self._order]

    @cached_property
    def _scale(self) -> Floats:
        lengths = self.snapshot.lengths(self.feature)[self._order]
        # A row of zeros is like nothing: its score stays 0.
        return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)

    def scores(self, weights: Doubles) -> Doubles:
        """Return the product of weights with each row made one long."""
        query = DenseQuery(self.feature, weights.astype(np.float32))
        _, found = self.snapshot.scores(query)
        return np.asarray(found[self._order] * self._scale, np.float64)

    def best(self, weights: Doubles, n: int, allowed: Int | None) -> tuple[Int, Doubles] | None:
        """Return the n best pictures, ids ascending, by the engine; None where there is none."""
        if self.snapshot.engine is None:
            return None
        query = DenseQuery(self.feature, weights.astype(np.float32), "cosine")
        top = self.snapshot.top(query, n, allowed)
        order = np.argsort(top.ids)
        return top.ids[order], np.asarray(top.scores[order], np.float64)

    def has(self, pictures: Int) -> NDArray[np.bool_]:
        """Say of each picture whether it has the descriptor."""
        return np.isin(pictures, self.ids)

    def rows(self, pictures: Sequence[int]) -> Floats:
        """Return rows of pictures that have the descriptor, made one long, in their order."""
        asked = np.array(pictures, np.int64)
        ids, at = np.unique(asked, return_inverse=True)
        if not len(ids):
            return np.zeros((0, self.length), np.float32)
        found = self.snapshot.rows(self.feature, ids)
        if not isinstance(found, FeatureRows):
            raise CollectionError(f"The rows of {name_of(self.feature)} are not dense.")
        return np.asarray(unit(found.rows)[at], np.float32)

    def row_of(
        self,
        reader: Reader,
        named: QueryPicture,
        settings: Settings,
        compute: Compute | None = None,
    ) -> Floats:
        """Return the row of a picture that somebody named, made one long."""
        if named.picture is not None and self.has(np.array([named.picture])).all():
            return np.asarray(self.rows([named.picture])[0], np.float32)
        own = compute or LocalCompute(1, seconds=settings.seconds)
        limits = ReadLimits(
            settings.working_size, settings.max_megapixels, int(settings.max_file_mb * 1e6), False
        )
        try:
            made = describe_files(reader, [named.file], [self.feature], [self.length], limits, own)
        finally:
            if compute is None:
                own.close()
        if not made.have.all():
            raise CollectionError(
                f"{shown(os.path.basename(named.file))} is not in the collection, and "
                f"{name_of(self.feature)} cannot be computed here. Name a picture of the "
                "collection, or another descriptor."
            )
        return np.asarray(unit(np.asarray(made.views[0], np.float32))[0], np.float32)


def unit(rows: Floats) -> Floats:
    """Return rows made one long; those of zeros stay.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = np.asarray(rows, np.float64)
    length = np.sqrt(np.vecdot(wide, wide))
    return np.asarray(wide / np.where(length > 0, length, 1.0)[:, None], np.float32)


def as_text(row: Floats) -> str:
    """Return a row as text that the log can keep."""
    return base64.b85encode(np.ascontiguousarray(row, "<f4").tobytes()).decode("ascii")


def from_text(text: str) -> Floats:
    """Return the row that a text stands for.

    >>> from_text(as_text(np.array([1.0, -2.5], np.float32))).tolist()
    [1.0, -2.5]
    """
    return np.frombuffer(base64.b85decode(text), "<f4").astype(np.float32)
