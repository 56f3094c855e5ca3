"""The feature that a session learns with: its L2-normalised vectors.

It is the best dense feature that nearly all pictures have, in the order of
`registry.session_preference`: a deep one, else imported vectors, else a classic one. Vectors are
normalised when they are used and never stored a second time.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.extraction import Extractor
from sightline.collection.features import common_features
from sightline.collection.similarity.descriptors import lengths_of
from sightline.collection.similarity.query import QueryPicture
from sightline.contracts import Compute
from sightline.errors import CollectionError, UsageError
from sightline.records import DenseQuery, FeatureRows, shown
from sightline.registry import NO_VECTORS, session_preference
from sightline.settings import Settings
from sightline.store.folder import Reader
from sightline.store.matrices import StoredSparseMatrix
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint, l2_normalize, l2_norms


def choose(snapshot: Snapshot, name: str = "") -> str:
    """Return the fingerprint of the feature to learn with; empty if pictures have none."""
    candidates = {
        Fingerprint.parse(f).name: f
        for f in common_features(snapshot, snapshot.ids())
        if _dense(snapshot, f)
    }
    if name in NO_VECTORS:
        raise UsageError(
            f"Sessions cannot learn by {name!r}: it holds the regions of a picture, not one "
            f"vector for the whole. Name another one: {', '.join(sorted(candidates)) or 'deep'}."
        )
    if name and name not in candidates:
        have = ", ".join(sorted(candidates)) or "none"
        raise UsageError(
            f"The pictures have no dense descriptor {name!r} to learn by (they have: {have}). "
            f"Run: sightline index --features {name}"
        )
    if not candidates:
        return ""
    return candidates[name or min(candidates, key=session_preference)]


def _dense(snapshot: Snapshot, feature: str) -> bool:
    parts = [s.features[feature] for s in snapshot.segments if feature in s.features]
    return bool(parts) and not any(isinstance(p, StoredSparseMatrix) for p in parts)


class FeatureSpace:
    """The L2-normalised vectors of one feature; `ids`, ascending, is the order of all scores."""

    def __init__(self, snapshot: Snapshot, feature: str) -> None:
        self.snapshot, self.feature = snapshot, feature
        self.name = Fingerprint.parse(feature).name
        (self.length,) = lengths_of(snapshot, [feature])
        ids = snapshot.having(feature)
        self._order = np.argsort(ids)
        self.ids = ids[self._order]

    @cached_property
    def _scale(self) -> Floats:
        lengths = self.snapshot.lengths(self.feature)[self._order]
        # A zero vector has no direction: its score is 0.
        return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)

    def scores(self, weights: Doubles) -> Doubles:
        """Return the dot product of weights with every unit vector."""
        query = DenseQuery(self.feature, weights.astype(np.float32))
        _, products = self.snapshot.scores(query)
        return np.asarray(products[self._order] * self._scale, np.float64)

    @property
    def is_rounded(self) -> bool:
        """Whether rounded rows can name the best pictures."""
        quantised, published = self.snapshot.quantised, self.snapshot.published
        return quantised is not None and quantised.serves(published, self.feature, 1)

    def best(self, weights: Doubles, n: int, allowed: Ints | None) -> tuple[Ints, Doubles] | None:
        """Return the n best pictures, ids ascending; None where all have to be scored."""
        if not self.snapshot.ranks_without_scan(self.feature, n):
            return None
        query = DenseQuery(self.feature, weights.astype(np.float32), "cosine")
        top = self.snapshot.top(query, n, allowed)
        order = np.argsort(top.ids)
        return top.ids[order], np.asarray(top.scores[order], np.float64)

    def has(self, pictures: Ints) -> NDArray[np.bool_]:
        """Return a mask of the pictures that have the feature."""
        return np.isin(pictures, self.ids)

    def rows(self, pictures: Sequence[int]) -> Floats:
        """Return the unit vectors of pictures that have the feature, in the order given."""
        ids, at = np.unique(np.array(pictures, np.int64), return_inverse=True)
        if not len(ids):
            return np.zeros((0, self.length), np.float32)
        stored = self.snapshot.rows(self.feature, ids)
        if not isinstance(stored, FeatureRows):
            raise CollectionError(f"The rows of {self.name} are not dense.")
        return np.asarray(unit_rows(stored.rows)[at], np.float32)

    def row_of(
        self,
        reader: Reader,
        named: QueryPicture,
        settings: Settings,
        compute: Compute | None = None,
    ) -> Floats:
        """Return the unit vector of one picture, in the collection or not."""
        if named.picture is not None and self.has(np.array([named.picture])).all():
            return np.asarray(self.rows([named.picture])[0], np.float32)
        with Extractor(settings, compute) as extractor:
            described = extractor.describe(reader, [named.file], [self.feature], [self.length])
        if not described.have.all():
            raise CollectionError(
                f"{shown(os.path.basename(named.file))} is not in the collection, and "
                f"{self.name} cannot be computed here. Name a picture of the "
                "collection, or another descriptor."
            )
        return np.asarray(unit_rows(np.asarray(described.views[0]))[0], np.float32)


def unit_rows(rows: Floats) -> Floats:
    """L2-normalise rows; lengths are added in float64."""
    return np.asarray(l2_normalize(rows, l2_norms(rows, np.float64)))


def unit_mean(rows: Floats) -> Doubles:
    """Return the L2-normalised mean of rows.

    >>> unit_mean(np.array([[3.0, 0.0], [0.0, 4.0]], np.float32)).round(3).tolist()
    [0.6, 0.8]
    """
    return np.asarray(unit_rows(rows.mean(axis=0, keepdims=True))[0], np.float64)


def as_text(row: Floats) -> str:
    """Encode a vector as text for the event log."""
    return base64.b85encode(np.ascontiguousarray(row, "<f4").tobytes()).decode("ascii")


def from_text(text: str) -> Floats:
    """Decode a vector from its text in the event log.

    >>> from_text(as_text(np.array([1.0, -2.5], np.float32))).tolist()
    [1.0, -2.5]
    """
    return np.frombuffer(base64.b85decode(text), "<f4").astype(np.float32)
